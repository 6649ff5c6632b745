"""Tables of other libraries, which store each column in its own type, as one matrix or in batches.

Polars, pyarrow and DuckDB, streams of Arrow (``__arrow_c_stream__``) and the dataframe interchange protocol
(``__dataframe__``). Frames of pandas are read by scikit-learn. No library is imported before it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from typing import Any

import numpy as np

#: The message for types without an exact float64 or float32 representation.
ALLOWED = "float32 and float64 are analysed as they are, float16 as float32, integers and booleans as float64"
#: The advice for columns of text, dates and other categories.
CATEGORIES = "karhunen.categorical.MCA and FAMD analyse categories"
#: Bytes of a batch that a query returns.
BATCH_BYTES = 8 * 2**20

_SINGLE = {"Float16", "Float32", "float", "halffloat"}
_INTEGERS = {f"{kind}{bits}" for kind in ("Int", "UInt", "int", "uint") for bits in (8, 16, 32, 64)}
#: Types that numpy lacks, or lacks for missing values; decimals by their name alone.
_CAST = {"Boolean", "bool", "Null", "null", "Int128", "UInt128"}
_CAST |= {"Decimal", "decimal32", "decimal64", "decimal128", "decimal256"}
_NUMBERS = _SINGLE | {"Float64", "double"} | _INTEGERS | _CAST
#: Parts of the names of types of text, dates and categories.
_NO_NUMBERS = ("string", "utf8", "binary", "categorical", "enum", "dictionary", "date", "time", "duration")


def as_table(X: Any) -> Any:
    """Collect a query, a stream or a table of another library in a table that :func:`to_array` reads.

    Parameters
    ----------
    X : object
        A LazyFrame of polars and a relation of DuckDB are run. A record batch of pyarrow, a reader of batches and every
        object with ``__arrow_c_stream__`` become a pyarrow Table (or, without pyarrow, a frame of polars), without a
        copy where the library allows it; so do objects with ``__dataframe__``.

    Returns
    -------
    object
        The table, or `X` itself if it is a table already, or none.

    Raises
    ------
    ValueError
        If a stream has no rows.
    ImportError
        If no library is there that reads a stream.
    """
    kind = _kind(X)
    if kind == ("polars", "LazyFrame"):
        return X.collect()
    if kind == ("pyarrow", "RecordBatch"):
        return import_module("pyarrow").Table.from_batches([X])
    if is_reader(X):
        return _with_rows(X, X.read_all())
    if _is_relation(X) and _library("pyarrow") is not None:
        return X.to_arrow_table()
    if _has(X, "__arrow_c_stream__"):
        reader = _reader(X)
        return _with_rows(X, reader.read_all() if hasattr(reader, "read_all") else reader)
    if _has(X, "__dataframe__"):
        return _interchanged(X)
    return X


def as_held(X: Any) -> Any:
    """Return `X` as :func:`as_table` does if its rows are read once or computed again; other tables as they are."""
    return X if _kind(X) == ("pyarrow", "RecordBatch") else as_table(X)


def is_table(X: Any) -> bool:
    """Return whether `X` is a table that :func:`to_array` reads."""
    return _kind(X) in (("polars", "DataFrame"), ("pyarrow", "Table"))


def is_reader(X: Any) -> bool:
    """Return whether `X` is a reader of batches of pyarrow, which gives its rows once."""
    return _kind(X) == ("pyarrow", "RecordBatchReader")


def batches(X: Any) -> Iterator[Any] | None:
    """Return the batches of a query or stream one after the other, without those that are empty; else None.

    A query runs again in every call; a stream gives its rows once. Tables in memory are not streams. The iterator
    raises ValueError if there are no rows.
    """
    if _kind(X) == ("polars", "LazyFrame"):
        rows = _rows_of_batch(len(X.collect_schema().names()))
        # Versions before 1.34 collect.
        found = X.collect_batches(chunk_size=rows) if hasattr(X, "collect_batches") else X.collect().iter_slices(rows)
    elif _is_relation(X) and _library("pyarrow") is not None:
        rows = _rows_of_batch(len(X.columns))
        # Older versions read the result of the last run, which an earlier reader has used up.
        found = X.to_arrow_reader(rows) if hasattr(X, "to_arrow_reader") else X.execute().fetch_arrow_reader(rows)
    elif is_reader(X):
        found = X
    elif _has(X, "__arrow_c_stream__"):
        found = _reader(X)
        found = [found] if is_table(found) else found
    else:
        return None
    return _some(X, found)


def names_of(X: Any) -> list[Any]:
    """Return the names of the columns of a frame of any library; none of other objects."""
    if _kind(X) == ("pyarrow", "Table"):
        return list(X.column_names)
    return list(X.columns) if hasattr(type(X), "iloc") or is_table(X) else []


def with_columns(X: Any, names: list[Any]) -> Any:
    """Return some columns of a frame of any library."""
    return X.select(names) if is_table(X) else X[names]


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

    Raises
    ------
    ValueError
        If a column holds no numbers.
    """
    is_polars = _kind(X)[0] == "polars"
    names = X.columns if is_polars else X.column_names
    types = [str(dtype).partition("(")[0] for dtype in (X.dtypes if is_polars else X.schema.types)]
    for name, dtype in zip(names, types, strict=True):
        if dtype not in _NUMBERS:
            advice = f"; {CATEGORIES}" if any(part in dtype.lower() for part in _NO_NUMBERS) else ""
            raise ValueError(f"column {name!r} has dtype {dtype}; {ALLOWED}: cast the column, or leave it out{advice}")
    single = bool(types) and _SINGLE.issuperset(types)
    array = np.empty(X.shape, dtype=np.float32 if single else np.float64, order="F")
    for j, dtype in enumerate(types):
        at = 0
        # Chunks without nulls are views, so that values are copied once.
        for chunk in X.to_series(j).get_chunks() if is_polars else X.column(j).chunks:
            numbers = chunk.cast(float if is_polars else "float64") if dtype in _CAST else chunk
            end = at + len(numbers)
            array[at:end, j] = numbers.to_numpy() if is_polars else numbers.to_numpy(zero_copy_only=False)
            at = end
    return array


def _kind(X: Any) -> tuple[str, str]:
    """Return the library and the name of a type, without importing the library."""
    kind = type(X)
    return kind.__module__.partition(".")[0], kind.__name__


def _is_relation(X: Any) -> bool:
    """Return whether `X` is a query of DuckDB, which has its columns as attributes."""
    return _kind(X)[0] in ("duckdb", "_duckdb") and hasattr(type(X), "to_arrow_table")


def _has(X: Any, protocol: str) -> bool:
    """Return whether a table of a library without code of its own has a protocol.

    Frames of pandas and its kin have `iloc`, series and arrays a `dtype`; values of Spark are elsewhere.
    """
    kind = type(X)
    known = _kind(X)[0] in ("polars", "pyarrow", "pyspark", "numpy")
    return hasattr(kind, protocol) and not known and not hasattr(kind, "iloc") and not hasattr(kind, "dtype")


def _library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        return None


def _reader(X: Any) -> Any:
    """Return a reader of the batches of a stream, or, without pyarrow, all of its rows in a frame of polars."""
    pyarrow = _library("pyarrow")
    if pyarrow is not None and hasattr(pyarrow.RecordBatchReader, "from_stream"):
        try:
            return pyarrow.RecordBatchReader.from_stream(X)
        except pyarrow.ArrowInvalid as error:
            raise ValueError(f"X is a {type(X).__name__}, whose stream of Arrow is not a table: {error}") from None
    polars = _library("polars")
    if polars is not None:
        try:
            return polars.DataFrame(X)
        except TypeError:
            pass  # Versions before 1.3 read no streams.
    raise ImportError(f"X is a {type(X).__name__}; install pyarrow 15 or newer, or polars, to read it")


def _interchanged(X: Any) -> Any:
    if _library("pyarrow") is not None:
        return import_module("pyarrow.interchange").from_dataframe(X)
    polars = _library("polars")
    if polars is not None and hasattr(polars, "from_dataframe"):
        return polars.from_dataframe(X)
    raise ImportError(f"X is a {type(X).__name__}; install pyarrow to read it")


def _with_rows(X: Any, table: Any) -> Any:
    """Refuse a stream that has no rows, or none any more."""
    if len(table) == 0:
        raise ValueError(f"X is a {type(X).__name__} without rows; a stream gives its rows only once: make a new one")
    return table


def _some(X: Any, found: Iterable[Any]) -> Iterator[Any]:
    """Yield the batches that have rows, and refuse a stream without such."""
    n_batches = 0
    for batch in found:
        if len(batch) > 0:
            n_batches += 1
            yield batch
    if n_batches == 0:
        _with_rows(X, ())


def _rows_of_batch(n_columns: int) -> int:
    return max(1, BATCH_BYTES // (8 * max(n_columns, 1)))
