"""Columns of tables, standardised numbers, and indicators of categories."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from karhunen._inputs import tables
from karhunen._shared.arrays import FloatArray
from karhunen._shared.labels import in_order, is_known

#: The category of rows whose value is missing.
MISSING = "missing"


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
            return np.asarray(self.series, dtype=np.float64)
        if hasattr(getattr(dtype, "categories", None), "tolist"):
            return None
        known = [value for value in self.values if is_known(value)]
        if not known or not all(_is_number(value) for value in known):
            return None
        return np.array([float(value) if is_known(value) else np.nan for value in self.values])


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating, Decimal)) and not isinstance(value, bool)


def columns_of(X: Any) -> list[Column]:
    """Return the columns of a table.

    Parameters
    ----------
    X : dataframe of any library, query, stream, or array-like of shape (n_samples, n_features)
        Table.

    Raises
    ------
    ValueError
        If `X` is no table, or two columns have one name.
    """
    table = tables.as_table(X)
    if tables.is_table(table):
        is_polars = hasattr(table, "to_series")
        names = table.columns if is_polars else table.column_names
        series = [table.to_series(j) if is_polars else table.column(j) for j in range(len(names))]
    elif hasattr(table, "iloc") and hasattr(table, "columns"):
        names = list(table.columns)
        series = [table.iloc[:, j] for j in range(len(names))]
    else:
        array = _as_array(table)
        names = [f"x{j}" for j in range(array.shape[1])]
        series = list(array.T)
    found = [Column.of(name, column) for name, column in zip(names, series, strict=True)]
    twice = [name for name, count in Counter(column.name for column in found).items() if count > 1]
    if twice:
        raise ValueError(f"two columns are named {twice[0]!r}; rename one")
    n = len(found[0].values) if found else 0
    if n == 0:
        raise ValueError(f"X has {n} rows and {len(found)} columns; it has no values")
    return found


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


@dataclass(frozen=True)
class Variable:
    """A variable of categories.

    Attributes
    ----------
    name : str
        Its name.
    categories : list
        The categories; the last is "missing" if `has_missing`.
    has_missing : bool
        True if rows of the fit lacked a value.
    """

    name: str
    categories: list[Any]
    has_missing: bool

    @classmethod
    def of(cls, column: Column) -> Variable:
        """Find the categories of a column."""
        known = [value for value in column.values if is_known(value)]
        categories = in_order(column.series, known, f"column {column.name!r}")
        has_missing = len(known) < len(column.values)
        if has_missing:
            label = MISSING
            while label in categories:
                label += "_"
            categories = [*categories, label]
        return cls(column.name, categories, has_missing)

    def codes(self, column: Column) -> NDArray[np.int64]:
        """Return the number of the category of each row.

        Raises
        ------
        ValueError
            If a row has a category, or lacks a value, that no row of the fit had or lacked.
        """
        # A text that reads like the category of missing values is another category.
        known = self.categories[:-1] if self.has_missing else self.categories
        place = {category: at for at, category in enumerate(known)}
        missing = len(known) if self.has_missing else -1
        found = (place.get(value, -1) if is_known(value) else missing for value in column.values)
        codes = np.fromiter(found, np.int64, len(column.values))
        unknown = np.flatnonzero(codes < 0)
        if len(unknown) > 0:
            row = int(unknown[0])
            value = column.values[row]
            what = "lacks a value; none of the fit did"
            if is_known(value):
                what = f"is {value!r}, which no row of the fit was"
            shown = ", ".join(map(repr, self.categories[:8])) + (", ..." if len(self.categories) > 8 else "")
            raise ValueError(f"column {self.name!r}: row {row} {what}; its categories are {shown}")
        return codes


@dataclass(frozen=True)
class Encoding:
    """The columns of a fit, and how rows become a matrix.

    Attributes
    ----------
    names : list of str
        Names of all columns.
    numbers : list of str
        Names of the columns of numbers.
    centre, deviation : ndarray of shape (n_numbers,)
        Their weighted means and standard deviations, with divisor the sum of the weights.
    variables : list of Variable
        The variables of categories, in the order of the columns.
    """

    names: list[str]
    numbers: list[str]
    centre: FloatArray
    deviation: FloatArray
    variables: list[Variable]

    @property
    def category_names(self) -> list[str]:
        """Names such as "Class=1st"."""
        return [f"{variable.name}={category}" for variable in self.variables for category in variable.categories]

    @property
    def starts(self) -> NDArray[np.int64]:
        """The first category of each variable, and the number of categories."""
        return np.cumsum([0, *(len(variable.categories) for variable in self.variables)])

    def matrix(self, columns: Sequence[Column]) -> sp.csr_matrix:
        """Return the standardised numbers, and a column for each category, one where a row has it.

        Raises
        ------
        ValueError
            If the columns are not those of the fit, a number is missing or infinite, or a category is new.
        """
        names = [column.name for column in columns]
        if names != self.names:
            at = next((j for j, pair in enumerate(zip(names, self.names, strict=False)) if pair[0] != pair[1]), None)
            difference = "" if at is None else f"; column {at} is {names[at]!r}, and was {self.names[at]!r}"
            raise ValueError(f"X has {len(names)} columns, the fit had {len(self.names)}{difference}")
        are_numbers = set(self.numbers)
        numbers = [_finite(column) for column in columns if column.name in are_numbers]
        others = [column for column in columns if column.name not in are_numbers]
        pairs = zip(self.variables, others, strict=True)
        indices = np.column_stack([variable.codes(column) for variable, column in pairs]) + self.starts[:-1]
        n, q = indices.shape
        pointers = np.arange(0, n * q + 1, q)
        found = sp.csr_matrix((np.ones(n * q), indices.ravel(), pointers), shape=(n, int(self.starts[-1])))
        if not numbers:
            return found
        standardised = (np.column_stack(numbers) - self.centre) / self.deviation
        return sp.hstack([sp.csr_matrix(standardised), found], format="csr")


def _finite(column: Column) -> FloatArray:
    values = column.numbers()
    if values is None:
        row = next((i for i, value in enumerate(column.values) if is_known(value) and not _is_number(value)), 0)
        raise ValueError(f"column {column.name!r}: row {row} is {column.values[row]!r}, and the fit had numbers there")
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong) > 0:
        raise ValueError(
            f"column {column.name!r}: row {wrong[0]} is {values[wrong[0]]}; complete the numbers first, for example "
            "with karhunen.completion, or leave such rows out"
        )
    return values


def standards(columns: Sequence[Column], shares_of: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the weighted means and standard deviations of columns of numbers.

    Raises
    ------
    ValueError
        If a number is missing or infinite, or a column is constant.
    """
    centre, deviation = np.zeros(len(columns)), np.ones(len(columns))
    for j, column in enumerate(columns):
        values = _finite(column)
        with_weight = values[shares_of > 0]
        # A reference near the mean keeps the digits of values far from zero.
        about = values - with_weight[0]
        moved = float(shares_of @ about)
        centre[j], deviation[j] = with_weight[0] + moved, np.sqrt(shares_of @ (about - moved) ** 2)
        if np.ptp(with_weight) == 0:
            raise ValueError(f"column {column.name!r} is constant; leave it out")
    return centre, deviation
