"""How a fit of incomplete data went."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from karhunen._shared.arrays import FloatArray, Ids
from karhunen._shared.warning import warn

if TYPE_CHECKING:
    from karhunen._core import IncompleteModel

#: Why a fit stopped.
STOPPED = {
    "tolerance": "the cost fell by less than tol",
    "gradient": "the gradient was below gradient_tol",
    "angle": "the components turned by less than angle_tol",
    "rmse": "the error of the entries fitted moved by less than rmse_tol",
    "exhausted": "no step lowers the cost any more",
    "heldout": "the error of the entries set aside no longer fell",
    "iterations": "max_iter was reached",
    "timelimit": "time_limit was reached",
}


@dataclass(frozen=True)
class Run:
    """How one run of a fit ended: one of several starts, or one penalty of a path.

    Attributes
    ----------
    penalty : float or None
        The penalty, on a path of them.
    cost, rmse : float
        Cost and root mean squared error of the entries fitted, at its end or where the held-out error was lowest.
    held_out_rmse : float or None
        Root mean squared error of the entries set aside, there.
    n_iterations : int
        Iterations that were made.
    """

    __module__ = "karhunen"

    penalty: float | None
    cost: float
    rmse: float
    held_out_rmse: float | None
    n_iterations: int

    @classmethod
    def of(cls, penalty: float, cost: float, rmse: float, held_out: float, n_iterations: float) -> Run:
        """Take numbers of which NaN says that there are none."""
        optional = [None if np.isnan(value) else float(value) for value in (penalty, held_out)]
        return cls(optional[0], float(cost), float(rmse), optional[1], int(n_iterations))


@dataclass(frozen=True)
class FarPredictions:
    """Predictions of missing entries that lie more than ten standard deviations outside the observed ones.

    Attributes
    ----------
    count : int
        How many were found: of all missing entries of small data, of large data where they are to be expected.
    row, column : int
        The place of the farthest.
    value : float
        What is predicted there.
    deviations : float
        How far that is beyond the observed entries of the column, in standard deviations of these.
    """

    __module__ = "karhunen"

    count: int
    row: int
    column: int
    value: float
    deviations: float


@dataclass(frozen=True, eq=False)
class IncompleteConvergence:
    """How a fit of incomplete data went.

    Attributes
    ----------
    method : str
        The algorithm that was used.
    reason : str
        Why: ``"asked for"``, or what ``"auto"`` decided by. It also says if a fit collapsed.
    stop : str
        Why it stopped, in words.
    converged : bool
        Whether it ended by itself, rather than at a limit.
    cost : float
        The cost of the model: what the method minimises.
    rmse : float
        Root mean squared error of the entries fitted.
    held_out_rmse : float or None
        Root mean squared error of the entries that `early_stopping` set aside.
    runs : tuple of Run
        Every run: one for each start, or one for each penalty of a path.
    refitted : bool
        Whether the model was fitted again to all entries, those set aside included.
    far_predictions : FarPredictions or None
        Predictions of missing entries that nothing observed supports, if there are any; a fit warns of them.
    iterations : ndarray of int
        Number of each iteration; zero is the start, which methods that learn variances leave out.
    costs, rmses, held_out_rmses, steps, seconds : ndarray of float
        After each iteration: cost, error of the entries fitted, error of those set aside (NaN where it was not
        computed), learning rate (NaN for methods without) and seconds since the first iteration began.
    """

    __module__ = "karhunen"

    method: str
    reason: str
    stop: str
    converged: bool
    cost: float
    rmse: float
    held_out_rmse: float | None
    runs: tuple[Run, ...] = field(repr=False)
    refitted: bool
    far_predictions: FarPredictions | None
    iterations: NDArray[np.int64] = field(repr=False)
    costs: FloatArray = field(repr=False)
    rmses: FloatArray = field(repr=False)
    held_out_rmses: FloatArray = field(repr=False)
    steps: FloatArray = field(repr=False)
    seconds: FloatArray = field(repr=False)

    @classmethod
    def of(cls, model: IncompleteModel) -> IncompleteConvergence:
        """Read it from a fitted model."""
        iterations, costs, rmses, held_out, steps, seconds = np.ascontiguousarray(model.trace().T)
        return cls(
            method=model.method,
            reason=model.reason,
            stop=STOPPED[model.stop],
            converged=model.stop not in ("iterations", "timelimit"),
            cost=model.cost,
            rmse=model.rmse,
            held_out_rmse=model.held_out_rmse,
            runs=tuple(Run.of(*run) for run in model.runs()),
            refitted=model.refitted,
            far_predictions=None if model.far is None else FarPredictions(*model.far),
            iterations=iterations.astype(np.int64),
            costs=costs,
            rmses=rmses,
            held_out_rmses=held_out,
            steps=steps,
            seconds=seconds,
        )


def warn_unless_ended(convergence: IncompleteConvergence, tol: float) -> None:
    """Warn as scikit-learn does if a fit stopped at a limit."""
    if convergence.converged:
        return
    costs, n = convergence.costs, convergence.iterations[-1]
    fell = ""
    if len(costs) > 1 and costs[-1] != 0:
        fell = f"the cost fell by {(costs[-2] - costs[-1]) / abs(costs[-1]):.1e} of itself in the last one, "
    warn(
        f"method {convergence.method}: {convergence.stop} after {n} iteration{'' if n == 1 else 's'} (RMSE "
        f"{convergence.rmse:.4g}, {fell}tol {tol:.1e}); raise the limit or tol",
        ConvergenceWarning,
    )


def warn_of_far_predictions(convergence: IncompleteConvergence, names: Ids | None = None) -> None:
    """Warn of predictions that nothing observed supports."""
    far = convergence.far_predictions
    if far is None:
        return
    column = f"column {far.column}" if names is None else f"column {names[far.column]!r}"
    several = "1 missing entry is predicted" if far.count == 1 else f"{far.count} missing entries are predicted"
    warn(
        f"{several} far outside what was observed: row {far.row}, {column} as {far.value:.4g}, {far.deviations:.0f} "
        "standard deviations beyond the values of its column; there are too few of them for so many components: lower "
        'n_components, give a regularization with method="als", or use method="auto", which learns how much to shrink',
        UserWarning,
    )
