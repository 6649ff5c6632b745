"""Moments of rows that merge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from karhunen import _core
from karhunen._inputs.files import set_columns, to_rows
from karhunen._inputs.matrix import to_row_weights
from karhunen._shared.arrays import FloatArray
from karhunen._shared.errors import name_column
from karhunen._shared.options import bytes_option, count_option, optional_count
from karhunen._shared.progress import progress

if TYPE_CHECKING:
    import os

    from typing_extensions import Self


class Scatter(BaseEstimator):
    """Sums over rows that merge: weights, means, and the products of all pairs of columns.

    Each part of the data (a batch, a file, a machine) makes one; merged, they equal the sums over all rows, and
    :meth:`PCA.fit` takes them instead of the rows. Centring, scaling and the meaning of the weights are chosen then.

    Parameters
    ----------
    n_threads : int or None, default=None
        Number of threads; None uses all cores. The bits of the result do not depend on it.
    memory_limit : int or None, default=None
        Most bytes that a call may hold, as for :class:`PCA`.
    cache_dir : str, path or None, default=None
        Folder for temporary copies of the values of a large text; None is the system's folder.
    verbose : bool, default=False
        Show a progress bar (needs tqdm).

    Attributes
    ----------
    n_samples_ : int
        Number of rows.
    sum_of_weights_ : float
        Sum of their weights.
    mean_ : ndarray of shape (n_features,)
        Weighted mean of each column.
    scatter_ : ndarray of shape (n_features, n_features)
        Weighted sums of products of deviations from the means: `scatter_ / sum_of_weights_` is the covariance with
        divisor n.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if the rows had names.

    Notes
    -----
    Memory: 8 bytes for each pair of columns, and three times as many during a call. :meth:`merge` and :meth:`add` take
    as long for one row as for n_features rows; rows that come one by one are better given to `IncrementalPCA`.
    Merging is exact up to rounding in any order (Chan, Golub & LeVeque 1983).

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import PCA, Scatter
    >>> x = np.random.default_rng(0).normal(size=(100, 4))
    >>> first, second = Scatter().add(x[:30]), Scatter().add(x[30:])
    >>> pca = PCA(n_components=2).fit(first + second)
    >>> bool(np.allclose(pca.components_, PCA(n_components=2).fit(x).components_))
    True
    """

    __module__ = "karhunen"

    _sums: _core.Scatter
    n_features_in_: int
    feature_names_in_: NDArray[np.object_]

    def __init__(
        self,
        *,
        n_threads: int | None = None,
        memory_limit: int | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_threads = n_threads
        self.memory_limit = memory_limit
        self.cache_dir = cache_dir
        self.verbose = verbose

    def add(self, X: Any, sample_weight: Any = None) -> Self:
        """Add rows.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
            Rows, or the files that hold them, as in :meth:`PCA.fit`.
        sample_weight : array-like of shape (n_samples,) or None
            Nonnegative weight of each row.

        Returns
        -------
        Scatter
            The same object.

        Raises
        ------
        ValueError
            If a value is NaN or infinite, or if columns differ from the columns of earlier rows; the sums are then
            unchanged.
        """
        is_first = not self.__sklearn_is_fitted__()
        matrix = to_rows(self, X, reset=is_first)
        if is_first and isinstance(matrix, _core.FileTable) and matrix.log1p is not None:
            raise ValueError(
                "a Scatter does not keep the log1p of its rows: fit a PCA or an IncrementalPCA, or use karhunen "
                "moments --log1p on the command line"
            )
        weights = to_row_weights(matrix, sample_weight)
        limit, n_threads = bytes_option("memory_limit", self.memory_limit), optional_count("n_threads", self.n_threads)
        try:
            with progress(self.verbose, type(self).__name__) as draw:
                part = _core.sum_rows(matrix, weights, limit, n_threads, draw)
            self._sums = part if is_first else self._sums.merged(part)
        except ValueError as error:
            raise name_column(error, getattr(self, "feature_names_in_", None)) from error.__cause__
        return self

    @classmethod
    def from_covariance(cls, covariance: Any, *, n_samples: int, mean: ArrayLike | None = None) -> Self:
        """Return the sums of rows of which only the covariance matrix is known, as of a publication.

        Parameters
        ----------
        covariance : array-like or dataframe of shape (n_features, n_features), or path
            Covariances with the divisor n_samples - 1, or correlations, which are the covariances of standardized
            columns.
        n_samples : int
            Number of rows that it was computed from.
        mean : array-like of shape (n_features,) or None, default=None
            Means of the columns. None is zero: rows to be transformed have to be centred.

        Returns
        -------
        Scatter
            The sums.

        Raises
        ------
        ValueError
            If the matrix is not square or symmetric, or has a variance or an eigenvalue below zero.

        Examples
        --------
        >>> from karhunen import PCA, Scatter
        >>> sums = Scatter.from_covariance([[1.0, 0.5], [0.5, 1.0]], n_samples=50)
        >>> PCA().fit(sums).explained_variance_
        array([1.5, 0.5])
        """
        scatter = cls()
        matrix = to_rows(scatter, covariance, reset=True, observations=False)
        count = count_option("n_samples", n_samples)
        p = matrix.shape[1]
        names = getattr(scatter, "feature_names_in_", None)
        _check_row_names(covariance, matrix, names)
        # A series of other labels than the columns has NaN, which is refused.
        by_name = None if names is None else getattr(mean, "reindex", None)
        given = mean if by_name is None else by_name(names)
        means = np.zeros(p) if given is None else np.ascontiguousarray(given, dtype=np.float64)
        if not np.isfinite(means).all():
            raise ValueError("mean needs a finite number for each column of the covariance matrix")
        if means.shape != (p,):
            raise ValueError(f"mean has shape {means.shape}, but the covariance matrix has {p} columns")
        try:
            scatter._sums = _core.sums_of_covariance(matrix, means, count)
        except ValueError as error:
            raise name_column(error, getattr(scatter, "feature_names_in_", None)) from error.__cause__
        return scatter

    def merge(self, other: Scatter) -> Self:
        """Add the rows of another scatter. Columns are matched by name if both have names.

        Parameters
        ----------
        other : Scatter
            Sums over other rows.

        Returns
        -------
        Scatter
            The same object.

        Raises
        ------
        ValueError
            If the columns differ.
        """
        if not isinstance(other, Scatter):
            raise TypeError(f"a Scatter merges with a Scatter, not with {type(other).__name__}")
        if not other.__sklearn_is_fitted__():
            return self
        if not self.__sklearn_is_fitted__():
            self._sums = other._sums
            set_columns(self, other.n_features_in_, getattr(other, "feature_names_in_", None))
            return self
        self._sums = self._sums.merged(other._sums, self._places(other))
        return self

    def __add__(self, other: Scatter) -> Scatter:
        """Return the sums over the rows of both, with the options of the first."""
        if not isinstance(other, Scatter):
            return NotImplemented
        return cast(Scatter, type(self)(**self.get_params())).merge(self).merge(other)

    def __radd__(self, other: object) -> Scatter:
        """Add to the zero with which `sum` begins."""
        if type(other) is not int or other != 0:
            return NotImplemented
        return cast(Scatter, type(self)(**self.get_params())).merge(self)

    @property
    def n_samples_(self) -> int:
        """Number of rows."""
        return self._fitted().n_samples

    @property
    def sum_of_weights_(self) -> float:
        """Sum of the weights of the rows."""
        return self._fitted().sum_of_weights

    @property
    def mean_(self) -> FloatArray:
        """Weighted mean of each column."""
        return self._fitted().mean

    @property
    def scatter_(self) -> FloatArray:
        """Weighted sums of products of deviations from the means, shape (n_features, n_features)."""
        return self._fitted().matrix

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the sums to a file that :meth:`load` and ``karhunen fit --from-moments`` read.

        Parameters
        ----------
        path : path-like
            File to write, in safetensors format whatever its extension.
        """
        names = getattr(self, "feature_names_in_", None)
        _core.save(path, self._fitted(), {"feature_names": None if names is None else names.tolist()})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read sums that :meth:`save` or ``karhunen moments`` wrote.

        Parameters
        ----------
        path : path-like
            File to read.

        Returns
        -------
        Scatter
            The sums.

        Raises
        ------
        OSError, ValueError
            If the file cannot be read or holds something else.
        """
        sums, extras, _ = _core.load(_core.Scatter, path)
        scatter = cls()
        scatter._sums = sums
        set_columns(scatter, len(sums.mean), extras["feature_names"])
        return scatter

    def _fitted(self) -> _core.Scatter:
        if not self.__sklearn_is_fitted__():
            raise NotFittedError("this Scatter holds no rows yet; call add first")
        return self._sums

    def _places(self, other: Scatter) -> list[int] | None:
        """Return the place of each column of `other` among these; None if they are the same."""
        if other.n_features_in_ != self.n_features_in_:
            raise ValueError(f"one Scatter has {self.n_features_in_} columns, the other {other.n_features_in_}")
        mine, others = getattr(self, "feature_names_in_", None), getattr(other, "feature_names_in_", None)
        if mine is None or others is None or list(mine) == list(others):
            return None
        place_of = {name: place for place, name in enumerate(mine)}
        unknown = [name for name in others if name not in place_of]
        if unknown or len(place_of) < len(mine) or len(set(others)) < len(others):
            which = f"column {unknown[0]!r} is in one of them only" if unknown else "names are repeated"
            raise ValueError(f"the columns of two Scatters cannot be matched by name: {which}")
        return [place_of[name] for name in others]

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are rows."""
        return "_sums" in vars(self)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickling, with the sums as plain arrays."""
        state = dict(super().__getstate__())
        if "_sums" in state:
            state["_sums"] = _core.to_state(self._sums)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state of a pickle."""
        state = dict(state)
        if "_sums" in state:
            state["_sums"] = _core.from_state(_core.Scatter, state["_sums"])
        super().__setstate__(state)


def _check_row_names(given: Any, matrix: Any, columns: NDArray[np.object_] | None) -> None:
    """Refuse a covariance matrix whose rows have other names than its columns, in their order."""
    rows = matrix.sample_names if isinstance(matrix, _core.FileTable) else None
    if rows is None and hasattr(given, "index") and hasattr(given, "columns"):
        rows = [str(name) for name in given.index] if any(isinstance(name, str) for name in given.index) else None
    if rows is None or columns is None:
        return
    for row, column in zip(rows, columns, strict=False):
        if row != str(column):
            raise ValueError(
                f"row {row!r} is where the columns have {column!r}; a covariance matrix has the same names in rows and "
                "columns"
            )
