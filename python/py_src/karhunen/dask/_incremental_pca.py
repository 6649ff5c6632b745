"""Incremental PCA of dask collections."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

from dask.delayed import delayed

import karhunen
from karhunen._cluster.driver import threads_of_part
from karhunen._cluster.part import named
from karhunen._inputs.files import set_columns
from karhunen._shared.options import seed_option
from karhunen.dask._collections import is_lazy, partitions, to_collection, weights_of
from karhunen.dask._graph import merged
from karhunen.dask._lazy import LazyRows

if TYPE_CHECKING:
    from typing_extensions import Self


class IncrementalPCA(LazyRows, karhunen.IncrementalPCA):
    """Principal component analysis of dask collections, in one pass, to which rows can be added later.

    The parameters and attributes are as in :class:`karhunen.IncrementalPCA`. Each partition is learned where it lies,
    and the states are merged: exactly up to some 5,000 columns, by sketches with measured residuals beyond. Rows that
    are learned side by side have no order, so `forget` and `half_life` need :meth:`partial_fit` of one block after the
    other.

    Examples
    --------
    >>> import dask.array as da
    >>> from karhunen.dask import IncrementalPCA
    >>> x = da.random.default_rng(0).normal(size=(10_000, 20), chunks=(1_000, 20))
    >>> pca = IncrementalPCA(n_components=3).fit(x[:4_000]).partial_fit(x[4_000:])
    >>> pca.n_samples_seen_
    10000
    """

    __module__ = "karhunen.dask"
    _of_memory = karhunen.IncrementalPCA

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Fit components to the rows of all partitions.

        Parameters
        ----------
        X : dask array, dask dataframe or xarray DataArray of shape (n_samples, n_features), or rows in memory
            Rows, as of :meth:`karhunen.dask.PCA.fit`.
        y : None
            Ignored; present for compatibility with pipelines.
        sample_weight : dask array or series, or array-like, of shape (n_samples,), or None
            Nonnegative weight of each row.

        Returns
        -------
        IncrementalPCA
            The fitted estimator.

        Raises
        ------
        ValueError
            As of :meth:`karhunen.dask.PCA.fit`, and for `forget` and `half_life`.
        """
        if not is_lazy(X):
            return super().fit(X, y, sample_weight)
        learned = self._learn(X, sample_weight)
        set_columns(self, learned.n_features_in_, getattr(learned, "feature_names_in_", None))
        self._began_with = learned._began_with
        self._adopt_rows(learned._fit)
        _ = self._found_now
        return self

    def partial_fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Add the rows of all partitions, or rows in memory.

        Parameters
        ----------
        X, y, sample_weight
            As of :meth:`fit`.

        Returns
        -------
        IncrementalPCA
            The fitted estimator.

        Raises
        ------
        ValueError
            As of :meth:`fit`.
        """
        if not is_lazy(X):
            return super().partial_fit(X, y, sample_weight)
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, sample_weight)
        return self.merge(self._learn(X, sample_weight))

    def _learn(self, X: Any, sample_weight: Any) -> karhunen.IncrementalPCA:
        """Return an estimator in memory that has seen all rows."""
        self._engine_options()
        for name, neutral in (("forget", 1.0), ("half_life", None)):
            if getattr(self, name) != neutral:
                raise ValueError(
                    f"{name} = {getattr(self, name)!r} needs rows in an order, and partitions are learned side by "
                    "side; call partial_fit with one block after the other, such as x.blocks[i].compute()"
                )
        rows = to_collection(X)
        options = {
            **self.get_params(),
            "random_state": seed_option(self.random_state),
            "n_threads": threads_of_part(self),
        }
        learn = delayed(_learn, pure=False)
        parts = partitions(rows, weights_of(sample_weight, rows))
        learned = merged([learn(options, part, *block) for part, block in enumerate(parts)], _merge)
        if learned is None:
            raise ValueError("X has no rows; a minimum of 1 is required")
        return cast(karhunen.IncrementalPCA, learned)


def _learn(options: dict[str, Any], number: int, X: Any, sample_weight: Any) -> karhunen.IncrementalPCA | None:
    """Return an estimator that has seen a partition; None if it has no rows."""
    if not X.shape[0]:
        return None
    return named(number, karhunen.IncrementalPCA(**options).partial_fit, X, None, sample_weight)


def _merge(learned: list[karhunen.IncrementalPCA | None]) -> karhunen.IncrementalPCA | None:
    """Return an estimator with the rows of all, which do not change: a task may be repeated."""
    with_rows = [other for other in learned if other is not None]
    if not with_rows:
        return None
    total = copy.deepcopy(with_rows[0])
    for other in with_rows[1:]:
        total.merge(other)
    return total
