"""Conversion of scipy's sparse matrices to entries of the engine: stored entries are observed."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from karhunen import _core
from karhunen._inputs.matrix import sound
from karhunen._shared.errors import repeated_pair


def entries_of_sparse(X: Any, weight: Any, n_threads: int | None) -> _core.Entries:
    """Read the stored entries of a scipy matrix, including explicit zeros.

    Parameters
    ----------
    X : sparse matrix or array
        CSR, CSC, COO, LIL or DOK.
    weight : None, array-like that broadcasts to the shape of `X`, or sparse matrix with the entries of `X`
        Inverse variances.
    n_threads : int or None
        Number of threads.

    Returns
    -------
    Entries
        The entries; duplicates are refused.
    """
    if X.format in ("dia", "bsr"):
        raise ValueError(
            f"a sparse matrix of the format {X.format} does not distinguish stored zeros, which are observations, "
            "from filling; pass CSR, CSC or COO"
        )
    if len(X.shape) != 2:
        raise ValueError(f"X is a sparse array of shape {X.shape}; pass rows and columns, as X.reshape(1, -1)")
    if X.format in ("csr", "csc"):
        X = sound(X)
    if X.dtype.kind not in "fiub" or (X.dtype.kind == "f" and X.dtype.itemsize not in (4, 8)):
        raise ValueError(f"the sparse matrix has dtype {X.dtype}; only numbers can be analysed")
    dtype: Any = np.float32 if X.dtype == np.float32 else np.float64
    compressed = X.format in ("csr", "csc") and X.has_canonical_format
    if compressed and len(X.data) == len(X.indices) == X.indptr[-1] and weight is None:
        arrays = [np.ascontiguousarray(array) for array in (X.data.astype(dtype, copy=False), X.indices, X.indptr)]
        kind = sp.csr_array if X.format == "csr" else sp.csc_array
        view = kind(X.shape, dtype=dtype)
        view.data, view.indices, view.indptr = arrays
        return _core.observe(view, None, n_threads)
    triples = X.tocoo()
    rows, columns = (np.ascontiguousarray(ids) for ids in (triples.row, triples.col))
    values = np.ascontiguousarray(triples.data, dtype=dtype)
    weights = None if weight is None else _weights_at(weight, X, rows, columns, dtype)
    try:
        return _core.observe_triples(rows, columns, values, X.shape, False, weights, n_threads)
    except ValueError as error:
        pair = repeated_pair(error)
        if pair is None:
            raise
        raise ValueError(
            f"row {pair[0]}, column {pair[1]} of the sparse matrix is stored more than once; call "
            'X.sum_duplicates() if the sum is meant, or pass karhunen.Observed(..., duplicates="average")'
        ) from None


def _weights_at(weight: Any, X: Any, rows: np.ndarray, columns: np.ndarray, dtype: type) -> np.ndarray:
    """Return the weights of the entries at `rows` and `columns`, in the order of ``X.tocoo()``."""
    if sp.issparse(weight):
        if weight.shape != X.shape:
            raise ValueError(f"entry_weight has shape {weight.shape}, but X has shape {X.shape}")
        same = weight.tocsr()
        # A weight that is not stored is zero: the entry is missing.
        weights = np.asarray(same[rows, columns]).ravel()
    else:
        weights = broadcast_weights(weight, X.shape, dtype)[rows, columns]
    return np.ascontiguousarray(weights, dtype=dtype)


def refuse_masks(name: str, weight: Any) -> None:
    """Refuse masked weights, whose values are unknown."""
    if np.ma.is_masked(weight):
        raise ValueError(f"{name} holds masked values; give a number for each, zero for what is missing")


def broadcast_weights(weight: Any, shape: tuple[int, int], dtype: Any) -> np.ndarray:
    """Broadcast weights to the shape of the data, without a copy."""
    if sp.issparse(weight):
        raise ValueError(
            "entry_weight is a sparse matrix, but X is not: give an array that broadcasts to the shape of X"
        )
    refuse_masks("entry_weight", weight)
    weights = np.asarray(weight, dtype=dtype)
    try:
        return np.broadcast_to(weights, shape)
    except ValueError:
        raise ValueError(
            f"entry_weight has shape {weights.shape}, but X has shape {shape}: give one weight for each entry, "
            f"({shape[0]}, 1) for each row or ({shape[1]},) for each column"
        ) from None
