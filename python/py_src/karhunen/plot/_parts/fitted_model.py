"""Values that plots read from a fitted model of karhunen or scikit-learn, and from its data."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from karhunen.diagnostics import correlations, features


def check(pca: Any) -> None:
    """Refuse objects that are not fitted models with components."""
    for name in ("fit", "transform"):
        if not hasattr(pca, name):
            raise ValueError(f"pca is a {type(pca).__name__}; pass a fitted karhunen.PCA or scikit-learn's")
    check_is_fitted(pca)
    if not hasattr(pca, "components_") or not hasattr(pca, "explained_variance_ratio_"):
        raise ValueError(
            f"pca is a {type(pca).__name__} without components_ and explained_variance_ratio_; "
            "of a pipeline, pass the step that is a PCA"
        )


def plane(pca: Any, components: tuple[int, int]) -> tuple[int, int]:
    """Check two indices of components."""
    if len(pca.components_) < 2:
        raise ValueError("the model has one component, and a plane needs two; fit more, or draw plot.scree")
    first, second = indices(pca, components, 2)
    return first, second


def indices(pca: Any, components: Sequence[int], size: int | None) -> list[int]:
    """Check indices of components: `size` of them, or any number from one on."""
    n = len(pca.components_)
    words = {None: "one or more", 2: "two", 3: "three"}[size]
    try:
        chosen = [operator.index(c) for c in components]
    except TypeError:
        chosen = []
    if not chosen or (size is not None and len(chosen) != size):
        such = tuple(range(size or 2))
        raise ValueError(f"components = {components!r}; give the indices of {words} components, such as {such}")
    for index in chosen:
        if not 0 <= index < n:
            raise ValueError(f"components = {components!r} has {index}, but the model has components 0 to {n - 1}")
    if len(set(chosen)) < len(chosen):
        number = words if size else len(chosen)
        raise ValueError(f"components = {components!r} are the same; give {number} different ones")
    return chosen


def component_index(pca: Any, component: Any) -> int:
    """Check the index of one component."""
    n = len(pca.components_)
    if isinstance(component, bool) or not hasattr(component, "__index__") or not 0 <= operator.index(component) < n:
        raise ValueError(f"component = {component!r}; the model has components 0 to {n - 1}")
    return operator.index(component)


def count(name: str, value: int | None, most: int) -> int:
    """Check a number of items to show; None is all."""
    if value is None:
        return most
    if isinstance(value, bool) or not hasattr(value, "__index__") or operator.index(value) < 1:
        raise ValueError(f"{name} = {value!r}; give a whole number of at least 1, or None")
    return min(operator.index(value), most)


def component_name(index: int) -> str:
    """Return the name of a component, counted from 1."""
    return f"PC{index + 1}"


def axis_label(pca: Any, index: int) -> str:
    """Return the name of a component with its share of the variance."""
    return f"{component_name(index)} ({percent(100.0 * pca.explained_variance_ratio_[index])} % of the variance)"


def percent(value: float) -> str:
    """Write a percentage with one digit after the point, and small ones with two."""
    if 0.0 < value < 0.005:
        return "<0.01"
    return f"{value:.{1 if value >= 0.95 or value == 0.0 else 2}f}"


def loadings_of(pca: Any) -> np.ndarray:
    """Return components times the square root of their variance, shape (n_features, n_components)."""
    if hasattr(pca, "loadings_"):
        return pca.loadings_
    return pca.components_.T * np.sqrt(pca.explained_variance_)


def correlations_of(pca: Any, X: Any, chosen: Sequence[int], sample_weight: Any) -> np.ndarray:
    """Return the correlations of features and `chosen` components, (n_features, k); constant features have zeros.

    They are those of the model, or, given `X`, of its columns and scores.
    """
    if X is not None:
        scores = np.asarray(pca.transform(X))[:, chosen]
        return np.nan_to_num(correlations(scores, X, sample_weight, weighting="population").correlations)
    if sample_weight is not None:
        raise ValueError("sample_weight weighs the rows of X; pass X as well")
    try:
        return np.nan_to_num(features(pca).correlations[:, chosen])
    except ValueError as error:
        raise ValueError(f"{error}; or pass the data as X") from None


def feature_names(pca: Any, given: Sequence[Any] | None) -> list[str]:
    """Return the names of the features: `given`, those of the fit, or x0, x1, ... as in scikit-learn."""
    p = pca.components_.shape[1]
    if given is None:
        given = getattr(pca, "feature_names_in_", [f"x{j}" for j in range(p)])
    if len(given) != p:
        raise ValueError(f"feature_names has {len(given)} names, but the model has {p} features")
    return [str(name) for name in given]


def row_names(X: Any, given: Sequence[Any] | bool | None, n: int) -> list[str] | None:
    """Return the names of the rows: `given`, or the index of a data frame if it holds strings."""
    if given is False:
        return None
    if given is None or given is True:
        index = getattr(X, "index", None)
        named = index is not None and not callable(index) and any(isinstance(name, str) for name in index)
        if given is True and index is not None and not callable(index):
            named = True
        elif given is True:
            raise ValueError("labels = True takes the index of a data frame, and X is none; give the names themselves")
        return [str(name) for name in index] if named else None
    if len(given) != n:
        raise ValueError(f"labels has {len(given)} names, but X has {n} rows")
    return [str(name) for name in given]
