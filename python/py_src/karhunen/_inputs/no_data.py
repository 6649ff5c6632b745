"""Refusal of objects that are not arrays or tables, with advice for their conversion."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from typing import Any

import scipy.sparse as sp
from sklearn.base import BaseEstimator

#: Library, end of the type's name, description, advice. No library is imported for the test.
_WAYS = (
    (
        "anndata",
        "AnnData",
        "an AnnData",
        "its matrix, X.X, or one of its layers, X.layers['name']; karhunen.anndata.pca(X) computes scanpy's results",
    ),
    (
        "anndata",
        "Dataset",
        "a sparse matrix that AnnData left in its file",
        "X.to_memory(), or to PCA karhunen.RowBlocks.from_array(X)",
    ),
    ("mudata", "MuData", "a MuData", "the matrix of one modality, X['name'].X"),
    ("pyspark", "DataFrame", "a Spark frame, whose values are elsewhere", "X.toPandas()"),
    ("xarray", "Dataset", "an xarray Dataset", "one of its variables, X['name']"),
    ("h5py", "File", "an HDF5 file", "one of its datasets, X['name']"),
    ("h5py", "Group", "a group of an HDF5 file", "one of its datasets, X['name']"),
    ("zarr", "Group", "a zarr group", "one of its arrays, X['name']"),
    ("numpy", "NpzFile", "an archive of arrays", "one of them, X['name']"),
    ("karhunen", "Observed", "an Observed, whose entries may be missing", "it to IncompletePCA, or a table"),
    ("karhunen", "RowBlocks", "a RowBlocks, which PCA and IncompletePCA read", "np.concatenate(list(blocks()))"),
    ("scipy", "LinearOperator", "a LinearOperator, which has no entries", "the matrix itself"),
)
#: Python types, description, advice.
_TYPES = (
    (
        (str, bytes, os.PathLike),
        "a text or path",
        "what the file holds: np.load(X), pandas.read_csv(X), ...; the command line reads files, `karhunen fit FILE`",
    ),
    (io.IOBase, "an open file", "what it holds: np.load(X), pandas.read_csv(X), ..."),
    (Iterator, "an iterator, which gives its rows only once", "list(X)"),
    (Mapping, "a mapping", "a table of its columns, pandas.DataFrame(X)"),
)


def refuse_no_data(X: Any) -> None:
    """Refuse objects that numpy would convert to an array of one object.

    Parameters
    ----------
    X : object
        Object passed as data.

    Raises
    ------
    ValueError
        With a description of the object and the advice.
    """
    if sp.issparse(X):
        return  # A DOK matrix is also a dict.
    kind = type(X)
    library = kind.__module__.partition(".")[0]
    for of, ending, what, way in _WAYS:
        if library == of and kind.__name__.endswith(ending):
            raise ValueError(f"X is {what}; pass {way}")
    if isinstance(X, BaseEstimator):
        raise ValueError(f"X is an estimator ({kind.__name__}); pass rows of numbers, an array or a table")
    for types, what, way in _TYPES:
        if isinstance(X, types):
            raise ValueError(f"X is {what} ({kind.__name__}); pass {way}")
