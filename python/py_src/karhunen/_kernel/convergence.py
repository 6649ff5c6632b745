"""Convergence records of kernel PCA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sklearn.exceptions import PositiveSpectrumWarning

from karhunen._shared.convergence import Convergence, fields_of, warn_unless_converged
from karhunen._shared.warning import warn

if TYPE_CHECKING:
    from typing_extensions import Self

    from karhunen._core import KernelModel

#: Negative eigenvalues beyond this share of the largest are not rounding errors: scikit-learn's rule.
_NEGATIVE = {"f64": (1e-5, 1e-10), "f32": (5e-3, 1e-6)}


@dataclass(frozen=True)
class KernelConvergence(Convergence):
    """Convergence record of a kernel PCA fit.

    Attributes
    ----------
    solver : str
        Solver that was used: ``"full"``, ``"stored"``, ``"tiles"``, ``"nystrom"`` or ``"fourier"``.
    reason : str
        Reason for the choice: ``"asked for"``, or the deciding rule.
    n_passes : int
        Number of products with the kernel matrix.
    tol : float
        Tolerance for the residuals.
    n_converged : int
        Number of components within the tolerance.
    worst_residual : float
        Largest ``||K u - l u|| / l_1`` for the centred kernel matrix; 0 without components.
    smallest_eigenvalue : float or None
        Smallest eigenvalue of the centred kernel matrix, if known: exact for ``"full"``, approximate if the kernel
        need not be positive semi-definite.
    n_features : int or None
        Number of landmarks or random features of an approximation.
    error_bound : float or None
        Upper bound on the error of every eigenvalue of a landmark approximation, as a share of the largest eigenvalue.
        It adds the errors of all directions, and is not informative at 1 or more.
    error_estimate : float or None
        Error of the eigenvalues as a share of the largest (of random features, less the error), estimated from 500
        rows: use it if the bound is large.
    """

    __module__ = "karhunen"

    smallest_eigenvalue: float | None
    n_features: int | None
    error_bound: float | None
    error_estimate: float | None

    @classmethod
    def of(cls, model: KernelModel) -> Self:
        """Create the record of a fitted model."""
        n_features, bound, estimate = model.approximation or (None, None, None)
        return cls(
            **fields_of(model),
            smallest_eigenvalue=model.smallest_eigenvalue,
            n_features=n_features,
            error_bound=bound,
            error_estimate=estimate,
        )


def warn_of_spectrum(model: KernelModel) -> None:
    """Warn of components that missed the tolerance, and of negative eigenvalues larger than a kept one."""
    over = "the kernel matrix" if model.approximation is None else "the data"
    if model.advice is not None:
        warn_unless_converged(model, over, f"{model.advice}, or choose another solver")
    smallest, values = model.smallest_eigenvalue, model.eigenvalues
    if smallest is None or len(values) == 0:
        return
    share, least = _NEGATIVE[model.dtype]
    if smallest < -share * values[0] and smallest < -least and -smallest > values[-1]:
        warn(
            f"the kernel is not positive semi-definite: the smallest eigenvalue of the kernel matrix is "
            f"{smallest:.3e}, farther from zero than the smallest kept one, {values[-1]:.3e}; only "
            "components with positive eigenvalues are kept",
            PositiveSpectrumWarning,
        )
