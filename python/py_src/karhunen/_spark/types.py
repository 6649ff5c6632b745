"""Types of columns that Spark passes to Python and back."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql.types import (
    ArrayType,
    CalendarIntervalType,
    DataType,
    MapType,
    StructField,
    StructType,
    UserDefinedType,
    YearMonthIntervalType,
)


def refuse_types(fields: Sequence[StructField]) -> None:
    """Raise a ValueError for the first column that Spark does not pass to Python.

    These are intervals with months, and structs with two fields of one name, also within other types.
    """
    for field in fields:
        problem = _problem(field.dataType)
        if problem is not None:
            raise ValueError(
                f"column {field.name!r} is {field.dataType.simpleString()}, and {problem}; drop or convert it before "
                "transform"
            )


def _problem(kind: DataType) -> str | None:
    """Return what Spark does not pass to Python, if a type has any."""
    if isinstance(kind, (YearMonthIntervalType, CalendarIntervalType)):
        return "Spark passes no intervals with months to Python"
    if isinstance(kind, StructType) and len(set(kind.names)) < len(kind.names):
        return "Spark passes no structs with two fields of one name to Python"
    return next((problem for part in _parts(kind) if (problem := _problem(part)) is not None), None)


def _parts(kind: DataType) -> list[DataType]:
    """Return the types of which a type consists."""
    if isinstance(kind, StructType):
        return [field.dataType for field in kind.fields]
    if isinstance(kind, ArrayType):
        return [kind.elementType]
    if isinstance(kind, MapType):
        return [kind.keyType, kind.valueType]
    return [kind.sqlType()] if isinstance(kind, UserDefinedType) else []
