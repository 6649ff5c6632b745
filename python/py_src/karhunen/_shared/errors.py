"""Errors of the engine in the user's terms."""

from __future__ import annotations

from typing import Any


def a_kind(found: Any) -> str:
    """Return the type of an object with its article: a PCA, an IncompletePCA."""
    name = type(found).__name__
    return f"{'an' if name[0] in 'AEIOU' else 'a'} {name}"


def repeated_pair(error: ValueError) -> tuple[int, int] | None:
    """Return row and column of an entry given more than once, if an error reports one."""
    if not getattr(error, "is_repeated", False):
        return None
    row, column = (getattr(error, name) for name in ("row", "column"))
    return row, column


def name_column(error: ValueError, names: Any) -> ValueError:
    """Add the name of the column to an error that gives its number; without names, return the error unchanged."""
    column = getattr(error, "column", None)
    if column is None or names is None:
        return error
    template: str = getattr(error, "template", str(error))
    return ValueError(template.replace("{name}", repr(str(names[column])), 1))
