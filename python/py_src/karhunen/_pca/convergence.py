"""How a fit went."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sklearn.exceptions import ConvergenceWarning

from karhunen._shared.warning import warn

if TYPE_CHECKING:
    from karhunen._core import Model


@dataclass(frozen=True)
class Convergence:
    """How a fit went.

    Attributes
    ----------
    solver : str
        The route that was taken: ``"svd"``, ``"covariance"``, ``"gram"`` or ``"block-krylov"``.
    reason : str
        Why: ``"asked for"``, or the predicted cost of it and of the others.
    n_passes : int
        Passes over the data, those for means and variances included.
    tol : float
        The tolerance that the residuals were held to.
    n_converged : int
        How many components are within it.
    worst_residual : float
        The largest residual, relative to the largest variance.
    """

    __module__ = "karhunen"

    solver: str
    reason: str
    n_passes: int
    tol: float
    n_converged: int
    worst_residual: float

    @classmethod
    def of(cls, model: Model) -> Convergence:
        """Read it from a fitted model."""
        return cls(
            solver=model.solver,
            reason=model.reason,
            n_passes=model.n_passes,
            tol=model.tol,
            n_converged=model.n_converged,
            worst_residual=float(model.residuals.max(initial=0.0)),
        )


def warn_unless_converged(model: Model) -> None:
    """Warn as scikit-learn does if a component missed the tolerance."""
    k = len(model.residuals)
    if model.n_converged == k:
        return
    warn(
        f"solver {model.solver}: {model.n_converged} of {k} components converged in {model.n_passes} passes "
        f"over the data (worst residual {model.residuals.max():.1e}, tol {model.tol:.1e}); " + _advice(model.solver),
        ConvergenceWarning,
    )


def _advice(solver: str) -> str:
    if solver == "block-krylov":
        return "raise max_iter or tol; a sparse matrix whose columns are far from zero needs to be dense"
    way_out = "give a sparse matrix whose columns are far from zero as dense"
    if solver == "svd":
        return way_out
    return f"{way_out}, or choose solver='svd' if it has at least as many rows as columns"
