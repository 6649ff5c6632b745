#!/usr/bin/env python3
"""Compare `karhunen.spark.IncompletePCA` with Spark's ALS on the same ratings: time of a fit, and error on others.

    python3 benchmarks/spark_ratings.py [--ratings N] [-k K] [--iterations N] [--rounds N] [--memory GB] [--quick]

The ratings, 10,000,000 by default, are of 60,000 users and 8,000 items of unequal popularity: ten latent variables, means
of the items, noise of deviation 0.5, rounded to halves from 0.5 to 5. One in ten is held out. They lie in a Parquet folder,
which both read. Each competitor has the penalty of a grid with which its error is lowest, in runs that are not timed. Both
make the given number of iterations, and karhunen also two; `reading` only passes the ratings to a Python function that
counts them. The session has one worker thread for each processor of this machine, and a partition of a shuffle for each
file. karhunen has one thread, and one for each processor (`numThreads`). The installed karhunen is measured; it needs
pyspark and Java 17.
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path

from incremental import record
from run import HERE, Start
from spark import FLOORS, floor, session_of

USERS, ITEMS, LATENT = 60_000, 8_000, 10
#: Penalties per rating.
GRID = (0.01, 0.03, 0.1, 0.3)


def ratings(n: int):
    """Make users, items and ratings, each pair once, in random order."""
    import numpy as np

    rng = np.random.default_rng(16)
    popularity = 1 / np.arange(20, ITEMS + 20) ** 0.7
    activity = rng.lognormal(0, 1, USERS)
    users = rng.choice(USERS, int(1.6 * n), p=activity / activity.sum())
    items = rng.choice(ITEMS, int(1.6 * n), p=popularity / popularity.sum())
    pairs = np.unique(users.astype(np.int64) * ITEMS + items)
    pairs = rng.permutation(pairs)[:n]
    users, items = pairs // ITEMS, pairs % ITEMS
    of_users = rng.normal(size=(USERS, LATENT)) * 0.5
    of_items = rng.normal(size=(ITEMS, LATENT)) * 0.5
    values = 3.4 + rng.normal(size=ITEMS)[items] * 0.4 + (of_users[users] * of_items[items]).sum(1)
    values += rng.normal(size=len(pairs)) * 0.5
    return users.astype(np.int32), items.astype(np.int32), np.clip(np.round(2 * values) / 2, 0.5, 5).astype(np.float32)


def folder_of(n: int, parts: int) -> Path:
    """Write the ratings once."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = HERE / "cache" / f"ratings-{n}-{parts}"
    if not (path / "_SUCCESS").exists():
        path.mkdir(parents=True, exist_ok=True)
        users, items, values = ratings(n)
        held_out = np.random.default_rng(17).random(len(users)) < 0.1
        table = pa.table({"user": users, "item": items, "rating": values, "held_out": held_out})
        height = -(-len(users) // parts)
        for part in range(parts):
            pq.write_table(table.slice(part * height, height), path / f"part-{part:03}.parquet")
        (path / "_SUCCESS").touch()
    return path


def estimator(who: str, k: int, iterations: int, penalty: float, threads: int):
    """Make a competitor; Spark ALS has the threads of the session."""
    if who == "Spark ALS":
        from pyspark.ml.recommendation import ALS

        return ALS(
            rank=k, maxIter=iterations, regParam=penalty, userCol="user", itemCol="item", ratingCol="rating", seed=1
        )
    from karhunen.spark import IncompletePCA

    return IncompletePCA(
        k=k,
        maxIter=iterations,
        tol=0.0,
        regParam=penalty,
        weightedReg=True,
        rowCol="user",
        columnCol="item",
        valueCol="rating",
        numThreads=threads,
        persist=True,
    )


def main() -> None:
    """Measure both."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ratings", type=int, default=10_000_000, help="number of ratings (default 10,000,000)")
    parser.add_argument("-k", type=int, default=10, help="number of components (default 10)")
    parser.add_argument("--iterations", type=int, default=10, help="iterations of each (default 10)")
    parser.add_argument("--partitions", type=int, default=8, help="number of files and partitions (default 8)")
    parser.add_argument("--rounds", type=int, default=3, help="fits by each, alternating (default 3)")
    parser.add_argument("--memory", type=int, default=6, help="memory of Spark in GB (default 6)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the ratings, one round")
    options = parser.parse_args()
    if options.quick:
        options.ratings, options.rounds = options.ratings // 10, 1
    options.threads = os.cpu_count() or 1
    started = Start()
    import warnings

    from pyspark.sql import functions

    warnings.simplefilter("ignore")
    spark = session_of(options, spark_sql_shuffle_partitions=str(options.partitions))
    everything = spark.read.parquet(str(folder_of(options.ratings, options.partitions)))
    fitted = everything.filter("not held_out").drop("held_out")
    others = everything.filter("held_out").drop("held_out")

    def error_of(model) -> float:
        pairs = model.transform(others).dropna(subset=["prediction"]).filter("not isnan(prediction)")
        square = functions.avg((functions.col("prediction") - functions.col("rating")) ** 2)
        return float(pairs.select(square).first()[0]) ** 0.5

    def timed(work) -> float:
        start = time.perf_counter()
        work()
        return time.perf_counter() - start

    n = options.iterations
    best: dict[str, float] = {}
    for who in ("karhunen", "Spark ALS"):
        errors = {
            penalty: error_of(estimator(who, options.k, n, penalty, options.threads).fit(fitted)) for penalty in GRID
        }
        best[who] = min(errors, key=errors.__getitem__)
        print(f"{who:10} " + "   ".join(f"penalty {p} error {e:.4f}" for p, e in errors.items()), flush=True)
    fits = [("karhunen", 2, options.threads), ("karhunen", n, 1), ("karhunen", n, options.threads)]
    fits.append(("Spark ALS", n, options.threads))
    seconds: dict[tuple[str, int, int], list[float]] = {fit: [] for fit in fits}
    reading, found = [], {}
    for number in range(options.rounds):
        reading.append(timed(lambda: floor(FLOORS[1], fitted)))
        for who, iterations, threads in fits:
            start = time.perf_counter()
            model = estimator(who, options.k, iterations, best[who], threads).fit(fitted)
            seconds[who, iterations, threads].append(time.perf_counter() - start)
            if number == 0:
                found[who, iterations, threads] = error_of(model)
    size = {"ratings": options.ratings, "users": USERS, "items": ITEMS, "components": options.k}
    lines = []
    for fit, error in found.items():
        who, iterations, threads = fit
        line = size | {"iterations": iterations, "who": who, "fit_threads": threads, "penalty": best[who]}
        lines.append(line | {"fit_seconds": round(statistics.median(seconds[fit]), 2), "error": round(error, 5)})
        print(
            f"{who:10} {iterations:3} iterations, {threads} threads {lines[-1]['fit_seconds']:7.2f} s   "
            f"error of other ratings {error:.4f}"
        )
    line = size | {"iterations": "", "who": "reading", "fit_threads": "", "penalty": "", "error": ""}
    lines.append(line | {"fit_seconds": round(statistics.median(reading), 2)})
    print(f"reading {lines[-1]['fit_seconds']:7.2f} s")
    if not options.quick:
        print(record("spark", lines, options, started))
    spark.stop()


if __name__ == "__main__":
    main()
