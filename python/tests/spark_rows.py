"""Rows for tests of karhunen.spark, whose modules are skipped without pyspark or Java."""

import importlib.util
import os
import shutil

import numpy as np
import pytest

if importlib.util.find_spec("pyspark") is None:
    pytest.skip("pyspark is not installed", allow_module_level=True)
if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
    pytest.skip("Spark needs Java 17 or later, and there is no java", allow_module_level=True)

from pyspark.ml.linalg import Vectors

#: Marks of the test modules.
MARKS = [
    # Spark 4.3 works with pandas 3, but says so in every process.
    pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning"),
    # Sockets between Spark and its Python, which Spark leaves to the garbage collector.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]

WEIGHTS = np.random.default_rng(5).uniform(0.5, 3, size=300)


def sparse(row):
    stored = np.flatnonzero(row)
    return Vectors.sparse(len(row), stored, row[stored])


FORMS = {
    "dense": lambda i, row: Vectors.dense(row),
    "sparse": lambda i, row: sparse(row),
    "mixed": lambda i, row: Vectors.dense(row) if i % 3 else sparse(row),
    "array<double>": lambda i, row: row.tolist(),
    "array<float>": lambda i, row: row.tolist(),
    "array<int>": lambda i, row: row.astype(int).tolist(),
}


def frame(spark, x, form="dense", parts=3):
    """Return rows with an id, weights and features in one of the forms."""
    if form == "numbers":
        schema = "id long, w double, " + ", ".join(f"`c.{j}` double" for j in range(x.shape[1]))
        table = [(i, float(w), *row.tolist()) for i, (w, row) in enumerate(zip(WEIGHTS, x, strict=True))]
        return spark.createDataFrame(table, schema).repartition(parts)
    table = [(i, float(w), FORMS[form](i, row)) for i, (w, row) in enumerate(zip(WEIGHTS, x, strict=False))]
    schema = f"id long, w double, f {form}" if form.startswith("array") else ["id", "w", "f"]
    return spark.createDataFrame(table, schema).repartition(parts)


def inputs(form, x):
    return {"inputCols": [f"c.{j}" for j in range(x.shape[1])]} if form == "numbers" else {"inputCol": "f"}


def close(model, expected, tolerance=1e-12):
    """Compare a model with the model of rows in memory, before values are rounded to float32."""
    found, expected = model.toKarhunen()._model_now(), expected._model_now()
    for name in ("components", "explained_variance", "explained_variance_ratio", "mean", "scale", "noise_variance"):
        a, b = np.asarray(getattr(found, name)), np.asarray(getattr(expected, name))
        np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance * max(1, np.abs(b).max()), err_msg=name)
