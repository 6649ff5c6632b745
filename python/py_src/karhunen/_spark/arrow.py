"""Rows that functions of executors return, in Arrow."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_TYPES = {"int": pa.int32(), "long": pa.int64(), "string": pa.string(), "binary": pa.binary()}
_LARGE_TYPES = _TYPES | {"string": pa.large_string(), "binary": pa.large_binary()}


def arrow_schema(frame: DataFrame, schema: str) -> pa.Schema:
    """Return a schema of Spark in Arrow, as the session of a DataFrame demands it from functions.

    Parameters
    ----------
    frame : DataFrame
        Its session decides by `spark.sql.execution.arrow.useLargeVarTypes` whether texts and bytes are of large types.
    schema : str
        Such as "number int, content binary".
    """
    option = frame.sparkSession.conf.get("spark.sql.execution.arrow.useLargeVarTypes", "false")
    types = _LARGE_TYPES if str(option).lower() == "true" else _TYPES
    fields = (field.split() for field in schema.split(","))
    return pa.schema([(name, types[kind]) for name, kind in fields])


def batch_of_row(row: tuple[Any, ...], schema: pa.Schema) -> pa.RecordBatch:
    """Return a batch of one row."""
    arrays = [pa.array([value], field.type) for value, field in zip(row, schema, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
