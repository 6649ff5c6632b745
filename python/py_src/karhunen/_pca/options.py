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


def column_scale_option(scale: Any) -> list[float] | None:
    """Convert the scales of the columns; the engine checks their number and their range."""
    return None if scale is None else column_numbers("column_scale", scale, "None")


def center_option(center: Any, names: Any = None) -> bool | list[float]:
    """Convert `center`: a flag, or one number for each column."""
    if isinstance(center, (bool, np.bool_)):
        return bool(center)
    return column_numbers("center", center, "True or False", names)


def scale_option(scale: Any, names: Any = None) -> bool | str | list[float]:
    """Convert `scale`: a flag, the name of a rule, or one number for each column."""
    if isinstance(scale, (bool, np.bool_)):
        return bool(scale)
    if isinstance(scale, str):
        return choice_option("scale", scale, ColumnScaling)
    return column_numbers("scale", scale, "True, False or a name", names)


def column_numbers(option: str, numbers: Any, others: str, names: Any = None) -> list[float]:
    """Convert one number for each column; the engine checks their number and their range.

    A series is matched by its index with `names`, the names of the columns, if there are any.
    """
    if option != "column_scale" and (isinstance(numbers, str) or np.ndim(numbers) == 0):
        raise ValueError(
            f"{option} = {numbers!r} is not allowed: it must be {others}, or hold one number for each column"
        )
    if names is not None and hasattr(numbers, "index") and hasattr(numbers, "reindex"):
        known, found = [str(name) for name in names], [str(name) for name in numbers.index]
        missing = [name for name in known if name not in found]
        if missing or len(found) != len(known):
            more = f"lacks {missing[0]!r}" if missing else f"has {len(found)} entries for {len(known)} columns"
            raise ValueError(f"the index of {option} {more}; give one number for each column of X")
        places = {name: place for place, name in enumerate(found)}
        numbers = np.asarray(numbers)[[places[name] for name in known]]
    try:
        values = np.asarray(numbers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{option} cannot be read as numbers: {error}") from None
    if values.ndim != 1:
        raise ValueError(f"{option} has shape {values.shape}; give one number for each column, or {others}")
    return values.tolist()
