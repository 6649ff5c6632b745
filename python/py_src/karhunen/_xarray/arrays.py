"""Arrays of one variable as rows of numbers: in memory or chunked."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray


def is_lazy(data: Any) -> bool:
    """Return whether an array is chunked by dask."""
    return hasattr(data, "__dask_graph__")


def as_rows(array: xr.DataArray, label: str, samples: Sequence[Hashable], points: Sequence[Hashable]) -> Any:
    """Return the values of a variable as rows of float32 or float64, shape (n_samples, n_points).

    Arrays in memory are not copied if their type and order allow it. Of chunked arrays all points of a sample are
    brought into one chunk.

    Parameters
    ----------
    array : DataArray
        Values; it has no other dimensions than `samples` and `points`.
    label : str
        Name of the variable in messages.
    samples, points : sequence of hashable
        Dimensions.

    Returns
    -------
    numpy or dask array
        The rows.

    Raises
    ------
    TypeError
        If the values are not real numbers.
    """
    data: Any = array.transpose(*samples, *points).variable.data
    data = data if is_lazy(data) else np.asarray(data)
    kind, width = data.dtype.kind, data.dtype.itemsize
    if kind not in "fiub":
        more = "; real and imaginary part are two variables" if kind == "c" else ""
        raise TypeError(f"{label} has values of type {data.dtype}, which are not real numbers{more}")
    data = data.astype(np.float32 if kind == "f" and width <= 4 else np.float64, copy=False)
    n_axes = len(samples)
    n, p = (int(np.prod(lengths, dtype=np.intp)) for lengths in (data.shape[:n_axes], data.shape[n_axes:]))
    if is_lazy(data) and any(len(chunks) > 1 for chunks in data.chunks[n_axes:]):
        # Rows in chunks of dask's usual size.
        sizes = {axis: "auto" if axis < n_axes else -1 for axis in range(data.ndim)}
        data = data.rechunk(sizes)
    return data.reshape((n, p))


def side_by_side(parts: Sequence[Any]) -> Any:
    """Return rows of several variables side by side."""
    if len(parts) == 1:
        rows = parts[0]
        return rows.rechunk({1: -1}) if is_lazy(rows) else rows
    if not any(is_lazy(part) for part in parts):
        return np.concatenate(parts, axis=1)
    import dask.array as da

    return da.concatenate(parts, axis=1).rechunk({1: -1})


def count_missing(parts: Sequence[Any]) -> list[tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]]:
    """Count values that are missing or infinite, in one pass over chunked rows.

    Parameters
    ----------
    parts : sequence of numpy or dask arrays of shape (n, p)
        Rows of each variable.

    Returns
    -------
    list of tuple
        For each variable the missing values of each column and of each row, and the infinite ones of each column.
    """
    counts = [_counts(part) if is_lazy(part) else _counts_in_memory(part) for part in parts]
    if not any(is_lazy(part) for part in parts):
        return counts
    import dask

    return [tuple(np.asarray(count) for count in found) for found in dask.compute(*counts)]  # type: ignore[misc]


def _counts(rows: Any) -> Any:
    """Count values that are missing, by column and by row, and infinite ones by column."""
    missing, infinite = np.isnan(rows), np.isinf(rows)
    return missing.sum(axis=0), missing.sum(axis=1), infinite.sum(axis=0)


def _counts_in_memory(rows: NDArray[Any]) -> Any:
    """As `_counts`, for the columns alone whose sum is not finite: sums take less time and no memory."""
    n, p = rows.shape
    with np.errstate(all="ignore"):
        suspect = np.flatnonzero(~np.isfinite(rows.sum(axis=0)))
    by_column, by_row, infinite = np.zeros(p, dtype=np.intp), np.zeros(n, dtype=np.intp), np.zeros(p, dtype=np.intp)
    if len(suspect):
        by_column[suspect], by_row, infinite[suspect] = _counts(rows if len(suspect) == p else rows[:, suspect])
    return by_column, by_row, infinite
