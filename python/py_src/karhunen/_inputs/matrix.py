"""Conversion of users' data to matrices of the engine: float32 or float64, dense of any strides, CSR or CSC.

Data that the engine can read in place are not copied; `docs/python.md` lists the conversions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.validation import check_array, validate_data

from karhunen import _core
from karhunen._inputs import tables
from karhunen._inputs.no_data import refuse_no_data
from karhunen._shared.arrays import Matrix
from karhunen._shared.standardization import in_order_of_labels
from karhunen._shared.warning import warn

#: Copies of more bytes than this cause a warning.
LARGE_COPY = 64 * 2**20

#: The counting rule in messages with row or column numbers.
COUNTED = "rows and columns count from 0"

_FLOATS = (np.float64, np.float32)


def to_matrix(estimator: BaseEstimator, X: Any, *, reset: bool, min_samples: int = 1) -> Matrix:
    """Check `X` and convert it to a matrix that the engine reads.

    Parameters
    ----------
    estimator : BaseEstimator
        Its ``n_features_in_`` and ``feature_names_in_`` are set if `reset`, and otherwise compared with `X`.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
        Numbers, or what :func:`tables.as_table` makes a table of.
    reset : bool
        True if the call is part of a fit.
    min_samples : int
        Minimum number of rows.

    Returns
    -------
    numpy array, or CSR or CSC matrix, of float32 or float64
        `X` itself if possible.
    """
    matrix = _converted(estimator, X, reset=reset, min_samples=min_samples)
    if reset:
        _warn_of_rounding(X, matrix)
    else:
        _refuse_counts(estimator, matrix)
    return matrix


def _converted(estimator: BaseEstimator, X: Any, *, reset: bool, min_samples: int) -> Matrix:
    """Return `X` as :func:`to_matrix` does, before its values are looked at."""
    checks = {
        "accept_sparse": ("csr", "csc"),
        "dtype": _FLOATS,
        "ensure_all_finite": False,  # the engine reports the first such entry
        "ensure_min_samples": min_samples,
    }
    if not _is_plain(X):
        X = dense_frame(tables.as_table(X), zeros_as_well=False)
        refuse_no_data(X)
        if tables.is_table(X):
            validate_data(estimator, X, reset=reset, skip_check_array=True)
            return check_array(tables.to_array(X), estimator=estimator, **checks)
        X = _as_array(X)
    if _is_plain(X) and len(X) >= min_samples and X.shape[1]:
        validate_data(estimator, X, reset=reset, skip_check_array=True)
        return _readable(X)
    given = X
    _refuse_dtype(X)
    X = _as_single(X)
    try:
        matrix = validate_data(estimator, X, reset=reset, **checks)
    except (TypeError, ValueError) as error:
        raise _name_entry(error, X) from None
    matrix = _readable_sparse(matrix) if sp.issparse(matrix) else _readable(matrix)
    _warn_of_large_copy(given, matrix)
    _warn_of_sorting(matrix)
    return matrix


def to_scores(estimator: BaseEstimator, X: Any) -> np.ndarray:
    """Check scores and convert them to an array of float32 or float64.

    Parameters
    ----------
    estimator : BaseEstimator
        Estimator named in errors.
    X : array-like of shape (n_samples, n_components)
        Finite numbers.

    Returns
    -------
    ndarray of shape (n_samples, n_components)
        `X` itself if possible.
    """
    if not _is_plain(X):
        X = tables.as_table(X)
        refuse_no_data(X)
        X = tables.to_array(X) if tables.is_table(X) else _as_array(X)
    if _is_plain(X) and len(X):
        scores = X
    else:
        _refuse_dtype(X)
        X = _as_single(X)
        # A model without components has no scores.
        checks = {"dtype": _FLOATS, "ensure_all_finite": False, "ensure_min_features": 0}
        scores = check_array(X, estimator=estimator, input_name="X", **checks)
    with np.errstate(over="ignore"):
        total = scores.sum()
    if not np.isfinite(total) and not np.isfinite(scores).all():
        row, column = np.argwhere(~np.isfinite(scores))[0]
        raise ValueError(
            f"row {row}, column {column} of the scores is {scores[row, column]}; they must be finite; {COUNTED}"
        )
    return _readable(scores)


def to_weights(name: str, weights: Any, n: int, axis: str) -> np.ndarray | None:
    """Convert weights to a contiguous float64 vector; the engine checks their values."""
    if weights is None:
        return None
    try:
        vector = np.asarray(weights)
        if vector.dtype.kind not in "fiubO" or np.ma.is_masked(weights):
            raise TypeError("values are masked" if np.ma.is_masked(weights) else f"the dtype is {vector.dtype}")
        if hasattr(getattr(weights, "dtype", None), "na_value"):
            # numpy sees nullable pandas types as objects, and pandas 1 needs the value for NA.
            vector = weights.to_numpy(np.float64, na_value=np.nan)
        vector = np.asarray(vector, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} cannot be read as numbers: {error}") from None
    if vector.ndim == 0:
        return np.full(n, vector.item())
    if vector.shape != (n,):
        has = f"{len(vector)} entries" if vector.ndim == 1 else f"shape {vector.shape}"
        raise ValueError(f"{name} has {has}; X has {n} {axis}")
    return vector


def to_row_weights(rows: Any, sample_weight: Any) -> np.ndarray | None:
    """Convert weights of the rows as :func:`to_weights`; by default the weights in the file of the rows."""
    if sample_weight is None and isinstance(rows, _core.FileTable):
        sample_weight = rows.weights
    return to_weights("sample_weight", sample_weight, rows.shape[0], "rows")


def tell_counts(weighting: str, weights: np.ndarray | None) -> None:
    """Warn of weights that are to count observations and are not whole numbers."""
    note = None if weights is None else _core.note_of_weights(weighting, weights)
    if note is not None:
        warn(note, UserWarning)


def to_feature_weights(estimator: BaseEstimator, feature_weight: Any, n: int) -> np.ndarray | None:
    """Convert weights of the columns as :func:`to_weights`, a Series in the order of the columns."""
    columns = getattr(estimator, "feature_names_in_", None)
    ordered = in_order_of_labels("feature_weight", feature_weight, columns)
    return to_weights("feature_weight", ordered, n, "columns")


def to_part_weights(feature_weight: Any) -> np.ndarray | None:
    """Convert weights of the columns of parts, whose number is known later, to a contiguous float64 vector."""
    if feature_weight is None:
        return None
    if np.ndim(feature_weight) != 1:
        raise ValueError("feature_weight has one weight for each column, in a vector")
    return to_weights("feature_weight", feature_weight, len(feature_weight), "columns")


def _is_plain(X: Any) -> bool:
    """Return whether `X` is an array of two dimensions that the engine may read in place, without further checks."""
    return type(X) is np.ndarray and X.dtype in _FLOATS and X.ndim == 2


def _as_array(X: Any) -> Any:
    """Convert lists and similar objects to arrays, data frames without columns to arrays without columns."""
    if sp.issparse(X) or hasattr(X, "dtype"):
        return X
    if hasattr(X, "iloc"):
        return X if X.shape[-1] else np.empty(X.shape)
    return np.asarray(X)


def sound(X: sp.csr_array | sp.csc_array) -> sp.csr_array | sp.csc_array:
    """Return a CSR or CSC matrix without room after its entries, which shares the arrays of `X`.

    Raises
    ------
    ValueError
        If indices or pointers lead out of the matrix: scipy's own conversions would read whatever memory holds.
    """
    view = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
    view.check_format(full_check=True)
    return view


def dense_frame(X: Any, *, zeros_as_well: bool) -> Any:
    """Convert a frame whose columns are all sparse to a dense one, if their fill values are not zero or in any case."""
    dtypes = list(X.dtypes) if hasattr(X, "iloc") and X.ndim == 2 else []
    if not dtypes or not all(type(dtype).__name__ == "SparseDtype" for dtype in dtypes):
        return X
    return X.sparse.to_dense() if zeros_as_well or any(dtype.fill_value != 0 for dtype in dtypes) else X


def mean_of(values: np.ndarray, name: str, weights: np.ndarray | None) -> float:
    """Return the mean of values under weights; values of weight zero do not count."""
    if weights is None:
        return float(np.mean(values))
    refused = ~(np.isfinite(weights) & (weights >= 0.0))
    if refused.any():
        at = int(refused.argmax())
        value = "NaN" if np.isnan(weights[at]) else f"{weights[at]:g}"
        raise ValueError(f"{name}[{at}] is {value}; a weight must be finite and not negative")
    if len(weights) and not weights.any():
        raise ValueError(f"{name}: all {len(weights)} entries are zero; at least one must be positive")
    counted = weights > 0.0
    return float(np.average(values[counted], weights=weights[counted]))


def _as_single(X: Any) -> Any:
    """Convert float32 in the other byte order, which scikit-learn does not recognise, and float16, to float32."""
    if isinstance(X, np.ndarray) and X.dtype.newbyteorder("=") in (np.float32, np.float16):
        return X.astype(np.float32, copy=False)
    if hasattr(X, "iloc") and len(X.columns) and all(dtype == np.float16 for dtype in X.dtypes):
        return X.astype(np.float32)
    return X


def _refuse_dtype(X: Any) -> None:
    """Refuse data without an exact float64 or float32 representation."""
    if np.ma.isMaskedArray(X) and np.ma.is_masked(X):
        raise ValueError("X is a masked array with masked values; PCA needs every value: fill them, or drop rows")
    dtypes = [(None, X.dtype)] if hasattr(X, "dtype") else getattr(X, "dtypes", {}).items()
    for name, dtype in dtypes:
        what = "X" if name is None else f"column {name!r}"
        kind = getattr(dtype, "kind", "O")
        if kind == "c":
            raise ValueError(f"Complex data not supported: {what} has dtype {dtype}; analyse real and imaginary part")
        # Nullable and sparse pandas columns hold numbers of a numpy dtype.
        inner = getattr(dtype, "numpy_dtype", getattr(dtype, "subtype", dtype))
        if (kind == "f" and np.dtype(inner).itemsize not in (2, 4, 8)) or kind in "SUMmVT":
            raise ValueError(
                f"{what} has dtype {dtype}; {tables.ALLOWED}: convert it with X.astype('float64') if that is what "
                f"you want{f'; {tables.CATEGORIES}' if name is not None and kind in 'SUMmT' else ''}"
            )


def _name_entry(error: TypeError | ValueError, X: Any) -> TypeError | ValueError:
    """Add row and column of the first entry that is not a number to a conversion error."""
    is_frame = hasattr(X, "iloc") and X.ndim == 2
    if not is_frame and not (isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype == object):
        return error
    for j in range(X.shape[1]):
        for i, value in enumerate(X.iloc[:, j] if is_frame else X[:, j]):
            try:
                np.fromiter([value], dtype=object).astype(np.float64)
            except (TypeError, ValueError) as failure:
                reason: Any = failure
                if type(value).__name__ == "NAType":
                    reason = "a missing value, NA, in a column of objects; convert the column with .astype('Float64')"
                elif np.ndim(value) > 0:
                    reason = f"the value is of the type {type(value).__name__}"
                name = f" ({str(X.columns[j])!r})" if is_frame else ""
                # scikit-learn's estimator checks require a TypeError for objects in arrays.
                kind = ValueError if is_frame else type(error)
                advice = f"; {tables.CATEGORIES}" if is_frame else ""
                return kind(f"row {i}, column {j}{name}: {reason}; {COUNTED}{advice}")
    return error


def _readable(X: np.ndarray) -> np.ndarray:
    """Copy an array if its values are not aligned, such as a field of a packed record."""
    if X.flags.aligned and all(stride % X.itemsize == 0 for stride in X.strides):
        return X
    return np.array(X, order="K", copy=True, subok=False)


def _readable_sparse(X: sp.csr_array | sp.csc_array) -> sp.csr_array | sp.csc_array:
    """Copy a matrix if its arrays are longer than its pointers state, or not contiguous."""
    if X.indices.dtype not in (np.int32, np.int64) or X.indptr.dtype != X.indices.dtype:
        X = type(X)((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
    contiguous = all(array.flags.c_contiguous for array in (X.data, X.indices, X.indptr))
    if contiguous and len(X.data) == len(X.indices) == X.indptr[-1]:
        return X
    X = X.copy()
    X.prune()
    return X


def _warn_of_large_copy(given: Any, read: Any) -> None:
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
        warn(
            f"X ({form}) was copied to {to}, which took {size / 1e6:.0f} MB; pass it in that form to save the memory",
            DataConversionWarning,
        )


def _refuse_counts(estimator: BaseEstimator, matrix: Any) -> None:
    """Refuse whole numbers for a model whose counts were normalised as they were read from their file."""
    target = getattr(estimator, "_columns_of_file", {}).get("log1p")
    if target is None:
        return
    values = matrix.data if sp.issparse(matrix) else matrix
    if values.any() and (values >= 0).all() and (values == np.rint(values)).all():
        raise ValueError(
            f"X holds counts, and {type(estimator).__name__} was fitted to counts divided by the sum of their row, "
            f"times {target:g}, then ln(1 + x); normalise X so, or pass the file of the counts"
        )


#: The first whole number whose successor float64 lacks.
_BEYOND_WHOLE = 2.0**53


def _warn_of_rounding(given: Any, matrix: Any) -> None:
    """Warn of whole numbers that float64 rounds."""
    if _is_plain(given):
        return
    if hasattr(given, "dtype"):
        dtypes = [given.dtype]
    elif isinstance(given, (list, tuple)):
        dtypes = [np.asarray(given).dtype]
    elif hasattr(given, "iloc") or tables.is_table(given):
        dtypes = list(given.dtypes) if hasattr(given, "dtypes") else given.schema.types
    else:
        return
    if not any("int64" in str(dtype).lower() for dtype in dtypes):
        return
    values = matrix.data if sp.issparse(matrix) else matrix
    if np.abs(values).max(initial=0.0) >= _BEYOND_WHOLE:
        warn(
            "X holds whole numbers of 2**53 and more, which float64 rounds, so that small differences are lost; "
            "subtract a constant from such columns before the fit",
            UserWarning,
        )


def _warn_of_sorting(matrix: Any) -> None:
    """Warn of a large matrix with unsorted entries, of which every call sorts a copy."""
    if not sp.issparse(matrix):
        return
    size = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes
    if size > LARGE_COPY and not matrix.has_canonical_format:
        warn(
            f"X ({matrix.format}) holds indices that are not in order, or repeated: each call sorts a copy of "
            f"{size / 1e6:.0f} MB; call X.sum_duplicates() once to save the memory",
            DataConversionWarning,
        )
