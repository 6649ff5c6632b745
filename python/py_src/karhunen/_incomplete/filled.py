"""Completion of data with missing values, in the container of the input."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp

from karhunen import _core
from karhunen._incomplete.observed import Observed
from karhunen._inputs.files import is_source

#: Number of values processed at a time.
BLOCK = 1 << 20


def fill(X: Any, values: np.ndarray, entries: _core.Entries) -> Any:
    """Fill the missing values of `X`, if its type can have missing values.

    Parameters
    ----------
    X : array-like or dataframe of shape (n_samples, n_features)
        Data with missing values; not changed. Queries and streams were collected.
    values : ndarray of shape (n_samples, n_features)
        A value for every entry. If `X` is an array, it is overwritten with the observed values and returned.
    entries : Entries
        The entries read from `X`.

    Returns
    -------
    ndarray or dataframe
        If `X` is a pandas or polars frame or a pyarrow table, the same with its names and index: columns without
        missing values are unchanged, others are floating point. Otherwise an array. Observed values keep their bits.
    """
    library = type(X).__module__.partition(".")[0]
    if library == "pandas" and hasattr(X, "iloc"):
        return _pandas(X, values)
    if library == "polars" and type(X).__name__ == "DataFrame":
        return _polars(X, values)
    if library == "pyarrow" and type(X).__name__ in ("Table", "RecordBatch"):
        return _pyarrow(X, values)
    if isinstance(X, Observed) or is_source(X) or sp.issparse(X):
        rows, columns, observed, _ = entries.triples()
        values[rows, columns] = observed
        return values
    return _array(X, values)


def _array(X: Any, values: np.ndarray) -> np.ndarray:
    """Overwrite `values` with the observed values, in blocks of rows."""
    if np.ma.isMaskedArray(X):
        X = np.ma.filled(X.astype(values.dtype), np.nan)
    X = np.asarray(X)
    rows = max(1, BLOCK // max(1, X.shape[1]))
    for start in range(0, len(X), rows):
        part = X[start : start + rows]
        if part.dtype.kind != "f":
            part = part.astype(values.dtype)
        np.copyto(values[start : start + rows], part, where=~np.isnan(part))
    return values


def _pandas(X: Any, values: np.ndarray) -> Any:
    filled = X.copy(deep=False)
    for j in range(X.shape[1]):
        column = X.iloc[:, j]
        missing = column.isna().to_numpy()
        if missing.any():
            new = column.to_numpy(dtype=values.dtype, na_value=np.nan, copy=True)
            new[missing] = values[missing, j]
            filled.isetitem(j, new)
    return filled


def _polars(X: Any, values: np.ndarray) -> Any:
    polars = import_module("polars")
    columns = []
    for j, column in enumerate(X.get_columns()):
        missing = column.is_null().to_numpy()
        if column.dtype.is_float():
            missing = missing | column.is_nan().fill_null(True).to_numpy()
        if missing.any():
            new = column.cast(polars.Float32 if values.dtype == np.float32 else polars.Float64).to_numpy().copy()
            new[missing] = values[missing, j]
            column = polars.Series(column.name, new)
        columns.append(column)
    return polars.DataFrame(columns)


def _pyarrow(X: Any, values: np.ndarray) -> Any:
    pyarrow = import_module("pyarrow")
    columns = []
    for j in range(X.num_columns):
        column = X.column(j)
        chunks = column if isinstance(column, pyarrow.ChunkedArray) else pyarrow.chunked_array([column])
        new = np.array(chunks.to_numpy(), dtype=values.dtype)
        missing = np.isnan(new)
        if missing.any():
            new[missing] = values[missing, j]
            column = pyarrow.array(new)
        columns.append(column)
    return type(X).from_arrays(columns, names=X.schema.names)
