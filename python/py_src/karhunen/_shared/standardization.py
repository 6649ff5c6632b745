"""The options `center` and `scale`: rules, or one number for each column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from karhunen._shared.choices import ColumnScaling
from karhunen._shared.options import choice_option

#: The options.
NAMES = ("center", "scale")


def column_numbers(name: str, numbers: Any) -> list[float]:
    """Convert numbers of the columns; the engine checks how many there are and their range."""
    try:
        values = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be read as numbers: {error}") from None
    if values.ndim != 1:
        raise ValueError(f"{name} has shape {values.shape}; give one number for each column")
    return values.tolist()


def _standardization(name: str, value: Any) -> bool | str | list[float]:
    """Check `center` or `scale`."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str) and name == "scale":
        return choice_option(name, value, ColumnScaling)
    if value is None or isinstance(value, str) or np.ndim(value) == 0:
        names = " or one of 'std', 'pareto', 'range', 'binomial'" if name == "scale" else ""
        raise ValueError(f"{name} = {value!r} is not allowed: give True, False{names}, or one number for each column")
    return column_numbers(name, value)


def standardization_options(estimator: BaseEstimator) -> dict[str, Any]:
    """Check `center` and `scale`, as far as the estimator has them, for the engine; numbers in their own order."""
    return {name: _standardization(name, getattr(estimator, name)) for name in NAMES if hasattr(estimator, name)}


def are_named(values: Any) -> bool:
    """Return True for a pandas Series with names, whose numbers belong to the columns of these names."""
    return _labels(values) is not None


def in_order_of_columns(estimator: BaseEstimator, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with given centres and scales in the order of the columns of `X`.

    Parameters
    ----------
    estimator : BaseEstimator
        Estimator that has read the names of the columns.
    options : dict
        Options of the engine.

    Returns
    -------
    dict
        Options of the engine.
    """
    return in_order_of_names(estimator, options, getattr(estimator, "feature_names_in_", None))


def in_order_of_names(
    estimator: BaseEstimator, options: dict[str, Any], columns: Sequence[str] | None
) -> dict[str, Any]:
    """As :func:`in_order_of_columns`, of columns with these names; None if they have none."""
    ordered = {}
    for name in (*NAMES, "column_scale"):
        places = _places(name, getattr(estimator, name, None), columns)
        if places is not None:
            ordered[name] = [options[name][place] for place in places]
    return {**options, **ordered}


def in_order_of_labels(name: str, values: Any, columns: Sequence[str] | None) -> Any:
    """Return a pandas Series in the order of the columns.

    The numbers of a Series belong to the columns of its labels, if these are names and `X` has names; all other
    numbers are in the order of the columns.

    Parameters
    ----------
    name : str
        Name of the argument, for errors.
    values : object
        One number for each column.
    columns : sequence of str or None
        Names of the columns; None if they have none.

    Returns
    -------
    object
        A Series, or `values` itself.

    Raises
    ------
    ValueError
        If the labels differ from the names of the columns.
    """
    places = _places(name, values, columns)
    return values if places is None else values.iloc[places]


def _places(name: str, values: Any, columns: Sequence[str] | None) -> list[int] | None:
    """Return the place of the number of each column in a Series; None if numbers are in the order of the columns."""
    labels = _labels(values)
    if labels is None or columns is None:
        return None
    places = {label: place for place, label in enumerate(labels)}
    if len(places) < len(labels):
        raise ValueError(f"{name} has a label twice; give each column one number")
    missing = [column for column in columns if column not in places]
    if missing:
        raise ValueError(f"{name} has no number for column {missing[0]!r}; its labels are not the columns of X")
    if len(places) > len(columns):
        known = set(columns)
        extra = next(label for label in labels if label not in known)
        raise ValueError(f"{name} has a number for {extra!r}, which is not a column of X")
    return [places[column] for column in columns]


def _labels(values: Any) -> list[str] | None:
    """Return the labels of a pandas Series if they are names."""
    if not hasattr(values, "iloc") or values.ndim != 1:
        return None
    labels = list(values.index)
    return labels if labels and all(isinstance(label, str) for label in labels) else None
