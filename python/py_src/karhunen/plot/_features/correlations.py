"""Correlations of the features with the components."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from karhunen.plot._parts import fitted_model

#: Tolerance for the sum of the explained shares to be 1.
ROUNDING = 1e-9
TOTAL = 1e-6


def of(pca: Any, X: Any, components: list[int], sample_weight: Any) -> np.ndarray:
    """Return the correlations with some components, from the data or, without, from the model: (n_features, k)."""
    if X is not None:
        return measured(X, np.asarray(pca.transform(X))[:, components], sample_weight)
    if sample_weight is not None:
        raise ValueError("sample_weight weighs the rows of X; pass X as well")
    return known(pca)[:, components]


def known(pca: Any) -> np.ndarray:
    """Return the correlations that follow from the model alone, shape (n_features, n_components)."""
    loadings = fitted_model.loadings_of(pca)
    explained = float(np.sum(pca.explained_variance_ratio_))
    if abs(explained - 1.0) <= ROUNDING:
        spread = np.linalg.norm(loadings, axis=1)
        return loadings / np.where(spread > 0.0, spread, 1.0)[:, None]
    # Scaled features have variance 1, or 0 if constant; feature weights would change the total variance.
    total = float(np.sum(pca.explained_variance_)) / explained
    if getattr(pca, "scale", False) and abs(total - round(total)) <= TOTAL and total <= len(loadings) + TOTAL:
        return loadings
    raise ValueError(
        f"the {len(pca.components_)} components do not tell the variance of each feature; "
        "pass the data as X, or fit with scale=True"
    )


def measured(X: Any, at: np.ndarray, sample_weight: Any) -> np.ndarray:
    """Compute the weighted correlations of the columns of `X` with scores (n, k)."""
    matrix = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, dtype=float)
    weight = np.ones(len(at)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if weight.shape != (len(at),):
        has = f"{len(weight)} entries" if weight.ndim == 1 else f"shape {weight.shape}"
        raise ValueError(f"sample_weight has {has}; X has {len(at)} rows")
    weight = weight / weight.sum()
    mean = matrix.T @ weight
    if sp.issparse(matrix):
        variance = matrix.multiply(matrix).T @ weight - mean**2
    else:
        matrix = matrix - mean
        variance = (matrix**2).T @ weight
    centred = at - weight @ at
    spread = np.sqrt(np.outer(np.clip(variance, 0.0, None), weight @ centred**2))
    return (matrix.T @ (weight[:, None] * centred)) / np.where(spread > 0.0, spread, 1.0)
