"""Entries of a DataFrame, one for each (row, column, value), in partitions of whole rows.

A shuffle brings the entries of each row together. Every partition is packed into one CSR matrix, which all passes read.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from pyspark.sql.types import DataType, FloatType, IntegralType, NumericType, StringType

from karhunen._cluster.part import SumsOfParts, sum_part
from karhunen._shared.arrays import FloatArray
from karhunen._spark import pieces
from karhunen._spark.columns import numbered, type_of, types_of
from karhunen._spark.passes import Work
from karhunen._spark.rows import RowReader, part_number
from karhunen._spark.sums import has_large_types
from karhunen._spark.worker import on_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    import karhunen

#: Entries of a partition, if no number of partitions is asked for. A task takes some hundredths of a second, and its
#: sums are often larger than a million entries.
ENTRIES_OF_PART = 1_000_000
#: A packed partition: number of the piece, an error, and bytes.
_PACKED = "seq int, problem string, data binary"

Batches = Iterable[pa.RecordBatch]


def check_label(option: str, name: str, kind: DataType) -> bool:
    """Return whether labels are integers, not strings.

    Raises
    ------
    ValueError
        If they are neither, or strings of which different ones compare as equal.
    """
    if isinstance(kind, IntegralType):
        return True
    if not isinstance(kind, StringType):
        raise ValueError(f"{option} = {name!r} is {kind.simpleString()}; labels are integers or strings")
    if getattr(kind, "collation", "UTF8_BINARY") != "UTF8_BINARY":
        raise ValueError(
            f"{option} = {name!r} is {kind.simpleString()}; give labels whose strings are compared by bytes, as "
            f"collate({name}, 'UTF8_BINARY')"
        )
    return False


@dataclass(frozen=True)
class EntryColumns:
    """Columns of a DataFrame that hold entries.

    Attributes
    ----------
    row, column, value : str
        Names of the columns.
    dtype : {"float64", "float32"}
        Type of the values.
    """

    row: str
    column: str
    value: str
    dtype: str

    @classmethod
    def find(cls, dataset: DataFrame, row: str, column: str, value: str) -> EntryColumns:
        """Find the columns, and refuse those of other types.

        Raises
        ------
        ValueError
            If a column does not exist, or is of another type.
        """
        types = types_of(dataset)
        for option, name in (("rowCol", row), ("columnCol", column)):
            kind = type_of(types, option, name)
            check_label(option, name, kind)
        kind = type_of(types, "valueCol", value)
        if not isinstance(kind, NumericType):
            raise ValueError(f"valueCol = {value!r} is {kind.simpleString()}; values are numbers")
        return cls(row, column, value, "float32" if isinstance(kind, FloatType) else "float64")

    def labels(self, dataset: DataFrame) -> tuple[pa.Array, int]:
        """Return the labels of the columns, sorted, and the number of entries."""
        place = dataset.columns.index(self.column)
        table = numbered(dataset).groupBy(f"c{place}").count().toArrow()
        labels, counts = (column.combine_chunks() for column in table.columns)
        if labels.null_count:
            raise ValueError(f"columnCol = {self.column!r} holds null; drop such entries")
        if not len(labels):
            raise ValueError("the DataFrame has no rows; a fit needs at least one entry")
        return labels.take(pc.sort_indices(labels)), pc.sum(counts).as_py()

    def of_rows(self, dataset: DataFrame, n_parts: int | None) -> DataFrame:
        """Return the entries with those of each row in one partition. None leaves the number of partitions to Spark."""
        number = "float" if self.dtype == "float32" else "double"
        row, column, value = (f"c{dataset.columns.index(name)}" for name in (self.row, self.column, self.value))
        plain = numbered(dataset).selectExpr(f"{row} as i", f"{column} as j", f"cast({value} as {number}) as x")
        return plain.repartition("i") if n_parts is None else plain.repartition(n_parts, "i")


@dataclass(frozen=True)
class RowsOfPart:
    """Rows of a partition.

    Attributes
    ----------
    labels : pyarrow.Array
        Labels of the rows.
    matrix : csr_matrix of shape (n_rows, n_columns)
        Their entries; those that are not stored are missing.
    """

    labels: pa.Array
    matrix: Any

    @classmethod
    def of(cls, batches: Batches, columns: EntryColumns, labels: pa.Array, *, all_known: bool = True) -> RowsOfPart:
        """Collect the entries of a partition, in any order, and sort them by the labels of rows and columns.

        Parameters
        ----------
        batches : iterable of RecordBatch
            Entries.
        columns : EntryColumns
            Their columns.
        labels : pyarrow.Array
            Labels of the columns.
        all_known : bool
            If False, entries of columns without a label are left out.

        Raises
        ------
        ValueError
            For null, for an entry that occurs twice, and for a column without a label.
        """
        kept = [batch for batch in batches if batch.num_rows]
        if not kept:
            return cls(pa.array([]), sp.csr_matrix((0, len(labels)), dtype=columns.dtype))
        table = pa.Table.from_batches(kept)
        rows, names, values = (column.combine_chunks() for column in table.columns)
        for option, name, array in (
            ("rowCol", columns.row, rows),
            ("columnCol", columns.column, names),
            ("valueCol", columns.value, values),
        ):
            if array.null_count:
                raise ValueError(f"{option} = {name!r} holds null; drop such entries")
        encoded = rows.dictionary_encode()
        by_label = np.asarray(pc.sort_indices(encoded.dictionary))
        found = pc.index_in(names, value_set=labels)
        numbers, places = np.argsort(by_label)[encoded.indices], np.asarray(found.fill_null(-1))
        # The shuffle brings the entries in another order each time.
        order = np.argsort(numbers * (len(labels) + 1) + places)
        rows, names, values = (array.take(pa.array(order)) for array in (rows, names, values))
        numbers, places = numbers[order], places[order].astype(np.int32, copy=False)
        known = places >= 0
        if all_known and not known.all():
            label = names[int(np.argmin(known))].as_py()
            raise ValueError(f"column {label!r} was not there when the columns were listed; persist the DataFrame")
        infinite = np.isinf(np.asarray(values))
        if infinite.any():
            at = int(np.argmax(infinite))
            raise ValueError(
                f"row {rows[at].as_py()!r}, column {names[at].as_py()!r} is {values[at].as_py()}; remove it, or "
                "replace it by a finite number"
            )
        twice = (numbers[1:] == numbers[:-1]) & (places[1:] == places[:-1]) & known[1:]
        if twice.any():
            at = int(np.argmax(twice))
            raise ValueError(
                f"row {rows[at].as_py()!r}, column {names[at].as_py()!r} occurs more than once; take the mean of such "
                "entries, or drop all but one"
            )
        ends = np.searchsorted(numbers[known], np.arange(len(by_label) + 1))
        shape = (len(by_label), len(labels))
        matrix = sp.csr_matrix((np.asarray(values)[known], places[known], ends), shape=shape)
        return cls(encoded.dictionary.take(pa.array(by_label)), matrix)


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
    schema = _packed_schema(has_large_types(entries))
    return entries.mapInArrow(on_worker(partial(_pack, columns, labels, schema)), _PACKED)


def _packed_schema(large: bool) -> pa.Schema:
    text, data = (pa.large_string(), pa.large_binary()) if large else (pa.string(), pa.binary())
    return pa.schema([("seq", pa.int32()), ("problem", text), ("data", data)])


def _pack(columns: EntryColumns, labels: pa.Array, schema: pa.Schema, batches: Batches) -> Iterator[pa.RecordBatch]:
    problem, data = None, b""
    batches = iter(batches)
    try:
        matrix = RowsOfPart.of(batches, columns, labels).matrix
        content = io.BytesIO()
        np.savez(content, data=matrix.data, indices=matrix.indices, indptr=matrix.indptr)
        data = content.getvalue()
    except ValueError as error:
        problem = f"part {part_number()}: {error}"
        # Spark expects that a function reads all batches.
        for _ in batches:
            pass
    for row in pieces.split(data):
        values = zip((row[0], problem, row[1]), schema, strict=True)
        yield pa.RecordBatch.from_arrays([pa.array([value], field.type) for value, field in values], schema=schema)


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
    if rows[0]["problem"] is not None:
        raise ValueError(rows[0]["problem"])
    data = pieces.join((cast(int, row["seq"]), cast(bytes, row["data"])) for row in rows)
    with np.load(io.BytesIO(data)) as arrays:
        parts = (arrays["data"], arrays["indices"], arrays["indptr"])
    return sp.csr_matrix(parts, shape=(len(parts[2]) - 1, width))


def scores_of_rows(
    dataset: DataFrame, columns: EntryColumns, labels: pa.Array, pca: karhunen.IncompletePCA, n_parts: int | None
) -> DataFrame:
    """Compute the scores of the rows of a DataFrame of entries, lazily.

    Returns
    -------
    DataFrame
        The labels of the rows, and their scores as arrays of doubles, in the columns "i" and "scores".
    """
    entries = columns.of_rows(dataset, n_parts)
    kind = entries.schema["i"].dataType.simpleString()
    return entries.mapInArrow(on_worker(partial(_score, columns, labels, pca)), f"i {kind}, scores array<double>")


def _score(
    columns: EntryColumns, labels: pa.Array, pca: karhunen.IncompletePCA, batches: Batches
) -> Iterator[pa.RecordBatch]:
    rows = RowsOfPart.of(batches, columns, labels, all_known=False)
    if not len(rows.labels):
        return
    scores = cast(FloatArray, pca.transform(rows.matrix)).astype(np.float64, copy=False)
    ends = np.arange(len(scores) + 1, dtype=np.int32) * scores.shape[1]
    lists = pa.ListArray.from_arrays(pa.array(ends), pa.array(scores.ravel()))
    yield pa.RecordBatch.from_arrays([rows.labels, lists], names=["i", "scores"])
