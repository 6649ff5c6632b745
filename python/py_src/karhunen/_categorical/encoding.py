"""Columns of tables as the engine reads them: numbers, or codes and the names of categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from karhunen._inputs import tables
from karhunen._shared.arrays import FloatArray
from karhunen._shared.labels import in_order, is_known

#: A column of the engine: its name, and the numbers of the rows; or their codes, -1 where a row lacks a value, and the
#: names of the categories.
EngineColumn: TypeAlias = tuple[str, FloatArray | NDArray[np.int64], list[str] | None]


@dataclass(frozen=True)
class Column:
    """A column of a table.

    Attributes
    ----------
    name : str
        Its name, or x0, x1, ... of a table without names.
    values : list
        Its values.
    series : Any
        The column as its library has it, whose dtype may have an order.
    """

    name: str
    values: list[Any]
    series: Any

    @classmethod
    def of(cls, name: Any, series: Any) -> Column:
        """Collect the values of a column of any library."""
        if hasattr(series, "to_pylist"):
            values = series.to_pylist()
        elif hasattr(series, "to_list"):
            values = series.to_list()
        else:
            values = series.tolist()
        return cls(str(name), values, series)

    def numbers(self) -> FloatArray | None:
        """Return the values as float64, NaN where missing; None if they are categories."""
        dtype = getattr(self.series, "dtype", None)
        if isinstance(dtype, np.dtype) and dtype.kind in "iuf":
            return np.ascontiguousarray(self.series, dtype=np.float64)
        if hasattr(getattr(dtype, "categories", None), "tolist"):
            return None
        known = [value for value in self.values if is_known(value)]
        if not known or not all(_is_number(value) for value in known):
            return None
        return np.array([float(value) if is_known(value) else np.nan for value in self.values])

    def of_numbers(self) -> EngineColumn:
        """Return the column with its numbers.

        Raises
        ------
        ValueError
            If a row has another value.
        """
        values = self.numbers()
        if values is None:
            wrong = (i for i, value in enumerate(self.values) if is_known(value) and not _is_number(value))
            row = next(wrong, 0)
            raise ValueError(
                f"column {self.name!r}: row {row} is {self.values[row]!r}, and the fit had numbers there; rows count "
                "from 0"
            )
        return self.name, values, None

    def categories(self) -> list[Any]:
        """Return the categories of the rows, in the order of a pandas categorical or sorted.

        Raises
        ------
        ValueError
            If a value cannot be compared.
        """
        return in_order(self.series, [value for value in self.values if is_known(value)], f"column {self.name!r}")

    def of_categories(self, categories: Sequence[Any]) -> EngineColumn:
        """Return the column with the codes of its values.

        Parameters
        ----------
        categories : sequence
            Categories of the column, or of the column of a fit. A value belongs to the category that it equals, or
            whose name it reads as, because model files hold names alone. Other values become categories after these.

        Raises
        ------
        ValueError
            If a value cannot be compared.
        """
        places: dict[Any, int] = {category: place for place, category in enumerate(categories)}
        names = [f"{category}" for category in categories]
        places_of_names = {name: place for place, name in enumerate(names)}
        codes = np.empty(len(self.values), dtype=np.int64)
        for row, value in enumerate(self.values):
            try:
                place = places.get(value)
            except TypeError:
                raise ValueError(
                    f"column {self.name!r}: row {row} is {value!r}, which is not a category; give text or numbers"
                ) from None
            if place is None and is_known(value):
                readings = _readings(value)
                known = (places_of_names[name] for name in readings if name in places_of_names)
                place = next(known, len(names))
                if place == len(names):
                    names.append(readings[0])
                    places_of_names[readings[0]] = place
                places[value] = place
            codes[row] = -1 if place is None else place
        return self.name, codes, names


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating, Decimal)) and not isinstance(value, bool)


def _readings(value: Any) -> list[str]:
    """Return the texts of a value in files: Booleans and whole numbers are written in several ways."""
    text = f"{value}"
    if isinstance(value, (bool, np.bool_)):
        return [text, text.lower(), text.upper()]
    if isinstance(value, (int, np.integer)):
        return [text, f"{text}.0"]
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        return [text, f"{int(value)}"]
    return [text]


def columns_of(X: Any) -> tuple[list[Column], bool]:
    """Return the columns of a table, and whether they have names of their own.

    Parameters
    ----------
    X : dataframe of any library, query, stream, or array-like of shape (n_samples, n_features)
        Table.

    Raises
    ------
    ValueError
        If `X` is not a table, or two columns have the same name.
    """
    table = tables.as_table(X)
    has_names = True
    if tables.is_table(table):
        is_polars = hasattr(table, "to_series")
        names = table.columns if is_polars else table.column_names
        series = [table.to_series(j) if is_polars else table.column(j) for j in range(len(names))]
    elif hasattr(table, "iloc") and hasattr(table, "columns"):
        names = list(table.columns)
        series = [table.iloc[:, j] for j in range(len(names))]
    else:
        array, has_names = _as_array(table), False
        names = [f"x{j}" for j in range(array.shape[1])]
        series = list(array.T)
    found = [Column.of(name, column) for name, column in zip(names, series, strict=True)]
    twice = [name for name, count in Counter(column.name for column in found).items() if count > 1]
    if twice:
        raise ValueError(f"two columns are named {twice[0]!r}; rename one")
    n = len(found[0].values) if found else 0
    if n == 0:
        raise ValueError(f"X has {n} rows and {len(found)} columns; it has no values")
    return found, has_names


def _as_array(X: Any) -> NDArray[Any]:
    expected = "give a table of pandas, polars or pyarrow, or an array with one column for each variable"
    if sp.issparse(X):
        raise ValueError(f"X is a sparse matrix; {expected}")
    try:
        array = X if isinstance(X, np.ndarray) else np.asarray(X, dtype=object)
    except ValueError:
        raise ValueError(f"the rows of X differ in length; {expected}") from None
    if array.ndim != 2:
        raise ValueError(f"X is a {type(X).__name__} of {array.ndim} axes; {expected}")
    return array


class _Former:
    """A part of pickles from before the engine had these analyses; the estimator that holds it is refused."""


def __getattr__(name: str) -> Any:
    """Return a class for the names in such pickles."""
    if name in ("Encoding", "Variable"):
        return _Former
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
