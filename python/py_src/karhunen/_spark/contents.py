"""Contents in rows of a DataFrame: numbered pieces of bytes, or an error."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from karhunen._spark import pieces
from karhunen._spark.arrow import batch_of_row

#: Number of the piece, an error, and bytes.
SCHEMA = "seq int, problem string, data binary"


def to_batches(problem: str | None, data: bytes, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Return the rows of a content."""
    for seq, piece in pieces.split(data):
        yield batch_of_row((seq, problem, piece), schema)


def of_rows(rows: list[dict]) -> bytes:
    """Return the content of rows, given in any order.

    Raises
    ------
    ValueError
        Its error.
    """
    for row in rows:
        if row["problem"] is not None:
            raise ValueError(row["problem"])
    return pieces.join((row["seq"], row["data"]) for row in rows)
