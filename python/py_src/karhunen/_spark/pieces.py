"""Bytes in rows of a DataFrame: pieces that a row holds, with their numbers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from karhunen._cluster.part import SumsOfParts

#: Most bytes in one row.
ROW_BYTES = 16 * 2**20


def split(data: SumsOfParts) -> Iterator[tuple[int, bytes]]:
    """Return numbered pieces of at most `ROW_BYTES`, of which there is at least one."""
    for number, begin in enumerate(range(0, max(1, len(data)), ROW_BYTES)):
        yield number, bytes(data[begin : begin + ROW_BYTES])


def join(pieces: Iterable[tuple[int, bytes]]) -> bytes:
    """Join numbered pieces, given in any order."""
    return b"".join(piece for _, piece in sorted(pieces))
