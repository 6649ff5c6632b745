"""The passes of a fit over a DataFrame.

Every partition is summed where it lies. The sums travel as rows and are merged by a tree of shuffles, eight neighbours
at a time, in the order of the partitions. Errors about the data travel as rows too: Spark would repeat the tasks that
raise them, and bury their text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from karhunen._cluster.part import merge, sum_part
from karhunen._core import FAN_IN
from karhunen._shared.errors import name_column
from karhunen._shared.warning import warn
from karhunen._spark.columns import Columns
from karhunen._spark.rows import Block, RowReader, joined

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Levels of the tree as long as the number of partitions is unknown. The driver merges what is left.
_FIRST_LEVELS = 2
#: Most bytes of sums in one row.
_ROW_BYTES = 16 * 2**20

#: Sums in rows: number of the node that merges them, first partition, number of partitions, number of columns (-1 if no
#: partition has rows that tell it), number of the row within the sums, an error, and bytes.
_SCHEMA = "node long, first long, n_parts long, width int, seq int, problem string, data binary"
_ARROW = pa.schema(
    [
        ("node", pa.int64()),
        ("first", pa.int64()),
        ("n_parts", pa.int64()),
        ("width", pa.int32()),
        ("seq", pa.int32()),
        ("problem", pa.string()),
        ("data", pa.binary()),
    ]
)


class Sums(NamedTuple):
    """The result of a task for neighbouring partitions."""

    first: int
    n_parts: int
    width: int | None
    problem: str | None = None
    data: bytes = b""

    def to_batches(self, node: int) -> Iterator[pa.RecordBatch]:
        """Return rows for a node of the tree."""
        width = -1 if self.width is None else self.width
        for seq, begin in enumerate(range(0, max(1, len(self.data)), _ROW_BYTES)):
            piece = self.data[begin : begin + _ROW_BYTES]
            row = (node, self.first, self.n_parts, width, seq, self.problem, piece)
            yield pa.RecordBatch.from_arrays(
                [pa.array([value], field.type) for value, field in zip(row, _ARROW, strict=True)], schema=_ARROW
            )


def sums_of_table(table: pa.Table) -> list[Sums]:
    """Return the sums that rows in any order hold, in the order of the partitions."""
    pieces: dict[int, list[tuple[int, int]]] = {}
    rows = table.select(["first", "n_parts", "width", "seq", "problem"]).to_pylist()
    for number, row in enumerate(rows):
        pieces.setdefault(row["first"], []).append((row["seq"], number))
    found = []
    for first in sorted(pieces):
        numbers = [number for _, number in sorted(pieces[first])]
        row = rows[numbers[0]]
        data = b"".join(table["data"][number].as_py() for number in numbers)
        found.append(Sums(first, row["n_parts"], None if row["width"] < 0 else row["width"], row["problem"], data))
    return found


def merged(sums: list[Sums], task: bytes, dtype: str) -> Sums:
    """Merge the sums of neighbouring partitions, given in their order.

    Partitions without rows do not know the number of columns; they wait for sums that do.
    """
    first, n_parts = sums[0].first, sum(one.n_parts for one in sums)
    for one in sums:
        if one.problem is not None:
            return one._replace(first=first, n_parts=n_parts)
    width = next((one.width for one in sums if one.width is not None), None)
    if width is None:
        return Sums(first, n_parts, None)
    try:
        data = []
        for one in sums:
            if one.width is not None:
                data.append(one.data)
            else:
                empty = np.empty((0, width), dtype=dtype)
                data += [sum_part(task, 1, one.first + i, empty) for i in range(one.n_parts)]
        return Sums(first, n_parts, width, None, merge(data))
    except ValueError as error:
        return Sums(first, n_parts, width, str(error))


class Passes:
    """Makes passes over a DataFrame.

    Parameters
    ----------
    rows : DataFrame
        Features and weights, as :meth:`Columns.select` returns them.
    columns : Columns
        Their form.
    n_threads : int
        Number of threads for each partition.
    stored : bool
        True if Spark keeps the rows between passes.
    """

    def __init__(self, rows: DataFrame, columns: Columns, n_threads: int, stored: bool) -> None:
        self._rows = rows
        self._columns = columns
        self._n_threads = n_threads
        self._told = stored
        self._width = columns.width
        self._n_levels = _FIRST_LEVELS

    def __call__(self, number: int, task: bytes) -> bytes:
        """Return the result of a task for all partitions.

        Raises
        ------
        ValueError
            For rows that cannot be used; the message gives the partition and the row.
        """
        if number > 0 and not self._told:
            self._told = True
            warn(
                "every pass of block Krylov iteration computes the DataFrame anew, some ten times; persist it, or set "
                "persist=True",
                UserWarning,
            )
        # Spark broadcasts functions of more than 1 MB, such as those with a large task.
        sums = self._rows.mapInArrow(_part_function(task, self._columns, self._n_threads, self._width), _SCHEMA)
        merge_node = _node_function(task if self._width is None else b"", self._columns.dtype)
        for _ in range(self._n_levels):
            sums = sums.groupBy("node").applyInArrow(merge_node, _SCHEMA)
        left = sums_of_table(sums.toArrow())
        while len(left) > 1:
            left = [merged(left[i : i + FAN_IN], task, self._columns.dtype) for i in range(0, len(left), FAN_IN)]
        if left and left[0].problem is not None:
            raise ValueError(left[0].problem)
        if not left or left[0].width is None:
            raise ValueError("the DataFrame has no rows; a fit needs at least one")
        self._width = left[0].width
        self._n_levels = _levels_for(left[0].n_parts)
        return left[0].data


def _levels_for(n_parts: int) -> int:
    """Return the number of levels of a tree with one root."""
    n_levels = 0
    while FAN_IN**n_levels < n_parts:
        n_levels += 1
    return n_levels


def _part_function(
    task: bytes, columns: Columns, n_threads: int, width: int | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that sums a partition."""

    def sum_partition(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        part = part_number()
        yield from _sums_of_part(batches, part, task, columns, n_threads, width).to_batches(part // FAN_IN)

    return sum_partition


def _node_function(task: bytes, dtype: str) -> Callable[[pa.Table], pa.Table]:
    """Return the function that merges the sums of a node."""

    def merge_node(table: pa.Table) -> pa.Table:
        node = table["node"][0].as_py()
        total = merged(sums_of_table(table), task, dtype)
        return pa.Table.from_batches(total.to_batches(node // FAN_IN), schema=_ARROW)

    return merge_node


def part_number() -> int:
    """Return the number of the partition of the present task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def _sums_of_part(
    batches: Iterable[pa.RecordBatch], part: int, task: bytes, columns: Columns, n_threads: int, width: int | None
) -> Sums:
    """Return the sums of a partition, or the error of its rows."""
    reader = RowReader(columns, part, width)
    batches = iter(batches)
    try:
        rows, weights = _collected(batches, reader)
        if reader.width is None:
            return Sums(part, 1, None)
        return Sums(part, 1, reader.width, None, sum_part(task, n_threads, part, rows, weights))
    except (TypeError, ValueError) as error:
        text = str(name_column(error, columns.features) if isinstance(error, ValueError) else error)
        # Spark expects that a function reads all batches.
        for _ in batches:
            pass
        return Sums(part, 1, reader.width, text)


def _collected(batches: Iterator[pa.RecordBatch], reader: RowReader) -> tuple[Block, np.ndarray | None]:
    """Return the rows of a partition, and their weights if there are any."""
    blocks, weights = [], []
    n_features = len(reader.columns.names)
    for batch in batches:
        if batch.num_rows:
            if reader.columns.weight is not None:
                weights.append(reader.weights(batch.column(n_features)))
            blocks.append(reader.block(batch.columns[:n_features]))
    if not blocks:
        return np.empty((0, reader.width or 0), dtype=reader.columns.dtype), None
    return joined(blocks, reader.any_dense), np.concatenate(weights) if weights else None
