"""scikit-learn's own tests, with our classes instead of theirs."""

import importlib
import importlib.util
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import karhunen
import sklearn.decomposition
import sklearn.kernel_approximation
from differences import LEFT_OUT

#: Module from which the tests import each class.
PLACES = {
    "PCA": sklearn.decomposition,
    "IncrementalPCA": sklearn.decomposition,
    "TruncatedSVD": sklearn.decomposition,
    "KernelPCA": sklearn.decomposition,
    "Nystroem": sklearn.kernel_approximation,
}


def their_tests(module: str, *classes: str, only: str = "test_") -> dict[str, Any]:
    """Execute a module of scikit-learn's tests with our classes; return its definitions.

    Parameters
    ----------
    module : str
        Name of the module.
    classes : str
        Classes under test. A module that does not import them is an error: it would test scikit-learn.
    only : str
        Part of the names of the tests to take.
    """
    # Other imports of the module happen here, with scikit-learn's classes.
    importlib.import_module(module)
    spec = importlib.util.find_spec(module)
    ours = importlib.util.module_from_spec(spec)
    with ExitStack() as replaced:
        for name, place in PLACES.items():
            replaced.enter_context(patch.object(place, name, getattr(karhunen, name)))
        spec.loader.exec_module(ours)
    for name in classes:
        if vars(ours).get(name) is not getattr(karhunen, name):
            raise ImportError(f"{module} does not import {name} from {PLACES[name].__name__} any more")
    return {name: value for name, value in vars(ours).items() if not name.startswith("__") and _is_taken(name, only)}


def _is_taken(name: str, only: str) -> bool:
    """Return whether a name is not a test, or is a test to take."""
    return not name.startswith("test_") or (only in name and name not in LEFT_OUT)
