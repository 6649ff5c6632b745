"""Convergence records of fits and their warnings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sklearn.exceptions import ConvergenceWarning

from karhunen._shared.warning import warn

if TYPE_CHECKING:
    from typing_extensions import Self

    from karhunen._core import KernelModel, Model


@dataclass(frozen=True)
class Convergence:
    """Convergence record of a fit.

    Attributes
    ----------
    solver : str
        Solver that was used: ``"svd"``, ``"covariance"``, ``"gram"`` or ``"block-krylov"``.
    reason : str
        Reason for the choice: ``"asked for"``, or the predicted costs of the solvers.
    n_passes : int
        Number of passes over the data, including those for means and variances.
    tol : float
        Tolerance for the residuals.
    n_converged : int
        Number of components within the tolerance.
    worst_residual : float
        Largest residual, relative to the largest variance.
    """

    __module__ = "karhunen"

    solver: str
    reason: str
    n_passes: int
    tol: float
    n_converged: int
    worst_residual: float

    @classmethod
    def of(cls, model: Any) -> Self:
        """Create the record of a fitted model of the engine."""
        return cls(**fields_of(model))


def fields_of(model: Model | KernelModel) -> dict[str, Any]:
    """Return the fields of a :class:`Convergence`."""
    same = {name: getattr(model, name) for name in ("solver", "reason", "n_passes", "tol", "n_converged")}
    return {**same, "worst_residual": float(model.residuals.max(initial=0.0))}


def warn_unless_converged(model: Model | KernelModel, over: str, advice: str | None) -> None:
    """Issue scikit-learn's warning if a component missed the tolerance.

    Parameters
    ----------
    model : Model or KernelModel
        Fitted model.
    over : str
        Object of the passes, for the message.
    advice : str or None
        Remedy, which ends the message.
    """
    k = len(model.residuals)
    if model.n_converged == k:
        return
    passes = "1 pass" if model.n_passes == 1 else f"{model.n_passes} passes"
    remedy = f"; {advice}" if advice else ""
    warn(
        f"solver {model.solver}: {model.n_converged} of {k} components converged in {passes} over {over} (worst "
        f"residual {model.residuals.max():.1e}, tol {model.tol:.1e}){remedy}",
        ConvergenceWarning,
    )
