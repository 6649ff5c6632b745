"""Conversion of the arguments of `PCA` and `TruncatedSVD` to options of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from karhunen._shared.choices import ColumnScaling, Route, SvdSolver
from karhunen._shared.options import (
    choice_option,
    engine_arguments,
    flag_option,
    optional_count,
    route_option,
    seed_option,
    tol_option,
)

#: Arguments of `PCA` and `TruncatedSVD` that are no options of the engine.
OTHERS = frozenset(
    (
        *("whiten", "copy", "svd_solver", "algorithm", "random_state", "verbose", "cache_dir"),
        *("n_iter", "iterated_power", "n_oversamples", "power_iteration_normalizer"),
    )
)
#: Arguments of `IncrementalPCA` that are no options of the engine.
NOT_INCREMENTAL = frozenset(("whiten", "copy", "random_state", "n_threads", "verbose"))
#: Equivalent solvers of the engine for scikit-learn's names.
SKLEARN_SOLVERS: dict[str, Route] = {
    "full": "svd",
    "covariance_eigh": "covariance",
    "arpack": "block-krylov",
    "randomized": "block-krylov",
}


def solver_option(solver: Any, svd_solver: Any) -> str | None:
    """Return the solver that one of two options selects; None is the choice of the engine."""
    if choice_option("svd_solver", svd_solver, SvdSolver) == "auto":
        return route_option(solver)
    if solver != "auto":
        raise ValueError(f"solver = {solver!r} and svd_solver = {svd_solver!r} say the same; give only one")
    return SKLEARN_SOLVERS[svd_solver]


def shared_options(estimator: BaseEstimator) -> dict[str, Any]:
    """Check the arguments of both estimators and return the options of the engine, except solver and components."""
    flag_option("verbose", estimator.verbose)
    return {
        **engine_arguments(estimator, OTHERS),
        "tol": tol_option(estimator.tol),
        "seed": seed_option(estimator.random_state),
        "n_threads": optional_count("n_threads", estimator.n_threads),
    }


def column_numbers(name: str, numbers: Any) -> list[float]:
    """Convert numbers of the columns; the engine checks how many there are and their range."""
    try:
        values = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be read as numbers: {error}") from None
    if values.ndim != 1:
        raise ValueError(f"{name} has shape {values.shape}; give one number for each column")
    return values.tolist()


def column_scale_option(scale: Any) -> list[float] | None:
    """Convert the scales of the columns of a sketch."""
    return None if scale is None else column_numbers("column_scale", scale)


def _standardization(name: str, value: Any) -> bool | str | list[float]:
    """Check `center` or `scale` of `PCA`."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, str) and name == "scale":
        return choice_option(name, value, ColumnScaling)
    if value is None or isinstance(value, str) or np.ndim(value) == 0:
        names = " or one of 'std', 'pareto', 'range', 'binomial'" if name == "scale" else ""
        raise ValueError(f"{name} = {value!r} is not allowed: give True, False{names}, or one number for each column")
    return column_numbers(name, value)


def standardization_options(estimator: BaseEstimator) -> dict[str, Any]:
    """Check `center` and `scale` and return them for the engine, numbers in their own order."""
    return {name: _standardization(name, getattr(estimator, name)) for name in ("center", "scale")}


def in_order_of_columns(estimator: BaseEstimator, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options with given centres and scales in the order of the columns of `X`.

    The numbers of a pandas Series belong to the columns of its labels, if these are names and `X` has names; all other
    numbers are in the order of the columns.

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
    columns = getattr(estimator, "feature_names_in_", None)
    ordered = {}
    for name in ("center", "scale"):
        labels = _labels(getattr(estimator, name))
        if labels is None or columns is None:
            continue
        if len(set(labels)) < len(labels):
            raise ValueError(f"{name} has a label twice; give each column one number")
        numbers = dict(zip(labels, options[name], strict=True))
        missing = [column for column in columns if column not in numbers]
        if missing:
            raise ValueError(f"{name} has no number for column {missing[0]!r}; its labels are not the columns of X")
        if len(numbers) > len(columns):
            known = set(columns)
            extra = next(label for label in labels if label not in known)
            raise ValueError(f"{name} has a number for {extra!r}, which is no column of X")
        ordered[name] = [numbers[column] for column in columns]
    return {**options, **ordered}


def _labels(values: Any) -> list[str] | None:
    """Return the labels of a pandas Series if they are names."""
    if not hasattr(values, "iloc"):
        return None
    labels = list(values.index)
    return labels if labels and all(isinstance(label, str) for label in labels) else None
