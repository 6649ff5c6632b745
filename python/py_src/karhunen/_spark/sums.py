"""Partial results of neighbouring partitions, which travel as rows and are merged by a tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pyarrow as pa

from karhunen._cluster.part import SumsOfParts
from karhunen._spark import pieces
from karhunen._spark.arrow import batch_of_row

#: Sums in rows: number of the node that merges them, first partition, number of partitions, number of columns (-1 if no
#: partition has rows), number of the row within the sums, an error, and bytes.
SCHEMA = "node long, first long, n_parts long, width int, seq int, problem string, data binary"


class Sums(NamedTuple):
    """The result of a task for neighbouring partitions."""

    first: int
    n_parts: int
    width: int | None
    problem: str | None = None
    data: SumsOfParts = b""

    def to_batches(self, node: int, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        """Return rows for a node of the tree."""
        width = -1 if self.width is None else self.width
        for seq, piece in pieces.split(self.data):
            row = (node, self.first, self.n_parts, width, seq, self.problem, piece)
            yield batch_of_row(row, schema)


def sums_of_table(table: pa.Table) -> list[Sums]:
    """Return the sums that rows in any order hold, in the order of the partitions."""
    found: dict[int, list[tuple[int, int]]] = {}
    rows = table.select(["first", "n_parts", "width", "seq", "problem"]).to_pylist()
    for number, row in enumerate(rows):
        found.setdefault(row["first"], []).append((row["seq"], number))
    return [_sums(table, rows, found[first]) for first in sorted(found)]


def _sums(table: pa.Table, rows: list[dict], numbers: list[tuple[int, int]]) -> Sums:
    """Return the sums of the rows with the given numbers."""
    row = rows[numbers[0][1]]
    data = pieces.join((seq, table["data"][number].as_py()) for seq, number in numbers)
    return Sums(row["first"], row["n_parts"], None if row["width"] < 0 else row["width"], row["problem"], data)


def merged(
    sums: list[Sums], merge: Callable[[list[SumsOfParts]], SumsOfParts], of_empty: Callable[[int, int], SumsOfParts]
) -> Sums:
    """Merge the sums of neighbouring partitions, given in their order.

    Partitions without rows do not know the number of columns; they wait for sums that do.

    Parameters
    ----------
    sums : list of Sums
        At least one.
    merge : callable
        Merges partial results.
    of_empty : callable
        Returns the partial result of a partition without rows, from its number and the number of columns.
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
                data += [of_empty(one.first + i, width) for i in range(one.n_parts)]
        return Sums(first, n_parts, width, None, merge(data))
    except ValueError as error:
        return Sums(first, n_parts, width, str(error))
