"""Conversion of polars and pyarrow tables, which store each column in its own type, to one matrix."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

#: The message for types without an exact float64 or float32 representation.
ALLOWED = "float32 and float64 are analysed as they are, integers and booleans as float64"

_SINGLE = {"Float32", "float"}
_INTEGERS = {f"{kind}{bits}" for kind in ("Int", "UInt", "int", "uint") for bits in (8, 16, 32, 64)}
#: Types that numpy lacks, or lacks for missing values.
_CAST = {"Boolean", "bool", "Null", "null", "Int128", "UInt128"}
_NUMBERS = _SINGLE | {"Float64", "double"} | _INTEGERS | _CAST


def as_table(X: Any) -> Any:
    """Convert a record batch of pyarrow to a table, which scikit-learn recognises, without a copy."""
    if _kind(X) == ("pyarrow", "RecordBatch"):
        return import_module("pyarrow").Table.from_batches([X])
    return X


def is_table(X: Any) -> bool:
    """Return whether `X` is a table that :func:`to_array` reads."""
    return _kind(X) in (("polars", "DataFrame"), ("pyarrow", "Table"))


def to_array(X: Any) -> np.ndarray:
    """Collect the columns of a table in one array, in Fortran order; nulls become NaN.

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
    # Columns are converted one by one, so that temporary memory is freed in between.
    for j, dtype in enumerate(types):
        column = X.to_series(j) if is_polars else X.column(j)
        if dtype in _CAST:
            column = column.cast(float if is_polars else "float64")
        array[:, j] = column.to_numpy()
    return array


def _kind(X: Any) -> tuple[str, str]:
    """Return the library and the name of a type, without importing the library."""
    kind = type(X)
    return kind.__module__.partition(".")[0], kind.__name__
