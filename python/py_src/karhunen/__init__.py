"""Principal component analysis for the data people really have: weighted, sparse, wide, large.

Estimators with scikit-learn's interface on an engine in Rust. scikit-learn itself is imported with the first
estimator, so that ``import karhunen`` stays light.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from karhunen._core import NotConvergedError, __version__

if TYPE_CHECKING:
    from karhunen import plot
    from karhunen._convergence import Convergence
    from karhunen._cross_validation import EntryCrossValidation, cross_validate_entries
    from karhunen._incomplete_convergence import IncompleteConvergence
    from karhunen._incomplete_pca import IncompletePCA
    from karhunen._kernel_convergence import KernelConvergence
    from karhunen._kernel_pca import KernelPCA
    from karhunen._nystroem import Nystroem
    from karhunen._observed import Observed
    from karhunen._pca import PCA
    from karhunen._truncated_svd import TruncatedSVD

__all__ = [
    "PCA",
    "Convergence",
    "EntryCrossValidation",
    "IncompleteConvergence",
    "IncompletePCA",
    "KernelConvergence",
    "KernelPCA",
    "NotConvergedError",
    "Nystroem",
    "Observed",
    "TruncatedSVD",
    "__version__",
    "cross_validate_entries",
    "plot",
]

_HOMES = {
    "PCA": "karhunen._pca",
    "TruncatedSVD": "karhunen._truncated_svd",
    "Convergence": "karhunen._convergence",
    "EntryCrossValidation": "karhunen._cross_validation",
    "cross_validate_entries": "karhunen._cross_validation",
    "IncompletePCA": "karhunen._incomplete_pca",
    "IncompleteConvergence": "karhunen._incomplete_convergence",
    "Observed": "karhunen._observed",
    "KernelPCA": "karhunen._kernel_pca",
    "KernelConvergence": "karhunen._kernel_convergence",
    "Nystroem": "karhunen._nystroem",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for the first time."""
    if name == "plot":
        return import_module("karhunen.plot")
    if name not in _HOMES:
        raise AttributeError(f"module 'karhunen' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Name what can be imported."""
    return sorted({*globals(), *__all__})
