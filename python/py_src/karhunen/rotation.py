"""Rotation of loadings to simple structure, or to a target.

Functions take a fitted :class:`karhunen.PCA`, :class:`karhunen.TruncatedSVD` or :class:`karhunen.IncrementalPCA` and
return a :class:`Rotation`; the model is not changed.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_array

from karhunen import _core
from karhunen._diagnostics.model import engine_model, feature_names, frame
from karhunen._inputs.files import to_rows
from karhunen._shared.options import count_option, flag_option, number_option
from karhunen._shared.warning import warn

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rotation", "oblimin", "procrustes", "promax", "quartimax", "varimax"]


#: Share of the first variance below which a component has none.
WITHOUT_VARIANCE = 1e-14


@dataclass(frozen=True, eq=False)
class Rotation:
    """Rotated components of a fitted model, sorted by their variance; those of a target keep its order.

    Numbers are of the model as it was when it was rotated, whatever is fitted later.

    Attributes
    ----------
    pattern : ndarray of shape (n_features, n_components)
        Rotated loadings: the coefficients of the components in each feature.
    structure : ndarray of shape (n_features, n_components)
        Covariances of features and rotated components, of a scaled fit their correlations; of a fit without centring
        mean products. Equal to `pattern` after an orthogonal rotation.
    matrix : ndarray of shape (n_components, n_components)
        The pattern is the loadings of the model times this matrix, divided by the roots of feature weights.
    score_rotation : ndarray of shape (n_components, n_components)
        The matrix that multiplies standardised scores of the model.
    component_correlations : ndarray of shape (n_components, n_components)
        Correlations of the rotated components; the identity after an orthogonal rotation.
    communalities : ndarray of shape (n_features,)
        Variance of each feature that the components explain, which no rotation changes.
    explained_variance : ndarray of shape (n_components,)
        Variance of each rotated component, of weighted features. Of an oblique rotation sums of pattern times
        structure, which may be negative.
    explained_variance_ratio : ndarray of shape (n_components,)
        Its share of the total variance.
    names : list of str
        Names of the features.
    n_iter : int
        Number of iterations.
    converged : bool
        True if the iterations converged.
    """

    pattern: NDArray[np.float64]
    structure: NDArray[np.float64]
    matrix: NDArray[np.float64]
    score_rotation: NDArray[np.float64]
    component_correlations: NDArray[np.float64]
    communalities: NDArray[np.float64]
    explained_variance: NDArray[np.float64]
    explained_variance_ratio: NDArray[np.float64]
    names: list[str]
    n_iter: int
    converged: bool
    _pca: Any = field(repr=False)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Compute the scores of the rotated components.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
            Rows, fitted or new.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores of unit variance over the rows of the fit, as of psych's `principal`; without centring of unit mean
            square.
        """
        k = len(self.explained_variance)
        scores = self._pca._scores(to_rows(self._pca, X, reset=False))[:, :k]
        variances = np.asarray(engine_model(self._pca).explained_variance[:k], dtype=np.float64)
        deviations = np.ones(k) if self._pca._whitened() else np.sqrt(variances)
        standardised = np.divide(scores, deviations, out=np.zeros(scores.shape), where=deviations > 0.0)
        return standardised @ self.score_rotation

    def to_frame(self) -> Any:
        """Return the pattern as a pandas.DataFrame, with the communalities in a last column."""
        columns = [f"RC{k + 1}" for k in range(self.pattern.shape[1])]
        return frame(self.pattern, self.names, columns).assign(communality=self.communalities)


def varimax(pca: Any, *, n_components: int | None = None, kaiser: bool = True) -> Rotation:
    """Rotate the loadings so that the variances of their squares are largest within each component.

    Kaiser (1958), doi:10.1007/BF02289233; as R's `varimax`.

    Parameters
    ----------
    pca : PCA, TruncatedSVD or IncrementalPCA
        A fitted model.
    n_components : int or None, default=None
        Number of leading components to rotate; None is all that have variance.
    kaiser : bool, default=True
        Kaiser normalisation: features count alike, whatever their communality.

    Returns
    -------
    Rotation
        The rotated components.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from karhunen import PCA, rotation
    >>> pca = PCA(3, scale=True).fit(load_wine().data)
    >>> rotated = rotation.varimax(pca)
    >>> shares = rotated.explained_variance_ratio.sum(), pca.explained_variance_ratio_.sum()
    >>> [float(share.round(3)) for share in shares]
    [0.665, 0.665]
    """
    normalise = flag_option("kaiser", kaiser)
    return _rotated(pca, n_components, lambda loadings: _core.rotate_orthomax(loadings, 1.0, normalise))


def quartimax(pca: Any, *, n_components: int | None = None, kaiser: bool = False) -> Rotation:
    """Rotate the loadings so that the variances of their squares are largest within each feature.

    Neuhaus & Wrigley (1954), doi:10.1111/j.2044-8317.1954.tb00147.x; as GPArotation's `quartimax` and psych.

    Parameters
    ----------
    pca : PCA, TruncatedSVD or IncrementalPCA
        A fitted model.
    n_components : int or None, default=None
        Number of leading components to rotate; None is all that have variance.
    kaiser : bool, default=False
        Kaiser normalisation: features count alike, whatever their communality.

    Returns
    -------
    Rotation
        The rotated components.
    """
    normalise = flag_option("kaiser", kaiser)
    return _rotated(pca, n_components, lambda loadings: _core.rotate_orthomax(loadings, 0.0, normalise))


def promax(pca: Any, *, n_components: int | None = None, power: float = 4.0, kaiser: bool = True) -> Rotation:
    """Rotate to correlated components whose pattern is near a power of the varimax rotation.

    Hendrickson & White (1964), doi:10.1111/j.2044-8317.1964.tb00244.x; as R's `promax`.

    Parameters
    ----------
    pca : PCA, TruncatedSVD or IncrementalPCA
        A fitted model.
    n_components : int or None, default=None
        Number of leading components to rotate; None is all that have variance.
    power : float, default=4.0
        The power, above 1.
    kaiser : bool, default=True
        Kaiser normalisation of the varimax rotation.

    Returns
    -------
    Rotation
        The rotated components.
    """
    exponent, normalise = number_option("power", power), flag_option("kaiser", kaiser)
    return _rotated(pca, n_components, lambda loadings: _core.rotate_promax(loadings, exponent, normalise))


def oblimin(pca: Any, *, n_components: int | None = None, gamma: float = 0.0, kaiser: bool = False) -> Rotation:
    """Rotate to correlated components by the direct oblimin criterion.

    By gradient projection, Jennrich (2002), doi:10.1007/BF02294706; as GPArotation's `oblimin` and psych. SPSS
    normalises.

    Parameters
    ----------
    pca : PCA, TruncatedSVD or IncrementalPCA
        A fitted model.
    n_components : int or None, default=None
        Number of leading components to rotate; None is all that have variance.
    gamma : float, default=0.0
        At most 0.8; the smaller, the less correlated the components. 0 is quartimin. Above 0 the criterion may have no
        minimum.
    kaiser : bool, default=False
        Kaiser normalisation: features count alike, whatever their communality.

    Returns
    -------
    Rotation
        The rotated components.
    """
    number, normalise = number_option("gamma", gamma), flag_option("kaiser", kaiser)
    return _rotated(pca, n_components, lambda loadings: _core.rotate_oblimin(loadings, number, normalise))


def procrustes(pca: Any, target: Any) -> Rotation:
    """Rotate the leading components orthogonally to the least squared distance from a target.

    Schoenemann (1966), doi:10.1007/BF02289451.

    Parameters
    ----------
    pca : PCA, TruncatedSVD or IncrementalPCA
        A fitted model.
    target : array-like or dataframe of shape (n_features, n_components), or Rotation
        Loadings to come near to; its number of columns is the number of components that are rotated. The index of a
        data frame must hold the names of the features, in their order; of a `Rotation` the pattern is taken.

    Returns
    -------
    Rotation
        The rotated components, in the order and with the signs of the target.
    """
    index = getattr(target, "index", None) if hasattr(target, "columns") else None
    if index is not None and [str(name) for name in index] != feature_names(pca):
        raise ValueError("the index of target does not hold the names of the features; reindex it, or pass an array")
    pattern = target.pattern if isinstance(target, Rotation) else target
    values = np.array(check_array(pattern, dtype=np.float64, input_name="target"), order="C")
    weights = engine_model(pca).feature_weights
    if weights is not None and len(weights) == len(values):
        values *= np.sqrt(weights)[:, None]
    return _rotated(pca, values.shape[1], lambda loadings: _core.rotate_to_target(loadings, values))


def _rotated(
    pca: Any, n_components: int | None, rotate: Callable[[NDArray[np.float64]], _core.RotatedLoadings]
) -> Rotation:
    """Rotate the leading components of a fitted model."""
    model = engine_model(pca)
    variances = np.asarray(model.explained_variance)
    most = len(variances)
    with_variance = int((variances > WITHOUT_VARIANCE * variances[:1].sum()).sum())
    k = max(with_variance, 1) if n_components is None else count_option("n_components", n_components)
    if k > most:
        raise ValueError(f"n_components = {k} is not allowed: the model has {most} components")
    found = rotate(np.ascontiguousarray(np.asarray(model.loadings(), dtype=np.float64)[:, :k]))
    if not found.converged:
        warn(
            f"the rotation stopped after {found.n_iter} iterations before it converged; rotate fewer components, or "
            "set gamma of oblimin to 0 or less",
            UserWarning,
        )
    # Loadings of the model are of features times the roots of their weights.
    weights = np.ones(len(found.communalities)) if model.feature_weights is None else model.feature_weights
    units = np.where(weights > 0.0, weights, 1.0)
    total = model.total_variance
    return Rotation(
        pattern=found.pattern / np.sqrt(units)[:, None],
        structure=found.structure / np.sqrt(units)[:, None],
        matrix=found.rotation,
        score_rotation=found.score_rotation,
        component_correlations=found.component_correlations,
        communalities=found.communalities / units,
        explained_variance=found.variances,
        explained_variance_ratio=found.variances / total if total > 0.0 else np.zeros(k),
        names=feature_names(pca),
        n_iter=found.n_iter,
        converged=found.converged,
        # A copy: the model may be fitted again.
        _pca=deepcopy(pca),
    )
