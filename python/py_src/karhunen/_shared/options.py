"""Conversion of estimator arguments to options of the engine."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from inspect import signature
from numbers import Integral, Real
from typing import Any, get_args

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from karhunen._core import names_in_files
from karhunen._shared.choices import Auto, PowerIterationNormalizer

#: Names of choices that differ from their names in files.
_NAMES = names_in_files()
#: Upper limit of the engine's counts.
LARGE_COUNT = 2**63


@lru_cache
def _arguments(kind: type) -> tuple[str, ...]:
    """Return the names of the arguments of an estimator of this package; a subclass may have others."""
    own = next(base for base in kind.__mro__ if base.__module__ in ("karhunen", "karhunen.categorical"))
    return tuple(signature(own).parameters)


def engine_arguments(estimator: BaseEstimator, others: Collection[str]) -> dict[str, Any]:
    """Return the arguments that are options of the engine, which checks their types and ranges.

    Parameters
    ----------
    estimator : BaseEstimator
        Estimator with the arguments.
    others : collection of str
        Arguments that are not options of the engine.

    Returns
    -------
    dict
        Arguments by name. Those with another form or name in the engine are converted by the caller.
    """
    kind: type = type(estimator)
    return {name: getattr(estimator, name) for name in _arguments(kind) if name not in others}


def is_whole(value: Any) -> bool:
    """Return whether a value is an integer; booleans are not."""
    return isinstance(value, Integral) and not isinstance(value, bool)


def is_number(value: Any) -> bool:
    """Return whether a value is a real number; booleans are not."""
    return isinstance(value, Real) and not isinstance(value, bool)


def bytes_option(name: str, value: Any) -> int | None:
    """Check a number of bytes."""
    if value is None:
        return None
    if not is_number(value) or not 1 <= value < 2**63:
        raise ValueError(f"{name} = {value!r} is not allowed: give a number of bytes, or None")
    return int(value)


def route_option(solver: Any) -> str | None:
    """Convert the name of a solver, which the engine checks; None is the choice of the engine."""
    if not isinstance(solver, str):
        raise ValueError(f"solver = {solver!r} is not known; it must be a string")
    return None if solver == "auto" else solver


def choice_option(option: str, name: Any, choices: Any) -> str:
    """Check a choice unknown to the engine against a type of `choices.py`."""
    if not isinstance(name, str) or name not in get_args(choices):
        names = ", ".join(map(repr, get_args(choices)))
        raise ValueError(f"{option} = {name!r} is not known; choose one of {names}")
    return name


def tol_option(tol: Any) -> float | None:
    """Check a tolerance; as in scikit-learn, 0 is the default for the dtype."""
    if tol is None or (isinstance(tol, Real) and tol == 0):
        return None
    if not is_number(tol):
        raise ValueError(f"tol = {tol!r} is not allowed: give a number between 0 and 1, or None")
    return float(tol)


def count_option(name: str, value: Any, *, least: int = 1) -> int:
    """Check an integer of at least `least`."""
    if not is_whole(value) or value < least:
        raise ValueError(f"{name} = {value!r} is not allowed: a whole number of at least {least} is needed")
    if value >= LARGE_COUNT:
        raise ValueError(f"{name} = {value!r} is not allowed: it must be below {LARGE_COUNT}")
    return int(value)


def check_sketch_options(estimator: BaseEstimator) -> None:
    """Check the ignored settings of scikit-learn's randomized solver by its own rules."""
    for name, least, words in (
        ("iterated_power", 0, get_args(Auto)),
        ("n_iter", 0, ()),
        ("n_oversamples", 1, ()),
        ("power_iteration_normalizer", None, get_args(PowerIterationNormalizer)),
    ):
        if not hasattr(estimator, name):
            continue
        value = getattr(estimator, name)
        if isinstance(value, str) and value in words:
            continue
        number = least is not None and is_whole(value) and value >= least
        if not number:
            ways = ([] if least is None else [f"a whole number from {least} on"]) + [repr(word) for word in words]
            raise ValueError(f"{name} = {value!r} is not allowed: give {' or '.join(ways)}")


def optional_count(name: str, value: Any) -> int | None:
    """Check a positive integer or None."""
    return None if value is None else count_option(name, value)


def n_components_option(n_components: Any, *, mle: bool = False) -> str | dict[str, Any]:
    """Convert a number of components to its form in files; the engine checks the range, which depends on the data."""
    if n_components is None:
        return "all"
    if mle and isinstance(n_components, str) and n_components == "mle":
        return "mle"
    if is_whole(n_components):
        return {"count": 0 if n_components == 0 else count_option("n_components", n_components)}
    share: Any = _share(n_components) if isinstance(n_components, str) else n_components
    if is_number(share) and 0 < share < 1:
        return {"variance": float(share)}
    if isinstance(n_components, str) and share == 1:
        return {"variance": 1.0}
    # 1.0 could mean one component or all of the variance: scikit-learn also refuses it.
    ways = ["None for all", "or 'mle'"] if mle else ["or None for all"]
    raise ValueError(
        f"n_components = {n_components!r} is not allowed: give a number of components as an int, a share of the "
        f"variance as a fraction (0 < fraction < 1) or a text ('95%', or '100%' for all of it), {', '.join(ways)}"
    )


def n_components_of(engine: dict[str, Any]) -> int | float | str | None:
    """Convert the engine's option, as stored in files, to the argument `n_components`."""
    wanted = engine["n_components"]
    if isinstance(wanted, str):
        return {"all": None, "mle": "mle"}[wanted]
    way, value = next(iter(wanted.items()))
    return "100%" if way == "variance" and value == 1 else value


def _share(text: str) -> float | None:
    """Parse a share of the variance such as ``"95%"``."""
    number = text.strip()
    if not number.endswith("%"):
        return None
    try:
        return float(number[:-1]) / 100
    except ValueError:
        return None


def python_name(name: str) -> str:
    """Return the name of a choice, given its name in files."""
    return _NAMES.get(name, name)


def number_option(name: str, value: Any) -> float:
    """Check a number."""
    if not is_number(value):
        raise ValueError(f"{name} = {value!r} is not allowed: it must be a number")
    return float(value)


def flag_option(name: str, value: Any) -> bool:
    """Check a flag."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} = {value!r} is not allowed: it must be True or False")
    return bool(value)


def seed_option(random_state: Any) -> int:
    """Derive a seed from a random state of scikit-learn; None is the seed 0, the same at every fit."""
    if random_state is None:
        return 0
    if is_whole(random_state) and 0 <= random_state < 2**64:
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    if is_whole(random_state):
        raise ValueError(f"random_state = {random_state} is not allowed: give None, or a number from 0 to 2**64 - 1")
    return int(check_random_state(random_state).randint(2**31 - 1))


def stored_arguments(kind: type, engine: dict[str, Any]) -> dict[str, Any]:
    """Convert the engine's options to arguments, except those that have another form or name in the engine.

    Parameters
    ----------
    kind : type
        Estimator.
    engine : dict
        Every option by its name in the engine, as stored in files.

    Returns
    -------
    dict
        Arguments by name.
    """
    same = {name: engine[name] for name in _arguments(kind) if name in engine}
    names = {name: python_name(value) for name, value in same.items() if isinstance(value, str)}
    return {**same, **names, "random_state": engine["seed"]}


def probability(name: str, value: Any) -> float:
    """Check a probability."""
    if not is_number(value) or not 0 < value < 1:
        raise ValueError(f"{name} = {value!r} is not allowed: a probability between 0 and 1, such as 0.95, is needed")
    return float(value)
