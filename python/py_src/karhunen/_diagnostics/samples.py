"""Rows under a model: distances, quality of representation, contributions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen import _core
from karhunen._diagnostics.incomplete import IncompleteSamples, incomplete_row_contributions, incomplete_samples
from karhunen._diagnostics.model import component_names, engine_model, fitted_model, frame
from karhunen._inputs.files import to_rows
from karhunen._inputs.matrix import to_weights
from karhunen._shared.fitted_model import feature_names

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from karhunen._shared.arrays import FloatArray


@dataclass(frozen=True, eq=False)
class Samples:
    """Diagnostics of rows. Distances are of rows as the model maps them: centred, scaled, weighted by feature.

    Attributes
    ----------
    scores : ndarray of shape (n_samples, n_components)
        As `transform` returns them without whitening.
    t2 : ndarray of shape (n_samples,)
        Hotelling's T²: sum of squared scores over their variances.
    spe : ndarray of shape (n_samples,)
        Squared prediction error, or Q: squared distance to the plane of the components.
    distance2 : ndarray of shape (n_samples,)
        Squared distance to the mean, of a model without centring to zero.
    leverage : ndarray of shape (n_samples,)
        Leverage of each row if it is one of the fit: ``1 / n + t2 / (n - 1)``. Without centring there is no ``1 / n``;
        the divisor of population weights is ``n``. Weighted rows are as many observations as :mod:`karhunen.selection`
        counts: the sum of frequency weights, or the effective number.
    index : array-like of shape (n_samples,) or None
        Index of the rows, if they are a data frame.
    """

    scores: FloatArray
    t2: NDArray[np.float64]
    spe: NDArray[np.float64]
    distance2: NDArray[np.float64]
    leverage: NDArray[np.float64]
    index: Any = field(default=None, repr=False)
    _variances: NDArray[np.float64] = field(repr=False, kw_only=True)

    @property
    def cos2(self) -> NDArray[np.float64]:
        """Squared cosines of shape (n_samples, n_components): share of the squared distance along each component.

        NaN for a row at the mean.
        """
        return _core.squared_cosines(self._scores(), self.distance2)

    def contributions(self, sample_weight: Any = None) -> NDArray[np.float64]:
        """Compute the share of each row of the fit in the variances of the components.

        Parameters
        ----------
        sample_weight : array-like of shape (n_samples,) or None
            The weights of the fit; a constant factor changes nothing.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Weighted squared scores over their sum: columns sum to one, so these must be all rows of the fit. NaN for a
            component without variance.
        """
        weights = to_weights("sample_weight", sample_weight, len(self.t2), "rows")
        return _core.share_rows(self._scores(), self._variances, weights)

    def _scores(self) -> NDArray[np.float64]:
        """Return the scores as the engine reads them."""
        return np.ascontiguousarray(self.scores, dtype=np.float64)

    def to_frame(self) -> Any:
        """Return one row for each sample: its scores, T², SPE, and squared distance to the mean."""
        table = frame(self.scores, self.index, component_names(self.scores.shape[1]))
        return table.assign(T2=self.t2, SPE=self.spe, distance2=self.distance2)


def samples(pca: Any, X: Any) -> Samples | IncompleteSamples:
    """Compute T², squared prediction errors and distances of rows, fitted or new.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncrementalPCA or IncompletePCA
        A fitted model.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
        Rows, or the files that hold them; sparse rows stay sparse. They are read twice, and a third time if some lie
        very near the plane. Rows of `IncompletePCA` may have missing values, and are what its `transform` takes.

    Returns
    -------
    Samples or IncompleteSamples
        Arrays with one row for each sample; IncompleteSamples for an `IncompletePCA`.

    Examples
    --------
    >>> import numpy as np
    >>> import karhunen
    >>> from karhunen import diagnostics
    >>> X = np.array([[1.0, 2.0], [2.0, 4.5], [3.0, 5.5], [4.0, 8.0]])
    >>> pca = karhunen.PCA(1).fit(X)
    >>> found = diagnostics.samples(pca, X)
    >>> float(found.t2.sum().round(6))
    3.0
    """
    model = fitted_model(pca)
    if isinstance(model, _core.IncompleteModel):
        return incomplete_samples(pca, X)
    index = getattr(X, "index", None) if hasattr(X, "columns") else None
    rows = to_rows(pca, X, reset=False)
    with pca._call() as draw:
        scores, (t2, spe, distance2, leverage) = _core.diagnose_rows(model, rows, pca.n_threads, draw)
    variances = np.array(model.explained_variance, dtype=np.float64)
    return Samples(scores, t2, spe, distance2, leverage, index, _variances=variances)


def with_limits(pca: Any, X: Any, found: Samples, weights: NDArray[np.float64] | None) -> _core.Model:
    """Return the model that keeps limits for new rows, by the rows of the fit."""
    rows = to_rows(pca, X, reset=False)
    distances = [found.t2, found.spe, found.distance2]
    with pca._call() as draw:
        return _core.keep_limits(engine_model(pca), rows, distances, weights, pca.n_threads, draw)


@dataclass(frozen=True, eq=False)
class RowContributions:
    """Shares of the features in the distances of rows.

    Attributes
    ----------
    t2 : ndarray of shape (n_samples, n_features)
        Terms of T², which sum to it (complete decomposition of Westerhuis, Gurden & Smilde 2000,
        doi:10.1016/S0169-7439(00)00062-9). Single terms may be negative.
    residuals : ndarray of shape (n_samples, n_features)
        Residuals of the centred and scaled values; their squares sum to the squared prediction error. NaN, as the
        terms of T², for missing entries.
    names : list of str
        Names of the features.
    """

    t2: NDArray[np.float64]
    residuals: NDArray[np.float64]
    names: list[str]

    @property
    def spe(self) -> NDArray[np.float64]:
        """Terms of the squared prediction error, of shape (n_samples, n_features)."""
        return self.residuals**2


def row_contributions(pca: Any, X: Any) -> RowContributions:
    """Compute what each feature adds to T² and to the squared prediction error of rows.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncrementalPCA or IncompletePCA
        A fitted model.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
        Rows, such as those beyond a limit: the result is dense. Rows of `IncompletePCA` are what its `transform` takes.

    Returns
    -------
    RowContributions
        Arrays with one row for each sample.
    """
    model = fitted_model(pca)
    if isinstance(model, _core.IncompleteModel):
        return RowContributions(*incomplete_row_contributions(pca, X), feature_names(pca))
    rows = to_rows(pca, X, reset=False)
    with pca._call() as draw:
        t2, residuals = _core.explain_rows(model, rows, pca.n_threads, draw)
    return RowContributions(t2, residuals, feature_names(pca))
