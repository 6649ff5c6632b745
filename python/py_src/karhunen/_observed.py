"""Observed entries: what is there of a matrix with holes, and what its rows and columns are called."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from karhunen import _core
from karhunen._options import count_option, seed_option

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

    def __init__(
        self,
        rows: Any,
        columns: Any,
        values: Any,
        weight: Any = None,
        *,
        shape: tuple[int, int] | None = None,
        duplicates: str = "refuse",
        n_threads: int | None = None,
    ) -> None:
        if duplicates not in ("refuse", "average"):
            raise ValueError(f"duplicates = {duplicates!r} is not known; choose one of 'refuse', 'average'")
        threads = None if n_threads is None else count_option("n_threads", n_threads)
        values = _numbers("values", values)
        n = len(values)
        if shape is None:
            rows, row_ids = _codes("rows", rows, n)
            columns, column_ids = _codes("columns", columns, n)
            shape = (len(row_ids), len(column_ids))
        else:
            rows, columns = _numbered("rows", rows, n), _numbered("columns", columns, n)
            row_ids = column_ids = None
            shape = (count_option("shape[0]", shape[0]), count_option("shape[1]", shape[1]))
        if rows.dtype != columns.dtype:
            rows, columns = rows.astype(np.int64, copy=False), columns.astype(np.int64, copy=False)
        weights = None if weight is None else _entry_weights(weight, values)
        self._take(row_ids, column_ids)
        try:
            self._entries = _core.observe_triples(
                rows, columns, values, shape, duplicates == "average", weights, threads
            )
        except ValueError as error:
            raise self._named(error) from None

    def _take(self, row_ids: np.ndarray | None, column_ids: np.ndarray | None) -> None:
        self.row_ids = row_ids
        self.column_ids = column_ids

    def _named(self, error: ValueError) -> ValueError:
        """Name a pair that is given more than once by its ids."""
        message = str(error)
        if "more than once" not in message:
            return error
        row, column = error.row, error.column
        if self.row_ids is not None:
            row, column = self.row_ids[row], self.column_ids[column]
            row, column = (x.item() if isinstance(x, np.generic) else x for x in (row, column))
        return ValueError(
            f'row {row!r}, column {column!r} is given more than once; keep one of them, or pass duplicates="average"'
        )

    @classmethod
    def _of(cls, entries: _core.Entries, row_ids: np.ndarray | None, column_ids: np.ndarray | None) -> Self:
        """Wrap entries."""
        self = cls.__new__(cls)
        self._entries = entries
        self._take(row_ids, column_ids)
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

    def row_counts(self) -> np.ndarray:
        """Count the entries of each row.

        Returns
        -------
        ndarray of shape (n_rows,)
            Numbers of entries.
        """
        return self._entries.row_counts()

    def column_counts(self) -> np.ndarray:
        """Count the entries of each column.

        Returns
        -------
        ndarray of shape (n_columns,)
            Numbers of entries.
        """
        return self._entries.column_counts()

    def triples(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Give the entries, row after row, with their ids.

        Returns
        -------
        rows, columns, values : ndarray of shape (n_entries,)
            As for :class:`Observed`, without weights.
        """
        rows, columns, values, _ = self._entries.triples()
        if self.row_ids is not None:
            rows, columns = self.row_ids[rows], self.column_ids[columns]
        return rows, columns, values

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


def index_of(what: str, wanted: Any, ids: np.ndarray | None, n: int) -> np.ndarray:
    """Give the places of ids: numbers below `n` where `ids` is None.

    Parameters
    ----------
    what : str
        Name of the argument, for errors.
    wanted : array-like
        Ids.
    ids : ndarray or None
        The id of each place.
    n : int
        Number of places.

    Returns
    -------
    ndarray of int64
        Places, in the shape of `wanted`.
    """
    wanted = _id_array(wanted)
    if ids is None:
        if wanted.dtype.kind not in "iu" and wanted.size:
            raise ValueError(f"{what} must be whole numbers below {n}, got an array of {wanted.dtype}")
        places = wanted.astype(np.int64)
        outside = (places < 0) | (places >= n)
        if outside.any():
            raise ValueError(
                f"{what}: {int(places[outside].flat[0])} is outside 0..{n - 1}: no such {what[:-1]} was fitted"
            )
        return places
    flat = wanted.ravel()
    if ids.dtype != object and flat.dtype != object and _sorted(ids):
        places = np.minimum(np.searchsorted(ids, flat), len(ids) - 1)
        known = ids[places] == flat
    else:
        where = {id_: place for place, id_ in enumerate(ids.tolist())}
        found = [where.get(id_, -1) for id_ in flat.tolist()]
        places = np.asarray(found, dtype=np.int64)
        known = places >= 0
    if not known.all():
        unknown = flat[~known][0]
        unknown = unknown.item() if isinstance(unknown, np.generic) else unknown
        raise ValueError(f"{what}: {unknown!r} was not among the {what} of the fit")
    return places.astype(np.int64, copy=False).reshape(wanted.shape)


def _sorted(ids: np.ndarray) -> bool:
    """Tell whether ids increase."""
    return bool((ids[:-1] < ids[1:]).all())


def _id_array(ids: Any) -> np.ndarray:
    """Give ids as an array; ids that numpy would take for nested lists or change the type of stay what they are."""
    if hasattr(ids, "to_numpy"):
        ids = ids.to_numpy()
    if isinstance(ids, np.ndarray):
        return ids
    if isinstance(ids, (list, tuple)) and len({type(id_) for id_ in ids} | {tuple}) > (2 if ids else 1):
        return _object_array(list(ids))
    if isinstance(ids, (list, tuple)) and ids and isinstance(ids[0], tuple):
        return _object_array(list(ids))
    return np.asarray(ids)


def _object_array(ids: list[Any]) -> np.ndarray:
    array = np.empty(len(ids), dtype=object)
    array[:] = ids
    return array


def _codes(name: str, ids: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Give ids as numbers, and the id of each number."""
    ids = _id_array(ids)
    _check_length(name, ids, n)
    if ids.dtype.kind in "fc" and np.isnan(ids).any():
        raise ValueError(f"{name}: entry {int(np.isnan(ids).argmax())} is NaN, which is no id")
    if ids.dtype.kind in "iu" and n:
        least, most = int(ids.min()), int(ids.max())
        if most - least < max(4 * n, 1 << 20):
            present = np.zeros(most - least + 1, dtype=bool)
            present[ids - least] = True
            numbered = np.cumsum(present, dtype=np.int64) - 1
            return numbered[ids - least], (np.flatnonzero(present) + least).astype(ids.dtype)
    if ids.dtype != object:
        unique, codes = np.unique(ids, return_inverse=True)
        return codes.reshape(-1).astype(np.int64, copy=False), unique
    numbers: dict[Any, int] = {}
    codes = np.fromiter((numbers.setdefault(id_, len(numbers)) for id_ in ids.tolist()), np.int64, n)
    unique = _object_array(list(numbers))
    try:
        order = np.fromiter(sorted(range(len(unique)), key=unique.__getitem__), np.int64, len(unique))
    except TypeError:
        return codes, unique
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], unique[order]


def _numbered(name: str, ids: Any, n: int) -> np.ndarray:
    """Check ids that are numbers."""
    ids = np.asarray(ids)
    _check_length(name, ids, n)
    if ids.dtype.kind not in "iu" and ids.size:
        raise ValueError(f"{name} must be whole numbers where shape is given, got an array of {ids.dtype}")
    kind = ids.dtype if ids.dtype in (np.int32, np.int64) else np.int64
    return np.ascontiguousarray(ids, dtype=kind)


def _check_length(name: str, ids: np.ndarray, n: int) -> None:
    if ids.shape != (n,):
        raise ValueError(f"{name} has shape {ids.shape}, but there are {n} values: expected ({n},)")


def _numbers(name: str, values: Any) -> np.ndarray:
    """Give numbers as a contiguous vector of float32 or float64."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    values = np.asarray(values)
    if values.ndim != 1:
        raise ValueError(f"{name} has shape {values.shape}; expected one axis")
    if values.dtype.kind not in "fiubO" or (values.dtype.kind == "f" and values.dtype.itemsize not in (4, 8)):
        raise ValueError(f"{name} has dtype {values.dtype}; only numbers can be analysed")
    dtype = np.float32 if values.dtype == np.float32 else np.float64
    return np.ascontiguousarray(values, dtype=dtype)


def _entry_weights(weight: Any, values: np.ndarray) -> np.ndarray:
    """Give one weight for each value, in the type of the values."""
    weights = np.asarray(weight, dtype=values.dtype)
    if weights.ndim == 0:
        return np.full(len(values), weights.item(), values.dtype)
    if weights.shape != values.shape:
        raise ValueError(f"weight has shape {weights.shape}, but there are {len(values)} values")
    return np.ascontiguousarray(weights)


def entries_of_sparse(X: Any, weight: Any, n_threads: int | None) -> _core.Entries:
    """Read the stored entries of a matrix of scipy, explicit zeros included.

    Parameters
    ----------
    X : sparse matrix or array
        CSR, CSC, COO, LIL or DOK.
    weight : None, array-like that broadcasts to the shape of `X`, or sparse matrix with the entries of `X`
        Inverse variances.
    n_threads : int or None
        Threads.

    Returns
    -------
    Entries
        With duplicates refused.
    """
    if X.format in ("dia", "bsr"):
        raise ValueError(
            f"a sparse matrix of the format {X.format} does not tell stored zeros, which are observations, from "
            "filling; pass CSR, CSC or COO"
        )
    if X.dtype.kind not in "fiub" or (X.dtype.kind == "f" and X.dtype.itemsize not in (4, 8)):
        raise ValueError(f"the sparse matrix has dtype {X.dtype}; only numbers can be analysed")
    dtype = np.float32 if X.dtype == np.float32 else np.float64
    compressed = X.format in ("csr", "csc") and X.has_canonical_format
    if compressed and len(X.data) == len(X.indices) == X.indptr[-1] and weight is None:
        arrays = [np.ascontiguousarray(array) for array in (X.data.astype(dtype, copy=False), X.indices, X.indptr)]
        kind = sp.csr_array if X.format == "csr" else sp.csc_array
        view = kind(X.shape, dtype=dtype)
        view.data, view.indices, view.indptr = arrays
        return _core.observe(view, None, n_threads)
    triples = X.tocoo()
    rows, columns = (np.ascontiguousarray(ids) for ids in (triples.row, triples.col))
    values = np.ascontiguousarray(triples.data, dtype=dtype)
    weights = None if weight is None else _weights_at(weight, X, rows, columns, dtype)
    try:
        return _core.observe_triples(rows, columns, values, X.shape, False, weights, n_threads)
    except ValueError as error:
        message = str(error)
        if "more than once" in message:
            raise ValueError(
                f"row {error.row}, column {error.column} of the sparse matrix is stored more than once; call "
                'X.sum_duplicates() if the sum is meant, or pass karhunen.Observed(..., duplicates="average")'
            ) from None
        raise


def _weights_at(weight: Any, X: Any, rows: np.ndarray, columns: np.ndarray, dtype: type) -> np.ndarray:
    """Give the weights of the entries at `rows` and `columns`, in the order of ``X.tocoo()``."""
    if sp.issparse(weight):
        if weight.shape != X.shape:
            raise ValueError(f"entry_weight has shape {weight.shape}, but X has shape {X.shape}")
        same = weight.tocsr()
        # Where no weight is stored it is zero: the entry counts as missing.
        weights = np.asarray(same[rows, columns]).ravel()
    else:
        weights = broadcast_weights(weight, X.shape, dtype)[rows, columns]
    return np.ascontiguousarray(weights, dtype=dtype)


def broadcast_weights(weight: Any, shape: tuple[int, int], dtype: Any) -> np.ndarray:
    """Give weights in the shape of the data, without a copy where they are those of rows or columns."""
    weights = np.asarray(weight, dtype=dtype)
    try:
        return np.broadcast_to(weights, shape)
    except ValueError:
        raise ValueError(
            f"entry_weight has shape {weights.shape}, but X has shape {shape}: give one weight for each entry, "
            f"({shape[0]}, 1) for each row or ({shape[1]},) for each column"
        ) from None


def adopt_ids(estimator: Any, row_ids: np.ndarray | None, column_ids: np.ndarray | None) -> None:
    """Make ids those of an estimator; columns that are all called by strings have names.

    Parameters
    ----------
    estimator : IncompletePCA
        Gets ``row_ids_``, ``column_ids_`` and ``feature_names_in_``.
    row_ids, column_ids : ndarray or None
        The id of each row and column. Columns alone are named as those of a table.
    """
    vars(estimator).pop("feature_names_in_", None)
    if column_ids is not None and all(isinstance(id_, str) for id_ in column_ids.tolist()):
        estimator.feature_names_in_ = column_ids.astype(object)
    estimator.row_ids_ = row_ids
    estimator.column_ids_ = None if row_ids is None else column_ids


def id_list(what: str, ids: np.ndarray | None) -> list[int] | list[str] | None:
    """Give ids as model files hold them: whole numbers or strings."""
    if ids is None:
        return None
    values = ids.tolist()
    for kind in (int, str):
        if all(isinstance(id_, kind) and not isinstance(id_, bool) for id_ in values):
            return values
    raise ValueError(
        f"the {what} ids are not all whole numbers or all strings, which model files hold (first: {values[0]!r}); "
        "pickle the estimator, or fit with other ids"
    )
