"""Conversion of the arguments of `PCA` and `TruncatedSVD` to options of the engine."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from karhunen._shared.choices import Route, SvdSolver
from karhunen._shared.options import (
    choice_option,
    count_option,
    flag_option,
    name_option,
    optional_count,
    seed_option,
    tol_option,
)

#: Equivalent solvers of the engine for scikit-learn's names.
SKLEARN_SOLVERS: dict[str, Route] = {
    "full": "svd",
    "covariance_eigh": "covariance",
    "arpack": "block-krylov",
    "randomized": "block-krylov",
}


def solver_option(solver: Any, svd_solver: Any) -> str:
    """Return the solver that one of two options selects."""
    if choice_option("svd_solver", svd_solver, SvdSolver) == "auto":
        return name_option("solver", solver)
    if solver != "auto":
        raise ValueError(f"solver = {solver!r} and svd_solver = {svd_solver!r} say the same; give only one")
    return SKLEARN_SOLVERS[svd_solver]


def iteration_options(estimator: BaseEstimator) -> dict[str, Any]:
    """Check the options common to both estimators and return those of the engine."""
    flag_option("verbose", estimator.verbose)
    return {
        "tol": tol_option(estimator.tol),
        "max_iter": count_option("max_iter", estimator.max_iter),
        "seed": seed_option(estimator.random_state),
        "n_threads": optional_count("n_threads", estimator.n_threads),
        "strict": flag_option("strict", estimator.strict),
    }
