"""Arguments of kernel estimators as options of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator

from karhunen._core import names_in_files
from karhunen._kernel.function import BlockKernel
from karhunen._shared.choices import EigenSolver, Kernel, KernelRoute
from karhunen._shared.options import (
    choice_option,
    estimator_options,
    is_number,
    is_whole,
    name_option,
    number_option,
    optional_count,
)

#: scikit-learn's names of solvers, and the route of the engine that does the same.
SKLEARN_EIGEN_SOLVERS: dict[str, KernelRoute] = {"dense": "full", "arpack": "stored", "randomized": "stored"}
#: The names here of choices that have another name in files.
_NAMES = names_in_files()
#: Passes that None allows.
MAX_ITER = 1000
#: Kernels that have no meaning for negative values.
POSITIVE_ONLY: tuple[Kernel, ...] = ("additive_chi2", "chi2")


def kernel_option(kernel: Any, gamma: Any, degree: Any, coef0: Any) -> dict[str, Any]:
    """Check a kernel's name and parameters; the engine knows which names and values there are."""
    if callable(kernel):
        kernel = "custom"
    elif not isinstance(kernel, str) or kernel == "custom":
        raise ValueError(f"kernel = {kernel!r} is not known; it must be a string or a function")
    if isinstance(gamma, np.generic):
        gamma = gamma.item()
    if gamma is not None and not isinstance(gamma, str):
        gamma = number_option("gamma", gamma)
    return {
        "kernel": kernel,
        "gamma": gamma,
        "degree": number_option("degree", degree),
        "coef0": number_option("coef0", coef0),
    }


def block_kernel(kernel: Any, kernel_params: Any) -> BlockKernel | None:
    """Give the kernel function with its arguments, if the kernel is one."""
    if kernel_params is not None and not isinstance(kernel_params, dict):
        raise ValueError(f"kernel_params = {kernel_params!r} is not allowed: it must be a dict or None")
    if callable(kernel):
        return BlockKernel(kernel, kernel_params)
    if kernel_params:
        raise ValueError(
            f"kernel_params = {kernel_params!r} is for kernel functions; give the kernel {kernel!r} its parameters as "
            "gamma, degree and coef0"
        )
    return None


def route_option(solver: Any, eigen_solver: Any) -> str:
    """Choose the route that one of two options asks for."""
    if choice_option("eigen_solver", eigen_solver, EigenSolver) == "auto":
        return name_option("solver", solver)
    if solver != "auto":
        raise ValueError(f"solver = {solver!r} and eigen_solver = {eigen_solver!r} say the same; give only one")
    return SKLEARN_EIGEN_SOLVERS[eigen_solver]


def threads_option(estimator: BaseEstimator) -> int | None:
    """Choose the number of threads that one of two options asks for; None is all cores."""
    n_threads, n_jobs = estimator.n_threads, estimator.n_jobs
    if n_threads is not None and n_jobs is not None:
        raise ValueError(f"n_threads = {n_threads!r} and n_jobs = {n_jobs!r} say the same; give only one")
    if n_jobs is None:
        return optional_count("n_threads", n_threads)
    if not is_whole(n_jobs) or n_jobs == 0:
        raise ValueError(f"n_jobs = {n_jobs!r} is not allowed: a whole number other than 0 is needed")
    return None if n_jobs == -1 else int(effective_n_jobs(n_jobs))


def bytes_option(name: str, value: Any) -> int | None:
    """Check a number of bytes."""
    if value is None:
        return None
    if not is_number(value) or not 1 <= value < 2**63:
        raise ValueError(f"{name} = {value!r} is not allowed: give a number of bytes, or None")
    return int(value)


def estimator_arguments(engine: dict[str, Any]) -> dict[str, Any]:
    """Give the arguments of an estimator for the options of the engine, as files hold them."""
    arguments = {
        **kernel_arguments(engine["kernel"]),
        "solver": engine["solver"] or "auto",
        "landmarks": landmarks_argument(engine["landmarks"]),
        **{name: engine[name] for name in ("n_components", "n_features", "memory_limit")},
        **estimator_options(engine),
        "max_iter": None if engine["max_iter"] == MAX_ITER else engine["max_iter"],
    }
    if engine["pre_image"] is not None:
        way, of_way = _variant(engine["pre_image"])
        arguments.update(fit_inverse_transform=True, pre_image=way)
        if way == "ridge":
            arguments["alpha"] = of_way["alpha"]
    return arguments


def kernel_arguments(kernel: str | dict[str, Any]) -> dict[str, Any]:
    """Give the arguments of an estimator for a kernel of the engine, as files hold it."""
    name, parameters = _variant(kernel)
    parameters = {name: value for name, value in parameters.items() if name != "gamma"} | _gamma(parameters)
    return {"kernel": _NAMES.get(name, name), **parameters}


def landmarks_argument(rule: str) -> str:
    """Give the argument of an estimator for a rule of the engine, as files hold it."""
    return _NAMES.get(rule, rule)


def function_advice(kernel: Any) -> str:
    """Say what to do about the kernel of a file where a function was given for another, or none for one."""
    return "no function" if kernel is not None else "a function, which files do not hold: give it as `kernel`"


def _gamma(parameters: dict[str, Any]) -> dict[str, Any]:
    """Give the argument for a coefficient, if the kernel has one."""
    if "gamma" not in parameters:
        return {}
    rule = parameters["gamma"]
    if isinstance(rule, dict):
        return {"gamma": rule["value"]}
    return {"gamma": None if rule == "per-feature" else rule}


def _variant(value: str | dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Split the JSON of a choice into its name and what belongs to it."""
    return (value, {}) if isinstance(value, str) else next(iter(value.items()))
