"""Rows with missing values under a model: distances and contributions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen import _core
from karhunen._diagnostics.model import component_names, frame
from karhunen._incomplete.inputs import to_entries
from karhunen._inputs.matrix import to_weights
from karhunen._shared.options import flag_option, probability

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from karhunen._shared.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class IncompleteSamples:
    """Diagnostics of rows with missing values. Distances are of observed entries less their means, in units of the fit.

    For normal rows T² and the squared prediction error are chi-squared, with degrees of freedom that depend on what
    is observed, so that limits and p-values belong to rows.

    Attributes
    ----------
    scores : ndarray of shape (n_samples, n_components)
        As `transform` returns them.
    offsets : ndarray of shape (n_samples,) or None
        Offsets of the rows, with `row_offsets`.
    t2 : ndarray of shape (n_samples,)
        Hotelling's T² of the scores that the observed entries determine.
    t2_degrees : ndarray of int of shape (n_samples,)
        Number of scores (and offsets) that the entries determine.
    spe : ndarray of shape (n_samples,)
        Squared prediction error, or Q: weighted squared distance of the observed entries to the plane of components.
    spe_degrees : ndarray of int of shape (n_samples,)
        Number of observed entries less `t2_degrees`.
    distance2 : ndarray of shape (n_samples,)
        Weighted squared distance of the observed entries to their means.
    index : array-like of shape (n_samples,) or None
        Index of the rows, if they are a data frame.

    Notes
    -----
    With loadings :math:`V` and weights :math:`W` of the observed entries :math:`x`, scores of covariance :math:`S` and
    noise of variance :math:`v`, T² is :math:`s^T (S + v G^{-1})^{-1} s` with least-squares scores :math:`s` and
    :math:`G = V^T W V`. T² and ``spe / noise_variance_`` sum to :math:`x^T (V S V^T + v W^{-1})^{-1} x` (Nelson, Taylor
    & MacGregor 1996, doi:10.1016/S0169-7439(96)00007-X). Complete rows have the values of principal component
    analysis.
    """

    scores: FloatArray
    offsets: NDArray[np.float64] | None
    t2: NDArray[np.float64]
    t2_degrees: NDArray[np.uintp]
    spe: NDArray[np.float64]
    spe_degrees: NDArray[np.uintp]
    distance2: NDArray[np.float64]
    index: Any = field(default=None, repr=False)
    _pca: Any = field(repr=False, kw_only=True)

    def t2_limits(self, level: float = 0.95, *, fitted: bool = False) -> NDArray[np.float64]:
        """Compute the limit of T² of each row.

        Parameters
        ----------
        level : float, default=0.95
            Share of normal rows within the limit, between 0 and 1.
        fitted : bool, default=False
            True for rows of the fit, whose T² has another distribution.

        Returns
        -------
        ndarray of shape (n_samples,)
            Limits by the degrees of freedom; zero for a row without entries.
        """
        model = self._pca._model_now()
        return _core.incomplete_t2_limits(model, self.t2_degrees, probability("level", level), _rows(fitted))

    def t2_p_values(self, *, fitted: bool = False) -> NDArray[np.float64]:
        """Compute the probability that T² of a normal row is larger, of shape (n_samples,).

        Parameters
        ----------
        fitted : bool, default=False
            True for rows of the fit.

        Returns
        -------
        ndarray of shape (n_samples,)
            NaN for a row without entries.
        """
        model = self._pca._model_now()
        return _core.incomplete_t2_p_values(model, self.t2, self.t2_degrees, _rows(fitted))

    def spe_limits(self, level: float = 0.95, scale: tuple[float, ...] | None = None) -> NDArray[np.float64]:
        """Compute the limit of the squared prediction error of each row.

        Parameters
        ----------
        level : float, default=0.95
            Share of normal rows within the limit, between 0 and 1.
        scale : tuple of two or three floats or None, default=None
            Variance and dispersion of normal rows, and the number of observations that they are estimated from, as
            :meth:`spe_scale` returns them. None is the scale of new rows that the fit has found from its own, as
            ``spe_scale(new_rows=True)`` does. Fits of 1,000 rows and 100,000 entries or more, of files in parts,
            without error bars and by earlier versions have none: then it is by `noise_variance_`, as if all features
            had this variance of noise, with the errors of the means and loadings.

        Returns
        -------
        ndarray of shape (n_samples,)
            Infinite for a row without degrees of freedom.
        """
        return _core.incomplete_spe_limits(self._scale(scale), self.spe_degrees, probability("level", level))

    def spe_p_values(self, scale: tuple[float, ...] | None = None) -> NDArray[np.float64]:
        """Compute the probability that the squared prediction error of a normal row is larger.

        Parameters
        ----------
        scale : tuple of two or three floats or None, default=None
            As in :meth:`spe_limits`.

        Returns
        -------
        ndarray of shape (n_samples,)
            NaN for a row without degrees of freedom.
        """
        return _core.incomplete_spe_p_values(self._scale(scale), self.spe, self.spe_degrees)

    def spe_scale(self, sample_weight: Any = None, *, new_rows: bool = False) -> tuple[float, ...]:
        """Compute the variance and the dispersion of squared prediction errors, from the errors of these rows.

        An error with `d` degrees of freedom is ``variance * dispersion`` times chi-squared with ``d / dispersion``
        degrees (Box 1954, doi:10.1214/aoms/1177728786, for complete rows).

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows.
        new_rows : bool, default=False
            True if these are all rows of the fit, and the scale is for new ones. A fit minimises the errors of its
            rows; they are divided by ``(1 - h)**2``, with the share `h` of a row in the means and loadings of a
            feature: ``(1 + t2)`` over the mean number of entries of a feature, with `t2` in units of its mean for
            each degree of freedom. The scale of a :class:`Monitor`, of rows left out of the fit, is more accurate.

        Returns
        -------
        variance : float
            Mean of the squared error for each degree of freedom; zero if errors are rounding.
        dispersion : float
            Variance of the errors over the variance of normal noise that is equal for all features.
        n_observations : float
            With `new_rows`: the number of rows, or the sum of their weights. Limits are wider the fewer there are.
        """
        weights = to_weights("sample_weight", sample_weight, len(self.spe), "rows")
        of_t2 = (self.t2, self.t2_degrees) if flag_option("new_rows", new_rows) else None
        scale = _core.incomplete_spe_scale(
            self._pca._model_now(), self.spe, self.spe_degrees, self.distance2, of_t2, weights
        )
        return tuple(scale if new_rows else scale[:2])

    def to_frame(self) -> Any:
        """Return one row for each sample: its scores, T² and SPE with degrees of freedom, and squared distance."""
        table = frame(self.scores, self.index, component_names(self.scores.shape[1]))
        return table.assign(
            T2=self.t2,
            T2_degrees=self.t2_degrees,
            SPE=self.spe,
            SPE_degrees=self.spe_degrees,
            distance2=self.distance2,
        )

    def _scale(self, scale: tuple[float, ...] | None) -> list[float]:
        if scale is None:
            return _core.incomplete_model_spe_scale(self._pca._model_now())
        variance, dispersion, *rest = (float(value) for value in scale)
        if not (0.0 <= variance < np.inf and 0.0 <= dispersion < np.inf):
            raise ValueError(f"scale is {scale}; give a variance and a dispersion, finite and not negative")
        if len(rest) > 1 or not all(n > 1.0 for n in rest):
            raise ValueError(f"scale is {scale}; its third number counts the observations and is above 1")
        return [variance, dispersion, *(rest or [np.inf])]


def _rows(fitted: bool) -> str:
    return "fitted" if flag_option("fitted", fitted) else "new"


def incomplete_samples(pca: Any, X: Any) -> IncompleteSamples:
    """Compute the diagnostics of rows with missing values, fitted or new."""
    entries = to_entries(pca, X, reset=False)
    with pca._call() as draw:
        scores, offsets, (t2, spe, distance2), (t2_degrees, spe_degrees) = _core.diagnose_incomplete_rows(
            pca._model_now(), entries, pca.n_threads, draw
        )
    index = getattr(X, "index", None) if hasattr(X, "columns") else None
    return IncompleteSamples(scores, offsets, t2, t2_degrees, spe, spe_degrees, distance2, index, _pca=pca)


def with_incomplete_limits(pca: Any, X: Any, sample_weight: Any) -> _core.IncompleteModel:
    """Return the model that keeps limits for new rows, by the rows of the fit."""
    entries = to_entries(pca, X, reset=False)
    weights = to_weights("sample_weight", sample_weight, entries.shape[0], "rows")
    if weights is not None:
        entries = entries.weighed(weights)
    with pca._call() as draw:
        return _core.keep_incomplete_limits(pca._model_now(), entries, pca.n_threads, draw)


def incomplete_row_contributions(pca: Any, X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Compute the terms of each entry in T², and the residuals; NaN for missing entries."""
    entries = to_entries(pca, X, reset=False)
    with pca._call() as draw:
        t2, residuals = _core.explain_incomplete_rows(pca._model_now(), entries, pca.n_threads, draw)
    return t2, residuals
