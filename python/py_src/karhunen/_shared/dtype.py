"""Fitted arrays in the dtype of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from karhunen import _core


def in_dtype(dtype: str, values: Any, n_threads: int | None) -> Any:
    """Convert fitted values to the dtype of the data, as code written for scikit-learn expects.

    Parameters
    ----------
    dtype : str
        dtype of the data in the engine's notation: ``"f32"`` or ``"f64"``.
    values : ndarray, sparse array or None
        Values of the engine, in float64.
    n_threads : int or None
        Number of threads that convert many values; None for all cores.

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
    single = _core.round_to_single(values.ravel(), n_threads)
    if single is None:
        return values
    single = single.reshape(values.shape)
    single.flags.writeable = False
    return single
