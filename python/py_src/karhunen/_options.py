"""Arguments of estimators as options of the engine."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

#: scikit-learn's names of solvers, and the route of the engine that does the same.
SKLEARN_SOLVERS = {
    "auto": "auto",
    "full": "svd",
    "covariance_eigh": "covariance",
    "arpack": "block-krylov",
    "randomized": "block-krylov",
}

#: The engine counts up to here.
LARGE_COUNT = 2**63


def n_components_option(n_components: Any) -> int | float | str | None:
    """Check the type of a number of components; its range depends on the data, and the engine checks it."""
    if n_components is None or (isinstance(n_components, str) and n_components == "mle"):
        return n_components
    if isinstance(n_components, Integral) and not isinstance(n_components, bool):
        return 0 if n_components == 0 else count_option("n_components", n_components)
    share = _share(n_components) if isinstance(n_components, str) else n_components
    if isinstance(share, Real) and not isinstance(share, bool) and 0 < share < 1:
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
    if not isinstance(svd_solver, str) or svd_solver not in SKLEARN_SOLVERS:
        names = "', '".join(SKLEARN_SOLVERS)
        raise ValueError(f"svd_solver = {svd_solver!r} is not known; choose one of '{names}'")
    if svd_solver != "auto" and solver != "auto":
        raise ValueError(f"solver = {solver!r} and svd_solver = {svd_solver!r} say the same; give only one")
    return SKLEARN_SOLVERS[svd_solver] if svd_solver != "auto" else name_option("solver", solver)


def name_option(option: str, name: Any) -> str:
    """Check that the name of a choice is a string; the engine knows which there are."""
    if not isinstance(name, str):
        raise ValueError(f"{option} = {name!r} is not known; it must be a string")
    return name


def tol_option(tol: Any) -> float | None:
    """Check a tolerance; scikit-learn's 0 is the default of the type of the data."""
    if tol is None or (isinstance(tol, Real) and tol == 0):
        return None
    if not isinstance(tol, Real) or isinstance(tol, bool):
        raise ValueError(f"tol = {tol!r} is not allowed: give a number between 0 and 1, or None")
    return float(tol)


def count_option(name: str, value: Any) -> int:
    """Check a positive whole number."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} = {value!r} is not allowed: a whole number of at least 1 is needed")
    if value >= LARGE_COUNT:
        raise ValueError(f"{name} = {value!r} is not allowed: it must be below {LARGE_COUNT}")
    return int(value)


def check_sketch_options(estimator: BaseEstimator) -> None:
    """Check the settings of scikit-learn's randomized solver, which have no use here, by its own rules."""
    for name, least, words in (
        ("iterated_power", 0, ("auto",)),
        ("n_iter", 0, ()),
        ("n_oversamples", 1, ()),
        ("power_iteration_normalizer", None, ("auto", "QR", "LU", "none")),
    ):
        if not hasattr(estimator, name):
            continue
        value = getattr(estimator, name)
        if isinstance(value, str) and value in words:
            continue
        number = least is not None and isinstance(value, Integral) and not isinstance(value, bool) and value >= least
        if not number:
            ways = ([] if least is None else [f"a whole number from {least} on"]) + [repr(word) for word in words]
            raise ValueError(f"{name} = {value!r} is not allowed: give {' or '.join(ways)}")


def flag_option(name: str, value: Any) -> bool:
    """Check a flag."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} = {value!r} is not allowed: it must be True or False")
    return bool(value)


def seed_option(random_state: Any) -> int:
    """Take a seed from what scikit-learn allows as a random state; None is the seed 0, the same at every fit."""
    if random_state is None:
        return 0
    if isinstance(random_state, Integral) and not isinstance(random_state, bool) and 0 <= random_state < 2**64:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    return int(check_random_state(random_state).randint(2**31 - 1))


def iteration_options(estimator: BaseEstimator) -> dict[str, Any]:
    """Check the options that every estimator has, and give those of the engine."""
    flag_option("verbose", estimator.verbose)
    return {
        "tol": tol_option(estimator.tol),
        "max_iter": count_option("max_iter", estimator.max_iter),
        "seed": seed_option(estimator.random_state),
        "n_threads": None if estimator.n_threads is None else count_option("n_threads", estimator.n_threads),
        "strict": flag_option("strict", estimator.strict),
    }


def estimator_options(engine: dict[str, Any]) -> dict[str, Any]:
    """Give the arguments of an estimator for the options of the engine that every estimator has, as files hold them."""
    return {
        "tol": engine["tol"],
        "max_iter": engine["max_iter"],
        "random_state": engine["seed"],
        "strict": engine["strict"],
    }


def n_components_of(engine: dict[str, Any]) -> int | float | str | None:
    """Give the argument `n_components` for the options of the engine, as files hold them."""
    wanted = engine["n_components"]
    if isinstance(wanted, str):
        return {"all": None, "mle": "mle"}[wanted]
    way, value = next(iter(wanted.items()))
    return "100%" if way == "variance" and value == 1 else value
