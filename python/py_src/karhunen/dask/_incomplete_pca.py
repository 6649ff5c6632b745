"""Principal component analysis of dask collections with missing values."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from dask.delayed import delayed

import karhunen
from karhunen._cluster.driver import drive, threads_of_part
from karhunen._shared.arrays import FloatArray
from karhunen._shared.choices import Unknown
from karhunen._shared.options import flag_option
from karhunen.dask._collections import is_dataframe, is_lazy, to_collection
from karhunen.dask._lazy import LazyRows
from karhunen.dask._passes import Passes

if TYPE_CHECKING:
    from typing_extensions import Self


class IncompletePCA(LazyRows, karhunen.IncompletePCA):
    """Principal component analysis of dask collections with missing values.

    The parameters and attributes are as in :class:`karhunen.IncompletePCA`, with these differences. The methods are
    "als", which is "auto", "em" and "vb-full"; `row_offsets`, `early_stopping`, `conformal`, `gradient_tol` and the
    regularization "path" are not available, and predictions far outside the data are not searched for. `n_threads`
    counts for each partition, and None is one. Scores stay with their rows: `scores_` is empty, and :meth:`transform`
    computes them.

    Every iteration is one pass over the data, in which each partition returns 4 p (c + 2) (c + 3) bytes for c
    components of p columns, by "vb-full" 8 p (c^2 + 3 c + 3). Up to rounding, iterations with ``n_starts=1`` are the
    same as with the rows in memory, and short starts make one sweep at each penalty; their bits depend on the
    partitions alone.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from karhunen.dask import IncompletePCA
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(10_000, 2)) @ rng.normal(size=(2, 20))
    >>> x[rng.random(x.shape) < 0.3] = np.nan
    >>> lazy = da.from_array(x, chunks=(1_000, 20))
    >>> pca = IncompletePCA(2, method="em").fit(lazy)
    >>> pca.impute(lazy).shape
    (10000, 20)
    """

    __module__ = "karhunen.dask"
    _of_memory = cast(Any, karhunen.IncompletePCA)

    def fit(  # type: ignore[override]
        self,
        X: Any,
        y: None = None,
        sample_weight: Any = None,
        *,
        feature_weight: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = False,
        persist: bool = False,
    ) -> Self:
        """Fit components to the observed entries of all partitions.

        Parameters
        ----------
        X : dask array, dask dataframe or xarray DataArray of shape (n_samples, n_features)
            Rows are samples. NaN is missing; **stored entries of sparse blocks are observed, including explicit
            zeros**, and entries that are not stored are missing. Lengths of partitions may be unknown.
        y : None
            Ignored; present for compatibility with pipelines.
        sample_weight : dask array or series, or array-like, of shape (n_samples,), or None
            Multiplicity of each row, in the partitions of `X`, or in others if all lengths are known.
        feature_weight : array-like of shape (n_features,) or None
            Positive weight of each column, which multiplies its squared residuals.
        checkpoint, resume
            File that keeps the result of every pass, and whether to continue from it, as of :meth:`karhunen.PCA.fit`;
            the file lies where the fit is called.
        persist : bool, default=False
            Keep the partitions in the memory of the workers during the fit. Without it every pass computes them again.

        Returns
        -------
        IncompletePCA
            The fitted estimator.

        Raises
        ------
        ValueError
            If an option is out of range or not available; if a partition cannot be used, has another number of
            columns, or differs between two passes (the message gives its number).
        """
        repeated = "every iteration computes the partitions of X again"
        passes = Passes(X, sample_weight, threads_of_part(self), persist, repeated)
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

    def transform(self, X: Any, *, return_covariance: bool = False) -> Any:
        """Compute the scores of rows with missing values.

        Parameters
        ----------
        X : dask collection as of :meth:`fit`, or array-like
            Rows.
        return_covariance : bool, default=False
            Also return the covariances of the scores, of rows in memory.

        Returns
        -------
        dask array of shape (n_samples, n_components), or ndarray
            Scores: lazy and in the partitions of `X`, if `X` is lazy.
        """
        if not is_lazy(X):
            return karhunen.IncompletePCA.transform(self, X, return_covariance=return_covariance)
        if flag_option("return_covariance", return_covariance):
            raise ValueError("return_covariance = True is not allowed: scores of a dask collection have no covariances")
        return super().transform(X)

    def predict(
        self,
        rows: Any,
        columns: Any = None,
        *,
        return_std: bool = False,
        noise: bool = True,
        unknown: Unknown = "refuse",
    ) -> Any:
        """Predict all entries of rows with missing values.

        Parameters
        ----------
        rows : dask collection as of :meth:`fit`, or array-like
            Rows with missing values.
        columns, return_std, noise, unknown
            As of :meth:`karhunen.IncompletePCA.predict`, for rows in memory.

        Returns
        -------
        dask array of shape (n_samples, n_features), or as of :meth:`karhunen.IncompletePCA.predict`
            Predictions: lazy and in the partitions of `rows`, if these are lazy.
        """
        if not is_lazy(rows):
            return super().predict(rows, columns, return_std=return_std, noise=noise, unknown=unknown)
        if columns is not None or flag_option("return_std", return_std):
            raise ValueError("columns and return_std are not allowed for a dask collection: give rows alone")
        return self._mapped(rows, "predict", self.n_features_in_)

    def transform_offsets(self, X: Any) -> FloatArray:
        """Return zeros, as there are no offsets; of rows in memory.

        Parameters
        ----------
        X : array-like
            Rows.
        """
        rows = _in_memory("transform_offsets", X)
        return super().transform_offsets(rows)

    def partial_fit(self, X: Any, y: None = None, entry_weight: Any = None) -> Self:
        """Learn rows in memory, as :meth:`karhunen.IncompletePCA.partial_fit`.

        Parameters
        ----------
        X : array-like
            Rows.
        y : None
            Ignored.
        entry_weight : array-like, sparse matrix or None
            Inverse variance of each entry.
        """
        rows = _in_memory("partial_fit", X)
        return super().partial_fit(rows, y, entry_weight)

    def impute(self, X: Any, *, return_std: bool = False) -> Any:
        """Fill the missing values of `X` with predictions; observed values keep their bits.

        Parameters
        ----------
        X : dask collection as of :meth:`fit`, or array-like or dataframe
            Rows with missing values.
        return_std : bool, default=False
            Also return the standard deviations of the predictions, of rows in memory.

        Returns
        -------
        dask array or dataframe of shape (n_samples, n_features), or as of :meth:`karhunen.IncompletePCA.impute`
            Rows without missing values: lazy and in the partitions of `X`, if `X` is lazy. Columns of a dataframe are
            of float64, or of float32 if they were.
        """
        if not is_lazy(X):
            return super().impute(X, return_std=return_std)
        if flag_option("return_std", return_std):
            raise ValueError("return_std = True is not allowed: values of a dask collection come without deviations")
        if not is_dataframe(X):
            return self._mapped(X, "impute", self.n_features_in_)
        rows = to_collection(X)
        meta = rows._meta.astype({name: _float(dtype) for name, dtype in rows._meta.dtypes.items()})
        return rows.map_partitions(_impute, delayed(self._for_memory()), meta, meta=meta)


def _in_memory(method: str, X: Any) -> Any:
    """Refuse collections, which would be computed in one process."""
    if is_lazy(X):
        raise TypeError(f"{method} takes rows in memory, not {type(X).__name__} of dask; call it for each partition")
    return X


def _float(dtype: Any) -> type[np.floating[Any]]:
    return np.float32 if dtype == np.float32 else np.float64


def _impute(rows: Any, model: karhunen.IncompletePCA, meta: Any) -> Any:
    """Fill the rows of a partition of a dataframe, of which there may be none."""
    filled = model.impute(rows) if len(rows) else rows
    return filled.astype(dict(meta.dtypes))
