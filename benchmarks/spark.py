#!/usr/bin/env python3
"""Compare `karhunen.spark.PCA` with Spark's own PCA: time of a fit and of the scores, and accuracy.

    python3 benchmarks/spark.py [--rows N] [--columns P] [-k K] [--partitions N] [--rounds N] [--memory GB] [--quick]

The data, 1,000,000 x 500 by default, are dense vectors with 100 latent variables of falling variance, noise, and a mean,
in a Parquet folder, which both read in every pass. The session has one worker thread for each processor of this machine.
Competitors alternate, after a small fit by each that starts Python and the libraries. The reference is the covariance of
the same rows by NumPy in float64: the error of the shares of the variance is the largest, relative to the first, and the
residual of a component v is |S v - l v| / l_1, with l = v'S v. The time in
which Spark reads the rows, and passes them to Python, is measured beside them. The installed karhunen is measured; it
needs pyspark and Java 17.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

from incremental import record
from run import HERE, Start

WHO = ("karhunen", "karhunen, numThreads=2", "Spark")
#: What a fit outside the JVM cannot avoid.
FLOORS = ("Spark reads the rows", "Spark passes them to Python")


def block(seed: int, n: int, p: int):
    """Make rows from a fixed seed."""
    import numpy as np

    loadings = np.random.default_rng(14).standard_normal((100, p)) / 10
    rng = np.random.default_rng((15, seed))
    scores = rng.standard_normal((n, 100)) * (3 / np.sqrt(1 + np.arange(100)))
    return scores @ loadings + rng.standard_normal((n, p)) + 3


def folder_of(spark, n: int, p: int, parts: int) -> Path:
    """Write the rows once."""
    import numpy as np
    import pyarrow as pa
    from pyspark.ml.functions import array_to_vector

    path = HERE / "cache" / f"spark-{n}-{p}-{parts}"
    if not (path / "_SUCCESS").exists():
        bounds = [n * part // parts for part in range(parts + 1)]

        def generate(batches):
            for batch in batches:
                for part in batch.column("id").to_pylist():
                    for begin in range(bounds[part], bounds[part + 1], 1000):
                        height = min(1000, bounds[part + 1] - begin)
                        values = block(begin, height, p)
                        offsets = np.arange(height + 1, dtype=np.int32) * p
                        lists = pa.ListArray.from_arrays(pa.array(offsets), pa.array(values.ravel()))
                        yield pa.RecordBatch.from_arrays([lists], names=["f"])

        rows = spark.range(0, parts, numPartitions=parts).mapInArrow(generate, "f array<double>")
        rows.select(array_to_vector("f").alias("f")).write.mode("overwrite").parquet(str(path))
    return path


def covariance_of(n: int, p: int, parts: int):
    """Compute the covariance by NumPy, about a fixed origin near the mean."""
    import numpy as np

    bounds = [n * part // parts for part in range(parts + 1)]
    total, products = np.zeros(p), np.zeros((p, p))
    for first, last in zip(bounds[:-1], bounds[1:], strict=True):
        for begin in range(first, last, 1000):
            values = block(begin, min(1000, last - begin), p) - 3
            total += values.sum(0)
            products += values.T @ values
    return (products - np.outer(total, total) / n) / (n - 1)


def session_of(options: argparse.Namespace, **settings: str):
    """Start a session with a worker thread for each processor."""
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    session = SparkSession.builder.master(f"local[{options.threads}]").config("spark.ui.enabled", "false")
    for name, value in settings.items():
        session = session.config(name.replace("_", "."), value)
    spark = session.config("spark.driver.memory", f"{options.memory}g").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


def fit(who: str, rows, k: int):
    """Fit a competitor."""
    if who == "Spark":
        from pyspark.ml.feature import PCA

        return PCA(k=k, inputCol="f", outputCol="s").fit(rows)
    from karhunen.spark import PCA

    return PCA(k=k, inputCol="f", outputCol="s", numThreads=2 if "2" in who else 1).fit(rows)


def floor(what: str, rows) -> None:
    """Read the rows in the JVM alone, or pass them to Python, where they are counted."""
    if what == FLOORS[0]:
        rows.write.format("noop").mode("overwrite").save()
        return

    def count(batches):
        import pyarrow as pa

        yield pa.RecordBatch.from_pydict({"n": [sum(batch.num_rows for batch in batches)]})

    rows.mapInArrow(count, "n long").collect()


def main() -> None:
    """Measure all competitors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000, help="number of rows (default 1,000,000)")
    parser.add_argument("--columns", type=int, default=500, help="number of columns (default 500)")
    parser.add_argument("-k", type=int, default=20, help="number of components (default 20)")
    parser.add_argument("--partitions", type=int, default=32, help="number of files (default 32)")
    parser.add_argument("--rounds", type=int, default=3, help="fits by each, alternating (default 3)")
    parser.add_argument("--memory", type=int, default=4, help="memory of Spark in GB (default 4)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, one round")
    options = parser.parse_args()
    if options.quick:
        options.rows, options.rounds = options.rows // 10, 1
    options.threads = os.cpu_count() or 1
    started = Start()
    import numpy as np

    spark = session_of(options)
    n, p, k, parts = options.rows, options.columns, options.k, options.partitions
    rows = spark.read.parquet(str(folder_of(spark, n, p, parts)))
    covariance = covariance_of(n, p, parts)
    values = np.linalg.eigvalsh(covariance)[::-1]
    small = rows.limit(1000)
    for who in WHO:
        fit(who, small, 2).transform(small).count()
    seconds: dict[str, list[tuple[float, float]]] = {who: [] for who in WHO}
    floors: dict[str, list[float]] = {what: [] for what in FLOORS}
    models = {}
    for _ in range(options.rounds):
        # The size of batches with which karhunen fits.
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", "1000")
        for what in FLOORS:
            start = time.perf_counter()
            floor(what, rows)
            floors[what].append(time.perf_counter() - start)
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
        for who in WHO:
            start = time.perf_counter()
            models[who] = fit(who, rows, k)
            fitted = time.perf_counter()
            models[who].transform(rows).select("s").write.format("noop").mode("overwrite").save()
            seconds[who].append((fitted - start, time.perf_counter() - fitted))
    lines = []
    for who in WHO:
        v = models[who].pc.toArray()
        product = covariance @ v
        of_v = (v * product).sum(0)
        error = np.abs(models[who].explainedVariance.toArray() - values[:k] / values.sum()).max() / (
            values[0] / values.sum()
        )
        line = {
            "rows": n,
            "columns": p,
            "components": k,
            "partitions": parts,
            "who": who,
            "fit_seconds": round(statistics.median(one[0] for one in seconds[who]), 2),
            "scores_seconds": round(statistics.median(one[1] for one in seconds[who]), 2),
            "variance_error": f"{error:.1e}",
            "residual": f"{(np.linalg.norm(product - v * of_v, axis=0) / values[0]).max():.1e}",
        }
        lines.append(line)
        print(
            f"{who:24} fit {line['fit_seconds']:7.2f} s   scores {line['scores_seconds']:7.2f} s   "
            f"error of the variances {line['variance_error']}   residual {line['residual']}"
        )
    for what in FLOORS:
        seconds_of = round(statistics.median(floors[what]), 2)
        size = {"rows": n, "columns": p, "components": k, "partitions": parts, "who": what}
        lines.append(size | {"fit_seconds": seconds_of, "scores_seconds": "", "variance_error": "", "residual": ""})
        print(f"{what:28} {seconds_of:7.2f} s")
    if not options.quick:
        print(record("spark", lines, options, started))
    spark.stop()


if __name__ == "__main__":
    main()
