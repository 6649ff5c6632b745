"""Convergence records of fits of incomplete data."""

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

#: Reasons for the end of a fit.
STOPPED = {
    "tolerance": "the cost fell by less than tol",
    "gradient": "the gradient was below gradient_tol",
    "angle": "the components turned by less than angle_tol",
    "rmse": "the error of the entries fitted moved by less than rmse_tol",
    "exhausted": "no step lowers the cost any more",
    "nonoise": "the noise vanished, because scores and loadings outnumber the entries",
    "overfit": "scores and loadings outnumber the entries; the cost fell by less than 0.001 per entry and iteration",
    "heldout": "the error of the held-out entries no longer fell",
    "iterations": "max_iter was reached",
    "timelimit": "time_limit was reached",
}


@dataclass(frozen=True)
class Run:
    """Result of one run of a fit: one of several starts, or one penalty of a path.

    Attributes
    ----------
    penalty : float or None
        The penalty, if the run is part of a path.
    cost, rmse : float
        Cost and root mean squared error of the fitted entries, at the end or at the lowest held-out error.
    held_out_rmse : float or None
        Root mean squared error of the held-out entries at the same iteration.
    n_iterations : int
        Number of iterations.
    """

    __module__ = "karhunen"

    penalty: float | None
    cost: float
    rmse: float
    held_out_rmse: float | None
    n_iterations: int

    @classmethod
    def of(cls, penalty: float, cost: float, rmse: float, held_out: float, n_iterations: float) -> Run:
        """Create a run from numbers, of which NaN means None."""
        optional = [None if np.isnan(value) else float(value) for value in (penalty, held_out)]
        return cls(optional[0], float(cost), float(rmse), optional[1], int(n_iterations))


@dataclass(frozen=True)
class FarPredictions:
    """Predictions of missing entries more than ten standard deviations outside the observed values.

    Attributes
    ----------
    count : int
        Number of such predictions: among all missing entries of small data, among likely ones of large data.
    row, column : int
        Row and column of the farthest.
    value : float
        Its predicted value.
    deviations : float
        Distance from the observed values of the column, in their standard deviations.
    """

    __module__ = "karhunen"

    count: int
    row: int
    column: int
    value: float
    deviations: float


@dataclass(frozen=True)
class StartAgreement:
    """Agreement of the starts of a fit.

    Attributes
    ----------
    n_starts : int
        Number of starts.
    n_lowest : int
        Number of starts that reached the lowest cost: with components within 0.1 radians of the best ones, and of runs
        to the end also a cost that differs by less than 0.001 or ten times `tol`. The fit is converged only if there
        are two.
    cost_difference : float
        Cost of the start nearest to the best, less the lowest cost, over the lowest cost; of runs of methods that learn
        variances, whose cost is a log-likelihood, over the number of entries.
    angle : float or None
        Largest principal angle between the components of the better one of two starts, except those near the level of
        the noise, and the loadings of the other, in radians: of the nearest run, or the nearest short start.
    n_weak : int
        Number of components near the level of the noise that short starts did not compare; 0 if costs of runs did.
    text : str
        The agreement in words.
    """

    __module__ = "karhunen"

    n_starts: int
    n_lowest: int
    cost_difference: float
    angle: float | None
    n_weak: int
    text: str


@dataclass(frozen=True)
class Identifiability:
    """Facts about the observed entries that leave components undetermined, whatever their values.

    Attributes
    ----------
    n_parts : int
        Number of parts into which rows and columns fall, with no entry in a row of one and a column of another: nothing
        ties the components of the parts together.
    n_pairs_apart : int or None
        Number of pairs of columns that no row has both entries of; None if the table is too large to count them.
    n_short_rows, n_short_columns : int
        Number of rows and of columns with entries, but fewer than components.
    text : str
        The facts in words.
    """

    __module__ = "karhunen"

    n_parts: int
    n_pairs_apart: int | None
    n_short_rows: int
    n_short_columns: int
    text: str


@dataclass(frozen=True)
class Overfit:
    """Components of "ppca" that fit noise.

    Scores and loadings outnumber the entries, or the means alone are expected to predict new entries better, by
    Akaike's corrected criterion (Hurvich & Tsai 1989).

    Attributes
    ----------
    gain : float
        Difference of the negative log-likelihoods without components and with them, in nats.
    n_parameters : int
        Number of free loadings; each must lower it by one nat, or more where entries are few.
    outnumbered : bool
        True if scores and loadings outnumber the entries: the likelihood has no maximum.
    """

    __module__ = "karhunen"

    gain: float
    n_parameters: int
    outnumbered: bool


@dataclass(frozen=True, eq=False)
class IncompleteConvergence:
    """Convergence record of a fit of incomplete data.

    Attributes
    ----------
    method : str
        The algorithm that was used.
    reason : str
        Reason for the choice: ``"asked for"``, or the rule of ``"auto"``. It also reports a collapsed fit.
    stop : str
        Reason for the end of the fit, in words.
    converged : bool
        False if the fit stopped at a limit, or if its starts ended apart.
    cost : float
        Cost of the model: the objective function of the method.
    rmse : float
        Root mean squared error of the fitted entries.
    held_out_rmse : float or None
        Root mean squared error of the entries held out by `early_stopping`.
    runs : tuple of Run
        All runs: one for each start, or one for each penalty of a path.
    refitted : bool
        True if the model was fitted again to all entries, including those held out.
    far_predictions : FarPredictions or None
        Predictions of missing entries far outside the observed values, if there are any; the fit warns of them.
    iterations : ndarray of int
        Number of each iteration; zero is the start, which methods with learned variances omit.
    costs, rmses, held_out_rmses, steps, seconds : ndarray of float
        Per iteration: cost, error of the fitted entries, error of the held-out entries (NaN if not computed), learning
        rate (NaN for methods without one) and seconds since the first iteration began.
    overfit : Overfit or None
        Set if the components of "ppca" fit noise; the fit warns of it.
    starts : StartAgreement or None
        Agreement of the starts, if several were compared; the fit warns if they ended apart.
    identifiability : Identifiability or None
        Facts about the entries that leave components undetermined, if there are any.
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
    # Pickles of earlier versions lack them.
    overfit: Overfit | None = None
    starts: StartAgreement | None = None
    identifiability: Identifiability | None = None

    @classmethod
    def of(cls, model: IncompleteModel) -> IncompleteConvergence:
        """Create the record of a fitted model."""
        iterations, costs, rmses, held_out, steps, seconds = np.ascontiguousarray(model.trace().T)
        return cls(
            method=model.method,
            reason=model.reason,
            stop=STOPPED[model.stop],
            converged=model.converged,
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
            overfit=None if model.overfit is None else Overfit(*model.overfit),
            identifiability=None if model.identifiability is None else Identifiability(*model.identifiability),
            starts=None if model.starts is None else StartAgreement(*model.starts),
        )


def warn_unless_ended(convergence: IncompleteConvergence, tol: float) -> None:
    """Issue scikit-learn's warning if a fit stopped at a limit, or if its starts ended apart."""
    if convergence.converged:
        return
    starts = convergence.starts
    if starts is not None and starts.n_lowest < 2:
        warn(
            f"{starts.text}, so another fit may be better, or the entries do not determine the components; lower "
            "n_components, or set n_starts to a number such as 20",
            ConvergenceWarning,
        )
    if convergence.stop not in (STOPPED["iterations"], STOPPED["timelimit"]):
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


def warn_of_parts(facts: Identifiability | None) -> None:
    """Warn of parts of the table that nothing ties to one another."""
    if facts is not None and facts.n_parts > 1:
        warn(f"{facts.text}; compare scores and loadings within a part only", ConvergenceWarning)


def warn_of_overfit(overfit: Overfit | None, n_components: int) -> None:
    """Warn of components that fit noise."""
    if overfit is None:
        return
    why = (
        "scores and loadings outnumber the entries, so that they can fit each exactly"
        if overfit.outnumbered
        else f"they lower -ln p by {overfit.gain:.0f} with {overfit.n_parameters} loadings, so the means alone are "
        "expected to predict better"
    )
    components = "component fits" if n_components == 1 else f"{n_components} components fit"
    warn(
        f"the {components} noise: {why}; set early_stopping=True, lower n_components, or use "
        'method="vb-full", which learns how much to shrink',
        ConvergenceWarning,
    )


def warn_of_dominant(dominant: tuple[int, float, int] | None, names: Ids | None) -> None:
    """Warn of a column that hides components of the others, by their share of the variance and the number lost."""
    if dominant is None:
        return
    column, others, n_lost = dominant
    components = "a component has" if n_lost == 1 else f"{n_lost} components have"
    warn(
        f"{components} no variance: apart from {column_text(column, names)}, all columns together have {others:.1e} of "
        "it; set scale=True if columns have different units",
        ConvergenceWarning,
    )


def column_text(column: int, names: Ids | None) -> str:
    """Return the name of a column in a sentence."""
    return f"column {column}" if names is None else f"column {names[column]!r}"


#: What to do about predictions far outside the observed values.
FAR_ADVICE = (
    'lower n_components, give a regularization with method="als", or use method="auto", which learns how much to shrink'
)


def warn_of_far_predictions(far: FarPredictions | None, names: Ids | None = None, advice: str = FAR_ADVICE) -> None:
    """Warn of predictions far outside the observed values."""
    if far is None:
        return
    column = column_text(far.column, names)
    several = "1 missing entry is predicted" if far.count == 1 else f"{far.count} missing entries are predicted"
    warn(
        f"{several} far outside what was observed: row {far.row}, {column} as {far.value:.4g}, {far.deviations:.0f} "
        "standard deviations beyond the values of its column; there are too few of them for so many components: "
        f"{advice}",
        UserWarning,
    )
