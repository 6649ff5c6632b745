"""Entries of a DataFrame, one for each (row, column, value), in partitions of whole rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from pyspark.sql.types import DataType, FloatType, IntegralType, NumericType, StringType

from karhunen._core import Entries, observe_triples
from karhunen._shared.arrays import FloatArray
from karhunen._shared.errors import repeated_pair
from karhunen._spark.bundles import Batches, bundled, unbundled
from karhunen._spark.columns import numbered, type_of, types_of
from karhunen._spark.worker import on_worker

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    import karhunen


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


def names_of(labels: pa.Array) -> list[str] | None:
    """Return the names of the columns of a model, if labels are strings."""
    return None if pa.types.is_integer(labels.type) else labels.to_pylist()


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
        """Find the columns, and refuse columns of other types.

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

    def of_rows(
        self, dataset: DataFrame, labels: pa.Array, n_parts: int | None, *, all_known: bool = True
    ) -> DataFrame:
        """Return the entries in bundles, with all entries of a row in one partition.

        Parameters
        ----------
        dataset : DataFrame
            Entries.
        labels : pyarrow.Array
            Labels of the columns, sorted.
        n_parts : int or None
            Number of partitions. None leaves it to Spark.
        all_known : bool
            If False, columns may have other labels; such entries only show that their row exists.
        """
        number = "float" if self.dtype == "float32" else "double"
        row, column, value = (f"c{dataset.columns.index(name)}" for name in (self.row, self.column, self.value))
        plain = numbered(dataset).selectExpr(f"{row} as i", f"{column} as j", f"cast({value} as {number}) as x")
        return bundled(plain, partial(_prepare, self, labels, all_known), n_parts)


def _prepare(columns: EntryColumns, labels: pa.Array, all_known: bool, table: pa.Table) -> pa.Table:
    """Replace the labels of columns by their numbers, -1 for other labels.

    Raises
    ------
    ValueError
        For null, and for a column with another label.
    """
    for name, option, array in zip(
        (columns.row, columns.column, columns.value), ("rowCol", "columnCol", "valueCol"), table.columns, strict=True
    ):
        if array.null_count:
            raise ValueError(f"{option} = {name!r} holds null; drop such entries")
    rows, names, values = (array.combine_chunks() for array in table.columns)
    places = pc.index_in(names, value_set=labels)
    if all_known and places.null_count:
        label = names[int(np.argmax(np.asarray(places.is_null())))].as_py()
        raise ValueError(f"column {label!r} was not there when the columns were listed; persist the DataFrame")
    return pa.table([rows, pc.fill_null(places, -1), values], names=["i", "j", "x"])


@dataclass(frozen=True)
class EntriesOfPart:
    """Entries of a partition, in any order.

    Attributes
    ----------
    rows, columns : pyarrow.Array
        Labels, sorted. There may be rows without entries.
    numbers, places : ndarray of shape (n_entries,)
        Row and column of each entry.
    values : ndarray of shape (n_entries,)
        Finite, or NaN, which is missing.
    """

    rows: pa.Array
    columns: pa.Array
    numbers: NDArray[np.int32]
    places: NDArray[np.int32]
    values: FloatArray

    @classmethod
    def of(cls, bundles: Batches, columns: EntryColumns, labels: pa.Array) -> EntriesOfPart:
        """Collect the entries of bundles.

        Parameters
        ----------
        bundles : iterable of RecordBatch
            As :meth:`EntryColumns.of_rows` makes them.
        columns : EntryColumns
            Columns of the entries.
        labels : pyarrow.Array
            Labels of the columns, sorted.

        Raises
        ------
        ValueError
            The error of a bundle, for infinite values, and if an entry occurs more than once, of which one is NaN.
        """
        table = unbundled(bundles)
        if table is None:
            none = np.empty(0, dtype=np.int32)
            return cls(pa.array([]), labels, none, none, np.empty(0, dtype=columns.dtype))
        rows = table.column("i").combine_chunks().dictionary_encode()
        order = np.asarray(pc.sort_indices(rows.dictionary))
        numbers = np.argsort(order).astype(np.int32)[rows.indices]
        places, values = (table.column(name).to_numpy() for name in ("j", "x"))
        if (known := places >= 0).sum() < len(places):
            numbers, places, values = numbers[known], places[known], values[known]
        found = cls(rows.dictionary.take(pa.array(order)), labels, numbers, places, values)
        infinite = np.isinf(values)
        if infinite.any():
            at = int(np.argmax(infinite))
            entry = found._named(numbers[at], places[at])
            raise ValueError(f"{entry} is {values[at]}; remove it, or replace it by a finite number")
        if np.isnan(values).any():
            # Missing entries are left out before repeated ones are looked for.
            replace(found, values=np.zeros_like(values)).observed(1)
        return found

    @property
    def shape(self) -> tuple[int, int]:
        """Return (n_rows, n_columns)."""
        return len(self.rows), len(self.columns)

    def matrix(self) -> Any:
        """Return the entries in a CSR matrix, sorted.

        Raises
        ------
        ValueError
            If an entry occurs more than once.
        """
        # Adds the values of entries that occur more than once.
        matrix = sp.csr_matrix((self.values, (self.numbers, self.places)), shape=self.shape)
        if matrix.nnz < len(self.values):
            self.observed(1)
        return matrix

    def observed(self, n_threads: int) -> Entries:
        """Return the entries as the engine holds them.

        Raises
        ------
        ValueError
            If an entry occurs more than once.
        """
        try:
            return observe_triples(self.numbers, self.places, self.values, self.shape, n_threads=n_threads)
        except ValueError as error:
            if (pair := repeated_pair(error)) is None:
                raise
            entry = self._named(*pair)
            raise ValueError(
                f"{entry} occurs more than once; take the mean of such entries, or drop all but one"
            ) from None

    def _named(self, row: int, column: int) -> str:
        return f"row {self.rows[int(row)].as_py()!r}, column {self.columns[int(column)].as_py()!r}"


def scores_of_rows(
    dataset: DataFrame, columns: EntryColumns, labels: pa.Array, pca: karhunen.IncompletePCA, n_parts: int | None
) -> DataFrame:
    """Compute the scores of the rows of a DataFrame of entries, lazily.

    Returns
    -------
    DataFrame
        The labels of the rows, and their scores as arrays of doubles, in the columns "i" and "scores".
    """
    entries = columns.of_rows(dataset, labels, n_parts, all_known=False)
    kind = dataset.schema.fields[dataset.columns.index(columns.row)].dataType.simpleString()
    return entries.mapInArrow(on_worker(partial(_score, columns, labels, pca)), f"i {kind}, scores array<double>")


def _score(
    columns: EntryColumns, labels: pa.Array, pca: karhunen.IncompletePCA, batches: Batches
) -> Iterator[pa.RecordBatch]:
    entries = EntriesOfPart.of(batches, columns, labels)
    if not len(entries.rows):
        return
    scores = cast(FloatArray, pca.transform(entries.matrix())).astype(np.float64, copy=False)
    ends = np.arange(len(scores) + 1, dtype=np.int32) * scores.shape[1]
    lists = pa.ListArray.from_arrays(pa.array(ends), pa.array(scores.ravel()))
    yield pa.RecordBatch.from_arrays([entries.rows, lists], names=["i", "scores"])
