"""Estimators of rows of points, as the options of a fit of fields want them."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from karhunen._diagnostics.model import engine_model, fitted_model
from karhunen._shared.options import is_whole
from karhunen._xarray.arrays import is_lazy


def scaling_of(scale: Any) -> Literal["none", "std", "variable"]:
    """Check the option `scale`."""
    if isinstance(scale, (bool, np.bool_)):
        return "std" if scale else "none"
    if scale not in ("std", "variable"):
        raise ValueError(f"scale = {scale!r} is not known; choose one of True, False, 'std', 'variable'")
    return cast(Literal["std", "variable"], scale)


def estimator_of_rows(eof: Any, lazy: bool, n_missing: int, way: str) -> Any:
    """Return the estimator for a field.

    Parameters
    ----------
    eof : EOF
        Options.
    lazy : bool
        True if the field is chunked.
    n_missing : int
        Number of values that are missing at some samples only.
    way : {"none", "std", "variable"}
        The option `scale`.

    Returns
    -------
    PCA or IncompletePCA
        Of `karhunen`, or of `karhunen.dask` for chunked fields.

    Raises
    ------
    ValueError
        If values are missing, and an option has no effect then.
    """
    make = getattr(import_module("karhunen.dask" if lazy else "karhunen"), "IncompletePCA" if n_missing else "PCA")
    same = {"scale": way == "std", "max_iter": eof.max_iter, "random_state": eof.random_state}
    same |= {"n_threads": eof.n_threads, "verbose": eof.verbose}
    if not n_missing:
        complete = {name: getattr(eof, name) for name in ("center", "weighting", "solver", "tol", "strict")}
        return make(eof.n_components, **same, **complete)
    for name, default in (("weighting", "frequency"), ("solver", "auto"), ("strict", False)):
        if getattr(eof, name) != default:
            raise ValueError(f"{name} = {getattr(eof, name)!r} has no effect on a field with missing values")
    if not is_whole(eof.n_components):
        raise ValueError(
            f"n_components = {eof.n_components!r} is not allowed: {n_missing} values are missing at some samples, and "
            "the number of modes must be given as an int"
        )
    tol = {} if eof.tol is None else {"tol": eof.tol}
    return make(eof.n_components, method=eof.missing, mean="joint" if eof.center else "none", **same, **tol)


def deviation_of(
    eof: Any, rows: Any, samples: Any, multipliers: NDArray[np.float64], label: str, n_missing: int
) -> float:
    """Return the root of the variance of the weighted points of a variable.

    Parameters
    ----------
    eof : EOF
        Options.
    rows : numpy or dask array of shape (n, p)
        Values of the variable.
    samples : ndarray of shape (n,) or None
        Weights of the samples.
    multipliers : ndarray of shape (p,)
        Weights of the points.
    label : str
        Name of the variable in messages.
    n_missing : int
        Number of values of the field that are missing at some samples only.

    Returns
    -------
    float
        Its standard deviation.

    Raises
    ------
    ValueError
        If it is zero, or values are missing.
    """
    if n_missing:
        raise ValueError(
            f"scale = 'variable' needs the variance of {label}, which is not known where values are missing at some "
            "samples; divide the variables before the fit"
        )
    # A fit of no components takes one pass, and knows the total variance.
    make = import_module("karhunen.dask" if is_lazy(rows) else "karhunen").PCA
    pca = make(0, center=eof.center, weighting=eof.weighting, n_threads=eof.n_threads)
    pca.fit(rows, sample_weight=samples, feature_weight=multipliers**2)
    deviation = float(np.sqrt(engine_model(pca).total_variance))
    if not deviation > 0:
        raise ValueError(f"scale = 'variable' is not allowed: {label} has no variance")
    return deviation


def total_variance(pca: Any) -> float:
    """Return the variance of all modes; with missing values, the variance of complete rows under the model."""
    model: Any = fitted_model(pca)
    if hasattr(model, "total_variance"):
        return float(model.total_variance)
    return float(model.explained_variance.sum() / np.asarray(model.explained_variance_ratio).sum())


def lazily(pca: Any) -> Any:
    """Return an estimator whose methods take chunked rows."""
    if type(pca).__module__ == "karhunen.dask":
        return pca
    found = getattr(import_module("karhunen.dask"), type(pca).__name__)(**pca.get_params())
    found.__setstate__(pca.__getstate__())
    return found
