"""What users pass, as what the engine reads: float32 or float64, dense of any strides, CSR or CSC.

Nothing is copied that the engine can read where it lies; `docs/python.md` lists what is converted.
"""

from __future__ import annotations

import warnings
from importlib import import_module
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_array, validate_data

#: A conversion that takes more bytes than this is told to the user.
LARGE_COPY = 64 * 2**20

_FLOATS = (np.float64, np.float32)


def to_matrix(
    estimator: BaseEstimator, X: Any, *, reset: bool, min_samples: int = 1
) -> np.ndarray | sp.csr_array | sp.csc_array:
    """Check `X` and give it in a form that the engine reads.

    Parameters
    ----------
    estimator : BaseEstimator
        Gets ``n_features_in_`` and ``feature_names_in_`` if `reset`, is held to them otherwise.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
        Numbers.
    reset : bool
        Whether this is a fit.
    min_samples : int
        How many rows are needed.

    Returns
    -------
    numpy array, or CSR or CSC matrix, of float32 or float64
        `X` itself wherever possible.
    """
    checks = {
        "accept_sparse": ("csr", "csc"),
        "dtype": _FLOATS,
        "ensure_all_finite": False,  # the engine finds what is not, and where
        "ensure_min_samples": min_samples,
    }
    if type(X) is np.ndarray and X.dtype in _FLOATS and X.ndim == 2 and len(X) >= min_samples and X.shape[1]:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return _readable(X)
    X = _batch_as_table(X)
    table = _columns_of(X)
    if table is not None:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return check_array(table, estimator=estimator, **checks)
    if not sp.issparse(X) and not hasattr(X, "dtype") and not hasattr(X, "iloc"):
        X = np.asarray(X)
    _refuse_dtype(X)
    matrix = validate_data(estimator, X, reset=reset, **checks)
    matrix = _readable_sparse(matrix) if sp.issparse(matrix) else _readable(matrix)
    _tell_large_copy(X, matrix)
    return matrix


def to_weights(name: str, weights: Any, n: int, axis: str) -> np.ndarray | None:
    """Give weights as a contiguous vector of float64; their values are the engine's to judge."""
    if weights is None:
        return None
    vector = np.ascontiguousarray(weights, dtype=np.float64)
    if vector.ndim == 0:
        return np.full(n, vector.item())
    if vector.shape != (n,):
        raise ValueError(f"{name} has shape {vector.shape}, but X has {n} {axis}: expected ({n},)")
    return vector


def name_column(error: ValueError, names: Any) -> ValueError:
    """Add the name of the column to an error that names its number."""
    column = getattr(error, "column", None)
    if column is None:
        return error
    where = f"column {column}"
    message = str(error)
    if names is not None:
        message = message.replace(where, f"{where} ({str(names[column])!r})", 1)
    return ValueError(message)


def _columns_of(X: Any) -> np.ndarray | None:
    """Collect the columns of a polars or pyarrow table in one array, in Fortran order as they are stored."""
    kind = type(X)
    if kind.__module__.partition(".")[0] == "polars" and kind.__name__ == "DataFrame":
        columns = {name: X.get_column(name).to_numpy() for name in X.columns}
    elif kind.__module__.partition(".")[0] == "pyarrow" and kind.__name__ == "Table":
        columns = {name: X.column(i).to_numpy() for i, name in enumerate(X.column_names)}
    else:
        return None
    for name, column in columns.items():
        if column.dtype.kind not in "fiub" or (column.dtype.itemsize == 2 and column.dtype.kind == "f"):
            raise ValueError(f"column {name!r} has dtype {column.dtype}; only numbers can be analysed")
    dtype = np.float32 if columns and all(c.dtype == np.float32 for c in columns.values()) else np.float64
    table = np.empty((X.shape[0], len(columns)), dtype=dtype, order="F")
    for j, column in enumerate(columns.values()):
        table[:, j] = column
    return table


def _batch_as_table(X: Any) -> Any:
    """Give a record batch of pyarrow as a table, which scikit-learn knows; nothing is copied."""
    kind = type(X)
    if kind.__module__.partition(".")[0] == "pyarrow" and kind.__name__ == "RecordBatch":
        return import_module("pyarrow").Table.from_batches([X])
    return X


def _refuse_dtype(X: Any) -> None:
    """Refuse what has no faithful float64 or float32."""
    if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
        raise ValueError("X is a masked array with masked values; PCA needs every value: fill them, or drop rows")
    dtypes = {"X": X.dtype} if hasattr(X, "dtype") else dict(getattr(X, "dtypes", {}))
    for name, dtype in dtypes.items():
        what = "X" if name == "X" else f"column {name!r}"
        kind = getattr(dtype, "kind", "O")
        if kind == "c":
            raise ValueError(f"Complex data not supported: {what} has dtype {dtype}; analyse real and imaginary part")
        if (kind == "f" and np.dtype(getattr(dtype, "numpy_dtype", dtype)).itemsize not in (4, 8)) or kind in "SUMmV":
            raise ValueError(
                f"{what} has dtype {dtype}; float32 and float64 are analysed as they are, integers and booleans "
                "as float64: convert it with X.astype('float64') if that is what you want"
            )


def _readable(X: np.ndarray) -> np.ndarray:
    """Copy an array whose values are not aligned, such as a field of a packed record."""
    if X.flags.aligned and all(stride % X.itemsize == 0 for stride in X.strides):
        return X
    return np.array(X, order="K", copy=True, subok=False)


def _readable_sparse(X: sp.csr_array | sp.csc_array) -> sp.csr_array | sp.csc_array:
    """Copy a matrix whose arrays are longer than its pointers say, or do not lie side by side."""
    contiguous = all(array.flags.c_contiguous for array in (X.data, X.indices, X.indptr))
    if contiguous and len(X.data) == len(X.indices) == X.indptr[-1]:
        return X
    X = X.copy()
    X.prune()
    return X


def _tell_large_copy(given: Any, read: Any) -> None:
    """Warn if reading `given` took a large copy that the user could have avoided."""
    if read is given or not hasattr(given, "dtype"):
        return
    if sp.issparse(read):
        size = read.data.nbytes + read.indices.nbytes + read.indptr.nbytes
        shared = given.format == read.format and np.may_share_memory(given.data, read.data)
        form = f"{given.format} of {given.dtype}"
    else:
        size, shared, form = read.nbytes, np.may_share_memory(given, read), f"{given.dtype}"
    if size > LARGE_COPY and not shared:
        to = f"{read.format} of {read.dtype}" if sp.issparse(read) else f"{read.dtype}"
        warnings.warn(
            f"X ({form}) was copied to {to}, which took {size / 1e6:.0f} MB; pass it in that form to save the memory",
            DataConversionWarning,
            stacklevel=5,
        )
