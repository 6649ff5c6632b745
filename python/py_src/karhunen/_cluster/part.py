"""The work of one part, which runs on a worker."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from karhunen import __version__, _core
from karhunen._inputs.incomplete import to_incomplete
from karhunen._inputs.matrix import to_matrix, to_weights
from karhunen._shared.arrays import Matrix
from karhunen._shared.errors import name_column

#: Number of the format of tasks and sums and of the tree that merges them; raise it when any of them changes.
TASK_FORMAT = 3
#: The result of a task for some parts: bytes. As an array, it is sent without copies by Dask.
SumsOfParts: TypeAlias = "bytes | NDArray[np.uint8]"
#: What the driver and the workers of a fit have in common.
BUILD = f"{__version__}, task format {TASK_FORMAT}"


class Part(BaseEstimator):
    """Takes the names of the columns of a part."""


def sum_part(task: bytes, n_threads: int, number: int, X: Any, sample_weight: Any = None) -> SumsOfParts:
    """Compute the result of a task for one part.

    Parameters
    ----------
    task : bytes
        The task of the driver.
    n_threads : int
        Number of threads.
    number : int
        Number of the part.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
        Its rows, of which there may be none.
    sample_weight : array-like of shape (n_samples,) or None
        Their weights.

    Returns
    -------
    array of uint8
        Sums over the rows, which :func:`merge` and the driver take.

    Raises
    ------
    ValueError
        If the rows cannot be summed; the message begins with the number of the part.
    """
    return sum_named_part(task, n_threads, number, X, sample_weight)[0]


def sum_named_part(
    task: bytes, n_threads: int, number: int, X: Any, sample_weight: Any = None
) -> tuple[SumsOfParts, list[str] | None]:
    """As :func:`sum_part`, with the names of the columns, if they have any."""
    if _core.takes_missing_values(task):
        X = named(number, to_incomplete, X)
    rows, names = _rows_and_names(number, X)
    weights = named(number, to_weights, "sample_weight", sample_weight, rows.shape[0], "rows")
    try:
        return _core.sum_part(task, number, rows, weights, n_threads), names
    except ValueError as error:
        raise name_column(error, names) from None


def names_of_part(number: int, takes_missing: bool, X: Any) -> list[str] | None:
    """Return the names of the columns of a part, if they have any; `takes_missing` as the fit does."""
    return _rows_and_names(number, named(number, to_incomplete, X) if takes_missing else X)[1]


def merge(partials: Iterable[SumsOfParts]) -> SumsOfParts:
    """Merge the results of neighbouring parts, given in their order."""
    return _core.merge_parts(list(partials))


def to_part(number: int, X: Any) -> Matrix:
    """Convert the rows of a part, of which there may be none, to a matrix that the engine reads."""
    return _rows_and_names(number, X)[0]


def _rows_and_names(number: int, X: Any) -> tuple[Matrix, list[str] | None]:
    columns = Part()
    rows = named(number, to_matrix, columns, X, reset=True, min_samples=0)
    if isinstance(rows, np.ndarray) and not (rows.flags.c_contiguous or rows.flags.f_contiguous):
        # In the order in which the part would arrive in another process: the bits of sums depend on it.
        rows = np.ascontiguousarray(rows)
    names = getattr(columns, "feature_names_in_", None)
    return rows, None if names is None else list(names)


def named(number: int, function: Any, *args: Any, **kwargs: Any) -> Any:
    """Call a function whose errors name a part."""
    try:
        return function(*args, **kwargs)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"part {number}: {error}") from None
