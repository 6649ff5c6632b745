"""Tables of polars and pyarrow, which keep each column in a type of its own, as one matrix."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

#: What is said of a type that has no faithful float64 or float32.
ALLOWED = "float32 and float64 are analysed as they are, integers and booleans as float64"

_SINGLE = {"Float32", "float"}
_INTEGERS = {f"{kind}{bits}" for kind in ("Int", "UInt", "int", "uint") for bits in (8, 16, 32, 64)}
#: Types that numpy lacks, or lacks where values are missing.
_CAST = {"Boolean", "bool", "Null", "null", "Int128", "UInt128"}
_NUMBERS = _SINGLE | {"Float64", "double"} | _INTEGERS | _CAST


def as_table(X: Any) -> Any:
    """Give a record batch of pyarrow as a table, which scikit-learn knows; nothing is copied."""
    if _kind(X) == ("pyarrow", "RecordBatch"):
        return import_module("pyarrow").Table.from_batches([X])
    return X


def is_table(X: Any) -> bool:
    """Tell whether `X` is a table that :func:`to_array` reads."""
    return _kind(X) in (("polars", "DataFrame"), ("pyarrow", "Table"))


def to_array(X: Any) -> np.ndarray:
    """Collect the columns of a table in one array, in Fortran order as they are stored; nulls become NaN.

    Parameters
    ----------
    X : polars.DataFrame or pyarrow.Table of shape (n_samples, n_features)
        Columns of numbers.

    Returns
    -------
    ndarray of shape (n_samples, n_features)
        float32 if all columns are, float64 otherwise.
    """
    is_polars = _kind(X)[0] == "polars"
    names = X.columns if is_polars else X.column_names
    types = [str(dtype) for dtype in (X.dtypes if is_polars else X.schema.types)]
    for name, dtype in zip(names, types, strict=True):
        if dtype not in _NUMBERS:
            raise ValueError(f"column {name!r} has dtype {dtype}; {ALLOWED}: cast the column, or leave it out")
    single = bool(types) and _SINGLE.issuperset(types)
    array = np.empty(X.shape, dtype=np.float32 if single else np.float64, order="F")
    # One column after the other: what a conversion takes is free again before the next.
    for j, dtype in enumerate(types):
        column = X.to_series(j) if is_polars else X.column(j)
        if dtype in _CAST:
            column = column.cast(float if is_polars else "float64")
        array[:, j] = column.to_numpy()
    return array


def _kind(X: Any) -> tuple[str, str]:
    """Give the library and the name of a type, without importing the library."""
    kind = type(X)
    return kind.__module__.partition(".")[0], kind.__name__
