"""Conversion of the arguments of `PCA` and `TruncatedSVD` to options of the engine."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from karhunen._shared.choices import Route, SvdSolver
from karhunen._shared.options import (
    choice_option,
    engine_arguments,
    flag_option,
    optional_count,
    route_option,
    seed_option,
    tol_option,
)
from karhunen._shared.standardization import column_numbers

#: Arguments of `PCA` and `TruncatedSVD` that are not options of the engine.
OTHERS = frozenset(
    (
        *("whiten", "copy", "svd_solver", "algorithm", "random_state", "verbose", "cache_dir", "device"),
        *("n_iter", "iterated_power", "n_oversamples", "power_iteration_normalizer"),
    )
)
#: Arguments of `IncrementalPCA` that are not options of the engine.
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
    """Convert the scales of the columns of a sketch."""
    return None if scale is None else column_numbers("column_scale", scale)
