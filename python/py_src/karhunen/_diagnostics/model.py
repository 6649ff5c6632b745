"""The model that diagnostics read, and the names of its columns and components."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from karhunen import _core
from karhunen._shared.errors import a_kind


def fitted_model(pca: Any) -> _core.Model | _core.IncompleteModel:
    """Return the engine's model of a fitted estimator, of complete data or with missing values."""
    if not hasattr(pca, "_model_now"):
        raise TypeError(
            f"pca is {a_kind(pca)}; pass a fitted karhunen.PCA, TruncatedSVD, IncrementalPCA or IncompletePCA"
        )
    check_is_fitted(pca)
    model = pca._model_now()
    if not isinstance(model, (_core.Model, _core.IncompleteModel)):
        raise TypeError(
            f"diagnostics of {a_kind(pca)} are not available; pass a fitted karhunen.PCA, TruncatedSVD, "
            "IncrementalPCA or IncompletePCA"
        )
    return model


def rotated_or_fitted_model(
    pca: Any,
) -> _core.RotatedModel | _core.RotatedIncompleteModel | _core.Model | _core.IncompleteModel:
    """Return the engine's model of a rotation or of a fitted estimator."""
    rotated = getattr(pca, "_rotated", None)
    return rotated if isinstance(rotated, (_core.RotatedModel, _core.RotatedIncompleteModel)) else fitted_model(pca)


def engine_model(pca: Any) -> _core.Model:
    """Return the engine's model of an estimator that was fitted to complete data."""
    model = fitted_model(pca)
    if not isinstance(model, _core.Model):
        raise TypeError(
            f"diagnostics of {a_kind(pca)} are not available; pass a fitted karhunen.PCA, TruncatedSVD or "
            "IncrementalPCA"
        )
    return model


def is_of_sklearn(pca: Any) -> bool:
    """Return whether an object is a fitted PCA or TruncatedSVD of scikit-learn, or one with the same attributes."""
    return not hasattr(pca, "_model_now") and hasattr(pca, "components_") and hasattr(pca, "explained_variance_ratio_")


def component_names(n: int) -> list[str]:
    """Return the names of components, counted from 1."""
    return [f"PC{k + 1}" for k in range(n)]


def rotated_names(n: int) -> list[str]:
    """Return the names of rotated components, counted from 1."""
    return [f"RC{k + 1}" for k in range(n)]


def frame(values: Any, index: Any, columns: Any) -> Any:
    """Return a data frame; pandas is imported with the first."""
    return import_module("pandas").DataFrame(np.asarray(values), index=index, columns=columns)


def check_same_rows(scores: Any, name: str, other: Any) -> None:
    """Refuse two tables whose indices differ: rows are matched by position."""
    # Lists have a method of this name.
    indices: list[Any] = [getattr(table, "index", None) for table in (scores, other)]
    if all(hasattr(index, "equals") for index in indices) and not indices[0].equals(indices[1]):
        raise ValueError(f"the index of {name} differs from the index of scores; align them, or pass arrays")
