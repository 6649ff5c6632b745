"""Rotation of loadings to simple structure, or to a target.

Functions take a fitted :class:`karhunen.PCA` and return a :class:`Rotation`; the model is not changed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_array

from karhunen import _core
from karhunen._diagnostics.model import engine_model, feature_names, frame
from karhunen._shared.options import count_option, flag_option, number_option
from karhunen._shared.warning import warn

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Rotation", "oblimin", "procrustes", "promax", "quartimax", "varimax"]


@dataclass(frozen=True)
class Rotation:
    """Rotated components of a fitted model. They have no order of their own, and are sorted by their variance.

    Attributes
    ----------
    pattern : ndarray of shape (n_features, n_components)
        Rotated loadings: the coefficients of the components in each feature.
    structure : ndarray of shape (n_features, n_components)
        Covariances of features and rotated components, of a scaled fit their correlations. Equal to `pattern` after an
        orthogonal rotation.
    matrix : ndarray of shape (n_components, n_components)
        The pattern is the loadings of the model times this matrix.
    component_correlations : ndarray of shape (n_components, n_components)
        Correlations of the rotated components; the identity after an orthogonal rotation.
    communalities : ndarray of shape (n_features,)
        Variance of each feature that the components explain, which no rotation changes.
    explained_variance : ndarray of shape (n_components,)
        Variance of each rotated component.
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
    component_correlations: NDArray[np.float64]
    communalities: NDArray[np.float64]
    explained_variance: NDArray[np.float64]
    explained_variance_ratio: NDArray[np.float64]
    names: list[str]
    n_iter: int
    converged: bool
    _pca: Any = field(repr=False)
    _engine: _core.RotatedLoadings = field(repr=False)

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Compute the scores of the rotated components.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
            Rows, fitted or new.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores of unit variance over the rows of the fit, as of psych's `principal`.
        """
        model, k = engine_model(self._pca), len(self.explained_variance)
        scores = self._pca.transform(X)[:, :k] * _whitened(self._pca, k)
        variances = np.ascontiguousarray(model.explained_variance[:k], dtype=np.float64)
        return self._engine.scores(np.ascontiguousarray(scores, dtype=np.float64), variances)

    def to_frame(self) -> Any:
        """Return the pattern as a pandas.DataFrame, with the communalities in a last column."""
        columns = [f"RC{k + 1}" for k in range(self.pattern.shape[1])]
        return frame(self.pattern, self.names, columns).assign(communality=self.communalities)


def varimax(pca: Any, *, n_components: int | None = None, kaiser: bool = True) -> Rotation:
    """Rotate the loadings so that the variances of their squares are largest within each component.

    Kaiser (1958), doi:10.1007/BF02289233; as R's `varimax`.

    Parameters
    ----------
    pca : PCA or TruncatedSVD
        A fitted model.
    n_components : int or None, default=None
        Number of leading components to rotate; None is all.
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
    return _rotated(pca, n_components, "orthomax", 1.0, kaiser)


def quartimax(pca: Any, *, n_components: int | None = None, kaiser: bool = True) -> Rotation:
    """Rotate the loadings so that the variances of their squares are largest within each feature.

    Parameters
    ----------
    pca : PCA or TruncatedSVD
        A fitted model.
    n_components : int or None, default=None
        Number of leading components to rotate; None is all.
    kaiser : bool, default=True
        Kaiser normalisation.

    Returns
    -------
    Rotation
        The rotated components.
    """
    return _rotated(pca, n_components, "orthomax", 0.0, kaiser)


def promax(pca: Any, *, n_components: int | None = None, power: float = 4.0, kaiser: bool = True) -> Rotation:
    """Rotate to correlated components whose pattern is near a power of the varimax rotation.

    Hendrickson & White (1964), doi:10.1111/j.2044-8317.1964.tb00244.x; as R's `promax`.

    Parameters
    ----------
    pca : PCA or TruncatedSVD
        A fitted model.
    n_components : int or None, default=None
        Number of leading components to rotate; None is all.
    power : float, default=4.0
        The power, above 1.
    kaiser : bool, default=True
        Kaiser normalisation of the varimax rotation.

    Returns
    -------
    Rotation
        The rotated components.
    """
    return _rotated(pca, n_components, "promax", number_option("power", power), kaiser)


def oblimin(pca: Any, *, n_components: int | None = None, gamma: float = 0.0, kaiser: bool = True) -> Rotation:
    """Rotate to correlated components by the direct oblimin criterion.

    By gradient projection, Jennrich (2002), doi:10.1007/BF02294706; GPArotation's `oblimin` does not normalise.

    Parameters
    ----------
    pca : PCA or TruncatedSVD
        A fitted model.
    n_components : int or None, default=None
        Number of leading components to rotate; None is all.
    gamma : float, default=0.0
        At most 0.8; the smaller, the less correlated the components. 0 is quartimin.
    kaiser : bool, default=True
        Kaiser normalisation.

    Returns
    -------
    Rotation
        The rotated components.
    """
    return _rotated(pca, n_components, "oblimin", number_option("gamma", gamma), kaiser)


def procrustes(pca: Any, target: Any) -> Rotation:
    """Rotate the leading components orthogonally to the least squared distance from a target.

    Schoenemann (1966), doi:10.1007/BF02289451.

    Parameters
    ----------
    pca : PCA or TruncatedSVD
        A fitted model.
    target : array-like of shape (n_features, n_components)
        Loadings to come near to; its number of columns is the number of components that are rotated.

    Returns
    -------
    Rotation
        The rotated components, in the order and with the signs of the target.
    """
    target = np.ascontiguousarray(check_array(target, dtype=np.float64, input_name="target"))
    return _rotated(pca, target.shape[1], "procrustes", 0.0, False, target)


def _whitened(pca: Any, k: int) -> NDArray[np.float64]:
    """Return the factors that undo whitening."""
    deviations = np.sqrt(np.asarray(engine_model(pca).explained_variance[:k], dtype=np.float64))
    return deviations if pca._whitened() else np.ones(k)


def _rotated(
    pca: Any, n_components: int | None, method: str, parameter: float, kaiser: bool, target: Any = None
) -> Rotation:
    model = engine_model(pca)
    most = len(model.explained_variance)
    k = most if n_components is None else count_option("n_components", n_components)
    if k > most:
        raise ValueError(f"n_components = {k} is not allowed: the model has {most} components")
    loadings = np.ascontiguousarray(np.asarray(model.loadings(), dtype=np.float64)[:, :k])
    found = _core.rotate(loadings, method, parameter, flag_option("kaiser", kaiser), target)
    if not found.converged:
        warn(f"the rotation stopped after {found.n_iter} iterations before it converged", UserWarning)
    return Rotation(
        pattern=found.pattern,
        structure=found.structure,
        matrix=found.rotation,
        component_correlations=found.component_correlations,
        communalities=found.communalities,
        explained_variance=found.variances,
        explained_variance_ratio=found.variances / model.total_variance,
        names=feature_names(pca),
        n_iter=found.n_iter,
        converged=found.converged,
        _pca=pca,
        _engine=found,
    )
