"""Columns that colour rows: of the table of the features, or of a separate one."""

from __future__ import annotations

from typing import Any

from karhunen._inputs import tables
from karhunen.plot._parts import fitted_model


def separate(pca: Any, X: Any, color_by: Any, data: Any = None, source: str = "X") -> tuple[Any, Any]:
    """Return rows with all of their columns, and with the columns of the fit alone.

    Parameters
    ----------
    pca : fitted model or Rotation
        Its features have names if it was fitted to columns with names.
    X : array-like or dataframe
        Rows. If `color_by` is the name of a column, other columns than the features may be there.
    color_by, data
        As of :func:`karhunen.plot.scores`.
    source : str
        Name of `X` in messages.

    Returns
    -------
    rows, features : object
        Both are `X` if there are no other columns. Queries and streams become tables.

    Raises
    ------
    ValueError
        If `color_by` is the name of no column.
    """
    if not isinstance(color_by, str):
        return X, X
    X = tables.as_table(X)
    names = tables.names_of(X)
    if color_by not in names:
        if names and data is None:
            values_of(color_by, X, None, len(X), source)
        return X, X
    features = _features_of(pca, names, color_by)
    is_part = len(features) < len(names) and set(features) <= set(names)
    return X, tables.with_columns(X, features) if is_part else X


def values_of(name: str, X: Any, data: Any, n: int, source: str) -> Any:
    """Return a column of `data`, or of the rows `X`, called `source` in messages.

    Raises
    ------
    ValueError
        If neither has the column.
    """
    for table in (tables.as_table(data), X):
        if name in tables.names_of(table):
            return table[name]
    known = tables.names_of(X if data is None else data)
    listed = ", ".join(repr(str(column)) for column in known[:8]) + (", ..." if len(known) > 8 else "")
    what = source if data is None else "data"
    has = f"; {what} has no such column, it has {listed}" if known else ""
    raise ValueError(
        f"color_by is {name!r}{has}; give one value for each of the {n} rows of {source}, or a table with that column "
        "as data"
    )


def _features_of(pca: Any, names: list[Any], color_by: str) -> list[Any]:
    """Return the names of the features; without any, all columns are features, or all but the one that colours."""
    model = pca._pca if fitted_model.is_rotated(pca) else pca
    features = getattr(model, "feature_names_in_", None)
    if features is not None:
        return list(features)
    is_extra = len(names) == model.n_features_in_ + 1
    return [name for name in names if name != color_by] if is_extra else names
