"""Entries of partitions, each packed into one CSR matrix, which all passes read."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from karhunen._cluster.part import SumsOfParts, sum_part
from karhunen._spark import contents
from karhunen._spark.arrow import arrow_schema
from karhunen._spark.bundles import Batches
from karhunen._spark.entries import EntriesOfPart, EntryColumns
from karhunen._spark.passes import Work
from karhunen._spark.rows import RowReader
from karhunen._spark.worker import on_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def packed(entries: DataFrame, columns: EntryColumns, labels: pa.Array) -> DataFrame:
    """Pack every partition of entries into a matrix.

    Parameters
    ----------
    entries : DataFrame
        As :meth:`EntryColumns.of_rows` returns them.
    columns : EntryColumns
        Their columns.
    labels : pyarrow.Array
        Labels of the columns.
    """
    schema = arrow_schema(entries, contents.SCHEMA)
    return entries.mapInArrow(on_worker(partial(_pack, columns, labels, schema)), contents.SCHEMA)


def _pack(columns: EntryColumns, labels: pa.Array, schema: pa.Schema, batches: Batches) -> Iterator[pa.RecordBatch]:
    problem, data = None, b""
    batches = iter(batches)
    try:
        matrix = EntriesOfPart.of(batches, columns, labels).matrix()
        content = io.BytesIO()
        np.savez(content, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr)
        data = content.getvalue()
    except ValueError as error:
        problem = str(error)
        # Spark expects that a function reads all batches.
        for _ in batches:
            pass
    yield from contents.to_batches(problem, data, schema)


@dataclass(frozen=True)
class PackedColumns:
    """The form of packed entries.

    Attributes
    ----------
    dtype : {"float64", "float32"}
        Type of the values.
    width : int
        Number of columns.
    """

    dtype: str
    width: int
    features: None = None


def sums_of_entries(n_threads: int) -> Work:
    """Return the work of a fit to packed entries, with a number of threads for each partition."""
    return Work(partial(_sum_entries, n_threads))


def _sum_entries(n_threads: int, task: bytes, batches: Iterator[pa.RecordBatch], reader: RowReader) -> SumsOfParts:
    return sum_part(task, n_threads, reader.part, _unpacked(batches, reader))


def _unpacked(batches: Iterator[pa.RecordBatch], reader: RowReader) -> Any:
    """Return the matrix of a packed partition."""
    rows = [row for batch in batches for row in batch.to_pylist()]
    width = cast(int, reader.width)
    if not rows:
        return sp.csr_matrix((0, width), dtype=reader.columns.dtype)
    data = contents.of_rows(rows)
    with np.load(io.BytesIO(data)) as arrays:
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    return sp.csr_matrix(parts, shape=(len(parts[2]) - 1, width))
