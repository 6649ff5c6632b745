"""Texts of the page of a fitted model: its title, its names and the call that repeats it."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator

from karhunen import _core
from karhunen._inputs.matrix import to_weights
from karhunen._shared.options import probability


def write_page(
    estimator: Any,
    path: str | os.PathLike[str],
    rows: Any,
    texts: dict[str, Any],
    model: Any = None,
    sample_weight: Any = None,
) -> Path:
    """Write the page of a fitted estimator and of rows, if there are any.

    The page is of `model`, or of the engine's model of the estimator.
    """
    if sample_weight is not None:
        if rows is None:
            raise ValueError("sample_weight needs X: weights are of rows")
        texts = {**texts, "sample_weight": to_weights("sample_weight", sample_weight, rows.shape[0], "rows")}
    file = Path(path)
    shown = estimator._model_now() if model is None else model
    with estimator._call() as draw:
        _core.write_report(shown, os.fspath(file), texts, rows, estimator.n_threads, draw)
    return file


def about(estimator: Any, X: Any, level: float | None, title: str | None) -> dict[str, Any]:
    """Return the title, the level, the call and the names of a page of `estimator` and the rows `X`."""
    if level is not None and X is None:
        raise ValueError(f"level = {level} needs X: limits are of rows")
    chance = 0.95 if level is None else probability("level", level)
    if not isinstance(title, str | None):
        raise TypeError(f"title is a {type(title).__name__}; a str is needed")
    index = X.index if hasattr(type(X), "iloc") else None
    rows = getattr(X, "row_ids", None) if index is None else index
    features = getattr(estimator, "feature_names_in_", None)
    columns = getattr(estimator, "column_ids_", None) if features is None else features
    return {
        "title": "Principal components" if title is None else title,
        "level": chance,
        "sample_weight": None,
        "log1p": getattr(estimator, "_columns_of_file", {}).get("log1p"),
        # On one line, as a call that can be copied.
        "estimator": " ".join(BaseEstimator.__repr__(estimator).split()),
        "feature_names": None if columns is None else [str(name) for name in columns],
        "sample_names": None if rows is None else [str(name) for name in rows],
    }
