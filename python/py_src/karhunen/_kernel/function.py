"""User-defined kernels: functions of two blocks of rows, or of two rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_FORMS = (
    "a kernel function takes two blocks of rows and gives one value for each pair, an array of shape (len(X), len(Y)); "
    "or, as in scikit-learn, two rows, and gives a number"
)

#: Largest allowed difference of `k(x, y)` and `k(y, x)`, as a share of the largest value.
_ASYMMETRY = 1e-5
#: Largest allowed dependence of a value on the other rows of a block, as a share of the largest value.
_ROUNDING = 1e-3


class BlockKernel:
    """A kernel function with its arguments, which checks results before they reach the engine.

    Parameters
    ----------
    function : callable
        Takes two float64 arrays of shapes (a, n_features) and (b, n_features) and returns an array of shape (a, b). Or
        takes two float64 arrays of shape (n_features,) and returns a number, with one call per pair.
    parameters : mapping or None
        Keyword arguments of the function.
    """

    def __init__(self, function: Callable[..., Any], parameters: Mapping[str, Any] | None) -> None:
        self.function = function
        self.parameters = dict(parameters or {})
        #: True if the function takes two rows; None before the first call, and after pickles and files are read.
        self._takes_rows: bool | None = None

    def __call__(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Return the values of all pairs of rows as a contiguous float64 array."""
        if self._takes_rows is None:
            self._takes_rows = self._probe_form(_three(Y))
        return self._of_pairs(X, Y) if self._takes_rows else self._of_blocks(X, Y)

    def probe(self, matrix: np.ndarray) -> None:
        """Determine from a few rows which of the two forms the function takes; refuse it if it is not symmetric."""
        rows = _three(matrix)
        self._takes_rows = self._probe_form(rows)
        if self._takes_rows:
            values = np.array([[self._of_pair(x, y) for y in rows] for x in rows])
        else:
            values = self._of_blocks(rows, rows.copy())
        apart = np.abs(values - values.T)
        # The same tolerance as for precomputed matrices; the engine reports non-finite values.
        if apart.max(initial=0.0) > _ASYMMETRY * np.abs(values).max(initial=0.0):
            i, j = np.unravel_index(apart.argmax(), apart.shape)
            raise ValueError(
                f"the kernel function is not symmetric: of rows {i} and {j}, k(x, y) is {float(values[i, j])!r} and "
                f"k(y, x) is {float(values[j, i])!r}; rows count from 0"
            )

    def _probe_form(self, rows: np.ndarray) -> bool:
        """Return whether the function takes two rows; blocks are tried first."""
        X, Y = rows[:2], rows
        failed: Exception | None = None
        try:
            values = np.asanyarray(self._call(X, Y))
            if values.shape == (2, 3):
                # A function of two rows may accept blocks, for example of three rows and three features, as matrices.
                if all(self._is_same_alone(X, Y, values, i) for i in (0, 1)):
                    return False
                blocks = "gave a pair of rows another value in a block than alone"
            else:
                blocks = f"returned an array of shape {values.shape}"
        except Exception as error:
            failed, blocks = error, f"raised {type(error).__name__}: {error}"
        try:
            self._of_pair(rows[0], rows[1])
        except Exception as error:
            raise ValueError(
                f"for blocks of shapes {X.shape} and {Y.shape} the kernel function {blocks}; for two rows of shape "
                f"{rows[0].shape} it raised {type(error).__name__}: {error}; {_FORMS}"
            ) from (failed or error)
        return True

    def _is_same_alone(self, X: np.ndarray, Y: np.ndarray, values: np.ndarray, i: int) -> bool:
        """Return whether a pair of rows has the same value alone as within the blocks."""
        alone = np.asanyarray(self._call(X[i : i + 1], Y[i + 1 : i + 2]))
        return alone.shape == (1, 1) and _alike(alone[0, 0], values[i, i + 1], values)

    def _call(self, x: np.ndarray, y: np.ndarray) -> Any:
        return self.function(x.copy(), y.copy(), **self.parameters)

    def _of_blocks(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        given = self.function(X, Y, **self.parameters)
        if np.ma.is_masked(given):
            raise ValueError("the kernel function returned masked values; every value is needed")
        values = np.asarray(given)
        if values.shape != (len(X), len(Y)):
            raise ValueError(
                f"the kernel function returned an array of shape {values.shape} for blocks of shapes {X.shape} and "
                f"{Y.shape}; {_FORMS}"
            )
        if values.dtype.kind not in "fiub":
            raise ValueError(f"the kernel function returned values of dtype {values.dtype}; numbers are needed")
        return np.ascontiguousarray(values, dtype=np.float64)

    def _of_pairs(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        values = np.empty((len(X), len(Y)))
        # If the blocks are equal, one triangle suffices.
        same = X.shape == Y.shape and np.array_equal(X, Y)
        for i, x in enumerate(X):
            for j in range(i if same else 0, len(Y)):
                values[i, j] = self._of_pair(x, Y[j])
                if same:
                    values[j, i] = values[i, j]
        return values

    def _of_pair(self, x: np.ndarray, y: np.ndarray) -> float:
        given = self.function(x, y, **self.parameters)
        if np.ma.is_masked(given):
            raise ValueError("the kernel function returned a masked value; every value is needed")
        value = np.asarray(given)
        if value.size != 1 or value.dtype.kind not in "fiub":
            what = f"an array of shape {value.shape}" if value.size != 1 else f"a value of dtype {value.dtype}"
            raise ValueError(f"the kernel function returned {what} for two rows; a number is needed")
        return float(value.item())


def _three(rows: np.ndarray) -> np.ndarray:
    """Return the first three rows, with repetition if there are fewer."""
    first = np.array(rows[:3], dtype=np.float64, order="C")
    return first[np.arange(3) % len(first)]


def _alike(one: Any, other: Any, values: np.ndarray) -> bool:
    """Return whether two kernel values are equal up to rounding; values that are not numbers are refused later."""
    if values.dtype.kind not in "fiub" or not (np.isfinite(one) and np.isfinite(other)):
        return True
    with np.errstate(invalid="ignore", over="ignore"):
        largest = np.nanmax(np.abs(values.astype(np.float64)))
    return bool(abs(float(one) - float(other)) <= _ROUNDING * largest)
