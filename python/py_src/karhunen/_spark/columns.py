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
        """Return the number of features, if the columns tell it."""
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

    def select(self, dataset: DataFrame) -> DataFrame:
        """Return the features, and then the weights if there are any, under short names."""
        found = [dataset[_quoted(name)] for name in self.names]
        columns = found if self.kind == "vector" else [column.cast(self.type_name) for column in found]
        columns = [column.alias(f"x{number}") for number, column in enumerate(columns)]
        if self.weight is not None:
            columns.append(dataset[_quoted(self.weight)].cast("double").alias("weight"))
        return dataset.select(*columns)


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
        If a column does not exist, or is of another type.
    """
    if (input_col is None) == (input_cols is None):
        raise ValueError("give either inputCol, a column of vectors or arrays, or inputCols, a list of numeric columns")
    types = {field.name: field.dataType for field in dataset.schema.fields}
    if weight_col is not None and not isinstance(_type_of(types, "weightCol", weight_col), NumericType):
        raise ValueError(f"weightCol = {weight_col!r} is {types[weight_col].simpleString()}; weights are numbers")
    if input_cols is not None:
        return _numbers(types, input_cols, weight_col)
    assert input_col is not None
    kind = _type_of(types, "inputCol", input_col)
    if isinstance(kind, VectorUDT):
        return Columns("vector", (input_col,), "float64", weight_col)
    if isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType):
        dtype: Literal["float64", "float32"] = "float32" if isinstance(kind.elementType, FloatType) else "float64"
        return Columns("array", (input_col,), dtype, weight_col)
    way_out = "; give numeric columns as inputCols" if isinstance(kind, NumericType) else ""
    raise ValueError(
        f"inputCol = {input_col!r} is {kind.simpleString()}; a column of vectors or of arrays of numbers is "
        f"needed{way_out}"
    )


def _numbers(types: dict[str, DataType], names: Sequence[str], weight_col: str | None) -> Columns:
    if not names:
        raise ValueError("inputCols is empty; name at least one numeric column")
    kinds = [_type_of(types, "inputCols", name) for name in names]
    for name, kind in zip(names, kinds, strict=True):
        if not isinstance(kind, (NumericType, BooleanType)):
            raise ValueError(
                f"{name!r} of inputCols is {kind.simpleString()}; numeric columns are needed, and vectors or arrays "
                "as inputCol"
            )
    single = all(isinstance(kind, FloatType) for kind in kinds)
    return Columns("numbers", tuple(names), "float32" if single else "float64", weight_col)


def _type_of(types: dict[str, DataType], option: str, name: str) -> DataType:
    if name not in types:
        known = ", ".join(list(types)[:10]) + (", ..." if len(types) > 10 else "")
        raise ValueError(f"{option} names {name!r}, which the DataFrame does not have; its columns are {known}")
    return types[name]


def _quoted(name: str) -> str:
    """Return a name that Spark does not take apart at dots."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"
