"""What the page of a fitted model says besides the numbers of the model."""

from __future__ import annotations

from typing import Any

from karhunen._shared.options import probability


def about(estimator: Any, X: Any, level: float, title: str | None) -> dict[str, Any]:
    """Return the title, the level, the call and the names of a page of `estimator` and the rows `X`."""
    chance = probability("level", level)
    if not isinstance(title, str | None):
        raise TypeError(f"title is a {type(title).__name__}; a str is needed")
    index = getattr(X, "index", None) if hasattr(X, "columns") else None
    rows = getattr(X, "row_ids", None) if index is None else index
    features = getattr(estimator, "feature_names_in_", None)
    columns = getattr(estimator, "column_ids_", None) if features is None else features
    return {
        "title": "Principal components" if title is None else title,
        "level": chance,
        # On one line, as a call that can be copied.
        "estimator": " ".join(repr(estimator).split()),
        "feature_names": None if columns is None else [str(name) for name in columns],
        "sample_names": None if rows is None else [str(name) for name in rows],
    }
