"""Tables in files, whose rows the engine reads itself."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from karhunen import _core
from karhunen._inputs.matrix import to_matrix
from karhunen._shared.arrays import Matrix
from karhunen._shared.options import bytes_option, optional_count
from karhunen._shared.warning import warn


def to_rows(estimator: BaseEstimator, X: Any, *, reset: bool, min_samples: int = 1) -> Matrix | _core.FileTable:
    """Open `X` if it names files, and otherwise convert it as :func:`to_matrix` does.

    Parameters
    ----------
    estimator : BaseEstimator
        Its ``n_features_in_`` and ``feature_names_in_`` are set if `reset`, and otherwise compared with `X`.
    X : str, path or list of them, or what :func:`to_matrix` accepts
        Rows.
    reset : bool
        True if the call is part of a fit.
    min_samples : int
        Minimum number of rows.

    Returns
    -------
    numpy array, CSR or CSC matrix, or FileTable
        Rows that the engine reads.
    """
    if not _names_files(X):
        return to_matrix(estimator, X, reset=reset, min_samples=min_samples)
    paths = [os.fspath(path) for path in ([X] if isinstance(X, (str, os.PathLike)) else X)]
    cache = getattr(estimator, "cache_dir", None)
    table = _core.FileTable(
        paths,
        bytes_option("memory_limit", getattr(estimator, "memory_limit", None)),
        None if cache is None else os.fspath(cache),
        optional_count("n_threads", getattr(estimator, "n_threads", None)),
    )
    for message in table.warnings:
        warn(f"{paths[0]}: {message}", UserWarning)
    n, p = table.shape
    if n < min_samples:
        raise ValueError(f"{paths[0]}: {n} row(s), while a minimum of {min_samples} is required by {_name(estimator)}")
    names = table.feature_names
    if reset:
        estimator.n_features_in_ = p
        if names is not None:
            estimator.feature_names_in_ = np.array(names, dtype=object)
        elif hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
        return table
    if p != estimator.n_features_in_:
        raise ValueError(
            f"{paths[0]} has {p} features, but {_name(estimator)} is expecting {estimator.n_features_in_} features as "
            "input"
        )
    known = getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and list(known) != names:
        first = next(j for j, pair in enumerate(zip(known, names, strict=True)) if pair[0] != pair[1])
        raise ValueError(
            f"{paths[0]}: column {first} is {names[first]!r}, but the estimator was fitted with {known[first]!r} "
            "there; the columns must have the names and the order of the fit"
        )
    return table


def _names_files(X: Any) -> bool:
    """Return whether `X` is a path, or a list of paths."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(isinstance(path, (str, os.PathLike)) for path in X)
    return isinstance(X, (str, os.PathLike))


def _name(estimator: BaseEstimator) -> str:
    return type(estimator).__name__
