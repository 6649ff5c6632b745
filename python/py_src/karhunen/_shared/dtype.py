"""Fitted arrays in the type of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

_LIMITS = np.finfo(np.float32)


def in_dtype(dtype: str, values: Any) -> Any:
    """Give what was fitted in the type of the data, as code written for scikit-learn expects it.

    Parameters
    ----------
    dtype : str
        ``"f32"`` or ``"f64"``: the type of the data, as the engine names it.
    values : ndarray, sparse array or None
        What the engine computed, in float64.

    Returns
    -------
    ndarray, sparse array or None
        `values` themselves for float64 data. A read-only copy in float32 for float32 data, unless the largest value is
        beyond the range of float32, above or below, as the variance of data near the ends of that range can be: then
        `values` themselves.
    """
    if dtype != "f32" or values is None:
        return values
    if sp.issparse(values):
        return values.astype(np.float32)
    largest = max(values.max(initial=0.0), -values.min(initial=0.0))
    # Not so for NaN, which passes through.
    if largest > _LIMITS.max or 0.0 < largest < _LIMITS.tiny:
        return values
    with np.errstate(under="ignore"):
        single = values.astype(np.float32)
    single.flags.writeable = False
    return single
