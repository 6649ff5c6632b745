"""Fits of entries of which one task holds all."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

import pyarrow as pa

from karhunen._cluster.driver import check_options, drive, threads_of_part
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
    MemoryError
        If the fit needs more memory than its task has.
    """
    check_options(pca)
    function = partial(_fit, columns, labels, pca, arrow_schema(entries, contents.SCHEMA))
    rows = entries.mapInArrow(on_worker(function), contents.SCHEMA).toArrow().to_pylist()
    if not rows:
        # They were there when the columns were listed.
        raise ValueError("the DataFrame has no rows any more; persist it")
    outcome, told = pickle.loads(contents.of_rows(rows))
    for category, text in told:
        warn(text, category)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _fit(
    columns: EntryColumns, labels: pa.Array, pca: karhunen.IncompletePCA, schema: pa.Schema, batches: Batches
) -> Iterator[pa.RecordBatch]:
    """Return the rows with the fitted estimator, or the error of the fit, and the warnings.

    Spark would repeat a task that raises an error, and bury its text.
    """
    batches = iter(batches)
    outcome: karhunen.IncompletePCA | Exception = pca
    with warnings.catch_warnings(record=True) as told:
        # Warnings of karhunen.
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", UserWarning)
        try:
            n_threads = threads_of_part(pca)
            entries = EntriesOfPart.of(batches, columns, labels).observed(n_threads)
            drive(pca, lambda _, task: sum_entries(task, 0, entries, n_threads), lambda: names_of(labels))
        except (ValueError, MemoryError) as error:
            outcome = error
    # Spark expects that a function reads all batches.
    for _ in batches:
        pass
    data = pickle.dumps((outcome, [(one.category, str(one.message)) for one in told]))
    yield from contents.to_batches(None, data, schema)
