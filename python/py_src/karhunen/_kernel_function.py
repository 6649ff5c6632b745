"""Kernels that users write: functions of two blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_DIFFERENCE = (
    "karhunen calls a kernel with two blocks of rows, k(X, Y), and expects one value for each pair, an array of shape "
    "(len(X), len(Y)); scikit-learn calls it with one pair of rows at a time, k(x, y), and expects a number"
)

#: Of the largest value: how far `k(x, y)` and `k(y, x)` may be apart.
_ASYMMETRY = 1e-5


class BlockKernel:
    """A kernel function with its arguments, whose results are checked before the engine gets them.

    Parameters
    ----------
    function : callable
        Takes two float64 arrays of shapes (a, n_features) and (b, n_features), gives an array of shape (a, b).
    parameters : mapping or None
        Keyword arguments for it.
    """

    def __init__(self, function: Callable[..., Any], parameters: Mapping[str, Any] | None) -> None:
        self.function = function
        self.parameters = dict(parameters or {})

    def __call__(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Give the values of all pairs of rows as a contiguous array of float64."""
        given = self.function(X, Y, **self.parameters)
        if np.ma.is_masked(given):
            raise ValueError("the kernel function returned masked values; every value is needed")
        values = np.asarray(given)
        if values.shape != (len(X), len(Y)):
            raise ValueError(
                f"the kernel function returned an array of shape {values.shape} for blocks of shapes {X.shape} and "
                f"{Y.shape}; {_DIFFERENCE}"
            )
        if values.dtype.kind not in "fiub":
            raise ValueError(f"the kernel function returned values of dtype {values.dtype}; numbers are needed")
        return np.ascontiguousarray(values, dtype=np.float64)

    def probe(self, matrix: np.ndarray) -> None:
        """Call the function with small blocks: one for pairs is told from one for blocks, an asymmetric one refused."""
        X, Y = (np.array(matrix[:most], dtype=np.float64, order="C") for most in (2, 3))
        try:
            self.function(X, Y, **self.parameters)
        except Exception as error:
            raise ValueError(
                f"the kernel function raised {type(error).__name__} for blocks of shapes {X.shape} and {Y.shape}: "
                f"{error}; {_DIFFERENCE}"
            ) from error
        self(X, Y)
        values = self(Y, Y)
        apart = np.abs(values - values.T)
        # As of a precomputed matrix; what is not finite is the engine's to tell.
        if apart.max(initial=0.0) > _ASYMMETRY * np.abs(values).max(initial=0.0):
            i, j = np.unravel_index(apart.argmax(), apart.shape)
            raise ValueError(
                f"the kernel function is not symmetric: of rows {i} and {j}, k(x, y) is {float(values[i, j])!r} and "
                f"k(y, x) is {float(values[j, i])!r}"
            )
