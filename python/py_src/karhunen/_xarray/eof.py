"""Empirical orthogonal functions of fields."""

from __future__ import annotations

import os
from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np
import xarray as xr
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from karhunen import IncompletePCA, rotation, selection
from karhunen._shared.choices import Method, Solver, Weighting
from karhunen._shared.fitted_model import leaves_unchanged
from karhunen._shared.options import choice_option, flag_option
from karhunen._shared.summary import outcome
from karhunen._xarray.arrays import is_lazy
from karhunen._xarray.estimators import deviation_of, estimator_of_rows, lazily, scaling_of, total_variance
from karhunen._xarray.fields import Samples, read, read_new
from karhunen._xarray.modes import FieldT, Modes
from karhunen._xarray.rotated import RotatedEOF
from karhunen._xarray.store import load, results, save
from karhunen._xarray.weights import weights_of_points

if TYPE_CHECKING:
    from typing import TypeVar

    from typing_extensions import Self

    F = TypeVar("F", bound=xr.DataArray | xr.Dataset | list[xr.DataArray])


class EOF(BaseEstimator, Modes[FieldT]):  # type: ignore[misc]
    """Empirical orthogonal functions of a field: PCA of xarray objects, with maps and series back.

    Columns of the analysis are the points of all variables, rows the samples along `dim`. Points that are missing at
    all samples, such as land, are left out and come back as NaN; so do samples that are missing at all points.

    Parameters
    ----------
    n_components : int, float, str or None, default=None
        Number of modes, or the share of the variance that they are to explain, as of :class:`karhunen.PCA`; None for
        all. An int if values are missing at some samples.
    center : bool, default=True
        Subtract the mean over the samples at every point.
    scale : bool, {"std", "variable"}, default=False
        Divide the anomalies of each point by their standard deviation (True, "std"); or the anomalies of each variable
        by the root of the variance of all its weighted points ("variable"), so that variables of different units count
        alike.
    missing : {"refuse", "auto"} or a method of :class:`karhunen.IncompletePCA`, default="refuse"
        What to do with values that are missing at some samples only: refuse the field, or estimate the modes from the
        values that are there, by a method of :class:`karhunen.IncompletePCA`. A field without such values is fitted as
        complete whatever this says.
    weighting : {"frequency", "importance", "population"}, default="frequency"
        Meaning of `sample_weight`, which decides the divisor of variances, as of :class:`karhunen.PCA`: n - 1 without
        weights, n for "population".
    solver, tol, max_iter, random_state, strict
        As of :class:`karhunen.PCA`. Where values are missing, `solver`, `weighting` and `strict` must have their
        defaults.
    n_threads : int or None, default=None
        Number of threads; None uses all cores, for chunked fields one for each chunk.
    verbose : bool, default=False
        Show a progress bar (needs tqdm).

    Attributes
    ----------
    components_ : DataArray, Dataset or list of DataArray
        Maps of unit length, ``eofs(scaling=0)``, in the form of the fitted field with the dimension `mode` in front.
        The entry with the largest absolute value of each is positive.
    scores_ : DataArray
        Unscaled series, ``pcs(scaling=0)``.
    explained_variance_, explained_variance_ratio_, singular_values_ : DataArray of shape (mode,)
        Variance of each series, the eigenvalue; its share of the total variance; singular value of the weighted
        anomalies.
    total_variance_ : float
        Sum of the variances of all modes, kept or not.
    mean_ : DataArray, Dataset or list of DataArray
        What was subtracted at each point.
    weights_ : DataArray, Dataset or list of DataArray
        What multiplied the anomalies at each point: the weights, with the divisors of ``scale="variable"``.
    n_samples_, n_points_ : int
        Number of samples, and of points of all variables, that have values.
    dims_ : tuple
        Dimensions of the samples.
    pca_ : karhunen.PCA, karhunen.dask.PCA or an IncompletePCA
        The estimator behind, of rows of points, for :mod:`karhunen.selection`, :mod:`karhunen.diagnostics` and
        :mod:`karhunen.plot`.

    Notes
    -----
    Fields in memory are read in place where their memory allows it; points are copied once if some are left out.
    Chunked fields are fitted by :class:`karhunen.dask.PCA` and never loaded: one pass finds the missing values, the
    next ones fit. float32 stays float32, while the engine computes in float64.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from karhunen.xarray import EOF
    >>> lat = np.linspace(-60, 60, 5)
    >>> values = np.random.default_rng(0).normal(size=(40, 5, 8))
    >>> sst = xr.DataArray(values, dims=("time", "lat", "lon"), coords={"lat": lat}, name="sst")
    >>> eof = EOF(3).fit(sst.where(sst.lat > -50), dim="time", weights="coslat")
    >>> eof.eofs().dims, eof.pcs().shape
    (('mode', 'lat', 'lon'), (40, 3))
    >>> bool(eof.eofs().sel(lat=-60).isnull().all())
    True
    """

    __module__ = "karhunen.xarray"

    pca_: Any
    singular_values_: xr.DataArray
    mean_: FieldT
    weights_: FieldT
    n_samples_: int
    n_points_: int
    dims_: tuple[Hashable, ...]

    def __init__(
        self: EOF[Any],
        n_components: int | float | str | None = None,
        *,
        center: bool = True,
        scale: bool | Literal["std", "variable"] = False,
        missing: Literal["refuse"] | Method = "refuse",
        weighting: Weighting = "frequency",
        solver: Solver = "auto",
        tol: float | None = None,
        max_iter: int = 1000,
        random_state: Any = None,
        n_threads: int | None = None,
        strict: bool = False,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.missing = missing
        self.weighting = weighting
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_threads = n_threads
        self.strict = strict
        self.verbose = verbose

    @leaves_unchanged
    def fit(
        self,
        X: F,
        dim: Hashable | Sequence[Hashable] = "time",
        *,
        weights: Any = None,
        sample_weight: Any = None,
        persist: bool = False,
    ) -> EOF[F]:
        """Fit the modes of a field.

        Parameters
        ----------
        X : DataArray, Dataset or list of DataArray
            The field. Variables have the samples in common, and grids of their own; dimensions stand in any order.
            Arrays of a list may have dimensions of the same name and different length.
        dim : hashable or sequence of hashable, default="time"
            Dimension of the samples, or several. All other dimensions belong to the points.
        weights : None, "coslat", DataArray, ndarray, or a mapping, Dataset or list of these for each variable
            Nonnegative numbers that multiply the anomalies, **the roots of areas**, as in eofs and xeofs, with
            dimensions of the points; an array without labels broadcasts to the points as in numpy. "coslat" is the
            square root of the cosine of the latitude, which may be one-dimensional or two-dimensional. Their squares
            are the `feature_weight` of :meth:`karhunen.PCA.fit`.
        sample_weight : DataArray or array-like with one entry for each sample, or None
            Nonnegative weights of the samples; `weighting` states their meaning.
        persist : bool, default=False
            Keep the chunks of a chunked field in the memory of the workers during the fit. Without it every pass
            computes them again.

        Returns
        -------
        EOF
            The fitted estimator.

        Raises
        ------
        ValueError
            If an option is out of range, the dimensions do not fit, or values are infinite or missing at some samples
            only (the message gives their number, their variable and the first of them).
        TypeError
            If `X` is not a field of xarray, or holds other values than real numbers.
        """
        way = scaling_of(self.scale)
        flag_option("center", self.center)
        if self.missing != "refuse":
            choice_option("missing", self.missing, Method)
        field = read(X, dim, missing_allowed=self.missing != "refuse")
        rows, lazy = field.rows, is_lazy(field.rows)
        if lazy and flag_option("persist", persist):
            rows = rows.persist()
        multipliers = weights_of_points(weights, field.grids)
        samples = None if sample_weight is None else field.samples.weights(sample_weight)
        if way == "variable":
            ends = np.cumsum([0, *(grid.n_kept for grid in field.grids.grids)])
            multipliers = np.ones(ends[-1]) if multipliers is None else multipliers.copy()
            for grid, start, end in zip(field.grids.grids, ends[:-1], ends[1:], strict=True):
                own = slice(int(start), int(end))
                multipliers[own] /= deviation_of(
                    self, rows[:, own], samples, multipliers[own], grid.label, field.n_missing
                )
        pca = estimator_of_rows(self, lazy, field.n_missing, way)
        squares = {} if multipliers is None else {"feature_weight": multipliers**2}
        if lazy and squares and field.n_missing:
            raise ValueError(
                "weights are not available for a chunked field with values that are missing at some samples; load it, "
                "or multiply the field by them before the fit"
            )
        pca.fit(rows, sample_weight=samples, **squares)
        self._adopt(pca, field.grids, field.samples, multipliers)
        self.dims_ = tuple(field.samples.kept.dims)
        self._scores = pca.transform(rows)
        return cast("EOF[F]", self)

    def fit_transform(
        self,
        X: Any,
        dim: Hashable | Sequence[Hashable] = "time",
        *,
        weights: Any = None,
        sample_weight: Any = None,
        persist: bool = False,
    ) -> xr.DataArray:
        """Fit the modes of a field and return its unscaled series; parameters are as in :meth:`fit`.

        Returns
        -------
        DataArray
            ``pcs()``.
        """
        return self.fit(X, dim, weights=weights, sample_weight=sample_weight, persist=persist).pcs()

    def north(self, n_observations: float | None = None) -> xr.Dataset:
        """Compute the sampling errors of the variances by the rule of North et al. (1982): ``variance * sqrt(2 / n)``.

        Parameters
        ----------
        n_observations : float or None, default=None
            Effective number of independent samples; None is the number of samples, or what their weights count as.

        Returns
        -------
        Dataset
            By `mode`: `explained_variance`, its `standard_error`, both as shares of the total variance
            (`explained_variance_ratio`, `standard_error_ratio`), and `group`: modes with the same number have
            overlapping errors with a neighbour, and are not told apart by the samples. Modes without variance have the
            error NaN and the group 0.
        """
        check_is_fitted(self)
        found = selection.north(self.pca_, n_observations)
        k = len(self._deviations)
        groups, errors = np.zeros(k, dtype=np.int64), np.full(k, np.nan)
        for number, members in enumerate(found.groups, start=1):
            groups[members.start : members.stop] = number
        errors[: len(found.standard_errors)] = found.standard_errors
        return xr.Dataset(
            {
                "explained_variance": self.explained_variance_,
                "standard_error": self._by_mode(errors, "standard error of the variance"),
                "explained_variance_ratio": self.explained_variance_ratio_,
                "standard_error_ratio": self._by_mode(errors / self.total_variance_, "standard error of the share"),
                "group": self._by_mode(groups, "modes with overlapping errors"),
            }
        )

    def rotate(
        self,
        method: Literal["varimax", "quartimax", "promax", "oblimin"] = "varimax",
        *,
        n_components: int | None = None,
        **options: Any,
    ) -> RotatedEOF[FieldT]:
        """Rotate the leading modes to simple structure.

        Parameters
        ----------
        method : {"varimax", "quartimax", "promax", "oblimin"}, default="varimax"
            A function of :mod:`karhunen.rotation`.
        n_components : int or None, default=None
            Number of leading modes to rotate; None is all.
        **options
            Options of the function, such as `kaiser`: Kaiser's normalisation is the default of "varimax" and "promax",
            as in xeofs.

        Returns
        -------
        RotatedEOF
            The rotated modes; the fit is not changed.
        """
        check_is_fitted(self)
        functions = ("varimax", "quartimax", "promax", "oblimin")
        if method not in functions:
            raise ValueError(f"method = {method!r} is not known; choose one of {', '.join(map(repr, functions))}")
        found = getattr(rotation, method)(self.pca_, n_components=n_components, **options)
        return RotatedEOF(self, found)

    def to_dataset(self) -> xr.Dataset:
        """Return maps, series, variances, mean and weights in one Dataset, which xarray writes to NetCDF or Zarr.

        Returns
        -------
        Dataset
            `components`, `mean` and `weights`, of several variables each with its name in front (`sst_components`);
            `scores`, `explained_variance`, `explained_variance_ratio`, `singular_values`, and `total_variance` as an
            attribute.
        """
        check_is_fitted(self)
        return results(self)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to a file that :meth:`load` reads, and every program for NetCDF or Zarr.

        Parameters
        ----------
        path : path-like
            File to write: Zarr if its name ends in ".zarr", NetCDF otherwise. It holds :meth:`to_dataset`, and the
            model of `pca_` bit for bit.

        Raises
        ------
        OSError, ValueError
            If it cannot be written.
        """
        check_is_fitted(self)
        save(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read an estimator that :meth:`save` wrote.

        Parameters
        ----------
        path : path-like
            File to read.

        Returns
        -------
        EOF
            The fitted estimator.

        Raises
        ------
        OSError, ValueError
            If the file cannot be read or holds something else.
        """
        return cast("Self", load(cls, path))

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        """Return the call that makes the estimator and, if it is fitted, the outcome."""
        call = super().__repr__(N_CHAR_MAX)
        if not self.__sklearn_is_fitted__():
            return str(call)
        share = float(self.explained_variance_ratio_.sum())
        return f"{call} {outcome((self.n_samples_, self.n_points_), len(self._deviations), share)}"

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there is a model."""
        return "pca_" in vars(self)

    def _adopt(self, pca: Any, grids: Any, samples: Samples, multipliers: NDArray[np.float64] | None) -> None:
        """Become fitted."""
        self.pca_ = self._diagnosed = pca
        self._grids, self._samples = grids, samples
        self._patterns = pca.components_
        self._deviations = np.sqrt(np.maximum(np.asarray(pca.explained_variance_, dtype=np.float64), 0.0))
        self._factors = multipliers
        self.n_samples_, self.n_points_ = samples.n_kept, grids.n_kept
        self.total_variance_ = total_variance(pca)
        self.explained_variance_ = self._by_mode(pca.explained_variance_, "explained variance")
        self.explained_variance_ratio_ = self._by_mode(pca.explained_variance_ratio_, "share of the total variance")
        self.singular_values_ = self._by_mode(pca.singular_values_, "singular values")
        self.mean_ = grids.maps(pca.mean_, in_units=True)
        self.weights_ = grids.maps(self._multipliers(), in_units=False, long_name="weights of the anomalies")

    def _multipliers(self) -> NDArray[np.float64]:
        """Return what multiplies the anomalies of the points with values."""
        return np.ones(self.n_points_) if self._factors is None else self._factors

    def _covariances(self) -> NDArray[np.float64]:
        factors = self._multipliers()
        units = np.divide(self.pca_.scale_, factors, out=np.full(len(factors), np.nan), where=factors > 0)
        return self._patterns * self._deviations[:, None] * units

    def _scores_of(self, X: Any) -> tuple[Samples, Any]:
        check_is_fitted(self)
        field = read_new(X, self._grids, missing_allowed=isinstance(self.pca_, IncompletePCA))
        pca = lazily(self.pca_) if is_lazy(field.rows) else self.pca_
        return field.samples, pca.transform(field.rows)

    def _rows_of(self, scores: Any) -> Any:
        return (lazily(self.pca_) if is_lazy(scores) else self.pca_).inverse_transform(scores)
