"""Principal component analysis of dask collections."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np
from dask.delayed import delayed
from sklearn.utils.validation import check_is_fitted

import karhunen
from karhunen._cluster.driver import drive, threads_of_part
from karhunen._cluster.part import named
from karhunen._inputs.matrix import to_weights
from karhunen._shared.arrays import FloatArray
from karhunen.dask._collections import is_lazy, partitions, to_collection, weights_of
from karhunen.dask._graph import merged
from karhunen.dask._lazy import LazyRows
from karhunen.dask._passes import Passes

if TYPE_CHECKING:
    from typing_extensions import Self


class PCA(LazyRows, karhunen.PCA):
    """Principal component analysis of dask collections.

    The parameters and attributes are as in :class:`karhunen.PCA`; `n_threads` counts for each partition, and None is
    one. The result is the same as from the rows in memory, and its bits depend on the partitions alone, not on the
    scheduler, the workers, or repeated tasks. Up to 2,048 columns ("covariance") a fit takes one pass over the data,
    beyond that some ten ("block-krylov").

    Examples
    --------
    >>> import dask.array as da
    >>> from karhunen.dask import PCA
    >>> x = da.random.default_rng(0).normal(size=(10_000, 20), chunks=(1_000, 20))
    >>> pca = PCA(n_components=3).fit(x)
    >>> pca.transform(x).shape
    (10000, 3)
    """

    __module__ = "karhunen.dask"
    _of_memory = karhunen.PCA

    def fit(
        self,
        X: Any,
        y: None = None,
        sample_weight: Any = None,
        feature_weight: Any = None,
        *,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        persist: bool = False,
    ) -> Self:
        """Fit components to the rows of all partitions.

        Parameters
        ----------
        X : dask array, dask dataframe or xarray DataArray of shape (n_samples, n_features)
            Rows are samples; blocks of an array are NumPy arrays or SciPy's sparse matrices. Lengths of partitions may
            be unknown. Columns in several chunks are brought together, if a partition then has at most 1 GiB.
        y : None
            Ignored; present for compatibility with pipelines.
        sample_weight : dask array or series, or array-like, of shape (n_samples,), or None
            Nonnegative weight of each row, in the partitions of `X`, or in others if all lengths are known.
        feature_weight : array-like of shape (n_features,) or None
            Nonnegative weight of each column, as of :meth:`karhunen.PCA.fit`.
        checkpoint, resume
            As of :meth:`karhunen.PCA.fit`; the file lies where the fit is called.
        persist : bool, default=False
            Keep the partitions in the memory of the workers during the fit. Without it every pass computes them again.

        Returns
        -------
        PCA
            The fitted estimator.

        Raises
        ------
        ValueError
            If an option is out of range; if a partition cannot be used, has another number of columns, or differs
            between two passes (the message gives its number).
        """
        passes = Passes(X, sample_weight, threads_of_part(self), persist)
        drive(
            self,
            passes.reduce,
            passes.names,
            passes.n_features,
            feature_weight=passes.feature_weights(feature_weight),
            columns=passes.names(),
            checkpoint=checkpoint,
            resume=resume,
        )
        return self

    def score_samples(self, X: Any) -> FloatArray:
        """Compute the log-likelihood of each row.

        Parameters
        ----------
        X : dask collection as of :meth:`fit`, or array-like
            Rows.

        Returns
        -------
        dask array of shape (n_samples,), or ndarray
            Log-likelihoods, lazy if `X` is.
        """
        return self._mapped(X, "score_samples", None) if is_lazy(X) else super().score_samples(X)

    def score(self, X: Any, y: None = None, sample_weight: Any = None) -> float:
        """Compute the mean log-likelihood of the rows.

        Parameters
        ----------
        X : dask collection as of :meth:`fit`, or array-like
            Rows, which are computed partition by partition in a collection.
        y : None
            Ignored; present for compatibility with pipelines.
        sample_weight : dask array or series, or array-like, of shape (n_samples,), or None
            Weights of the mean, as of :meth:`fit`.

        Returns
        -------
        float
            Mean of :meth:`score_samples`.
        """
        if not is_lazy(X):
            return super().score(X, y, sample_weight)
        check_is_fitted(self)
        rows = to_collection(X)
        model, sum_likelihoods = delayed(self._for_memory()), delayed(_sum_likelihoods, pure=False)
        parts = partitions(rows, weights_of(sample_weight, rows))
        sums = [sum_likelihoods(model, number, *part) for number, part in enumerate(parts)]
        total, weight = merged(sums, _add)
        if weight == 0:
            raise ValueError("X has no rows of positive weight, of which the mean could be taken")
        return float(total / weight)


def _sum_likelihoods(model: karhunen.PCA, number: int, X: Any, sample_weight: Any) -> FloatArray:
    """Return the weighted sum of the log-likelihoods of a partition, and the sum of its weights."""
    n = X.shape[0]
    weights = named(number, to_weights, "sample_weight", sample_weight, n, "rows")
    if n == 0:
        return np.zeros(2)
    likelihoods = named(number, model.score_samples, X)
    if weights is None:
        return np.array([likelihoods.sum(), n])
    return np.array([likelihoods @ weights, weights.sum()])


def _add(sums: list[FloatArray]) -> FloatArray:
    """Add the sums of partitions."""
    total: FloatArray = np.sum(sums, axis=0)
    return total
