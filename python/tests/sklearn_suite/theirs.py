"""scikit-learn's own tests, with our classes in place of theirs."""

import importlib
import importlib.util
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

import karhunen
import sklearn.decomposition
import sklearn.kernel_approximation
from differences import LEFT_OUT

#: Where the tests import each class from.
PLACES = {
    "PCA": sklearn.decomposition,
    "TruncatedSVD": sklearn.decomposition,
    "KernelPCA": sklearn.decomposition,
    "Nystroem": sklearn.kernel_approximation,
}


def their_tests(module: str, *classes: str, only: str = "test_") -> dict[str, Any]:
    """Give what a module of scikit-learn's tests defines, executed with our classes.

    Parameters
    ----------
    module : str
        Its name.
    classes : str
        The classes under test. It is an error if the module does not have ours: it would test scikit-learn.
    only : str
        What the names of the tests hold.
    """
    # Whatever else the module imports is imported here, and keeps scikit-learn's classes.
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
    """Tell whether a name is no test, or a test that is taken."""
    return not name.startswith("test_") or (only in name and name not in LEFT_OUT)
