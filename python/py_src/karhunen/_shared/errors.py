"""Errors of the engine in the user's terms."""

from __future__ import annotations

from typing import Any


def repeated_pair(error: ValueError) -> tuple[int, int] | None:
    """Return row and column of an entry given more than once, if an error reports one."""
    if "more than once" not in str(error):
        return None
    row, column = (getattr(error, name) for name in ("row", "column"))
    return row, column


def name_column(error: ValueError, names: Any) -> ValueError:
    """Add the name of the column to an error that gives its number."""
    column = getattr(error, "column", None)
    if column is None:
        return error
    where = f"column {column}"
    message = str(error)
    if names is not None:
        message = message.replace(where, f"{where} ({str(names[column])!r})", 1)
    return ValueError(message)
