"""Modes of variability of a field: maps, series and fields made from them, of a fit or of its rotation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, cast

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

from karhunen import diagnostics
from karhunen._xarray.arrays import is_lazy
from karhunen._xarray.fields import Samples
from karhunen._xarray.grid import Grids, spread

#: What is fitted, and the form of maps and reconstructions.
FieldT = TypeVar("FieldT", bound="xr.DataArray | xr.Dataset | list[xr.DataArray]")
#: Scalings of maps and series: none; by the standard deviation to one; by it once more.
Scaling: TypeAlias = Literal[0, 1, 2]

_SCALED = {
    "eofs": ("unit length", "divided by the standard deviation", "multiplied by the standard deviation"),
    "pcs": ("unscaled", "unit variance", "multiplied by the standard deviation"),
}


class Modes(Generic[FieldT]):
    """Base class of fitted modes: maps and series with coordinates.

    Modes are numbered from 1 by the coordinate `mode`, in order of decreasing variance. Points without values are NaN
    in every map, samples without values in every series.
    """

    explained_variance_: xr.DataArray
    explained_variance_ratio_: xr.DataArray
    total_variance_: float
    #: Points and the form of maps.
    _grids: Grids
    #: Samples of the fit.
    _samples: Samples
    #: Scores of the samples with values, of unit variance times the standard deviation of the mode.
    _scores: Any
    #: Maps of unit length, (n_modes, n_kept), of weighted anomalies.
    _patterns: NDArray[np.floating[Any]]
    #: Standard deviations of the scores.
    _deviations: NDArray[np.floating[Any]]
    #: The fitted estimator or rotation that diagnostics take.
    _diagnosed: Any

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Raise an error that says so for what a fit sets."""
            if name in Modes.__annotations__:
                raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit first")
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def _modes(self) -> xr.DataArray:
        """The numbers of the modes, as a coordinate."""
        numbers = np.arange(1, len(self._deviations) + 1)
        return xr.DataArray(numbers, dims="mode", coords={"mode": numbers})

    def _by_mode(self, values: Any, long_name: str) -> xr.DataArray:
        """Label one value of each mode."""
        return xr.DataArray(np.array(values), dims="mode", attrs={"long_name": long_name}).assign_coords(
            self._modes.coords
        )

    def _maps(self, values: Any, *, in_units: bool, **attrs: Any) -> FieldT:
        """Put rows of values (n_modes, n_kept) on maps."""
        return cast(FieldT, self._grids.fields(values, self._modes, in_units=in_units, **attrs))

    @property
    def components_(self) -> FieldT:
        """Maps of unit length: ``eofs(scaling=0)``."""
        return self.eofs()

    @property
    def scores_(self) -> xr.DataArray:
        """Unscaled series: ``pcs(scaling=0)``."""
        return self.pcs()

    def eofs(self, scaling: Scaling = 0) -> FieldT:
        """Return the maps of the modes, of weighted anomalies.

        Parameters
        ----------
        scaling : {0, 1, 2}, default=0
            0: of unit length; 1: divided by the standard deviation of the series; 2: multiplied by it.

        Returns
        -------
        DataArray, Dataset or list of DataArray
            Maps in the form of the fitted field, with the dimension `mode` in front.
        """
        factor = _power(self._deviations, scaling)[:, None]
        values = self._patterns if scaling == 0 else self._patterns * factor.astype(self._patterns.dtype)
        name = "empirical orthogonal functions"
        return self._maps(values, in_units=False, long_name=name, scaling=_SCALED["eofs"][scaling])

    def pcs(self, scaling: Scaling = 0) -> xr.DataArray:
        """Return the series of the modes, the principal components.

        Parameters
        ----------
        scaling : {0, 1, 2}, default=0
            0: unscaled, with the variances `explained_variance_`; 1: of unit variance; 2: multiplied by the standard
            deviation.

        Returns
        -------
        DataArray
            Series with the dimensions of the samples, and `mode`; lazy if the fitted field was chunked.
        """
        factor = _power(self._deviations, scaling)
        values = self._scores if scaling == 0 else self._scores * factor.astype(self._scores.dtype)
        return self._samples.series(
            values, self._modes, long_name="principal components", scaling=_SCALED["pcs"][scaling]
        ).rename("pcs")

    def eofs_as_correlation(self) -> FieldT:
        """Return the correlation of every series with the field at every point.

        Returns
        -------
        DataArray, Dataset or list of DataArray
            Maps of numbers from -1 to 1; NaN at points that are constant.
        """
        values = diagnostics.features(self._diagnosed).correlations.T
        return self._maps(values.astype(self._patterns.dtype), in_units=False, long_name="correlation with the series")

    def eofs_as_covariance(self) -> FieldT:
        """Return the covariance of every series of unit variance with the unweighted field.

        It is the anomaly in the units of the data that belongs to one standard deviation of the series.

        Returns
        -------
        DataArray, Dataset or list of DataArray
            Maps in the units of the data; NaN at points of weight zero.
        """
        values = self._covariances().astype(self._patterns.dtype)
        return self._maps(values, in_units=True, long_name="covariance with the standardised series")

    def transform(self, X: FieldT) -> xr.DataArray:
        """Compute the series of new samples: their weighted anomalies projected on the modes.

        Parameters
        ----------
        X : DataArray, Dataset or list of DataArray
            A field on the grid of the fit, with any other dimensions, or none. Points without values in the fit are
            ignored; labels may stand in another order. Chunked fields are not searched for missing values, which fail
            when the result is computed.

        Returns
        -------
        DataArray
            Unscaled series, as of `pcs(scaling=0)`; NaN for samples that are missing at all points; lazy if `X` is.

        Raises
        ------
        ValueError
            If the field lies on another grid, or has missing values that the fit cannot take.
        """
        samples, scores = self._scores_of(X)
        return samples.series(scores, self._modes, long_name="principal components", scaling=_SCALED["pcs"][0])

    def inverse_transform(self, scores: xr.DataArray) -> FieldT:
        """Make a field from unscaled series, with the mean of the fit and in the units of the data.

        Parameters
        ----------
        scores : DataArray
            Series with the dimension `mode`, whose labels say which modes they are; modes that are not there count as
            zero. Without labels they are the first ones.

        Returns
        -------
        DataArray, Dataset or list of DataArray
            The field, lazy if `scores` is.

        Raises
        ------
        ValueError
            If there is no dimension `mode`, or it names a mode that was not fitted.
        """
        if not isinstance(scores, xr.DataArray) or "mode" not in scores.dims:
            raise ValueError("scores must be a DataArray with the dimension 'mode'")
        k = len(self._deviations)
        labels = (
            np.asarray(scores["mode"].values) if "mode" in scores.coords else np.arange(1, scores.sizes["mode"] + 1)
        )
        position = {mode: int(i) for i, mode in enumerate(labels.tolist())}
        strange = [mode for mode in position if mode not in range(1, k + 1)]
        if strange or len(position) < len(labels):
            raise ValueError(f"scores has the modes {labels.tolist()}; each must be one of 1 to {k}")
        dims = [dim for dim in scores.dims if dim != "mode"]
        like = scores.isel(mode=0, drop=True).transpose(*dims)
        data = scores.transpose(*dims, "mode").variable.data
        data = data if is_lazy(data) else np.asarray(data)
        rows = data.reshape((like.size, len(labels)))
        return cast(FieldT, self._grids.fields(self._fields_of(rows, position), like, in_units=True))

    def reconstruct(self, modes: int | Sequence[int] | None = None) -> FieldT:
        """Make the fitted field from some modes.

        Parameters
        ----------
        modes : int, sequence of int or None, default=None
            Number of leading modes, or the modes by number, from 1 on; None is all.

        Returns
        -------
        DataArray, Dataset or list of DataArray
            The field with its mean, in the units of the data; lazy if the fitted field was chunked.
        """
        k = len(self._deviations)
        if modes is None:
            modes = k
        chosen = list(range(1, modes + 1)) if isinstance(modes, (int, np.integer)) else [int(mode) for mode in modes]
        if not chosen or not set(chosen) <= set(range(1, k + 1)):
            raise ValueError(f"modes = {modes!r} is not allowed: there are the modes 1 to {k}")
        return self.inverse_transform(self.pcs().sel(mode=chosen))

    def _fields_of(self, rows: Any, position: dict[int, int]) -> Any:
        """Compute rows of the field from scores, of which NaN gives NaN."""
        if is_lazy(rows):
            import dask.array as da

            nothing = da.zeros((rows.shape[0], 1), dtype=rows.dtype, chunks=(rows.chunks[0], 1))
            stack = [rows[:, position[m] : position[m] + 1] if m in position else nothing for m in self._numbers()]
            full = da.concatenate(stack, axis=1).rechunk({1: -1})
            there = ~da.isnan(full).any(axis=1)[:, None]
            return da.where(there, self._rows_of(da.where(there, full, 0)), np.nan)
        rows = rows.astype(np.float32 if rows.dtype == np.float32 else np.float64, copy=False)
        full = np.zeros((len(rows), len(self._deviations)), dtype=rows.dtype)
        full[:, [mode - 1 for mode in position]] = rows[:, list(position.values())]
        there = ~np.isnan(full).any(axis=1)
        if there.all():
            return self._rows_of(full)
        return spread(self._rows_of(full[there]), np.flatnonzero(there), len(full), axis=0)

    def _numbers(self) -> range:
        """Return the numbers of the modes."""
        return range(1, len(self._deviations) + 1)

    def _covariances(self) -> NDArray[np.float64]:
        """Covariances of standardised series and the unweighted field, (n_modes, n_kept)."""
        raise NotImplementedError

    def _scores_of(self, X: Any) -> tuple[Samples, Any]:
        """Compute unscaled scores of the samples of a new field that have values."""
        raise NotImplementedError

    def _rows_of(self, scores: Any) -> Any:
        """Compute rows of the field from unscaled scores (n, n_modes) without NaN."""
        raise NotImplementedError


def _power(deviations: NDArray[np.floating[Any]], scaling: Any) -> NDArray[np.float64]:
    """Return the factors of a scaling; of a mode without variance 0 instead of 1 / 0."""
    if isinstance(scaling, bool) or scaling not in (0, 1, 2):
        raise ValueError(f"scaling = {scaling!r} is not known; choose one of 0, 1, 2")
    wide = np.asarray(deviations, dtype=np.float64)
    if scaling == 1:
        return np.divide(1.0, wide, out=np.zeros_like(wide), where=wide > 0)
    return wide if scaling == 2 else np.ones_like(wide)
