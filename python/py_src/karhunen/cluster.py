"""Fits of data in parts on any engine: joblib, Ray, MPI, processes or threads.

For Dask, :mod:`karhunen.dask` has estimators of its own.
"""

from __future__ import annotations

import builtins
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from karhunen import PCA, IncompletePCA, _core
from karhunen._cluster.driver import drive, threads_of_part
from karhunen._cluster.part import SumsOfParts, names_of_part, sum_named_part
from karhunen._shared.standardization import NAMES, are_named, in_order_of_labels

if TYPE_CHECKING:
    Fitted = TypeVar("Fitted", PCA, IncompletePCA)

__all__ = ["fit"]


def fit(
    estimator: Fitted,
    parts: Sequence[Any],
    *,
    map: Callable[[Callable[[Any], Any], Iterable[Any]], Iterable[Any]] = builtins.map,
    feature_weight: Any = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> Fitted:
    """Fit an estimator to data in parts, which an engine visits.

    The result is the same as from all rows at once. Its bits depend on the parts and their order, not on the engine,
    the number of workers, or the order in which they finish.

    Parameters
    ----------
    estimator : PCA or IncompletePCA
        Its `n_threads` is the number of threads for each part (None: one). The `solver` of PCA may be "auto",
        "covariance" (one pass, each part returns 4 p (p + 1) bytes for p columns) or "block-krylov" (some ten passes,
        8 p bytes for each of some hundred vectors, in both directions); "auto" takes "covariance" up to 2,048 columns.
        The `method` of IncompletePCA may be "em", "als", which is "auto", or "vb-full": every iteration is one pass, in
        which each part returns 4 p (c + 2) (c + 3) bytes for c components, by "vb-full" 8 p (c^2 + 3 c + 3). Scores
        stay with their rows: `scores_` is empty, and predictions far outside the data are not searched for.
    parts : sequence
        Each part is a block of rows (array, sparse matrix or dataframe), a tuple of rows and their weights, or a
        function without arguments that returns either. A part may have no rows. For workers in other processes, parts
        must be picklable; functions keep the rows off the driver.
    map : callable, default=map
        The engine: ``map(function, parts)`` returns an iterable of the results in the order of `parts`, such as
        ``executor.map`` of a thread or process pool.
    feature_weight : array-like of shape (n_features,) or None
        As of :meth:`PCA.fit`. If they, the centres or the scales are a pandas Series with names, `map` first visits the
        first part, for the names of its columns.
    checkpoint : path-like or None, default=None
        File that keeps the result of every pass, from which `resume` continues, as of :meth:`PCA.fit`.
    resume : bool, default=False
        Continue from `checkpoint`, or start if the file does not exist.

    Returns
    -------
    PCA or IncompletePCA
        The fitted estimator.

    Raises
    ------
    ValueError
        If a part cannot be used, has other columns than the first, or changed between two passes; the message gives
        its number. If an option is out of range.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import numpy as np
    >>> from karhunen import PCA, cluster
    >>> x = np.random.default_rng(0).normal(size=(600, 4))
    >>> with ThreadPoolExecutor(2) as executor:
    ...     pca = cluster.fit(PCA(n_components=2), [x[:200], x[200:]], map=executor.map)
    >>> bool(np.allclose(pca.components_, PCA(n_components=2).fit(x).components_))
    True
    """
    if not isinstance(estimator, (PCA, IncompletePCA)):
        raise TypeError(f"cluster.fit fits a karhunen.PCA or IncompletePCA, not {_type_name(estimator)}")
    parts = list(parts)
    if not parts:
        raise ValueError("parts is empty; give at least one part")
    names: list[list[str] | None] = []
    given = [feature_weight, *(getattr(estimator, name, None) for name in NAMES)]
    columns = None
    if any(are_named(values) for values in given):
        takes_missing = isinstance(estimator, IncompletePCA)
        (columns,) = map(partial(_names, takes_missing), [(0, parts[0])])

    def reduce(number: int, task: bytes) -> SumsOfParts:
        tree, n_results = _core.PartTree(), 0
        for result, columns in map(partial(_work, task, threads_of_part(estimator)), list(enumerate(parts))):
            if len(names) < len(parts):
                _check_names(names, columns)
            tree.push(result)
            n_results += 1
        if n_results != len(parts):
            raise ValueError(f"map returned {n_results} results for {len(parts)} parts; return one for each, in order")
        return tree.finish()

    def names_of_columns() -> Sequence[str] | None:
        return names[0] if names else None

    drive(
        estimator,
        reduce,
        names_of_columns,
        feature_weight=in_order_of_labels("feature_weight", feature_weight, columns),
        columns=columns,
        checkpoint=checkpoint,
        resume=resume,
    )
    return estimator


def _work(task: bytes, n_threads: int, part: tuple[int, Any]) -> tuple[SumsOfParts, list[str] | None]:
    """Compute the result of a task for a part, and the names of its columns."""
    return sum_named_part(task, n_threads, part[0], *_rows(*part))


def _names(takes_missing: bool, part: tuple[int, Any]) -> list[str] | None:
    """Return the names of the columns of a part."""
    return names_of_part(part[0], takes_missing, _rows(*part)[0])


def _rows(number: int, rows: Any) -> tuple[Any, ...]:
    """Return the rows of a part, and their weights if it has some."""
    if callable(rows):
        rows = rows()
    if not isinstance(rows, tuple):
        rows = (rows,)
    if len(rows) not in (1, 2):
        raise ValueError(f"part {number} is a tuple of {len(rows)}; give rows, or a tuple of rows and weights")
    return rows


def _check_names(names: list[list[str] | None], columns: list[str] | None) -> None:
    """Add the names of the columns of the next part, and compare them with the first."""
    names.append(columns)
    if columns != names[0]:
        raise ValueError(
            f"part {len(names) - 1} has {_short(columns)}, part 0 has {_short(names[0])}; give all parts the same "
            "columns in the same order"
        )


def _type_name(estimator: Any) -> str:
    return f"the class {estimator.__name__}" if isinstance(estimator, type) else type(estimator).__name__


def _short(names: list[str] | None) -> str:
    if names is None:
        return "columns without names"
    return "the columns " + ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
