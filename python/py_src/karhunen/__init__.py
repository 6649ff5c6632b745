"""Principal component analysis for the data people really have: weighted, sparse, wide, large.

Estimators with scikit-learn's interface on an engine in Rust. scikit-learn itself is imported with the first
estimator, so that ``import karhunen`` stays light.
"""

import atexit
import os
import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from karhunen._core import NotConvergedError, __version__
from karhunen._core import end as _end
from karhunen._core import forked as _forked

if TYPE_CHECKING:
    from karhunen import cluster, diagnostics, genotypes, plot, rotation, selection
    from karhunen._incomplete import (
        EntryCrossValidation,
        IncompleteConvergence,
        IncompletePCA,
        Observed,
        cross_validate_entries,
    )
    from karhunen._inputs.row_blocks import RowBlocks
    from karhunen._inputs.table import Table, read
    from karhunen._kernel import KernelConvergence, KernelPCA, Nystroem
    from karhunen._pca import PCA, Convergence, IncrementalPCA, Scatter, TruncatedSVD

__all__ = [
    "PCA",
    "Convergence",
    "EntryCrossValidation",
    "IncompleteConvergence",
    "IncompletePCA",
    "IncrementalPCA",
    "KernelConvergence",
    "KernelPCA",
    "NotConvergedError",
    "Nystroem",
    "Observed",
    "RowBlocks",
    "Scatter",
    "Table",
    "TruncatedSVD",
    "__version__",
    "cluster",
    "cross_validate_entries",
    "diagnostics",
    "genotypes",
    "plot",
    "read",
    "rotation",
    "selection",
]

#: Packages, with the public classes and functions of each. Their `__module__` is `karhunen`, so that pickles find them
#: there whatever package defines them.
_HOMES = {
    "karhunen._pca": ("PCA", "Convergence", "IncrementalPCA", "Scatter", "TruncatedSVD"),
    "karhunen._incomplete": (
        *("EntryCrossValidation", "IncompleteConvergence", "IncompletePCA", "Observed", "cross_validate_entries"),
        # Parts of an IncompleteConvergence, and of an EntryCrossValidation.
        *("FarPredictions", "Identifiability", "Overfit", "Run", "StartAgreement", "FeatureErrors"),
    ),
    "karhunen._inputs.row_blocks": ("RowBlocks",),
    "karhunen._inputs.table": ("Table", "read"),
    "karhunen._kernel": ("KernelConvergence", "KernelPCA", "Nystroem"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

#: Public modules, imported with their first use.
_MODULES = (
    *("anndata", "categorical", "cluster", "completion", "dask", "diagnostics", "genotypes", "plot"),
    *("resampling", "rotation", "selection", "spark", "xarray"),
)

# Functions of Python that run for the engine end before the interpreter does.
atexit.register(_end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)

#: Modules of earlier versions, which their pickles name.
_FORMER_MODULES = (
    *("_convergence", "_truncated_svd", "_kernel_convergence", "_kernel_pca", "_nystroem"),
    *("_cross_validation", "_incomplete_convergence", "_incomplete_pca", "_observed"),
)


def __getattr__(name: str) -> Any:
    """Import a public name on first access."""
    if name in _MODULES:
        return import_module(f"karhunen.{name}")
    if name not in _HOME:
        raise AttributeError(f"module 'karhunen' has no attribute {name!r}")
    # scikit-learn imports scipy.stats from some hundred calls deep, where the stack of CPython 3.11 and later fills a
    # block of memory: it then takes and frees a block in each of many thousand calls, for a tenth of a second.
    import scipy.stats  # noqa: F401

    value = getattr(import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names."""
    return sorted({*globals(), *__all__})


for _name in _FORMER_MODULES:
    _former = ModuleType(f"karhunen.{_name}", "A module of an earlier version, by which its pickles name classes.")
    vars(_former)["__getattr__"] = __getattr__
    sys.modules[_former.__name__] = _former
