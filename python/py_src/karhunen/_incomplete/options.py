"""Conversion of the arguments of `IncompletePCA` to options of the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from karhunen._shared.checkpoints import to_pass_log
from karhunen._shared.options import (
    bytes_option,
    count_option,
    engine_arguments,
    flag_option,
    is_number,
    number_option,
    optional_count,
    seed_option,
)
from karhunen._shared.standardization import standardization_options

#: Arguments that are not options of the engine.
OTHERS = frozenset(("random_state", "verbose", "cache_dir"))
#: Times in seconds are shorter.
LONGEST = 2.0**63


def engine_options(estimator: Any) -> dict[str, Any]:
    """Convert the arguments to options of the engine, which checks them.

    Parameters
    ----------
    estimator : IncompletePCA
        Estimator with the arguments.

    Returns
    -------
    dict
        Every option by its name in the engine, in the form that it has in files, and the number of threads.
    """
    flag_option("verbose", estimator.verbose)
    return {
        **engine_arguments(estimator, OTHERS),
        **standardization_options(estimator),
        "n_components": count_option("n_components", estimator.n_components),
        "regularization": penalty_option(estimator.regularization),
        "mean_prior": _mean_prior(estimator.mean_prior),
        "early_stopping": _share(estimator.early_stopping),
        "conformal": None if estimator.conformal is None else number_option("conformal", estimator.conformal),
        "n_starts": optional_count("n_starts", estimator.n_starts),
        "time_limit": _duration(estimator.time_limit),
        "memory_limit": bytes_option("memory_limit", estimator.memory_limit),
        "seed": seed_option(estimator.random_state),
        "n_threads": optional_count("n_threads", estimator.n_threads),
    }


@contextmanager
def errors_as_given(estimator: Any, **given: Any) -> Iterator[None]:
    """Report options that the engine refuses with the values given by the user.

    Parameters
    ----------
    estimator : IncompletePCA
        Estimator with the arguments.
    given : object
        Arguments that add to the estimator's or replace them.
    """
    try:
        yield
    except ValueError as error:
        # Parts of an option, such as mean_prior.count, belong to one argument.
        option, rule = (getattr(error, part, "") for part in ("option", "rule"))
        name = option.partition(".")[0]
        arguments = {**estimator.get_params(deep=False), **given}
        if name not in arguments:
            raise
        raise ValueError(f"{name} = {arguments[name]!r} is not allowed: {rule}") from None


def incomplete_arguments(engine: dict[str, Any]) -> dict[str, Any]:
    """Convert the options of `IncompletePCA` that have another form in files to arguments."""
    penalty = engine["regularization"]
    if isinstance(penalty, dict):
        ((kind, size),) = penalty.items()
        penalty = size if kind == "ridge" else (kind, size)
    elif penalty is not None:
        penalty = "path" if penalty == "path" else 0.0
    prior = engine["mean_prior"]
    limit = engine["time_limit"]
    return {
        "regularization": penalty,
        "mean_prior": None if not prior["count"] and prior["value"] is None else (prior["count"], prior["value"]),
        "early_stopping": engine["early_stopping"] or False,
        "time_limit": None if limit is None else limit["secs"] + limit["nanos"] * 1e-9,
    }


def to_checkpoint(path: Any, every: Any, resume: Any) -> tuple[str, float, bool, Callable[[str], None]] | None:
    """Check the arguments of checkpoints and convert them for the engine, with a function that warns."""
    seconds = _seconds("checkpoint_every", every)
    kept = to_pass_log(path, resume)
    if kept is None:
        return None
    path, resume, warn_of_loss = kept
    return path, seconds, resume, warn_of_loss


def _seconds(name: str, value: Any) -> float:
    """Check a time in seconds."""
    seconds = number_option(name, value)
    if not 0 <= seconds < LONGEST:
        raise ValueError(f"{name} = {value!r} is not allowed: give a finite number of seconds, at least 0")
    return seconds


def _duration(value: Any) -> dict[str, int] | None:
    """Convert a time in seconds to its form in files."""
    if value is None:
        return None
    seconds, nanoseconds = divmod(round(_seconds("time_limit", value) * 10**9), 10**9)
    return {"secs": seconds, "nanos": nanoseconds}


def penalty_option(value: Any) -> str | dict[str, float] | None:
    """Convert a penalty, or its kind and size, to its form in files; zero is least squares."""
    if value is None or (isinstance(value, str) and value == "path"):
        return value
    kind, size = value if isinstance(value, tuple) and len(value) == 2 else ("ridge", value)
    if kind not in ("ridge", "weighted") or not is_number(size):
        raise ValueError(
            f"regularization = {value!r} is not allowed: give a penalty, ('weighted', penalty), 'path', 0 for least "
            "squares, or None for the default of the method"
        )
    return "none" if size == 0 else {kind: float(size)}


def _mean_prior(value: Any) -> dict[str, float | None]:
    """Convert a number of pseudo-observations, or (number, value), to the form in files."""
    if value is None:
        return {"count": 0.0, "value": None}
    count, prior = value if isinstance(value, tuple) and len(value) == 2 else (value, None)
    if not is_number(count) or not (prior is None or is_number(prior)):
        raise ValueError(
            f"mean_prior = {value!r} is not allowed: give a number of pseudo-observations, or (number, value), or None"
        )
    return {"count": float(count), "value": None if prior is None else float(prior)}


def _share(value: Any) -> float | bool:
    """Convert the share of held-out entries; True is the default share of the engine."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if not is_number(value):
        raise ValueError(f"early_stopping = {value!r} is not allowed: give True, False or a share between 0 and 1")
    return float(value)
