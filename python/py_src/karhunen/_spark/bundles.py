"""Entries on their way to the partitions of their rows.

Up to a million travel in one row of bytes, because Spark takes long to shuffle and to convert single ones.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa

from karhunen._spark.arrow import arrow_schema, batch_of_row
from karhunen._spark.worker import on_worker

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

#: Most entries that are divided at a time.
_ENTRIES = 1_000_000
#: Spark's default number of partitions of a shuffle.
_USUAL = 200
#: A bundle: an integer that decides the partition, an error, and a stream of Arrow.
_BUNDLE = "key int, problem string, data binary"

Batches = Iterable[pa.RecordBatch]
#: Checks a table of entries, and returns it in the form in which it travels.
Prepare = Callable[[pa.Table], pa.Table]


def bundled(entries: DataFrame, prepare: Prepare, n_parts: int | None) -> DataFrame:
    """Bring the entries of each row to one partition, in bundles.

    Parameters
    ----------
    entries : DataFrame
        Its first column holds the labels of rows, integers or strings.
    prepare : callable
        Can be pickled. A ValueError becomes the error of the bundle.
    n_parts : int or None
        Number of partitions. None takes Spark's own, of which it may join several.
    """
    spark = entries.sparkSession
    number = _usual_number(spark) if n_parts is None else n_parts
    divide = partial(_divide, prepare, keys_of_parts(spark, number), arrow_schema(entries, _BUNDLE))
    bundles = entries.mapInArrow(on_worker(divide), _BUNDLE)
    return bundles.repartition("key") if n_parts is None else bundles.repartition(n_parts, "key")


def keys_of_parts(spark: SparkSession, n_parts: int) -> list[int]:
    """Return for each of some partitions an integer whose rows Spark sends there."""
    if n_parts == 1:
        return [0]
    n_keys = n_parts * (10 + math.ceil(math.log(n_parts)))
    while True:
        # The hash by which Spark divides rows.
        found = spark.sql(f"select transform(sequence(0, {n_keys - 1}), key -> pmod(hash(key), {n_parts}))").first()
        # The first of several keys.
        keys = {part: key for key, part in reversed(list(enumerate(cast(Any, found)[0])))}
        if len(keys) == n_parts:
            return [keys[part] for part in range(n_parts)]
        n_keys *= 2


def _usual_number(spark: SparkSession) -> int:
    """Return the number of partitions of a shuffle; some platforms have "auto" in its place."""
    option = str(spark.conf.get("spark.sql.shuffle.partitions"))
    return int(option) if option.isdecimal() else _USUAL


def unbundled(batches: Batches) -> pa.Table | None:
    """Return the entries of bundles, without copies; None if there are none.

    Raises
    ------
    ValueError
        The error of a bundle.
    """
    tables = []
    for batch in batches:
        for problem, data in zip(batch.column("problem"), batch.column("data"), strict=True):
            if problem.is_valid:
                raise ValueError(problem.as_py())
            tables.append(pa.ipc.open_stream(data.as_buffer()).read_all())
    return pa.concat_tables(tables) if tables else None


def _divide(prepare: Prepare, keys: list[int], schema: pa.Schema, batches: Batches) -> Iterator[pa.RecordBatch]:
    """Divide the entries of a task among the partitions of their rows."""
    batches = iter(batches)
    try:
        for table in _tables(batches):
            for part, entries in _by_part(prepare(table), len(keys)):
                yield batch_of_row((keys[part], None, _stream(entries)), schema)
    except ValueError as error:
        # Spark expects that a function reads all batches.
        for _ in batches:
            pass
        yield batch_of_row((keys[0], str(error), b""), schema)


def _tables(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.Table]:
    """Join batches to tables of some `_ENTRIES` rows."""
    kept, n_rows = [], 0
    for batch in batches:
        kept.append(batch)
        n_rows += batch.num_rows
        if n_rows >= _ENTRIES:
            yield pa.Table.from_batches(kept)
            kept, n_rows = [], 0
    if n_rows > 0:
        yield pa.Table.from_batches(kept)


def _by_part(table: pa.Table, n_parts: int) -> Iterator[tuple[int, pa.Table]]:
    """Return the entries of each part that has any."""
    if n_parts == 1:
        yield 0, table
        return
    part = _part_of_rows(table.column(0).combine_chunks(), n_parts)
    order = np.argsort(part, kind="stable")
    table = table.take(pa.array(order))
    ends = np.searchsorted(part[order], np.arange(n_parts + 1))
    for number in np.flatnonzero(np.diff(ends)):
        yield int(number), table.slice(ends[number], ends[number + 1] - ends[number])


def _part_of_rows(labels: pa.Array, n_parts: int) -> NDArray[np.int64]:
    """Return the part of each row, by a hash of its label."""
    if pa.types.is_integer(labels.type):
        # Knuth (1998), The Art of Computer Programming 3, section 6.4: multiplication by the golden ratio.
        mixed = np.asarray(labels).astype(np.int64).view(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        return ((mixed >> np.uint64(32)) % np.uint64(n_parts)).astype(np.int64)
    encoded = labels.dictionary_encode()
    # Strings of Spark are any bytes.
    distinct = encoded.dictionary.cast(pa.large_binary()).to_pylist()
    hashes = np.array([zlib.crc32(label) for label in distinct], dtype=np.int64)
    return cast("NDArray[np.int64]", hashes[np.asarray(encoded.indices)] % n_parts)


def _stream(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table.combine_chunks())
    return cast(bytes, sink.getvalue().to_pybytes())
