"""Kernels that users write: functions of two blocks of rows, or of two rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_FORMS = (
    "a kernel function takes two blocks of rows and gives one value for each pair, an array of shape (len(X), len(Y)); "
    "or, as in scikit-learn, two rows, and gives a number"
)

#: Of the largest value: how far `k(x, y)` and `k(y, x)` may be apart.
_ASYMMETRY = 1e-5
#: Of the largest value: how far the value of a pair may depend, by rounding, on the rows beside it.
_ROUNDING = 1e-3


class BlockKernel:
    """A kernel function with its arguments, whose results are checked before the engine gets them.

    Parameters
    ----------
    function : callable
        Takes two float64 arrays of shapes (a, n_features) and (b, n_features), gives an array of shape (a, b). Or takes
        two float64 arrays of shape (n_features,) and gives a number: such a function is called for every pair.
    parameters : mapping or None
        Keyword arguments for it.
    """

    def __init__(self, function: Callable[..., Any], parameters: Mapping[str, Any] | None) -> None:
        self.function = function
        self.parameters = dict(parameters or {})
        #: Whether the function takes two rows; None until it was called, which pickles and files do not hold.
        self._takes_rows: bool | None = None

    def __call__(self, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
        """Give the values of all pairs of rows as a contiguous array of float64."""
        if self._takes_rows is None:
            self._takes_rows = self._probe_form(_three(Y))
        return self._of_pairs(X, Y) if self._takes_rows else self._of_blocks(X, Y)

    def probe(self, matrix: np.ndarray) -> None:
        """Call the function with few rows: find out which of the two it takes, and refuse one that is not symmetric."""
        rows = _three(matrix)
        self._takes_rows = self._probe_form(rows)
        if self._takes_rows:
            values = np.array([[self._of_pair(x, y) for y in rows] for x in rows])
        else:
            values = self._of_blocks(rows, rows.copy())
        apart = np.abs(values - values.T)
        # As of a precomputed matrix; what is not finite is the engine's to tell.
        if apart.max(initial=0.0) > _ASYMMETRY * np.abs(values).max(initial=0.0):
            i, j = np.unravel_index(apart.argmax(), apart.shape)
            raise ValueError(
                f"the kernel function is not symmetric: of rows {i} and {j}, k(x, y) is {float(values[i, j])!r} and "
                f"k(y, x) is {float(values[j, i])!r}; rows count from 0"
            )

    def _probe_form(self, rows: np.ndarray) -> bool:
        """Tell whether the function takes two rows; blocks are tried first."""
        X, Y = rows[:2], rows
        failed: Exception | None = None
        try:
            values = np.asanyarray(self._call(X, Y))
            if values.shape == (2, 3):
                # Three rows of three features could be multiplied as if they were one matrix.
                if all(self._is_same_alone(X, Y, values, i) for i in (0, 1)):
                    return False
                blocks = "gave a pair of rows another value beside other rows than alone"
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
        """Tell whether a row of one block and the next of the other have the same value alone."""
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
        # Of a block with itself one triangle is enough.
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
    """Give the first three rows, the same again where there are fewer."""
    first = np.array(rows[:3], dtype=np.float64, order="C")
    return first[np.arange(3) % len(first)]


def _alike(one: Any, other: Any, values: np.ndarray) -> bool:
    """Tell whether two values of a kernel are equal but for rounding; what is no number is refused later."""
    if values.dtype.kind not in "fiub" or not (np.isfinite(one) and np.isfinite(other)):
        return True
    with np.errstate(invalid="ignore", over="ignore"):
        largest = np.nanmax(np.abs(values.astype(np.float64)))
    return bool(abs(float(one) - float(other)) <= _ROUNDING * largest)
