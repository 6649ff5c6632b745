"""Scores of the rows of a DataFrame, as one more column."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql.types import StructField, StructType

from karhunen._spark.columns import Columns, numbered
from karhunen._spark.rows import RowReader, part_number
from karhunen._spark.texts import spark_terms
from karhunen._spark.types import refuse_types
from karhunen._spark.worker import on_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

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
        Name of the new column of dense vectors of length n_components.

    Raises
    ------
    ValueError
        For columns of types that Spark does not pass to Python.
    """
    # Not as a user-defined function of the features: in Spark 4.3 those fail with vectors that come from Parquet.
    fields = dataset.schema.fields
    refuse_types(fields)
    positions = columns.positions(dataset)
    converted: list[str] = []
    for number, position in enumerate(positions):
        if fields[position].dataType.simpleString() != columns.type_name:
            positions[number] = len(fields) + len(converted)
            converted.append(columns.converted(position, number))
    # As Spark's own PCA does, so that later stages know the length.
    length = {"ml_attr": {"num_attrs": pca.n_components_}}
    plain = [
        *(StructField(f"c{i}", one.dataType, one.nullable, one.metadata) for i, one in enumerate(fields)),
        StructField("scores", VectorUDT(), True, length),
    ]
    add_scores = partial(_add_scores, columns, pca, [field.name for field in plain], positions)
    rows = numbered(dataset).selectExpr("*", *converted)
    scored = rows.mapInArrow(on_worker(add_scores), StructType(plain))
    return scored.toDF(*dataset.columns, name)


def _add_scores(
    columns: Columns, pca: karhunen.PCA, names: list[str], positions: list[int], batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Add the scores of the columns at `positions`, the last of `names`."""
    reader = RowReader(columns, part_number(), pca.n_features_in_)
    for batch in batches:
        scores = _scores(reader, [batch.column(position) for position in positions], pca)
        yield pa.RecordBatch.from_arrays([*batch.columns[: len(names) - 1], scores], names=names)


def _scores(reader: RowReader, arrays: list[pa.Array], pca: karhunen.PCA) -> pa.Array:
    """Return the scores of the rows of a batch as dense vectors."""
    n_rows, width = len(arrays[0]), pca.n_components_
    scores = _values(reader, arrays, pca) if n_rows else np.empty((0, width))
    lists = pa.ListArray.from_arrays(
        pa.array(np.arange(0, n_rows * width + 1, width, dtype=np.int32)),
        pa.array(scores.ravel().astype(np.float64, copy=False)),
        type=_VECTOR.field("values").type,
    )
    kinds = pa.array(np.ones(n_rows, dtype=np.int8))
    missing = [pa.nulls(n_rows, _VECTOR.field(field).type) for field in ("size", "indices")]
    return pa.StructArray.from_arrays([kinds, *missing, lists], fields=list(_VECTOR))


def _values(reader: RowReader, arrays: list[pa.Array], pca: karhunen.PCA) -> np.ndarray:
    """Return the scores of the rows of a batch, of which there is at least one."""
    n_before = reader.n_rows
    block = reader.block(arrays)
    with spark_terms():
        try:
            return pca.transform(block)
        except ValueError as error:
            raise reader.located(error, n_before) from None
