"""Fitted arrays in the dtype of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

_LIMITS = np.finfo(np.float32)


def in_dtype(dtype: str, values: Any) -> Any:
    """Convert fitted values to the dtype of the data, as code written for scikit-learn expects.

    Parameters
    ----------
    dtype : str
        dtype of the data in the engine's notation: ``"f32"`` or ``"f64"``.
    values : ndarray, sparse array or None
        Values of the engine, in float64.

    Returns
    -------
    ndarray, sparse array or None
        For float64 data, `values` themselves. For float32 data, a read-only float32 copy, or `values` themselves if
        the largest is outside the range of float32, as variances of very large or very small data can be.
    """
    if dtype != "f32" or values is None:
        return values
    if sp.issparse(values):
        return values.astype(np.float32)
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    # NaN fails both comparisons and is converted.
    if largest > _LIMITS.max or 0.0 < largest < _LIMITS.tiny:
        return values
    with np.errstate(under="ignore"):
        single = values.astype(np.float32)
    single.flags.writeable = False
    return single
