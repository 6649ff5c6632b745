"""Features and components: contributions, correlations, squared cosines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen import _core
from karhunen._diagnostics.model import (
    component_names,
    fitted_model,
    frame,
    is_of_sklearn,
    rotated_or_fitted_model,
)
from karhunen._shared.fitted_model import feature_names

if TYPE_CHECKING:
    from karhunen._shared.arrays import FloatArray

#: Rounding of the sum of all explained shares, which is 1.
ROUNDING = 1e-9
#: Ten roundings: the deviation relative to the mean, and the variance relative to the sum of all, of constant features.
CONSTANT = 10.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Features:
    """Relations of features and components.

    Attributes
    ----------
    contributions : ndarray of shape (n_features, n_components)
        Share of each feature in the variance of a component; columns sum to one.
    correlations : ndarray of shape (n_features, n_components)
        Correlations of features and components, whatever the scaling. Of a model without centring, cosines about
        zero. NaN for a constant feature.
    cos2 : ndarray of shape (n_features, n_components)
        Squared correlations: the share of the variance of a feature along each component.
    communalities : ndarray of shape (n_features,)
        Sum of `cos2` over the components: the R² of each feature. NaN for a constant feature.
    names : list of str
        Names of the features.
    component_names : list of str
        Names of the components.
    """

    contributions: FloatArray
    correlations: FloatArray
    cos2: FloatArray
    communalities: FloatArray
    names: list[str]
    component_names: list[str]

    def to_frame(self) -> Any:
        """Return one row for each feature: correlation, contribution and cos2 of each component, communality."""
        columns = self.component_names
        parts = {"correlation": self.correlations, "contribution": self.contributions, "cos2": self.cos2}
        names = [f"{part}_{column}" for part in parts for column in columns]
        return frame(np.hstack(list(parts.values())), self.names, names).assign(communality=self.communalities)


def features(pca: Any) -> Features:
    """Compute contributions, correlations and squared cosines of the features.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncrementalPCA, IncompletePCA or Rotation
        A fitted model, or a rotation of one; of scikit-learn a PCA with all components, whose variances add up to the
        variances of the features.

    Returns
    -------
    Features
        Arrays with one row for each feature. If components of a rotation are correlated, contributions are pattern
        times structure as a share of their sum, which may be negative, and squared cosines do not sum to the
        communality.

    Raises
    ------
    ValueError
        If the model does not know the variances of the features: it is of scikit-learn and has not all components, or
        a version that did not keep them fitted it.

    Notes
    -----
    As `var$contrib` (divided by 100), `var$cor` and `var$cos2` of FactoMineR's `PCA`.

    With `IncompletePCA` the variance of a feature is its variance in complete rows under the fit: along the components,
    of the row offsets, and of the residuals. Variances that the method learns leave out the noise, and so do these
    correlations.

    Examples
    --------
    >>> import numpy as np
    >>> import karhunen
    >>> from karhunen import diagnostics
    >>> X = np.array([[1.0, 2.0, 0.0], [2.0, 4.1, 1.0], [3.0, 5.9, 0.0], [4.0, 8.0, 1.0]])
    >>> found = diagnostics.features(karhunen.PCA(2, scale=True).fit(X))
    >>> found.communalities.round(3)
    array([1., 1., 1.])
    """
    if is_of_sklearn(pca):
        return _features_of_sklearn(pca)
    model = rotated_or_fitted_model(pca)
    if isinstance(model, _core.RotatedModel):
        found = _core.diagnose_rotated_features(model)
    elif isinstance(model, _core.RotatedIncompleteModel):
        found = _core.diagnose_rotated_incomplete_features(model)
    elif isinstance(model, _core.IncompleteModel):
        found = _core.diagnose_incomplete_features(model)
    else:
        found = _core.diagnose_features(model)
    contributions, correlations, cos2, communalities = found
    if isinstance(model, (_core.RotatedModel, _core.RotatedIncompleteModel)):
        names, components = pca.names, pca.component_names
    else:
        names, components = feature_names(pca), component_names(contributions.shape[1])
    return Features(contributions, correlations, cos2, communalities, names, components)


@dataclass(frozen=True, eq=False)
class R2:
    """R² by number of components.

    Attributes
    ----------
    total : ndarray of shape (n_components,)
        Share of the total variance of scaled and weighted features that the leading components explain: the cumulative
        sum of the explained variance ratios. Of a model without centring, the share of the sum of squares.
    features : ndarray of shape (n_features, n_components)
        Share of the variance of each feature, whatever the scaling: the cumulative sum of its squared cosines. The last
        column is the communality. NaN for a constant feature.
    names : list of str
        Names of the features.
    component_names : list of str
        Names of the components.
    """

    total: FloatArray
    features: FloatArray
    names: list[str]
    component_names: list[str]

    def to_frame(self) -> Any:
        """Return one row for each feature, and a last one, `total`; one column for each number of components."""
        values = np.vstack([self.features, self.total])
        return frame(values, [*self.names, "total"], self.component_names)


def r2(pca: Any) -> R2:
    """Compute the share of variance that the leading components explain, by their number, in total and of each feature.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncrementalPCA or IncompletePCA
        A fitted model; of scikit-learn a PCA with all components.

    Returns
    -------
    R2
        Shares for 1, 2, … components.

    Raises
    ------
    ValueError
        As of :func:`features`.

    Notes
    -----
    As `R2cum` and `R2VX` of R's pcaMethods (Stacklies et al. 2007, doi:10.1093/bioinformatics/btm069). R² cannot fall
    with the number of components; Q², the share that is predicted of entries that were not fitted, can:
    :func:`karhunen.cross_validate_entries`. With `IncompletePCA` shares are of the variances of complete rows under the
    fit.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from karhunen import PCA, diagnostics
    >>> found = diagnostics.r2(PCA(3, scale=True).fit(load_wine().data))
    >>> found.total.round(3)
    array([0.362, 0.554, 0.665])
    >>> found.features[0].round(3)
    array([0.098, 0.682, 0.744])
    """
    if is_of_sklearn(pca):
        relations = _features_of_sklearn(pca)
        total = np.cumsum(np.asarray(pca.explained_variance_ratio_, dtype=np.float64))
        of_features = np.cumsum(relations.cos2, axis=1)
        return R2(np.minimum(total, 1.0), np.minimum(of_features, 1.0), relations.names, relations.component_names)
    model = fitted_model(pca)
    if isinstance(model, _core.IncompleteModel):
        total, of_features = _core.diagnose_incomplete_r2(model)
    else:
        total, of_features = _core.diagnose_r2(model)
    return R2(total, of_features, feature_names(pca), component_names(len(total)))


def contributions(pca: Any) -> FloatArray:
    """Return the contributions alone, (n_features, n_components), which need no variances of the features."""
    if is_of_sklearn(pca):
        return np.asarray(pca.components_, dtype=np.float64).T ** 2
    return features(pca).contributions


def _features_of_sklearn(pca: Any) -> Features:
    """Compute the relations of features and components from all components of a PCA of scikit-learn."""
    explained = float(np.sum(pca.explained_variance_ratio_))
    if getattr(pca, "mean_", None) is None or abs(explained - 1.0) > ROUNDING:
        raise ValueError(
            f"the {len(pca.components_)} components of scikit-learn's {type(pca).__name__} do not give the variance of "
            "each feature; fit karhunen's PCA, which keeps them, or all components"
        )
    along = np.asarray(pca.explained_variance_, dtype=np.float64)
    loadings = np.asarray(pca.components_, dtype=np.float64).T * np.sqrt(along)
    deviations = np.linalg.norm(loadings, axis=1, keepdims=True)
    # A constant feature has the rounding of its mean and of the eigenvalues.
    rounding = np.maximum(CONSTANT * np.abs(pca.mean_), np.sqrt(CONSTANT * along.sum()))[:, None]
    r = np.divide(loadings, deviations, out=np.full(loadings.shape, np.nan), where=deviations > rounding)
    names, components = feature_names(pca), component_names(r.shape[1])
    return Features(contributions(pca), r, r**2, (r**2).sum(axis=1), names, components)
