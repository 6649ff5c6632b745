"""Observed entries of a matrix with missing values, with ids of rows and columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from karhunen import _core
from karhunen._incomplete.ids import as_numbers, numbered, plain
from karhunen._incomplete.sparse_entries import refuse_masks
from karhunen._inputs.incomplete import without_masks
from karhunen._shared.arrays import FloatArray, Ids
from karhunen._shared.choices import Duplicates
from karhunen._shared.errors import repeated_pair
from karhunen._shared.options import choice_option, count_option, optional_count, seed_option

if TYPE_CHECKING:
    from typing_extensions import Self


class Observed:
    """The observed entries of a matrix, from triples: ``values[e]`` was seen in row ``rows[e]``, column ``columns[e]``.

    The form of recommender data: users, items and ratings. Ids may be of any hashable type, and
    :meth:`IncompletePCA.predict` accepts the same ids. Entries are stored by rows and by columns, with 16 bytes for
    each float32 value and 24 for each float64 value. One object can be fitted repeatedly.

    Parameters
    ----------
    rows, columns : array-like of shape (n_entries,)
        Ids of any types, of users and items or samples and features. They are numbered in sorted order, or by first
        occurrence if they cannot be sorted. With `shape`, they are indices from zero.
    values : array-like of shape (n_entries,)
        Observed values; float32 stays float32, other types become float64. NaN is missing.
    weight : array-like of shape (n_entries,), float or None, default=None
        Inverse variance of each entry, up to a common factor. Entries of weight zero are missing.
    shape : tuple of two int or None, default=None
        Shape of the matrix, if ids are indices: rows below ``shape[0]``, columns below ``shape[1]``. Rows and columns
        without observed entries are then part of the matrix.
    duplicates : {"refuse", "average"}, default="refuse"
        Treatment of a (row, column) pair that occurs more than once: raise an error that names it, or use the mean,
        weighted by `weight`.
    n_threads : int or None, default=None
        Number of threads; None uses all cores.

    Attributes
    ----------
    shape : tuple of two int
        Numbers of rows and columns.
    n_observed : int
        Number of entries.
    dtype : numpy.dtype
        dtype of the values.
    row_ids, column_ids : ndarray or None
        Id of each row and column, in order; None if ids are indices.

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
        """Return the ids of rows and columns; without ids, the indices themselves."""
        if self.row_ids is None or self.column_ids is None:
            return row, column
        return self.row_ids[row], self.column_ids[column]

    def _named(self, error: ValueError) -> ValueError:
        """Name a repeated pair in an error by its ids."""
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
        """Count the observed entries of each row.

        Returns
        -------
        ndarray of shape (n_rows,)
            Number of entries.
        """
        return self._entries.row_counts()

    def column_counts(self) -> NDArray[np.uint64]:
        """Count the observed entries of each column.

        Returns
        -------
        ndarray of shape (n_columns,)
            Number of entries.
        """
        return self._entries.column_counts()

    def triples(self) -> tuple[Ids, Ids, FloatArray]:
        """Return the entries with their ids, sorted by row.

        Returns
        -------
        rows, columns, values : ndarray of shape (n_entries,)
            As in :class:`Observed`, without weights.
        """
        rows, columns, values, _ = self._entries.triples()
        return *self._ids_at(rows, columns), values

    def split(self, share: float, random_state: Any = None) -> tuple[Self, Self]:
        """Hold out entries, to measure how well they are predicted.

        Parameters
        ----------
        share : float
            Approximate share of the entries to hold out, between 0 and 1. Every row and every column keeps an entry.
        random_state : int, RandomState, Generator or None, default=None
            Seed of the selection. None is a fixed seed: every call gives the same selection.

        Returns
        -------
        kept, aside : Observed
            Entries to fit and held-out entries, with the shape and ids of this object.

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


def _numbers(name: str, values: Any) -> FloatArray:
    """Convert numbers to a contiguous vector of float32 or float64."""
    values = np.asarray(without_masks(plain(values)))
    if values.ndim != 1:
        raise ValueError(f"{name} has shape {values.shape}; expected one axis")
    if values.dtype.kind not in "fiubO" or (values.dtype.kind == "f" and values.dtype.itemsize not in (2, 4, 8)):
        raise ValueError(f"{name} has dtype {values.dtype}; only numbers can be analysed")
    dtype = np.float32 if values.dtype in (np.float16, np.float32) else np.float64
    return np.ascontiguousarray(values, dtype=dtype)


def _entry_weights(weight: Any, values: FloatArray) -> FloatArray:
    """Return one weight for each value, in the dtype of the values."""
    refuse_masks("weight", weight)
    weights = np.asarray(weight, dtype=values.dtype)
    if weights.ndim == 0:
        return np.full(len(values), weights.item(), values.dtype)
    if weights.shape != values.shape:
        raise ValueError(f"weight has shape {weights.shape}, but there are {len(values)} values")
    return np.ascontiguousarray(weights)
