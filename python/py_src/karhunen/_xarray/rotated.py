"""Rotated modes of a field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from karhunen._xarray.fields import Samples
from karhunen._xarray.modes import FieldT, Modes
from karhunen._xarray.store import results
from karhunen.rotation import Rotation

if TYPE_CHECKING:
    from karhunen._xarray.eof import EOF


class RotatedEOF(Modes[FieldT]):
    """Rotated modes, sorted by their variance; :meth:`karhunen.xarray.EOF.rotate` makes them.

    The loadings of the weighted anomalies are rotated, as in xeofs. Maps and series have the scalings of
    :class:`~karhunen.xarray.EOF`: maps of unit length (`scaling=0`) times unscaled series add up to the weighted
    anomalies. Unscaled series have the variance of the squared length of the loadings, which is `explained_variance_`
    after an orthogonal rotation.

    Attributes
    ----------
    components_, scores_ : DataArray, Dataset or list of DataArray; DataArray
        Maps of unit length, and unscaled series.
    explained_variance_, explained_variance_ratio_ : DataArray of shape (mode,)
        Variance of each rotated mode, and its share of the total variance.
    total_variance_ : float
        Sum of the variances of all modes of the field.
    rotation_ : karhunen.rotation.Rotation
        The rotation, with the matrix and the correlations of the modes.
    """

    __module__ = "karhunen.xarray"

    rotation_: Rotation

    def __init__(self, fitted: EOF[Any], rotation: Rotation) -> None:
        self.rotation_ = self._diagnosed = rotation
        self._fitted = fitted
        self._grids, self._samples = fitted._grids, fitted._samples
        self.total_variance_ = fitted.total_variance_
        m = len(rotation.matrix)
        self._standard = np.asarray(fitted._deviations, dtype=np.float64)[:m]
        loadings = (fitted._patterns[:m].T * self._standard) @ rotation.matrix
        self._deviations = np.linalg.norm(loadings, axis=0)
        single = fitted._patterns.dtype
        self._patterns = (loadings / np.where(self._deviations > 0, self._deviations, 1.0)).T.astype(single)
        self._scores = self._rotate(fitted._scores)
        self.explained_variance_ = self._by_mode(rotation.explained_variance, "explained variance")
        self.explained_variance_ratio_ = self._by_mode(rotation.explained_variance_ratio, "share of the total variance")

    def __repr__(self) -> str:
        """Return the criterion and the shares of the variance."""
        shares = ", ".join(f"{100.0 * share:.2f}%" for share in self.explained_variance_ratio_.values)
        return f"<RotatedEOF: {len(self._deviations)} modes by {self.rotation_.criterion}: {shares}>"

    def to_dataset(self) -> xr.Dataset:
        """Return maps, series and variances in one Dataset, as :meth:`karhunen.xarray.EOF.to_dataset` does."""
        return results(self)

    def _rotate(self, scores: Any) -> Any:
        """Rotate unscaled scores of the fit."""
        to_unit = np.divide(1.0, self._standard, out=np.zeros_like(self._standard), where=self._standard > 0)
        matrix = to_unit[:, None] * self.rotation_.score_rotation * self._deviations
        return scores[:, : len(matrix)] @ matrix.astype(scores.dtype)

    def _covariances(self) -> NDArray[np.float64]:
        structure = self.rotation_.structure.T * self._fitted.pca_.scale_
        return cast("NDArray[np.float64]", np.where(self._fitted._multipliers() > 0, structure, np.nan))

    def _scores_of(self, X: Any) -> tuple[Samples, Any]:
        samples, scores = self._fitted._scores_of(X)
        return samples, self._rotate(scores)

    def _rows_of(self, scores: Any) -> Any:
        lengths = np.where(self._deviations > 0, self._deviations, 1.0)
        back = (self.rotation_.matrix / lengths).T * self._standard
        more = np.zeros((len(back), len(self._fitted._deviations) - len(self._standard)))
        return self._fitted._rows_of(scores @ np.hstack([back, more]).astype(scores.dtype))
