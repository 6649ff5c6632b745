"""Rows of Arrow batches as matrices, without copies where the rows are dense and of one length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from karhunen._shared.arrays import FloatArray
from karhunen._shared.errors import name_column
from karhunen._spark.columns import Columns

#: Dense and sparse rows together become sparse if they have fewer stored entries than this share of all.
_SPARSE_SHARE = 1 / 3

#: A dense array or a CSR matrix.
Block = Any


@dataclass
class RowReader:
    """Converts batches of one partition, in their order.

    Attributes
    ----------
    columns : Columns
        Form of the columns.
    part : int
        Number of the partition, for errors.
    width : int or None
        Number of features; None until the first row.
    n_rows : int
        Number of rows so far.
    any_dense : bool
        True if any row so far was dense.
    first_is_dense : bool
        True if the first row is dense. It decides how a partition is summed, so that the sizes of batches do not.
    """

    columns: Columns
    part: int
    width: int | None
    n_rows: int = 0
    any_dense: bool = False
    first_is_dense: bool = True

    def block(self, arrays: list[pa.Array]) -> Block:
        """Convert the columns of the features of a batch, which has at least one row.

        Returns
        -------
        ndarray or CSR matrix of shape (n_rows, n_features)
            Views of the batch if its rows are dense. CSR if any row is sparse.

        Raises
        ------
        ValueError
            For null rows and values, rows without numbers, and rows of different lengths; it names the partition and
            the row.
        """
        if self.columns.kind == "numbers":
            block = self._numbers(arrays)
        elif self.columns.kind == "array":
            block = self._lists(arrays[0])
        else:
            block = self._vectors(arrays[0])
        self.n_rows += len(arrays[0])
        return block

    def weights(self, array: pa.Array) -> FloatArray:
        """Convert the weights of the batch that comes next."""
        self._refuse_null(array, self.columns.weight or "")
        return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)

    def _numbers(self, arrays: list[pa.Array]) -> FloatArray:
        block = np.empty((len(arrays[0]), len(arrays)), dtype=self.columns.dtype)
        for column, (array, name) in enumerate(zip(arrays, self.columns.names, strict=True)):
            self._refuse_null(array, name)
            block[:, column] = array.to_numpy(zero_copy_only=False)
        return block

    def _lists(self, array: pa.Array) -> FloatArray:
        self._refuse_null(array, self.columns.names[0])
        offsets, values = _offsets(array), array.values
        if values.null_count:
            entry = offsets[0] + _first(np.asarray(values[offsets[0] : offsets[-1]].is_null()))
            row = int(np.searchsorted(offsets, entry, side="right")) - 1
            raise self._error(
                row, f", column {entry - offsets[row]} of {self.columns.names[0]!r} is null; fill it, or drop such rows"
            )
        self._check_lengths(np.diff(offsets))
        return cast(FloatArray, _between(values, offsets).reshape(len(array), self.width))

    def _vectors(self, array: pa.StructArray) -> Block:
        self._refuse_null(array, self.columns.names[0])
        dense = _numpy(array.field("type")) == 1
        values = array.field("values")
        offsets = _offsets(values)
        stored = np.diff(offsets)
        self._check_lengths(np.where(dense, stored, _numpy(array.field("size").fill_null(0))))
        entries = _between(values.values, offsets)
        width = cast(int, self.width)
        self.any_dense |= bool(dense.any())
        if self.n_rows == 0:
            self.first_is_dense = bool(dense[0])
        if dense.all():
            return entries.reshape(len(array), width)
        given = array.field("indices")
        indices = _between(given.values, _offsets(given))
        if dense.any():
            # A dense row stores every column.
            of_dense = np.repeat(dense, stored)
            columns = np.empty(len(entries), dtype=np.int32)
            columns[of_dense] = np.tile(np.arange(width, dtype=np.int32), np.count_nonzero(dense))
            columns[~of_dense] = indices
            indices = columns
        return sp.csr_matrix((entries, indices, offsets - offsets[0]), shape=(len(array), width))

    def _check_lengths(self, lengths: Any) -> None:
        """Compare the lengths of rows with the first."""
        if self.width is None and len(lengths):
            self.width = int(lengths[0])
        if self.width == 0:
            raise self._error(0, f" of {self.columns.names[0]!r} has length 0; a row needs at least one number")
        other = lengths != self.width
        if other.any():
            row = _first(other)
            raise self._error(
                row,
                f" of {self.columns.names[0]!r} has length {lengths[row]}, expected {self.width}; give all rows "
                "the same length",
            )

    def _refuse_null(self, array: pa.Array, name: str) -> None:
        if array.null_count:
            row = _first(np.asarray(array.is_null()))
            raise self._error(
                row, f" of {name!r} is null; drop such rows by df.dropna(subset=[{name!r}]), or fill them"
            )

    def located(self, error: ValueError, n_before: int) -> ValueError:
        """Return an error of the engine about a batch as one about the partition, with the name of the column.

        Parameters
        ----------
        error : ValueError
            It may have a row, which counts from the beginning of the batch.
        n_before : int
            Number of rows before the batch.
        """
        text, row = str(name_column(error, self.columns.features)), getattr(error, "row", None)
        if row is not None:
            text = text.replace(f"row {row}", f"row {n_before + row}", 1)
        return ValueError(f"part {self.part}: {text}")

    def _error(self, row: int, text: str) -> ValueError:
        """Return an error about a row of the present batch."""
        return ValueError(f"part {self.part}: row {self.n_rows + row}{text}")


def part_number() -> int:
    """Return the number of the partition of the present task."""
    from pyspark import TaskContext

    context = TaskContext.get()
    assert context is not None
    return context.partitionId()


def read_blocks(batches: Iterator[pa.RecordBatch], reader: RowReader) -> Iterator[tuple[Block, FloatArray | None]]:
    """Return the rows of every batch of a partition that has rows, with their weights if there are any."""
    n_features = len(reader.columns.names)
    for batch in batches:
        if batch.num_rows:
            weights = None if reader.columns.weight is None else reader.weights(batch.column(n_features))
            yield reader.block(batch.columns[:n_features]), weights


def dense(
    blocks: Iterable[tuple[Block, FloatArray | None]], dtype: str
) -> Iterator[tuple[FloatArray, FloatArray | None]]:
    """Return blocks as arrays of one type, row by row."""
    for rows, weights in blocks:
        yield np.ascontiguousarray(rows.toarray() if sp.issparse(rows) else rows, dtype=dtype), weights


def joined(blocks: Iterable[tuple[Block, FloatArray | None]], reader: RowReader) -> tuple[Block, FloatArray | None]:
    """Join the blocks of a partition, of which there is at least one, and their weights."""
    rows, weights = zip(*blocks, strict=True)
    return _joined_rows(list(rows), reader.any_dense), None if weights[0] is None else np.concatenate(weights)


def _joined_rows(blocks: list[Block], any_dense: bool) -> Block:
    """Join blocks.

    Sparse rows remain sparse. With dense ones between them, the result is sparse if few entries are stored.
    """
    if not any(sp.issparse(block) for block in blocks):
        return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)
    n_rows, width = sum(block.shape[0] for block in blocks), blocks[0].shape[1]
    stored = sum(block.nnz if sp.issparse(block) else block.size for block in blocks)
    if not any_dense or stored < _SPARSE_SHARE * n_rows * width:
        return blocks[0] if len(blocks) == 1 else sp.vstack([_stored(block) for block in blocks], format="csr")
    return np.concatenate([block.toarray() if sp.issparse(block) else block for block in blocks])


def _stored(block: Block) -> Any:
    """Return a block as a CSR matrix. Dense rows store every column, as they do in a block with sparse rows."""
    if sp.issparse(block):
        return block
    n_rows, width = block.shape
    columns, ends = np.tile(np.arange(width, dtype=np.int32), n_rows), np.arange(n_rows + 1) * width
    return sp.csr_matrix((block.ravel(), columns, ends), shape=block.shape)


def _numpy(array: pa.Array) -> Any:
    return array.to_numpy(zero_copy_only=False)


def _offsets(array: pa.Array) -> Any:
    """Return where the lists of an array begin and end in its values."""
    return _numpy(array.offsets)


def _between(values: pa.Array, offsets: Any) -> Any:
    return _numpy(values[offsets[0] : offsets[-1]])


def _first(flags: Any) -> int:
    return int(np.argmax(flags))
