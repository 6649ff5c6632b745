"""The driver of a fit: one pass after the other, each by a function of the engine."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from karhunen._cluster.part import SumsOfParts
from karhunen._shared.checkpoints import to_pass_log

if TYPE_CHECKING:
    from karhunen import PCA, IncompletePCA

#: Computes the result of a task for all parts, from the number of the pass and the task.
Reduce = Callable[[int, bytes], SumsOfParts]


def threads_of_part(estimator: PCA | IncompletePCA) -> int:
    """Return the number of threads for a part: one unless it is given, because parts are computed side by side."""
    return 1 if estimator.n_threads is None else estimator.n_threads


def check_options(estimator: PCA | IncompletePCA) -> None:
    """Raise the errors of options that a fit finds before its first pass."""
    with estimator._call():
        fit = estimator._begin_in_parts(None, None, None)
        try:
            fit.step(None, None)
        finally:
            fit.stop()


def drive(
    estimator: PCA | IncompletePCA,
    reduce: Reduce,
    names: Callable[[], Sequence[str] | None],
    n_features: int | None = None,
    *,
    feature_weight: Any = None,
    columns: Sequence[str] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> None:
    """Fit an estimator to parts.

    Parameters
    ----------
    estimator : PCA or IncompletePCA
        Unfitted or fitted; it is fitted from the start.
    reduce : callable
        The engine.
    names : callable
        Returns the names of the columns after the fit.
    n_features : int or None
        Number of columns that the data declare.
    feature_weight : array-like of shape (n_features,) or None
        Weights of the columns.
    columns : sequence of str or None
        Names of the columns, to which series with names are matched; None if they have none.
    checkpoint, resume
        As of :meth:`karhunen.PCA.fit`.

    Raises
    ------
    ValueError
        For options and parts that cannot be used.
    """
    log = to_pass_log(checkpoint, resume)
    with estimator._call() as draw:
        fit = estimator._begin_in_parts(feature_weight, log, columns)
        try:
            while isinstance(step := fit.step(draw, log), tuple):
                fit.give(reduce(*step))
        finally:
            fit.stop()
    found = step.components.shape[1]
    if n_features not in (None, found):
        raise ValueError(f"X declares {n_features} columns, and its partitions have {found}")
    # The model is of the kind that the estimator takes.
    estimator._adopt_in_parts(cast(Any, step), names())
