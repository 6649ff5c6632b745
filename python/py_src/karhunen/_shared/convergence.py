"""How a fit went."""

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
    def of(cls, model: Any) -> Self:
        """Read it from a fitted model of the engine."""
        return cls(**fields_of(model))


def fields_of(model: Model | KernelModel) -> dict[str, Any]:
    """Give the fields of a :class:`Convergence`."""
    same = {name: getattr(model, name) for name in ("solver", "reason", "n_passes", "tol", "n_converged")}
    return {**same, "worst_residual": float(model.residuals.max(initial=0.0))}


def warn_unless_converged(model: Model | KernelModel, over: str, advice: str) -> None:
    """Warn as scikit-learn does if a component missed the tolerance.

    Parameters
    ----------
    model : Model or KernelModel
        Fitted.
    over : str
        What was passed over.
    advice : str
        The way out.
    """
    k = len(model.residuals)
    if model.n_converged == k:
        return
    passes = "1 pass" if model.n_passes == 1 else f"{model.n_passes} passes"
    warn(
        f"solver {model.solver}: {model.n_converged} of {k} components converged in {passes} over {over} (worst "
        f"residual {model.residuals.max():.1e}, tol {model.tol:.1e}); {advice}",
        ConvergenceWarning,
    )
