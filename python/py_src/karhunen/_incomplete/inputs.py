"""Conversion of users' incomplete data to entries of the engine."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from karhunen import _core
from karhunen._incomplete.ids import adopt_ids, index_of
from karhunen._incomplete.labelled_weights import in_order_of_data
from karhunen._incomplete.observed import Observed
from karhunen._incomplete.options import engine_options
from karhunen._incomplete.sparse_entries import broadcast_weights, entries_of_sparse
from karhunen._inputs.files import is_source, to_open_source
from karhunen._inputs.incomplete import without_masks
from karhunen._inputs.matrix import dense_frame, to_feature_weights, to_matrix, to_row_weights, to_weights
from karhunen._inputs.suspects import tell_suspects
from karhunen._shared.errors import name_column


def to_entries(
    estimator: BaseEstimator, X: Any, *, reset: bool, entry_weight: Any = None, min_samples: int = 1
) -> _core.Entries:
    """Check `X` and read its observed entries.

    Parameters
    ----------
    estimator : BaseEstimator
        Estimator whose ``n_features_in_``, ``feature_names_in_`` and ids of rows and columns are set if `reset`, and
        otherwise compared with `X`.
    X : array-like, sparse matrix, dataframe, Observed, path or RowBlocks of shape (n_samples, n_features)
        NaN, NA, null and entries that a sparse matrix does not store are missing.
    reset : bool
        True if the call is part of a fit.
    entry_weight : array-like, sparse matrix or None
        Inverse variances of the entries.
    min_samples : int
        Minimum number of rows.

    Returns
    -------
    Entries
        The entries, by rows and by columns.
    """
    threads = estimator.n_threads
    if is_source(X):
        return _entries_of_source(estimator, X, reset=reset, entry_weight=entry_weight, min_samples=min_samples)
    if isinstance(X, Observed):
        return _entries_of_observed(estimator, X, reset=reset, entry_weight=entry_weight, min_samples=min_samples)
    try:
        if sp.issparse(X):
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            _enough_samples(X.shape, min_samples)
            entries = entries_of_sparse(X, entry_weight, threads)
        else:
            # The zeros of a frame are values, however they are stored.
            table = dense_frame(without_masks(X), zeros_as_well=True)
            matrix = to_matrix(estimator, table, reset=reset, min_samples=min_samples)
            if reset:
                tell_suspects(estimator, matrix)
            weights = None
            if entry_weight is not None:
                ordered = in_order_of_data(estimator, entry_weight, X)
                weights = broadcast_weights(ordered, matrix.shape, matrix.dtype)
            entries = _core.observe(matrix, weights, threads)
    except ValueError as error:
        raise name_column(error, getattr(estimator, "feature_names_in_", None)) from None
    if reset:
        estimator.row_ids_ = row_ids(X)
        estimator.column_ids_ = _column_ids(X, estimator)
    return entries


def row_ids(X: Any) -> np.ndarray | None:
    """Return the ids of rows, given by an :class:`Observed` or the index of a pandas frame.

    Parameters
    ----------
    X : array-like, sparse matrix, dataframe or Observed
        Data.

    Returns
    -------
    ndarray of shape (n_samples,) or None
        None if rows have no ids: an index 0, 1, 2 ..., or one with repeated or missing labels.
    """
    if isinstance(X, Observed):
        return X.row_ids
    if not hasattr(X, "iloc"):
        return None
    if hasattr(X, "dask"):
        raise ValueError("X is a dask DataFrame; pass X.compute(), or use karhunen.dask.IncompletePCA")
    return _labels(X.index)


def _column_ids(X: Any, estimator: BaseEstimator) -> np.ndarray | None:
    """Return the column labels of a frame if they are ids: if rows have ids, or if the labels are not strings."""
    named = hasattr(estimator, "feature_names_in_")
    return _labels(X.columns) if hasattr(X, "iloc") and not (named and estimator.row_ids_ is None) else None


def _labels(index: Any) -> np.ndarray | None:
    """Return the labels of a pandas index, unless they count from zero, repeat or are missing."""
    labels = index.to_numpy()
    counted = labels.dtype.kind in "iu" and (labels == np.arange(len(labels))).all()
    if counted or not index.is_unique or (index.nlevels == 1 and index.hasnans):
        return None
    return labels


def to_fit_entries(
    estimator: BaseEstimator, X: Any, sample_weight: Any, entry_weight: Any, feature_weight: Any = None
) -> _core.Entries:
    """Check the data of a fit and read their observed entries.

    Parameters
    ----------
    estimator, X, entry_weight
        As in :func:`to_entries`.
    sample_weight : array-like of shape (n_samples,), float or None
        Multiplicity of each row.
    feature_weight : array-like of shape (n_features,) or None
        Weight of each column.

    Returns
    -------
    Entries
        The entries, by rows and by columns, with the weights of their rows and columns.
    """
    least = 2 if sample_weight is None else 1
    entries = to_entries(estimator, X, reset=True, entry_weight=entry_weight, min_samples=least)
    weights = to_weights("sample_weight", sample_weight, entries.shape[0], "rows")
    features = to_feature_weights(estimator, feature_weight, entries.shape[1])
    entries = entries if weights is None else entries.weighed(weights)
    return entries if features is None else entries.with_feature_weights(features)


def to_start(start: Any, shape: tuple[int, int], n_components: int) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Check the start of a fit and convert it.

    Parameters
    ----------
    start : tuple of array-like
        Components, scores and optionally means.
    shape : tuple of two int
        Shape of the data.
    n_components : int
        Number of components.

    Returns
    -------
    loadings, scores, mean : ndarray
        Loadings are the transposed components; the mean is None if not given.
    """
    if not isinstance(start, tuple) or len(start) not in (2, 3):
        raise ValueError("start must be a tuple: (components, scores) or (components, scores, mean)")
    n, p = shape
    expected = {"components": (n_components, p), "scores": (n, n_components), "mean": (p,)}
    arrays = [np.ascontiguousarray(part, dtype=np.float64) for part in start]
    for array, (name, size) in zip(arrays, expected.items(), strict=False):
        if array.shape != size:
            raise ValueError(f"start: {name} of shape {array.shape}, but {size} is needed")
        if not np.isfinite(array).all():
            raise ValueError(f"start: {name} hold {array[~np.isfinite(array)][0]}; they must be finite")
    return np.ascontiguousarray(arrays[0].T), arrays[1], arrays[2] if len(arrays) == 3 else None


def _entries_of_source(
    estimator: BaseEstimator, X: Any, *, reset: bool, entry_weight: Any, min_samples: int
) -> _core.Entries:
    """Read the entries of a file or of blocks, within the memory limit of a fit."""
    source, ids = open_rows(estimator, X, reset=reset, entry_weight=entry_weight, min_samples=min_samples)
    options = engine_options(estimator) if reset else None
    try:
        entries = _core.observe(source, None, estimator.n_threads, options)
    except ValueError as error:
        raise name_column(error, getattr(estimator, "feature_names_in_", None)) from None
    if not reset:
        return entries
    estimator.row_ids_ = ids
    estimator.column_ids_ = None
    weights = to_row_weights(source, None)
    return entries if weights is None else entries.weighed(weights)


def open_rows(
    estimator: BaseEstimator, X: Any, *, reset: bool, entry_weight: Any, min_samples: int = 1
) -> tuple[Any, np.ndarray | None]:
    """Open a file or blocks whose missing values are NaN, without reading its rows.

    Parameters
    ----------
    estimator, reset, min_samples
        As in :func:`to_entries`.
    X : path or RowBlocks
        Rows.
    entry_weight : None
        Refused otherwise.

    Returns
    -------
    source : object
        The rows, for the engine.
    ids : ndarray of shape (n_samples,) or None
        Names of the rows.
    """
    if entry_weight is not None:
        raise ValueError("entry_weight cannot be used with a path or RowBlocks; pass an array, or an Observed")
    source, row_names = to_open_source(estimator, X, reset=reset, min_samples=min_samples, missing=True)
    if reset:
        tell_suspects(estimator, source)
        estimator._keep_columns_of_file(source)
    return source, None if row_names is None else np.array(row_names, dtype=object)


def _entries_of_observed(
    estimator: BaseEstimator, X: Observed, *, reset: bool, entry_weight: Any, min_samples: int
) -> _core.Entries:
    if entry_weight is not None:
        raise ValueError("entry_weight cannot be used with Observed, which has weights of its own: pass them there")
    _enough_samples(X.shape, min_samples)
    if reset:
        estimator.n_features_in_ = X.shape[1]
        adopt_ids(estimator, X.row_ids, X.column_ids)
        return X._entries
    expected = estimator.column_ids_
    if expected is None and X.column_ids is not None:
        expected = getattr(estimator, "feature_names_in_", None)
    if (X.column_ids is None) != (expected is None):
        given, fitted = ("numbers", "ids") if X.column_ids is None else ("ids", "numbers")
        raise ValueError(
            f"columns of Observed are {given}, but the columns of the fit are {fitted}; make both in the same way"
        )
    if expected is None or (len(expected) == X.shape[1] and (expected == X.column_ids).all()):
        _expect_columns(X.shape[1], estimator.n_features_in_)
        return X._entries
    rows, columns, values, weights = X._entries.triples()
    places = index_of("columns", X.column_ids, expected, len(expected))
    shape = (X.shape[0], len(expected))
    return _core.observe_triples(rows, places[columns], values, shape, False, weights, estimator.n_threads)


def _expect_columns(found: int, expected: int) -> None:
    if found != expected:
        raise ValueError(f"Observed has {found} columns, but the fit had {expected}")


def _enough_samples(shape: tuple[int, int], least: int) -> None:
    """Refuse too few rows, with scikit-learn's message."""
    if shape[0] < least:
        raise ValueError(f"Found {shape[0]} sample(s) (shape={shape}) while a minimum of {least} is required")
