"""Scores of the rows of a DataFrame, as one more column."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql.types import StructField, StructType

from karhunen._spark.columns import Columns
from karhunen._spark.passes import part_number
from karhunen._spark.rows import RowReader

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    import karhunen

#: A dense vector of Spark.
_VECTOR = pa.struct(
    [
        pa.field("type", pa.int8(), nullable=False),
        pa.field("size", pa.int32()),
        pa.field("indices", pa.list_(pa.field("element", pa.int32(), nullable=False))),
        pa.field("values", pa.list_(pa.field("element", pa.float64(), nullable=False))),
    ]
)


def with_scores(dataset: DataFrame, columns: Columns, pca: karhunen.PCA, name: str) -> DataFrame:
    """Add a column of scores to a DataFrame, lazily.

    Parameters
    ----------
    dataset : DataFrame
        Rows.
    columns : Columns
        Its columns with the features.
    pca : karhunen.PCA
        Fitted model.
    name : str
        Name of the new column of dense vectors.
    """
    # Not as a user-defined function of the features: in Spark 4.3 those fail beside vectors that come from Parquet.
    types = [field.dataType.simpleString() for field in dataset.schema.fields]
    positions = [dataset.columns.index(column) for column in columns.names]
    # Spark's mapInArrow does not find columns whose names hold dots.
    plain = dataset.toDF(*(f"c{number}" for number in range(len(types))))
    converted: dict[str, Column] = {}
    for number, position in enumerate(positions):
        if types[position] != columns.type_name:
            positions[number] = len(types) + len(converted)
            converted[f"x{number}"] = plain[f"c{position}"].cast(columns.type_name)
    function = _batch_function(columns, pca, [*dataset.columns, name], positions)
    schema = StructType([*dataset.schema.fields, StructField(name, VectorUDT())])
    return (plain.withColumns(converted) if converted else plain).mapInArrow(function, schema)


def _batch_function(
    columns: Columns, pca: karhunen.PCA, names: list[str], positions: list[int]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """Return the function that adds the scores of the columns at `positions`, the last of `names`."""

    def add_scores(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reader = RowReader(columns, part_number(), pca.n_features_in_)
        for batch in batches:
            scores = _scores(reader, [batch.column(position) for position in positions], pca)
            yield pa.RecordBatch.from_arrays([*batch.columns[: len(names) - 1], scores], names=names)

    return add_scores


def _scores(reader: RowReader, arrays: list[pa.Array], pca: karhunen.PCA) -> pa.Array:
    """Return the scores of the rows of a batch as dense vectors."""
    n_rows, width = len(arrays[0]), pca.n_components_
    scores = pca.transform(reader.block(arrays)) if n_rows else np.empty((0, width))
    lists = pa.ListArray.from_arrays(
        pa.array(np.arange(0, n_rows * width + 1, width or 1, dtype=np.int32)[: n_rows + 1]),
        pa.array(scores.ravel().astype(np.float64, copy=False)),
        type=_VECTOR.field("values").type,
    )
    kinds = pa.array(np.ones(n_rows, dtype=np.int8))
    missing = [pa.nulls(n_rows, _VECTOR.field(field).type) for field in ("size", "indices")]
    return pa.StructArray.from_arrays([kinds, *missing, lists], fields=list(_VECTOR))
