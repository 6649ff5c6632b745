"""Conversion of the arguments of kernel estimators to options of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator

from karhunen._kernel.function import BlockKernel
from karhunen._shared.choices import EigenSolver, Kernel, KernelRoute, PreImage
from karhunen._shared.options import (
    choice_option,
    flag_option,
    is_whole,
    n_components_of,
    number_option,
    optional_count,
    python_name,
    route_option,
)

#: Equivalent solvers of the engine for scikit-learn's names.
SKLEARN_EIGEN_SOLVERS: dict[str, KernelRoute] = {"dense": "full", "arpack": "stored", "randomized": "stored"}
#: Arguments of `KernelPCA` that are not options of the engine.
OTHERS = frozenset(
    (
        *("gamma", "degree", "coef0", "kernel_params", "alpha", "fit_inverse_transform", "remove_zero_eig"),
        *("random_state", "verbose", "eigen_solver", "iterated_power", "copy_X", "n_jobs"),
    )
)
#: Number of passes if `max_iter` is None.
MAX_ITER = 1000
#: Kernels that are undefined for negative values.
POSITIVE_ONLY: tuple[Kernel, ...] = ("additive_chi2", "chi2")


def kernel_option(kernel: Any, gamma: Any, degree: Any, coef0: Any) -> dict[str, Any]:
    """Check the types of a kernel's name and parameters; the engine checks their values."""
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
    """Return the kernel function with its arguments, if the kernel is a function."""
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


def solver_option(solver: Any, eigen_solver: Any) -> str | None:
    """Return the solver that one of two options selects; None is the choice of the engine."""
    if choice_option("eigen_solver", eigen_solver, EigenSolver) == "auto":
        return route_option(solver)
    if solver != "auto":
        raise ValueError(f"solver = {solver!r} and eigen_solver = {eigen_solver!r} say the same; give only one")
    return SKLEARN_EIGEN_SOLVERS[eigen_solver]


def threads_option(estimator: BaseEstimator) -> int | None:
    """Return the number of threads that one of two options selects; None is all cores."""
    n_threads, n_jobs = estimator.n_threads, estimator.n_jobs
    if n_threads is not None and n_jobs is not None:
        raise ValueError(f"n_threads = {n_threads!r} and n_jobs = {n_jobs!r} say the same; give only one")
    if n_jobs is None:
        return optional_count("n_threads", n_threads)
    if not is_whole(n_jobs) or n_jobs == 0:
        raise ValueError(f"n_jobs = {n_jobs!r} is not allowed: a whole number other than 0 is needed")
    return None if n_jobs == -1 else int(effective_n_jobs(n_jobs))


def pre_image_option(estimator: Any) -> str | dict[str, Any] | None:
    """Convert the method of pre-images to its form in files; None means no method."""
    way = choice_option("pre_image", estimator.pre_image, PreImage)
    alpha = estimator.alpha
    if alpha is not None and way == "fixed-point":
        raise ValueError(f"alpha = {alpha!r} is for pre_image='ridge'; the fixed point has none")
    ridge = {"alpha": 1.0 if alpha is None else number_option("alpha", alpha)}
    if not flag_option("fit_inverse_transform", estimator.fit_inverse_transform):
        return None
    if isinstance(estimator.kernel, str) and estimator.kernel == "precomputed":
        # The first words are scikit-learn's.
        raise ValueError("Cannot fit_inverse_transform with a precomputed kernel: it holds no rows to be found")
    return way if way == "fixed-point" else {"ridge" if alpha is not None else way: ridge}


def special_arguments(engine: dict[str, Any]) -> dict[str, Any]:
    """Convert the options of `KernelPCA` that have another form in files to arguments."""
    arguments = {
        **kernel_arguments(engine["kernel"]),
        "solver": engine["solver"] or "auto",
        "n_components": n_components_of(engine),
        "max_iter": None if engine["max_iter"] == MAX_ITER else engine["max_iter"],
        "pre_image": "auto",
    }
    if engine["pre_image"] is not None:
        way, of_way = _variant(engine["pre_image"])
        arguments.update(fit_inverse_transform=True, pre_image=way)
        if way == "ridge":
            arguments["alpha"] = of_way["alpha"]
    return arguments


def kernel_arguments(kernel: str | dict[str, Any]) -> dict[str, Any]:
    """Convert the engine's kernel, as stored in files, to arguments of an estimator."""
    name, parameters = _variant(kernel)
    parameters = {name: value for name, value in parameters.items() if name != "gamma"} | _gamma(parameters)
    return {"kernel": python_name(name), **parameters}


def function_advice(kernel: Any) -> str:
    """Return the advice if a kernel function is missing, or given for a model that needs none."""
    return "no function" if kernel is not None else "a function, which files do not hold: give it as `kernel`"


def _gamma(parameters: dict[str, Any]) -> dict[str, Any]:
    """Return the argument for the coefficient, if the kernel has one."""
    if "gamma" not in parameters:
        return {}
    rule = parameters["gamma"]
    if isinstance(rule, dict):
        return {"gamma": rule["value"]}
    return {"gamma": None if rule == "per-feature" else rule}


def _variant(value: str | dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Split the JSON of a choice into its name and its parameters."""
    return (value, {}) if isinstance(value, str) else next(iter(value.items()))
