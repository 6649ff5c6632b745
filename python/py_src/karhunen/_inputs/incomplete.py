"""Rows with missing values."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def to_incomplete(X: Any) -> Any:
    """Convert the rows of a part, in which NaN and entries that are not stored are missing.

    Parameters
    ----------
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
        Masked values are missing.

    Raises
    ------
    ValueError
        If a sparse matrix stores an entry more than once.
    """
    if sp.issparse(X):
        if _stores_twice(X):
            raise ValueError(
                "the sparse matrix stores an entry more than once; call X.sum_duplicates() if the sum is meant"
            )
        return X
    return without_masks(X)


def without_masks(X: Any) -> Any:
    """Convert a masked array to floating point, with NaN for masked values."""
    if not np.ma.isMaskedArray(X):
        return X
    dtype = X.dtype if X.dtype in (np.float32, np.float64) else np.float64
    return np.ma.filled(X.astype(dtype), np.nan)


def _stores_twice(X: Any) -> bool:
    """Return whether any entry of a sparse matrix is stored more than once."""
    if X.format in ("csr", "csc") and X.has_canonical_format:
        return False
    entries = X.tocoo()
    places = entries.row.astype(np.int64) * X.shape[1] + entries.col
    return len(np.unique(places)) < len(places)
