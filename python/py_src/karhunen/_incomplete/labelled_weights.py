"""Weights of entries with labels, in the order of the data."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from karhunen._inputs import tables
from karhunen._shared.standardization import in_order_of_labels


def in_order_of_data(estimator: BaseEstimator, weight: Any, X: Any) -> Any:
    """Return weights of entries in the order of the rows and columns of `X`.

    The weights of a dataframe belong to the rows and columns of its labels, weights of a pandas Series to the columns
    of its labels. The order counts if either `X` or the weights have no labels, or labels that count from 0; weights
    with a default index are refused if `X` has the same numbers in another order.

    Parameters
    ----------
    estimator : BaseEstimator
        Estimator that has read the names of the columns.
    weight : array-like
        Weights that broadcast to the shape of `X`.
    X : array-like or dataframe of shape (n_samples, n_features)
        Data.

    Returns
    -------
    array-like
        A dataframe or Series, or `weight` itself.

    Raises
    ------
    ValueError
        If the labels differ from the labels of `X`.
    """
    columns = getattr(estimator, "feature_names_in_", None)
    given = tables.names_of(weight) if getattr(weight, "ndim", 2) == 2 else []
    if not given:
        return in_order_of_labels("entry_weight", weight, columns)
    expected = tables.names_of(X) or ([] if columns is None else list(columns))
    # A single column holds weights of rows, a single row weights of columns.
    if len(given) > 1 and _places("column", given, expected) is not None:
        weight = tables.with_columns(weight, expected)
    if len(weight) > 1 and hasattr(weight, "iloc") and hasattr(X, "iloc") and not weight.index.equals(X.index):
        places = _places("row", list(weight.index), list(X.index))
        weight = weight if places is None else weight.iloc[places]
    return weight


def _places(axis: str, labels: list[Any], expected: list[Any]) -> list[int] | None:
    """Return the place of the weights of each row or column of the data; None if the order counts."""
    if labels == expected or len(labels) != len(expected):
        return None
    places = {label: place for place, label in enumerate(labels)}
    missing = [label for label in expected if label not in places]
    permuted = len(places) == len(labels) == len(set(expected)) and not missing
    counted = list(range(len(labels)))
    if permuted and labels != counted:
        return [places[label] for label in expected]
    if not permuted and counted in (labels, expected):
        return None
    if permuted:
        found = f"has {axis}s 0, 1, 2 ..., of which X has another order"
    elif missing:
        found = f"has no {axis} {missing[0]!r}, which X has"
    else:
        found = f"has labels of {axis}s that are repeated"
    raise ValueError(f"entry_weight {found}; give it the labels of X, or an array in the order of X")
