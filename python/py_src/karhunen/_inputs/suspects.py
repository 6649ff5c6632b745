"""Columns that are probably no features."""

from __future__ import annotations

from typing import Any

import numpy as np

from karhunen import _core
from karhunen._shared.warning import warn


def tell_suspects(estimator: Any, rows: Any) -> None:
    """Warn of columns of a fit that are probably ids, counters of rows or classes, and of a symmetric table.

    Only tables whose columns have names are looked at, of rows that are held densely in memory.

    Parameters
    ----------
    estimator : BaseEstimator
        Has ``feature_names_in_`` if the columns have names.
    rows : ndarray, sparse matrix, FileTable or RowSource
        The rows of the fit.
    """
    names = getattr(estimator, "feature_names_in_", None)
    if names is None or not isinstance(rows, (np.ndarray, _core.FileTable)):
        return
    of_file = " (karhunen.read(path, labels=...))" if isinstance(rows, _core.FileTable) else ""
    for text in _core.suspect_columns(rows, [str(name) for name in names], f"leave the column out{of_file}"):
        warn(text, UserWarning)
