"""Conversion to fitted estimators of scikit-learn, for deployment without karhunen."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from sklearn.decomposition import PCA as SklearnPCA
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

if TYPE_CHECKING:
    from karhunen._core import Model
    from karhunen._pca.pca import PCA


def to_sklearn(pca: PCA, model: Model) -> SklearnPCA | Pipeline:
    """Return a fitted PCA of scikit-learn, or a pipeline with one if columns are scaled or weighted."""
    weights = model.feature_weights
    if weights is not None and (weights == 0).any():
        raise ValueError(
            f"column {int(np.argmin(weights))} has feature weight 0, which no scaler of scikit-learn has; "
            "drop the column before fitting"
        )
    inner = _pca(pca, model)
    if weights is None and (model.scale == 1).all():
        inner.mean_ = pca.mean_.copy()
        return _named(inner, pca)
    scaler = StandardScaler()
    scaler.mean_ = model.mean.copy()
    scaler.scale_ = model.scale / (1.0 if weights is None else np.sqrt(weights))
    scaler.var_ = np.square(scaler.scale_)
    scaler.n_samples_seen_ = model.n_samples
    scaler.n_features_in_ = len(model.mean)
    inner.mean_ = np.zeros(len(model.mean), dtype=pca.mean_.dtype)
    return make_pipeline(_named(scaler, pca), inner)


def _pca(pca: PCA, model: Model) -> SklearnPCA:
    """Return a PCA with all fitted attributes except the mean."""
    inner = SklearnPCA(n_components=len(model.components), whiten=pca.whiten)
    inner.n_components_ = len(model.components)
    inner.n_samples_ = model.n_samples
    inner.n_features_in_ = len(model.mean)
    for name in ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        setattr(inner, name, getattr(pca, name).copy())
    inner.noise_variance_ = model.noise_variance
    inner._fit_svd_solver = "full"
    return inner


def _named(estimator: SklearnPCA | StandardScaler, pca: PCA) -> SklearnPCA | StandardScaler:
    """Set the column names of the first step."""
    if hasattr(pca, "feature_names_in_"):
        estimator.feature_names_in_ = pca.feature_names_in_.copy()
    return estimator
