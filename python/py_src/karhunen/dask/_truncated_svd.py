"""Truncated SVD of dask collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from dask.delayed import delayed

import karhunen
from karhunen import _core
from karhunen._cluster.driver import drive, threads_of_part
from karhunen._cluster.part import to_part
from karhunen._shared.arrays import FloatArray
from karhunen.dask._graph import merged
from karhunen.dask._lazy import LazyRows
from karhunen.dask._passes import Passes

if TYPE_CHECKING:
    from typing_extensions import Self


class TruncatedSVD(LazyRows, karhunen.TruncatedSVD):
    """Truncated SVD of dask collections: PCA without centring.

    The parameters and attributes are as in :class:`karhunen.TruncatedSVD`. Takes one pass more than
    :class:`karhunen.dask.PCA`, for the variances of the scores.

    Examples
    --------
    >>> import dask.array as da
    >>> from karhunen.dask import TruncatedSVD
    >>> x = da.random.default_rng(0).normal(size=(10_000, 20), chunks=(1_000, 20))
    >>> TruncatedSVD(n_components=3).fit(x).components_.shape
    (3, 20)
    """

    __module__ = "karhunen.dask"
    _of_memory = karhunen.TruncatedSVD

    def fit(self, X: Any, y: None = None, *, persist: bool = False) -> Self:
        """Fit components to the rows of all partitions.

        Parameters
        ----------
        X : dask array, dask dataframe or xarray DataArray of shape (n_samples, n_features)
            Rows, as of :meth:`karhunen.dask.PCA.fit`.
        y : None
            Ignored; present for compatibility with pipelines.
        persist : bool, default=False
            Keep the partitions in the memory of the workers during the fit. Without it every pass computes them again.

        Returns
        -------
        TruncatedSVD
            The fitted estimator.

        Raises
        ------
        ValueError
            As of :meth:`karhunen.dask.PCA.fit`.
        """
        passes = Passes(X, None, threads_of_part(self), persist)
        before = dict(self.__dict__)
        try:
            drive(self, passes.reduce, passes.names, passes.n_features)
            spread, model = delayed(_spread, pure=False), delayed(self._for_memory())
            spreads = [spread(part, block, model) for part, (block, _) in enumerate(passes.parts)]
            found = merged(spreads, _merge_spreads)
        except BaseException:
            # Half of the attributes would belong to this fit.
            self.__dict__.clear()
            self.__dict__.update(before)
            raise
        variances, total = np.split(found.squares / found.n, [self.n_components])
        self._show_variances(variances, variances / total if total > 0 else np.zeros_like(variances))
        return self


class _Spread(NamedTuple):
    """Means, and sums of squares about them: of the scores, and of the columns, whose squares are added up."""

    n: int
    scores: FloatArray
    columns: FloatArray
    squares: FloatArray


def _spread(number: int, block: Any, model: karhunen.TruncatedSVD) -> _Spread | None:
    """Return the spread of the rows of a partition; None if there are none."""
    rows = to_part(number, block)
    if not rows.shape[0]:
        return None
    scores = cast(FloatArray, model._scores(rows)).astype(np.float64)
    means, variances = _core.column_moments(rows, model.n_threads)
    squares = np.append(np.var(scores, axis=0), variances.sum()) * len(scores)
    return _Spread(len(scores), scores.mean(axis=0), means, squares)


def _merge_spreads(spreads: list[_Spread | None]) -> _Spread | None:
    """Merge spreads, by the formula of Chan, Golub & LeVeque (1983)."""
    total: _Spread | None = None
    for other in spreads:
        if total is None or other is None:
            total = total or other
            continue
        share = other.n / (total.n + other.n)
        scores, columns = other.scores - total.scores, other.columns - total.columns
        between = total.n * share * np.append(scores**2, (columns**2).sum())
        total = _Spread(
            total.n + other.n,
            total.scores + share * scores,
            total.columns + share * columns,
            total.squares + other.squares + between,
        )
    return total
