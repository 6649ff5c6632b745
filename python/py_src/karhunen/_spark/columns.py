"""The columns of a DataFrame that hold the features and the weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pyspark.ml.linalg import VectorUDT
from pyspark.sql.types import ArrayType, BooleanType, DataType, FloatType, NumericType

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Columns:
    """Columns with the features of a row: one of vectors or arrays, or one for each feature.

    Attributes
    ----------
    kind : {"vector", "array", "numbers"}
        Form of the features.
    names : tuple of str
        Names of the columns.
    dtype : {"float64", "float32"}
        Type of the values: single precision if all columns have it.
    weight : str or None
        Name of the column of weights.
    """

    kind: Literal["vector", "array", "numbers"]
    names: tuple[str, ...]
    dtype: Literal["float64", "float32"]
    weight: str | None

    @property
    def width(self) -> int | None:
        """Return the number of features, if the columns show it."""
        return len(self.names) if self.kind == "numbers" else None

    @property
    def features(self) -> list[str] | None:
        """Return the names of the features, if they have names."""
        return list(self.names) if self.kind == "numbers" else None

    @property
    def type_name(self) -> str:
        """Return Spark's name of the type that the columns have, or are converted to."""
        number = {"float64": "double", "float32": "float"}[self.dtype]
        return {"vector": "vector", "array": f"array<{number}>", "numbers": number}[self.kind]

    def positions(self, dataset: DataFrame) -> list[int]:
        """Return where the features are among the columns of a DataFrame."""
        place = {name: number for number, name in enumerate(dataset.columns)}
        return [place[name] for name in self.names]

    def select(self, dataset: DataFrame) -> DataFrame:
        """Return the features, and then the weights if there are any, under short names."""
        columns = [self.converted(position, number) for number, position in enumerate(self.positions(dataset))]
        if self.weight is not None:
            columns.append(f"cast(c{dataset.columns.index(self.weight)} as double) as weight")
        return numbered(dataset).selectExpr(*columns)

    def converted(self, position: int, number: int) -> str:
        """Return the expression that converts a column of :func:`numbered`, and names it by another number."""
        column = f"c{position}" if self.kind == "vector" else f"cast(c{position} as {self.type_name})"
        return f"{column} as x{number}"


def numbered(dataset: DataFrame) -> DataFrame:
    """Return a DataFrame whose columns have the names c0, c1, ...: any names can be repeated, or hold dots."""
    return dataset.toDF(*(f"c{number}" for number in range(len(dataset.columns))))


def find_columns(
    dataset: DataFrame, input_col: str | None, input_cols: Sequence[str] | None, weight_col: str | None = None
) -> Columns:
    """Find the columns of the features and of the weights.

    Parameters
    ----------
    dataset : DataFrame
        Rows.
    input_col : str or None
        Column of vectors or arrays.
    input_cols : sequence of str or None
        Numeric columns; either these or `input_col`.
    weight_col : str or None
        Numeric column.

    Raises
    ------
    ValueError
        If a column does not exist, is there twice, or is of another type.
    """
    if input_col is not None and input_cols is not None:
        raise ValueError("both inputCol and inputCols are set; clear one of them, as pca.clear(pca.inputCol)")
    types = types_of(dataset)
    if weight_col is not None and not _is_number(kind := type_of(types, "weightCol", weight_col)):
        raise ValueError(f"weightCol = {weight_col!r} is {kind.simpleString()}; weights are numbers")
    if input_cols is not None:
        return _numbers(types, input_cols, weight_col)
    if input_col is None:
        raise ValueError("set inputCol, a column of vectors or arrays, or inputCols, a list of numeric columns")
    kind = type_of(types, "inputCol", input_col)
    if isinstance(kind, VectorUDT):
        return Columns("vector", (input_col,), "float64", weight_col)
    if isinstance(kind, ArrayType) and _is_number(kind.elementType):
        dtype: Literal["float64", "float32"] = "float32" if isinstance(kind.elementType, FloatType) else "float64"
        return Columns("array", (input_col,), dtype, weight_col)
    way_out = "; give numeric columns as inputCols" if _is_number(kind) else ""
    raise ValueError(
        f"inputCol = {input_col!r} is {kind.simpleString()}; a column of vectors or of arrays of numbers is "
        f"needed{way_out}"
    )


def _numbers(types: dict[str, list[DataType]], names: Sequence[str], weight_col: str | None) -> Columns:
    if not names:
        raise ValueError("inputCols is empty; name at least one numeric column")
    kinds = [type_of(types, "inputCols", name) for name in names]
    for name, kind in zip(names, kinds, strict=True):
        if not _is_number(kind):
            raise ValueError(
                f"{name!r} of inputCols is {kind.simpleString()}; numeric columns are needed, and vectors or arrays "
                "as inputCol"
            )
    single = all(isinstance(kind, FloatType) for kind in kinds)
    return Columns("numbers", tuple(names), "float32" if single else "float64", weight_col)


def _is_number(kind: DataType) -> bool:
    """Return True for numbers, and for booleans, which count as 0 and 1."""
    return isinstance(kind, (NumericType, BooleanType))


def types_of(dataset: DataFrame) -> dict[str, list[DataType]]:
    """Return the types of the columns of each name."""
    types: dict[str, list[DataType]] = {}
    for field in dataset.schema.fields:
        types.setdefault(field.name, []).append(field.dataType)
    return types


def type_of(types: dict[str, list[DataType]], option: str, name: str) -> DataType:
    """Return the type of the one column that has a name."""
    found = types.get(name, [])
    if len(found) > 1:
        raise ValueError(f"{option}: the DataFrame has {len(found)} columns named {name!r}; rename or drop the others")
    if not found:
        alike = next((one for one in types if one.lower() == name.lower()), None)
        hint = "" if alike is None else f"; did you mean {alike!r}?"
        known = ", ".join(list(types)[:10]) + (", ..." if len(types) > 10 else "")
        raise ValueError(f"{option} names {name!r}, which the DataFrame does not have; its columns are {known}{hint}")
    return found[0]
