"""Observed entries: what is there of a matrix with holes, and what its rows and columns are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from karhunen import _core
from karhunen._incomplete.ids import as_numbers, numbered, plain
from karhunen._incomplete.sparse_entries import refuse_masks
from karhunen._shared.arrays import FloatArray, Ids
from karhunen._shared.choices import Duplicates
from karhunen._shared.errors import repeated_pair
from karhunen._shared.options import choice_option, count_option, optional_count, seed_option

if TYPE_CHECKING:
    from typing_extensions import Self


class Observed:
    """The observed entries of a matrix, from triples: ``values[e]`` was seen in row ``rows[e]``, column ``columns[e]``.

    What recommender data are: users, items and ratings. Ids are of any type that can be hashed; whatever they are,
    :meth:`IncompletePCA.predict` takes them as they were given here. Entries are stored by rows and by columns, 16
    bytes for each float32 value and 24 for each float64 value; nothing else is kept. Make it once, fit it often.

    Parameters
    ----------
    rows, columns : array-like of shape (n_entries,)
        Ids, of any types: of users and items, of samples and features. They are numbered by their sorted order, or by
        their first appearance where they cannot be sorted. With `shape`, they are numbers from zero themselves.
    values : array-like of shape (n_entries,)
        What was observed; float32 stays float32, all else becomes float64. NaN counts as missing.
    weight : array-like of shape (n_entries,), float or None, default=None
        Inverse variance of each entry, up to a common factor. Weight zero counts as missing.
    shape : tuple of two int or None, default=None
        Take ids as numbers: rows below ``shape[0]``, columns below ``shape[1]``. Rows and columns of which nothing was
        observed are then part of the matrix.
    duplicates : {"refuse", "average"}, default="refuse"
        What to do with a pair that is given more than once: raise an error that names it, or take the mean, weighted
        by `weight`.
    n_threads : int or None, default=None
        Threads; all cores if None.

    Attributes
    ----------
    shape : tuple of two int
        Numbers of rows and columns.
    n_observed : int
        Number of entries.
    dtype : numpy.dtype
        Type of the values.
    row_ids, column_ids : ndarray or None
        The id of each row and column, in their order; None where ids are numbers from zero.

    Examples
    --------
    >>> from karhunen import Observed
    >>> users = ["ann", "ann", "bob", "cid", "cid"]
    >>> films = ["Alien", "Brazil", "Alien", "Brazil", "Casino"]
    >>> ratings = Observed(users, films, [5, 3, 4, 2, 1])
    >>> ratings
    Observed(3 x 3, 5 entries of float64)
    >>> ratings.column_ids.tolist()
    ['Alien', 'Brazil', 'Casino']
    >>> Observed(["ann", "ann"], ["Alien", "Alien"], [5, 4])
    Traceback (most recent call last):
        ...
    ValueError: row 'ann', column 'Alien' is given more than once; keep one of them, or pass duplicates="average"
    """

    __module__ = "karhunen"

    row_ids: Ids | None
    column_ids: Ids | None

    def __init__(
        self,
        rows: Any,
        columns: Any,
        values: Any,
        weight: Any = None,
        *,
        shape: tuple[int, int] | None = None,
        duplicates: Duplicates = "refuse",
        n_threads: int | None = None,
    ) -> None:
        choice_option("duplicates", duplicates, Duplicates)
        threads = optional_count("n_threads", n_threads)
        values = _numbers("values", values)
        n = len(values)
        if shape is None:
            rows, self.row_ids = numbered("rows", rows, n)
            columns, self.column_ids = numbered("columns", columns, n)
            shape = (len(self.row_ids), len(self.column_ids))
        else:
            rows, columns = as_numbers("rows", rows, n), as_numbers("columns", columns, n)
            self.row_ids = self.column_ids = None
            if not isinstance(shape, (tuple, list)) or len(shape) != 2:
                raise ValueError(f"shape = {shape!r} is not allowed: give (number of rows, number of columns)")
            shape = (count_option("shape[0]", shape[0]), count_option("shape[1]", shape[1]))
        if rows.dtype != columns.dtype:
            rows, columns = rows.astype(np.int64, copy=False), columns.astype(np.int64, copy=False)
        weights = None if weight is None else _entry_weights(weight, values)
        try:
            self._entries = _core.observe_triples(
                rows, columns, values, shape, duplicates == "average", weights, threads
            )
        except ValueError as error:
            raise self._named(error) from None

    def _ids_at(self, row: Any, column: Any) -> tuple[Any, Any]:
        """Give the ids of numbers of rows and columns, which are their own ids where there are no others."""
        if self.row_ids is None or self.column_ids is None:
            return row, column
        return self.row_ids[row], self.column_ids[column]

    def _named(self, error: ValueError) -> ValueError:
        """Name a pair that is given more than once by its ids."""
        pair = repeated_pair(error)
        if pair is None:
            return error
        row, column = (x.item() if isinstance(x, np.generic) else x for x in self._ids_at(*pair))
        return ValueError(
            f'row {row!r}, column {column!r} is given more than once; keep one of them, or pass duplicates="average"'
        )

    @classmethod
    def _of(cls, entries: _core.Entries, row_ids: Ids | None, column_ids: Ids | None) -> Self:
        """Wrap entries."""
        self = cls.__new__(cls)
        self._entries = entries
        self.row_ids, self.column_ids = row_ids, column_ids
        return self

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of rows and columns."""
        return self._entries.shape

    @property
    def n_observed(self) -> int:
        """Number of entries."""
        return self._entries.n_observed

    @property
    def dtype(self) -> np.dtype:
        """Type of the values."""
        return np.dtype(self._entries.dtype)

    def row_counts(self) -> NDArray[np.uint64]:
        """Count the entries of each row.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbers of entries.
        """
        return self._entries.row_counts()

    def column_counts(self) -> NDArray[np.uint64]:
        """Count the entries of each column.

        Returns
        -------
        ndarray of shape (n_columns,)
            Numbers of entries.
        """
        return self._entries.column_counts()

    def triples(self) -> tuple[Ids, Ids, FloatArray]:
        """Give the entries, row after row, with their ids.

        Returns
        -------
        rows, columns, values : ndarray of shape (n_entries,)
            As for :class:`Observed`, without weights.
        """
        rows, columns, values, _ = self._entries.triples()
        return *self._ids_at(rows, columns), values

    def split(self, share: float, random_state: Any = None) -> tuple[Self, Self]:
        """Set entries aside, to see how well they are predicted.

        Parameters
        ----------
        share : float
            About which share of the entries, between 0 and 1. No row and no column loses its last entry.
        random_state : int, RandomState, Generator or None, default=None
            Seeds the choice. None is a fixed seed: the same choice every time.

        Returns
        -------
        kept, aside : Observed
            Of the same shape and ids.

        Examples
        --------
        >>> import numpy as np
        >>> from karhunen import IncompletePCA, Observed
        >>> i, j = np.indices((40, 12)).reshape(2, -1)
        >>> ratings = Observed(i, j, np.sin(i) * (j + 1))
        >>> train, test = ratings.split(0.1)
        >>> rows, columns, values = test.triples()
        >>> error = IncompletePCA(1).fit(train).predict(rows, columns) - values
        >>> bool(np.abs(error).max() < 1e-3)
        True
        """
        if not 0 < share < 1:
            raise ValueError(f"share = {share!r} is not allowed: it must lie between 0 and 1, both excluded")
        parts = _core.split_entries(self._entries, float(share), seed_option(random_state))
        kept, aside = (type(self)._of(part, self.row_ids, self.column_ids) for part in parts)
        return kept, aside

    def __repr__(self) -> str:
        n, p = self.shape
        return f"{type(self).__name__}({n} x {p}, {self.n_observed} entries of {self.dtype})"


def without_masks(X: Any) -> Any:
    """Give a masked array as floating-point numbers with NaN where it is masked."""
    if not np.ma.isMaskedArray(X):
        return X
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    return np.ma.filled(X.astype(dtype), np.nan)


def _numbers(name: str, values: Any) -> FloatArray:
    """Give numbers as a contiguous vector of float32 or float64."""
    values = np.asarray(without_masks(plain(values)))
    if values.ndim != 1:
        raise ValueError(f"{name} has shape {values.shape}; expected one axis")
    if values.dtype.kind not in "fiubO" or (values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8)):
        raise ValueError(f"{name} has dtype {values.dtype}; only numbers can be analysed")
    dtype = np.float32 if values.dtype == np.float32 else np.float64
    return np.ascontiguousarray(values, dtype=dtype)


def _entry_weights(weight: Any, values: FloatArray) -> FloatArray:
    """Give one weight for each value, in the type of the values."""
    refuse_masks("weight", weight)
    weights = np.asarray(weight, dtype=values.dtype)
    if weights.ndim == 0:
        return np.full(len(values), weights.item(), values.dtype)
    if weights.shape != values.shape:
        raise ValueError(f"weight has shape {weights.shape}, but there are {len(values)} values")
    return np.ascontiguousarray(weights)
