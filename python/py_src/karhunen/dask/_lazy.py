"""Methods of fitted estimators for collections."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from dask.delayed import delayed

from karhunen._pca.fitted import FittedComponents
from karhunen._shared.arrays import FloatArray
from karhunen.dask._collections import is_dataframe, is_lazy, to_collection

if TYPE_CHECKING:
    _Base = FittedComponents
else:
    _Base = object


class LazyRows(_Base):
    """Mixin of estimators whose methods take collections of dask, and return lazy arrays for them."""

    #: The estimator of rows in memory.
    _of_memory: type[FittedComponents]

    def transform(self, X: Any) -> FloatArray:
        """Compute the scores of rows.

        Parameters
        ----------
        X : dask array, dask dataframe or xarray DataArray of shape (n_samples, n_features), or array-like
            Rows.

        Returns
        -------
        dask array of shape (n_samples, n_components), or ndarray
            Scores: lazy and in the partitions of `X`, if `X` is lazy.
        """
        return self._mapped(X, "transform", len(self.components_)) if is_lazy(X) else super().transform(X)

    def fit_transform(self, X: Any, y: None = None, *weights: Any, **options: Any) -> FloatArray:
        """Fit components to `X`, and compute the scores of its rows.

        Parameters
        ----------
        X, y, *weights, **options
            As of :meth:`fit`.

        Returns
        -------
        dask array of shape (n_samples, n_components), or ndarray
            Scores, lazy and in the partitions of `X`, if `X` is lazy.
        """
        fitted = cast(Any, self).fit(X, y, *weights, **options)
        return cast(FloatArray, fitted.transform(X))

    def inverse_transform(self, X: Any) -> FloatArray:
        """Map scores to rows.

        Parameters
        ----------
        X : dask array of shape (n_samples, n_components), or array-like
            Scores.

        Returns
        -------
        dask array of shape (n_samples, n_features), or ndarray
            Rows, lazy if `X` is.
        """
        if not is_lazy(X):
            return super().inverse_transform(X)
        return self._mapped(X, "inverse_transform", self.n_features_in_)

    def _mapped(self, X: Any, method: str, width: int | None) -> Any:
        """Apply a method to every partition; its result has `width` columns, or one axis."""
        # One task holds the model, which the tasks of the partitions share.
        rows, model = to_collection(X), delayed(self._for_memory())
        n_axes = 1 if width is None else 2
        if is_dataframe(rows):
            single = width is not None and all(dtype == np.float32 for dtype in rows.dtypes)
            meta = np.empty((0,) if width is None else (0, width), np.float32 if single else np.float64)
            return rows.map_partitions(_apply, model, method, width, meta.dtype, meta=meta)
        expected = len(self.components_) if method == "inverse_transform" else self.n_features_in_
        if rows.shape[1] != expected:
            raise ValueError(f"X has {rows.shape[1]} columns, but {type(self).__name__} is expecting {expected}")
        dtype = np.float32 if rows.dtype == np.float32 and width is not None else np.float64
        shape: dict[str, Any] = {"chunks": (rows.chunks[0], (width,))}
        if width is None:
            shape = {"chunks": (rows.chunks[0],), "drop_axis": 1}
        meta = np.empty((0,) * n_axes, dtype=dtype)
        return rows.map_blocks(_apply, model, method, width, meta.dtype, dtype=dtype, meta=meta, **shape)

    def _for_memory(self) -> FittedComponents:
        """Return the fitted estimator of rows in memory."""
        model = self._of_memory(**self.get_params())
        model.__setstate__(self.__getstate__())
        if self.n_threads is None:
            model.n_threads = 1
        return model


def _apply(
    block: Any, model: FittedComponents, method: str, width: int | None, dtype: np.dtype[np.floating[Any]]
) -> FloatArray:
    """Apply a method to the rows of a partition, of which there may be none."""
    if not block.shape[0]:
        return np.empty((0,) if width is None else (0, width), dtype)
    return cast(FloatArray, getattr(model, method)(block))
