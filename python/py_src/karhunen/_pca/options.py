"""Arguments of `PCA` and `TruncatedSVD` as options of the engine."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator

from karhunen._shared.choices import Route, SvdSolver
from karhunen._shared.options import (
    choice_option,
    count_option,
    flag_option,
    is_number,
    is_whole,
    name_option,
    optional_count,
    seed_option,
    tol_option,
)

#: scikit-learn's names of solvers, and the route of the engine that does the same.
SKLEARN_SOLVERS: dict[str, Route] = {
    "full": "svd",
    "covariance_eigh": "covariance",
    "arpack": "block-krylov",
    "randomized": "block-krylov",
}


def n_components_option(n_components: Any) -> int | float | str | None:
    """Check the type of a number of components; its range depends on the data, and the engine checks it."""
    if n_components is None or (isinstance(n_components, str) and n_components == "mle"):
        return n_components
    if is_whole(n_components):
        return 0 if n_components == 0 else count_option("n_components", n_components)
    share: Any = _share(n_components) if isinstance(n_components, str) else n_components
    if is_number(share) and 0 < share < 1:
        return float(share)
    if isinstance(n_components, str) and share == 1:
        return 1.0
    # 1.0 could be one component and could be all of the variance: scikit-learn refuses it, too.
    raise ValueError(
        f"n_components = {n_components!r} is not allowed: give a number of components as an int, a share of the "
        "variance as a fraction (0 < fraction < 1) or a text ('95%', or '100%' for all of it), None for all, "
        "or 'mle'"
    )


def _share(text: str) -> float | None:
    """Read a share of the variance such as ``"95%"``."""
    number = text.strip()
    if not number.endswith("%"):
        return None
    try:
        return float(number[:-1]) / 100
    except ValueError:
        return None


def solver_option(solver: Any, svd_solver: Any) -> str:
    """Choose the route that one of two options asks for."""
    if choice_option("svd_solver", svd_solver, SvdSolver) == "auto":
        return name_option("solver", solver)
    if solver != "auto":
        raise ValueError(f"solver = {solver!r} and svd_solver = {svd_solver!r} say the same; give only one")
    return SKLEARN_SOLVERS[svd_solver]


def iteration_options(estimator: BaseEstimator) -> dict[str, Any]:
    """Check the options that every estimator has, and give those of the engine."""
    flag_option("verbose", estimator.verbose)
    return {
        "tol": tol_option(estimator.tol),
        "max_iter": count_option("max_iter", estimator.max_iter),
        "seed": seed_option(estimator.random_state),
        "n_threads": optional_count("n_threads", estimator.n_threads),
        "strict": flag_option("strict", estimator.strict),
    }


def n_components_of(engine: dict[str, Any]) -> int | float | str | None:
    """Give the argument `n_components` for the options of the engine, as files hold them."""
    wanted = engine["n_components"]
    if isinstance(wanted, str):
        return {"all": None, "mle": "mle"}[wanted]
    way, value = next(iter(wanted.items()))
    return "100%" if way == "variance" and value == 1 else value
