"""The passes of a fit over a DataFrame.

Every partition is summed where it lies. The sums travel as rows and are merged by a tree of shuffles, four neighbours
at a time, in the order of the partitions; the driver merges the last levels, whose sums are small. Errors about the
data travel as rows too: Spark would repeat the tasks that raise them, and bury their text.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast

import numpy as np
import pyarrow as pa

from karhunen._cluster.part import SumsOfParts, merge, sum_part
from karhunen._core import FAN_IN, sum_batches, takes_batches
from karhunen._shared.errors import name_column
from karhunen._shared.warning import warn
from karhunen._spark.arrow import arrow_schema
from karhunen._spark.rows import RowReader, dense, joined, part_number, read_blocks
from karhunen._spark.sums import SCHEMA, Sums, merged, sums_of_table
from karhunen._spark.worker import on_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: Levels of the tree as long as the number of partitions is unknown. The driver merges what is left.
_FIRST_LEVELS = 2
#: Most bytes of sums that the driver merges in a pass: a level of the tree is a stage, which takes longer.
_DRIVER_BYTES = 64 * 2**20
_REPEATED = (
    "every pass of block Krylov iteration computes the DataFrame again, some ten times, unless what it is computed "
    "from is persisted; persist it, or set persist=True"
)


class Form(Protocol):
    """The form of rows: type of the values, number of columns, and their names, if they are known."""

    @property
    def dtype(self) -> str: ...
    @property
    def width(self) -> int | None: ...
    @property
    def features(self) -> list[str] | None: ...


class Work(NamedTuple):
    """The functions that executors call in a pass. They are pickled, so they must be functions of modules.

    Attributes
    ----------
    sum : callable
        Returns the partial result of a partition from the task, an iterator over its batches and a :class:`RowReader`,
        of which it sets `width`; None if there are no rows. A ValueError becomes the error of the fit.
    merge : callable
        Merges partial results of neighbouring partitions, in their order.
    """

    sum: Callable[[bytes, Iterator[pa.RecordBatch], RowReader], SumsOfParts | None]
    merge: Callable[[Iterable[SumsOfParts]], SumsOfParts] = merge


def sums_of_rows(n_threads: int) -> Work:
    """Return the work of a fit to complete rows, with a number of threads for each partition."""
    return Work(partial(_sum_rows, n_threads))


def _sum_rows(n_threads: int, task: bytes, batches: Iterator[pa.RecordBatch], reader: RowReader) -> SumsOfParts | None:
    """Sum the rows of a partition: as dense rows, batch by batch, if the first is dense and the task allows it."""
    blocks = read_blocks(batches, reader)
    first = next(blocks, None)
    if first is None:
        return None if reader.width is None else _sum_of_none(task, reader.part, reader.width, reader.columns.dtype)
    blocks, width = itertools.chain([first], blocks), cast(int, reader.width)
    if reader.first_is_dense and takes_batches(task, width):
        dtype = reader.columns.dtype
        batched = cast(Any, dense(blocks, dtype))
        return sum_batches(task, reader.part, batched, width, dtype == "float32", n_threads)
    return sum_part(task, n_threads, reader.part, *joined(blocks, reader))


def _sum_of_none(task: bytes, part: int, width: int, dtype: str) -> SumsOfParts:
    """Return the sums of a partition without rows."""
    return sum_part(task, 1, part, np.empty((0, width), dtype=dtype))


class Passes:
    """Makes passes over a DataFrame.

    Parameters
    ----------
    rows : DataFrame
        Features and weights, as :meth:`Columns.select` returns them.
    columns : Form
        Their form.
    work : Work
        Functions that read and sum a partition.
    stored : bool
        True if Spark keeps the rows between passes.
    repeated : str
        Warning where it does not.
    """

    def __init__(self, rows: DataFrame, columns: Form, work: Work, stored: bool, repeated: str = _REPEATED) -> None:
        self._rows = rows
        self._columns = columns
        self._work = work
        self._told = stored
        self._width = columns.width
        self._n_levels = _FIRST_LEVELS
        self._schema = arrow_schema(rows, SCHEMA)
        self._repeated = repeated

    def __call__(self, number: int, task: bytes) -> SumsOfParts:
        """Return the result of a task for all partitions.

        Raises
        ------
        ValueError
            For rows that cannot be used; the message gives the partition and the row.
        """
        if number > 0 and not self._told:
            self._told = True
            warn(self._repeated, UserWarning)
        # Spark broadcasts functions of more than 1 MB, such as those with a large task.
        sum_partition = partial(_sum_partition, task, self._work, self._columns, self._width, self._schema)
        merge_some = partial(_merge, task if self._width is None else b"", self._work, self._columns.dtype)
        sums = self._rows.mapInArrow(on_worker(sum_partition), SCHEMA)
        for _ in range(self._n_levels):
            sums = sums.groupBy("node").applyInArrow(on_worker(partial(_merge_node, merge_some)), SCHEMA)
        left = sums_of_table(sums.toArrow())
        while len(left) > 1:
            left = [merge_some(left[i : i + FAN_IN]) for i in range(0, len(left), FAN_IN)]
        if left and left[0].problem is not None:
            raise ValueError(left[0].problem)
        if not left or left[0].width is None:
            raise ValueError("the DataFrame has no rows; a fit needs at least one")
        self._width = left[0].width
        self._n_levels = _levels_for(left[0].n_parts, len(left[0].data))
        return left[0].data


def _levels_for(n_parts: int, n_bytes: int) -> int:
    """Return the number of levels that executors merge, for sums of `n_bytes`; the driver merges the others."""
    n_levels = 0
    while FAN_IN**n_levels < n_parts and -(-n_parts // FAN_IN**n_levels) * n_bytes > _DRIVER_BYTES:
        n_levels += 1
    return n_levels


def _sum_partition(
    task: bytes,
    work: Work,
    columns: Form,
    width: int | None,
    schema: pa.Schema,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Return the rows with the sums of a partition."""
    part = part_number()
    sums = _sums_of_part(iter(batches), RowReader(cast(Any, columns), part, width), task, work)
    yield from sums.to_batches(part // FAN_IN, schema)


def _sums_of_part(batches: Iterator[pa.RecordBatch], reader: RowReader, task: bytes, work: Work) -> Sums:
    """Return the sums of a partition, or the error of its rows."""
    try:
        data = work.sum(task, batches, reader)
        if data is None:
            return Sums(reader.part, 1, reader.width)
        return Sums(reader.part, 1, reader.width, None, data)
    except (TypeError, ValueError) as error:
        text = str(name_column(error, reader.columns.features) if isinstance(error, ValueError) else error)
        # Spark expects that a function reads all batches.
        for _ in batches:
            pass
        return Sums(reader.part, 1, reader.width, text)


def _merge(task: bytes, work: Work, dtype: str, sums: list[Sums]) -> Sums:
    """Merge sums of neighbouring partitions."""

    def of_empty(part: int, width: int) -> SumsOfParts:
        return _sum_of_none(task, part, width, dtype)

    return merged(sums, work.merge, of_empty)


def _merge_node(merge_some: Callable[[list[Sums]], Sums], table: pa.Table) -> pa.Table:
    """Merge the rows of one node of the tree."""
    node = table["node"][0].as_py()
    schema = table.schema.remove_metadata()
    total = merge_some(sums_of_table(table))
    return pa.Table.from_batches(total.to_batches(node // FAN_IN, schema), schema=schema)
