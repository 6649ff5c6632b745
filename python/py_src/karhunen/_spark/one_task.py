"""Fits of entries of which one task holds all."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from karhunen._cluster.driver import drive, threads_of_part
from karhunen._core import sum_entries
from karhunen._shared.warning import warn
from karhunen._spark import contents
from karhunen._spark.arrow import arrow_schema
from karhunen._spark.bundles import Batches
from karhunen._spark.entries import EntriesOfPart, EntryColumns, names_of
from karhunen._spark.worker import on_worker

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    import karhunen


def fit_in_one_task(
    entries: DataFrame, columns: EntryColumns, labels: pa.Array, pca: karhunen.IncompletePCA
) -> karhunen.IncompletePCA:
    """Return the fitted estimator. Its passes are those over one partition, and so are its bits.

    Parameters
    ----------
    entries : DataFrame
        One partition of :meth:`EntryColumns.of_rows`.
    columns : EntryColumns
        Columns of the entries.
    labels : pyarrow.Array
        Labels of the columns.
    pca : karhunen.IncompletePCA
        Estimator.

    Raises
    ------
    ValueError
        For entries and options that cannot be used.
    """
    function = partial(_fit, columns, labels, pca, arrow_schema(entries, contents.SCHEMA))
    rows = entries.mapInArrow(on_worker(function), contents.SCHEMA).toArrow().to_pylist()
    if not rows:
        raise ValueError("the DataFrame has no rows; a fit needs at least one entry")
    fitted, told = pickle.loads(contents.of_rows(rows))
    for category, text in told:
        warn(text, category)
    return fitted


def _fit(
    columns: EntryColumns, labels: pa.Array, pca: karhunen.IncompletePCA, schema: pa.Schema, batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Return the rows with the fitted estimator, and its warnings."""
    problem, data = None, b""
    batches = iter(batches)
    try:
        n_threads = threads_of_part(pca)
        entries = EntriesOfPart.of(batches, columns, labels).observed(n_threads)
        with warnings.catch_warnings(record=True) as told:
            # Those of karhunen.
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", UserWarning)
            drive(pca, lambda _, task: sum_entries(task, 0, entries, n_threads), lambda: names_of(labels))
        data = pickle.dumps((pca, [(one.category, str(one.message)) for one in told]))
    except ValueError as error:
        problem = str(error)
        # Spark expects that a function reads all batches.
        for _ in batches:
            pass
    yield from contents.to_batches(problem, data, schema)
