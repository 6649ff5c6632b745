"""How a fit of kernel principal components went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sklearn.exceptions import PositiveSpectrumWarning

from karhunen._shared.convergence import Convergence, fields_of, warn_unless_converged
from karhunen._shared.warning import warn

if TYPE_CHECKING:
    from typing_extensions import Self

    from karhunen._core import KernelModel

#: Eigenvalues below zero by more than this share of the largest are no rounding: scikit-learn's rule.
_NEGATIVE = {"f64": (1e-5, 1e-10), "f32": (5e-3, 1e-6)}


@dataclass(frozen=True)
class KernelConvergence(Convergence):
    """How a fit of kernel principal components went.

    Attributes
    ----------
    solver : str
        The route that was taken: ``"full"``, ``"stored"``, ``"tiles"``, ``"nystrom"`` or ``"fourier"``.
    reason : str
        Why: ``"asked for"``, or what decided.
    n_passes : int
        Products with the kernel matrix.
    tol : float
        The tolerance that the residuals were held to.
    n_converged : int
        How many components are within it.
    worst_residual : float
        The largest ``||K u - l u|| / l_1``, of the centred kernel matrix; 0 without components.
    smallest_eigenvalue : float or None
        The smallest eigenvalue of the centred kernel matrix where it is known: exactly on the route ``"full"``,
        roughly where the kernel need not be positive semi-definite.
    n_features : int or None
        Landmarks, or random features, of an approximation.
    error_bound : float or None
        No eigenvalue of an approximation by landmarks is off by more than this share of the largest: certain, but
        it adds up the errors in all directions, and says nothing where it is 1 or more.
    error_estimate : float or None
        The error of the eigenvalues as a share of the largest, estimated from 500 rows: what to go by where the bound
        is large.
    """

    __module__ = "karhunen"

    smallest_eigenvalue: float | None
    n_features: int | None
    error_bound: float | None
    error_estimate: float | None

    @classmethod
    def of(cls, model: KernelModel) -> Self:
        """Read it from a fitted model."""
        n_features, bound, estimate = model.approximation or (None, None, None)
        return cls(
            **fields_of(model),
            smallest_eigenvalue=model.smallest_eigenvalue,
            n_features=n_features,
            error_bound=bound,
            error_estimate=estimate,
        )


def warn_of_spectrum(model: KernelModel) -> None:
    """Warn of components that missed the tolerance, and of eigenvalues below zero that outweigh some that were kept."""
    over = "the kernel matrix" if model.approximation is None else "the data"
    raised = "max_iter or tol" if model.solver in ("stored", "tiles") else "tol"
    warn_unless_converged(model, over, f"raise {raised}, or choose another solver")
    smallest, values = model.smallest_eigenvalue, model.eigenvalues
    if smallest is None or len(values) == 0:
        return
    share, least = _NEGATIVE[model.dtype]
    if smallest < -share * values[0] and smallest < -least and -smallest > values[-1]:
        warn(
            f"the kernel is not positive semi-definite: the smallest eigenvalue of the centred kernel matrix is "
            f"{smallest:.3e}, farther from zero than the smallest kept one, {values[-1]:.3e}; components are those of "
            "positive eigenvalues alone",
            PositiveSpectrumWarning,
        )
