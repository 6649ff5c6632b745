"""Rows that the engine reads itself: of files, and of functions that yield blocks."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import BaseEstimator

from karhunen import _core
from karhunen._inputs.bed import Bed
from karhunen._inputs.cells import Cells, cells_among
from karhunen._inputs.matrix import to_matrix
from karhunen._inputs.row_blocks import RowBlocks, to_source
from karhunen._inputs.suspects import tell_suspects
from karhunen._inputs.table import table_among
from karhunen._shared.arrays import Matrix
from karhunen._shared.options import bytes_option, optional_count
from karhunen._shared.warning import warn

#: Rows that the engine reads itself.
Source: TypeAlias = _core.FileTable | _core.RowSource


def is_source(X: Any) -> bool:
    """Return whether the engine reads the rows of `X` itself: a path, a list of paths, or :class:`RowBlocks`."""
    if isinstance(X, (list, tuple)):
        return len(X) > 0 and all(isinstance(path, (str, os.PathLike)) for path in X)
    return isinstance(X, (str, os.PathLike, RowBlocks))


def to_rows(
    estimator: BaseEstimator,
    X: Any,
    *,
    reset: bool,
    min_samples: int = 1,
    missing: bool = False,
    observations: bool = True,
) -> Matrix | Source:
    """Open `X` if the engine reads its rows itself, and otherwise convert it as :func:`to_matrix` does.

    Parameters
    ----------
    estimator : BaseEstimator
        Its ``n_features_in_`` and ``feature_names_in_`` are set if `reset`, and otherwise compared with `X`.
    X : str, path or list of them, RowBlocks, or what :func:`to_matrix` accepts
        Rows.
    reset : bool
        True if the call is part of a fit.
    min_samples : int
        Minimum number of rows.
    missing : bool
        True if values of files may be missing.
    observations : bool
        False if the rows are not observations, whose columns are looked at for ids and classes.

    Returns
    -------
    numpy array, CSR or CSC matrix, FileTable or RowSource
        Rows that the engine reads.
    """
    if not is_source(X):
        matrix: Matrix | Source = to_matrix(estimator, X, reset=reset, min_samples=min_samples)
    else:
        matrix = to_open_source(estimator, X, reset=reset, min_samples=min_samples, missing=missing)[0]
    if reset and observations:
        tell_suspects(estimator, matrix)
    return matrix


def to_open_source(
    estimator: BaseEstimator, X: Any, *, reset: bool, min_samples: int = 1, missing: bool = False
) -> tuple[Source, list[str] | None]:
    """Open files, or rows of a function, and compare their columns with the estimator.

    Parameters
    ----------
    estimator, reset, min_samples
        As of :func:`to_rows`.
    X : str, path or list of them, or RowBlocks
        Rows.
    missing : bool
        True if values may be missing.

    Returns
    -------
    source : FileTable or RowSource
        Rows that the engine reads.
    row_names : list of str or None
        Names of the rows.
    """
    source: Source
    if isinstance(X, RowBlocks):
        source, names = to_source(X)
        what, row_names = repr(X), None
    else:
        given = [X] if isinstance(X, (str, os.PathLike)) else X
        paths = [os.fspath(path) for path in given]
        if reset and any(isinstance(path, Bed) and (path.flip_strand or path.allow_unmatched) for path in given):
            raise ValueError(
                "flip_strand and allow_unmatched match the variants of new samples with the fitted ones; a fit takes "
                "all variants of its files: pass the path alone"
            )
        matched = None if reset else _variants_of_fit(estimator, given, paths)
        cells = cells_among(given)
        source = table = _open_files(
            estimator, (paths, cells, table_among(given)), missing, None if reset else _as_fitted(estimator, matched)
        )
        names, what, row_names = table.feature_names, paths[0], table.sample_names
    n = source.shape[0]
    if n < min_samples:
        raise ValueError(f"{what}: {n} row(s), while a minimum of {min_samples} is required by {_name(estimator)}")
    _compare_columns(estimator, what, source.shape[1], names, reset=reset)
    return source, row_names


#: The name of a .bed file, packed or not.
_BED = re.compile(r"\.bed(\.(gz|zst|xz|bz2|zip))?$", re.IGNORECASE)

#: The means of the columns of a model, and whether strands are flipped and variants may lack.
_Matched: TypeAlias = tuple[list[float] | None, bool, bool]


def _variants_of_fit(estimator: BaseEstimator, given: Sequence[Any], paths: list[str]) -> _Matched | None:
    """Return how variants of files of genotypes are matched with the fitted ones; None for other files."""
    known = getattr(estimator, "feature_names_in_", None)
    if known is None or not any(_BED.search(path) for path in paths):
        return None
    means = estimator.mean_ if getattr(estimator, "center", True) is True else None
    options = [path for path in given if isinstance(path, Bed)]
    return (
        None if means is None else [float(mean) for mean in means],
        any(bed.flip_strand for bed in options),
        any(bed.allow_unmatched for bed in options),
    )


#: The number of columns of a fit, their names, how its file was read as JSON, the sum of each row to which counts were
#: normalised, and the variants.
_Fitted: TypeAlias = tuple[int, list[str] | None, str | None, float | None, _Matched | None]


def _as_fitted(estimator: BaseEstimator, matched: _Matched | None) -> _Fitted:
    names = getattr(estimator, "feature_names_in_", None)
    kept = getattr(estimator, "_columns_of_file", {})
    of_file = kept.get("of_file")
    return (
        estimator.n_features_in_,
        None if names is None else [str(name) for name in names],
        None if of_file is None else json.dumps(of_file),
        kept.get("log1p"),
        matched,
    )


def _open_files(
    estimator: BaseEstimator,
    files: tuple[list[str], Cells | None, dict[str, Any] | None],
    missing: bool,
    fitted: _Fitted | None,
) -> _core.FileTable:
    """Open files, for an estimator if it is fitted."""
    paths, cells, table = files
    cache = getattr(estimator, "cache_dir", None)
    opened = _core.FileTable(
        paths,
        bytes_option("memory_limit", getattr(estimator, "memory_limit", None)),
        None if cache is None else os.fspath(cache),
        optional_count("n_threads", getattr(estimator, "n_threads", None)),
        missing,
        None if cells is None else cells._options(),
        fitted,
        table,
    )
    for message in opened.warnings:
        warn(f"{paths[0]}: {message}", UserWarning)
    return opened


def _compare_columns(estimator: BaseEstimator, what: str, p: int, names: Sequence[str] | None, *, reset: bool) -> None:
    """Set the columns of the estimator if `reset`, and otherwise compare them."""
    if reset:
        set_columns(estimator, p, names)
        return
    if p != estimator.n_features_in_:
        raise ValueError(
            f"{what} has {p} features, but {_name(estimator)} is expecting {estimator.n_features_in_} features as input"
        )
    known = getattr(estimator, "feature_names_in_", None)
    if names is not None and known is not None and list(known) != list(names):
        first = next(j for j, pair in enumerate(zip(known, names, strict=True)) if pair[0] != pair[1])
        raise ValueError(
            f"{what}: column {first} is {names[first]!r}, but the estimator was fitted with {known[first]!r} "
            "there; the columns must have the names and the order of the fit"
        )


def set_columns(estimator: BaseEstimator, n_features: int, names: Sequence[str] | None) -> None:
    """Set the attributes of an estimator that describe the columns of its rows.

    Parameters
    ----------
    estimator : BaseEstimator
        Its ``n_features_in_`` and ``feature_names_in_`` are set.
    n_features : int
        Number of columns.
    names : sequence of str, or None
        Names of the columns; None if they have none.
    """
    estimator.n_features_in_ = n_features
    if names is not None:
        estimator.feature_names_in_ = np.array(names, dtype=object)
    elif hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def _name(estimator: BaseEstimator) -> str:
    return type(estimator).__name__
