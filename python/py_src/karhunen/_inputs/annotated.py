"""Rows of an AnnData: a matrix in memory, in a file, or of dask.

anndata is not imported: its objects are recognised by their types.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from karhunen._inputs.row_blocks import BLOCK_BYTES, RowBlocks
from karhunen._shared.options import is_whole


def is_annotated(X: Any) -> bool:
    """Return whether `X` is an AnnData."""
    return _is_of(X, "anndata", "AnnData")


def is_lazy(matrix: Any) -> bool:
    """Return whether a matrix is a collection of dask."""
    return hasattr(matrix, "__dask_graph__")


def to_known(matrix: Any, columns: NDArray[np.intp] | None, rows: int | None) -> Any:
    """Return a matrix of an AnnData, or some of its columns, in a form that estimators take.

    Parameters
    ----------
    matrix : ndarray, sparse matrix, dask array, or a matrix that AnnData left in its file
        Rows are cells.
    columns : ndarray of int or None
        Columns to take, in increasing order; None takes all.
    rows : int or None
        Number of rows of a block, which makes blocks of matrices in memory as well. None leaves those whole, and
        chooses a number for others.

    Returns
    -------
    ndarray, sparse matrix, dask array or RowBlocks
        A matrix in a file becomes blocks of rows, which are read in every pass; one that is compressed by columns is
        read into memory.
    """
    if getattr(matrix, "format", None) == "csc" and not sp.issparse(matrix):
        # Every block of rows would need the whole file.
        matrix = matrix.to_memory()
    in_file = not isinstance(matrix, np.ndarray) and not sp.issparse(matrix) and not is_lazy(matrix)
    if not in_file and rows is None:
        return matrix if columns is None else matrix[:, columns]
    n, p = (int(size) for size in matrix.shape)
    if rows is None:
        rows = _rows_of_block(matrix, p)

    def blocks() -> Iterator[Any]:
        for begin in range(0, n, rows):
            block = matrix[begin : begin + rows]
            yield block if columns is None else block[:, columns]

    return RowBlocks(blocks, p if columns is None else len(columns), n)


def rows_of_chunk(chunk_size: Any) -> int:
    """Return the number of rows of a block that the user gave.

    Raises
    ------
    ValueError
        If it is not a positive whole number.
    """
    if not is_whole(chunk_size) or chunk_size < 1:
        raise ValueError(f"chunk_size = {chunk_size!r} is not allowed with chunked=True: give a whole number of rows")
    return int(chunk_size)


def _rows_of_block(matrix: Any, p: int) -> int:
    """Return the number of rows of a block of about 8 MiB, or of a few chunks of the file."""
    if not hasattr(matrix, "chunks"):
        # Sparse rows of cells hold some thousand entries.
        return 2048
    chunk = matrix.chunks[0] if matrix.chunks and isinstance(matrix.chunks[0], int) else 1
    return int(chunk) * max(1, BLOCK_BYTES // (8 * max(p, 1) * int(chunk)))


def _is_of(X: Any, library: str, ending: str) -> bool:
    kind = type(X)
    return kind.__module__.partition(".")[0] == library and kind.__name__.endswith(ending)
