"""Rows that a function yields in blocks."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from karhunen import _core
from karhunen._inputs import tables
from karhunen._inputs.matrix import sound, to_matrix
from karhunen._shared.arrays import FloatArray, Rows
from karhunen._shared.options import is_whole

#: Bytes of a block that :meth:`RowBlocks.from_array` reads.
BLOCK_BYTES = 8 * 2**20


class RowBlocks:
    """Rows that a function yields in blocks in every pass.

    :class:`PCA` and :class:`IncompletePCA` fit such rows and transform them, in any number. A thread reads one block
    ahead while another is used; blocks are copied, so that a function may yield the same buffer again and again.

    Parameters
    ----------
    factory : callable
        Called without arguments at the beginning of every pass; returns an iterable of blocks: arrays, sparse matrices
        or dataframes of shape (any number, n_features), as `fit` takes them. All are dense or all are sparse. The rows
        must be the same, in the same order, in every pass. A function with ``yield`` is a factory; the generator that
        it returns is not, for it yields its blocks only once. Queries and streams of tables are iterables of blocks,
        too: ``RowBlocks(lambda: duckdb.sql("from 'big.parquet'"))``, ``RowBlocks(lambda: polars.scan_csv("big.csv"))``.
    n_features : int or None, default=None
        Number of columns. None takes the number of the first block.
    n_samples : int or None, default=None
        Number of rows. None counts them in a pass of its own, before the first.
    dtype : float32, float64 or None, default=None
        Type in which the rows are read. None takes the type of the first block, and float64 for integers and booleans.

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import PCA, RowBlocks
    >>> def blocks():
    ...     for seed in range(5):  # a file, a query, a part of an array
    ...         yield np.random.default_rng(seed).normal(size=(200, 4)) * [4.0, 3.0, 2.0, 1.0]
    >>> rows = RowBlocks(blocks, 4)
    >>> pca = PCA(2).fit(rows)
    >>> pca.n_samples_, pca.transform(rows).shape
    (1000, (1000, 2))
    """

    __module__ = "karhunen"

    def __init__(
        self,
        factory: Callable[[], Iterable[Any]],
        n_features: int | None = None,
        n_samples: int | None = None,
        dtype: Any = None,
    ) -> None:
        if not callable(factory):
            raise TypeError(
                f"factory is of type {type(factory).__name__}, which cannot be called; give a function that returns "
                "the blocks in every pass"
            )
        for name, count in (("n_features", n_features), ("n_samples", n_samples)):
            if count is not None and (not is_whole(count) or count < 1):
                raise ValueError(f"{name} = {count!r} is not allowed: give a whole number, at least 1, or None")
        if dtype is not None and np.dtype(dtype) not in (np.float32, np.float64):
            raise ValueError(f"dtype = {dtype!r} is not allowed: give float32, float64 or None")
        self._factory = factory
        self._n_features = n_features
        self._n_samples = n_samples
        self._dtype = None if dtype is None else np.dtype(dtype)
        self._form: _Form | None = None
        self._last: Any = None

    @classmethod
    def from_array(cls, array: Any, rows: int | None = None, dtype: Any = None) -> RowBlocks:
        """Read an array of any library in blocks of rows.

        Parameters
        ----------
        array : object of shape (n_samples, n_features)
            Has a `shape` and returns rows for a slice: a dataset of h5py, an array of zarr, a `numpy.memmap`.
        rows : int or None, default=None
            Number of rows of a block. None takes whole chunks of the array, of about 8 MiB.
        dtype : float32, float64 or None, default=None
            As of the class.

        Returns
        -------
        RowBlocks
            The rows of the array, which is read in every pass.

        Examples
        --------
        >>> import numpy as np
        >>> from karhunen import RowBlocks
        >>> RowBlocks.from_array(np.zeros((1000, 3)))
        RowBlocks(1000 x 3)
        """
        if len(array.shape) != 2:
            raise ValueError(f"an array of shape {tuple(array.shape)} has no rows and columns; two axes are needed")
        n, p = (int(size) for size in array.shape)
        if rows is None:
            # Other libraries call the rows of a chunk otherwise, or have none.
            chunks = getattr(array, "chunks", None)
            chunk = chunks[0] if chunks and isinstance(chunks[0], int) else 1
            rows = chunk * max(1, BLOCK_BYTES // (8 * max(p, 1) * chunk))
        elif not is_whole(rows) or rows < 1:
            raise ValueError(f"rows = {rows!r} is not allowed: give a whole number, at least 1, or None")
        return cls(lambda: (array[begin : begin + rows] for begin in range(0, n, rows)), p, n, dtype)

    def __repr__(self) -> str:
        """Show the shape, as far as it is known."""
        n, p = ("?" if count is None else count for count in (self._n_samples, self._n_features))
        return f"RowBlocks({n} x {p})"

    def _learned(self) -> _Form:
        """Return the form of the rows; the first call reads a block, or counts the rows."""
        if self._form is not None:
            return self._form
        with self._open() as blocks:
            first = next(blocks, None)
            if first is None:
                raise ValueError(f"{self._name()} returned no block")
            matrix, names = _matrix(first, 0)
            n = self._n_samples
            if n is None:
                n = matrix.shape[0] + sum(_n_rows(block) for block in blocks)
        p = matrix.shape[1] if self._n_features is None else self._n_features
        dtype = matrix.dtype if self._dtype is None else self._dtype
        stored = None if isinstance(matrix, np.ndarray) else int(matrix.nnz)
        width = dtype.itemsize if stored is None else dtype.itemsize + 4
        size = max(1, matrix.size if stored is None else stored) * width
        per_row = None if stored is None else stored / max(1, matrix.shape[0])
        form = _Form((n, p), dtype, names, None if per_row is None else round(per_row * n), size)
        form.check(matrix, names, 0)
        self._form = form
        return form

    def _blocks(self, first: int) -> Iterator[Rows]:
        """Yield the rows from row `first` on, as arrays or CSR matrices of one type."""
        form = self._learned()
        n, end = form.shape[0], 0
        with self._open() as blocks:
            for number, block in enumerate(blocks):
                begin, end = end, end + _n_rows(block)
                if end > n:
                    raise ValueError(f"{self._name()} returned more than {self._expected(n)}")
                if end <= first:
                    continue
                matrix, names = _matrix(block, number)
                form.check(matrix, names, number)
                rows = matrix if isinstance(matrix, np.ndarray) else matrix.tocsr()
                yield rows[max(first - begin, 0) :].astype(form.dtype, copy=False)
        if end < n:
            raise ValueError(f"{self._name()} returned {end} rows, not {self._expected(n)}")

    def _expected(self, n: int) -> str:
        if self._n_samples is not None:
            return f"n_samples = {n} rows"
        return f"the {n} rows of the pass before; every pass must have the same rows"

    @contextmanager
    def _open(self) -> Iterator[Iterator[Any]]:
        """Call the factory and iterate over its blocks."""
        found = self._factory()
        try:
            stream = tables.batches(found)
            blocks = iter(found) if stream is None else stream
        except TypeError:
            raise TypeError(
                f"{self._name()} returned an object of type {type(found).__name__}, which is not an iterable of blocks"
            ) from None
        if (blocks is found or tables.is_reader(found)) and found is self._last:
            raise ValueError(
                f"{self._name()} returned the same iterator again, whose blocks are gone; it must return a new one in "
                "every call"
            )
        self._last = found
        try:
            yield blocks
        finally:
            if isinstance(blocks, Generator):
                blocks.close()

    def _name(self) -> str:
        return f"the factory {getattr(self._factory, '__name__', type(self._factory).__name__)!r}"


@dataclass(frozen=True)
class _Form:
    """Properties that all blocks share."""

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    names: list[str] | None
    #: Expected number of stored entries of sparse rows.
    n_stored: int | None
    #: Bytes of the first block.
    block_bytes: int

    def check(self, matrix: Any, names: list[str] | None, number: int) -> None:
        """Refuse a block of another form."""
        p = self.shape[1]
        if matrix.shape[1] != p:
            raise ValueError(f"block {number} has {matrix.shape[1]} columns, but {p} are needed")
        if sp.issparse(matrix) != (self.n_stored is not None):
            kinds = ("sparse", "dense") if sp.issparse(matrix) else ("dense", "sparse")
            raise ValueError(f"block {number} is {kinds[0]}, but the first is {kinds[1]}; make all of one kind")
        if names != self.names:
            raise ValueError(f"the columns of block {number} have other names than the columns of the first")
        if matrix.dtype.itemsize > self.dtype.itemsize and number > 0:
            raise ValueError(
                f"block {number} holds {matrix.dtype}, but the first {self.dtype}; give the dtype that all are read in"
            )


class _Block(BaseEstimator):
    """Receives the names of the columns of a block."""


def _matrix(block: Any, number: int) -> tuple[FloatArray | sp.csr_array | sp.csc_array, list[str] | None]:
    """Convert a block to a matrix, and return the names of its columns."""
    receiver = _Block()
    try:
        if sp.issparse(block) and block.format in ("csr", "csc"):
            block = sound(block)
        matrix = to_matrix(receiver, block, reset=True, min_samples=0)
    except (TypeError, ValueError) as error:
        raise ValueError(f"block {number}: {error}") from None
    names = getattr(receiver, "feature_names_in_", None)
    return matrix, None if names is None else list(names)


def _n_rows(block: Any) -> int:
    return int(block.shape[0]) if hasattr(block, "shape") else len(block)


def to_source(blocks: RowBlocks) -> tuple[_core.RowSource, list[str] | None]:
    """Make rows that the engine reads, and return the names of their columns.

    Parameters
    ----------
    blocks : RowBlocks
        Rows.

    Returns
    -------
    source : RowSource
        Opens the blocks in every pass.
    names : list of str or None
        Names of the columns, where the blocks have them.
    """
    form = blocks._learned()
    single = form.dtype == np.float32
    return _core.RowSource(blocks._blocks, form.shape, single, form.n_stored, form.block_bytes), form.names
