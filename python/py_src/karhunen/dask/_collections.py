"""Rows and weights of dask collections, and their partitions."""

from __future__ import annotations

from itertools import chain
from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.delayed import Delayed

#: Most bytes of a partition whose columns are brought together without being asked.
_MOST_BYTES = 2**30
#: Values of a graph that are data, not tasks.
_DATA = ("DataNode", "Alias", "ndarray", "Future", "csr_matrix", "csr_array", "csc_matrix", "csc_array", "DataFrame")


def is_lazy(X: Any) -> bool:
    """Return whether `X` is a collection of dask."""
    return bool(dask.is_dask_collection(X))


def is_dataframe(X: Any) -> bool:
    """Return whether a collection has columns of its own."""
    return hasattr(X, "map_partitions")


def to_collection(X: Any) -> Any:
    """Return the rows of `X` with all columns of a partition together.

    Parameters
    ----------
    X : dask array, dask dataframe or xarray DataArray
        Rows.

    Returns
    -------
    dask array or dataframe
        The rows.

    Raises
    ------
    TypeError
        If `X` is not a collection of dask.
    ValueError
        If it has other than two axes, or its partitions would take more than 1 GiB.
    """
    if not is_lazy(X):
        raise TypeError(
            f"the estimators of karhunen.dask take dask arrays and dataframes, not {type(X).__name__}; the "
            "estimators of karhunen take rows in memory"
        )
    if is_dataframe(X):
        return X
    rows = _array_of(X)
    if not hasattr(rows, "chunks"):
        raise TypeError(f"give a dask array, a dask dataframe or an xarray DataArray, not {type(X).__name__}")
    if rows.ndim != 2:
        raise ValueError(f"X has {rows.ndim} axes; give rows of samples and columns of features")
    if len(rows.chunks[1]) == 1:
        return rows
    known = not np.isnan(rows.shape[0])
    if not known or max(rows.chunks[0]) * rows.shape[1] * rows.dtype.itemsize > _MOST_BYTES:
        # Rows of unknown number cannot be divided.
        rows_at_once = f"0: {max(1, _MOST_BYTES // (8 * rows.shape[1]))}, " if known else ""
        raise ValueError(
            f"the columns of X are in {len(rows.chunks[1])} chunks; bring them together by "
            f"X.rechunk({{{rows_at_once}1: -1}})"
        )
    return rows.rechunk({1: -1})


def weights_of(sample_weight: Any, rows: Any) -> Any:
    """Return weights in the partitions of the rows.

    Parameters
    ----------
    sample_weight : dask array or series, or array-like, of shape (n_samples,), or None
        Weights.
    rows : dask array or dataframe
        The rows.

    Returns
    -------
    dask array or series, or None
        The weights.

    Raises
    ------
    ValueError
        If they are not one weight for each row in the same partitions.
    """
    if sample_weight is None:
        return None
    if is_dataframe(rows) or is_dataframe(sample_weight):
        if not is_lazy(sample_weight):
            raise ValueError("sample_weight of a dataframe is one of its columns, or a dask array in its partitions")
        return sample_weight
    sample_weight = _array_of(sample_weight)
    weights = sample_weight if is_lazy(sample_weight) else da.from_array(np.asarray(sample_weight))
    if weights.ndim != 1:
        raise ValueError(f"sample_weight has {weights.ndim} axes; give one weight for each row")
    if np.isnan(weights.shape[0]) or np.isnan(rows.shape[0]):
        return weights
    if weights.shape[0] != rows.shape[0]:
        raise ValueError(f"sample_weight has {weights.shape[0]} entries; X has {rows.shape[0]} rows")
    return weights.rechunk((rows.chunks[0],))


def partitions(rows: Any, weights: Any) -> list[tuple[Delayed, Any]]:
    """Return each partition of the rows with its weights, or None.

    Raises
    ------
    ValueError
        If the numbers of partitions differ.
    """
    blocks = _delayed(rows)
    parts = [None] * len(blocks) if weights is None else _delayed(weights)
    if len(parts) != len(blocks):
        raise ValueError(f"sample_weight has {len(parts)} partitions, X has {len(blocks)}; give both the same")
    return list(zip(blocks, parts, strict=True))


def names_of_columns(X: Any) -> list[str] | None:
    """Return the names of the columns of a dataframe, if they are text."""
    columns = list(getattr(X, "columns", ()))
    return columns if columns and all(isinstance(name, str) for name in columns) else None


def is_stored(rows: Any) -> bool:
    """Return whether the partitions are in memory, so that a pass does not compute them."""
    return all(type(value).__name__ in _DATA for value in dict(rows.__dask_graph__()).values())


def _array_of(X: Any) -> Any:
    """Return the array of an xarray DataArray, and other objects as they are."""
    return X.data if hasattr(X, "dims") and hasattr(X, "data") else X


def _delayed(collection: Any) -> list[Delayed]:
    # Each collection by itself would be optimised apart, and what both are computed from would be computed twice.
    blocks = collection.to_delayed(optimize_graph=False)
    return list(blocks.ravel()) if isinstance(blocks, np.ndarray) else list(chain(blocks))
