"""Values that plots read from a fitted model of karhunen or scikit-learn, or a rotation of one, and from its data."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from karhunen._diagnostics.model import component_names
from karhunen._shared.errors import a_kind
from karhunen._shared.fitted_model import feature_names as names_of_fit
from karhunen.diagnostics import correlations, features
from karhunen.rotation import Rotation


def check(pca: Any) -> None:
    """Refuse objects that are neither fitted models with components nor rotations."""
    if is_rotated(pca):
        return
    for name in ("fit", "transform"):
        if not hasattr(pca, name):
            raise ValueError(f"pca is {a_kind(pca)}; pass a fitted karhunen.PCA or scikit-learn's")
    check_is_fitted(pca)
    if hasattr(pca, "pca_"):
        raise ValueError(f"pca is {a_kind(pca)}; pass its pca_")
    if not hasattr(pca, "components_") or not hasattr(pca, "explained_variance_ratio_"):
        raise ValueError(
            f"pca is {a_kind(pca)} without components_ and explained_variance_ratio_; "
            "of a pipeline, pass the step that is a PCA"
        )
    if n_components(pca) == 0:
        raise ValueError("the model has no components; fit at least one")


def is_rotated(pca: Any) -> bool:
    """Return whether a model is a result of :mod:`karhunen.rotation`."""
    return isinstance(pca, Rotation)


def is_oblique(pca: Any) -> bool:
    """Return whether a model has correlated components, by an oblique rotation."""
    return is_rotated(pca) and not np.allclose(pca.component_correlations, np.eye(n_components(pca)), atol=1e-9)


def n_components(pca: Any) -> int:
    """Return the number of components."""
    return pca.pattern.shape[1] if is_rotated(pca) else len(pca.components_)


def shares(pca: Any) -> np.ndarray:
    """Return the share of each component in the total variance, in percent."""
    ratios = pca.explained_variance_ratio if is_rotated(pca) else pca.explained_variance_ratio_
    return 100.0 * np.asarray(ratios, dtype=float)


def plane(pca: Any, components: tuple[int, int]) -> tuple[int, int]:
    """Check two indices of components."""
    if n_components(pca) < 2:
        raise ValueError("the model has one component, and a plane needs two; fit more, or draw plot.scree")
    first, second = indices(pca, components, 2)
    return first, second


def indices(pca: Any, components: Sequence[int], size: int | None) -> list[int]:
    """Check indices of components: `size` of them, or any number from one on."""
    n = n_components(pca)
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
    n = n_components(pca)
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


def component_name(pca: Any, index: int) -> str:
    """Return the name of a component: PC1, or RC1 of a rotation."""
    names = pca.component_names if is_rotated(pca) else component_names(n_components(pca))
    return names[index]


def name_and_share(pca: Any, index: int, between: str = " ({})") -> str:
    """Return the name of a component with its share of the variance."""
    return component_name(pca, index) + between.format(f"{percent(shares(pca)[index])} %")


def axis_label(pca: Any, index: int) -> str:
    """Return the label of the axis of a component: its name with its share of the variance."""
    return name_and_share(pca, index, " ({} of the variance)")


def percent(value: float) -> str:
    """Write a percentage with one digit after the point, and small ones with two."""
    if 0.0 < value < 0.005:
        return "<0.01"
    return f"{value:.{1 if value >= 0.95 or value == 0.0 else 2}f}"


def loadings_of(pca: Any) -> np.ndarray:
    """Return components times the square root of their variance, or the pattern: (n_features, n_components)."""
    if is_rotated(pca):
        return pca.pattern
    if hasattr(pca, "loadings_"):
        return pca.loadings_
    return pca.components_.T * np.sqrt(pca.explained_variance_)


def components_label(pca: Any) -> str:
    """Return the label of an axis of numbered components."""
    return "Rotated component" if is_rotated(pca) else "Component"


def loading_label(pca: Any) -> str:
    """Return the label of an axis of loadings, which of an oblique rotation are not the correlations."""
    return "Loading (pattern)" if is_oblique(pca) else "Loading"


def correlations_of(pca: Any, X: Any, chosen: Sequence[int], sample_weight: Any) -> np.ndarray:
    """Return the correlations of features and `chosen` components, (n_features, k); constant features have zeros.

    They come from the model or, given `X`, from its columns and scores.
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
    """Return the names of the features: `given`, from the fit, or x0, x1, ... as in scikit-learn."""
    p = len(pca.names) if is_rotated(pca) else pca.components_.shape[1]
    if given is None:
        given = pca.names if is_rotated(pca) else names_of_fit(pca)
    if len(given) != p:
        raise ValueError(f"feature_names has {len(given)} names, but the model has {p} features")
    return [str(name) for name in given]


def row_names(X: Any, given: Sequence[Any] | bool | None, n: int) -> list[str] | None:
    """Return the names of the rows: `given`, or the index of a data frame if it holds strings."""
    if given is False:
        return None
    if given is None or given is True:
        index = X.index if hasattr(type(X), "iloc") else None
        named = index is not None and (given is True or any(isinstance(name, str) for name in index))
        if given is True and index is None:
            raise ValueError("labels = True takes the index of a data frame, and X is none; give the names themselves")
        return [str(name) for name in index] if named else None
    if len(given) != n:
        raise ValueError(f"labels has {len(given)} names, but X has {n} rows")
    return [str(name) for name in given]
