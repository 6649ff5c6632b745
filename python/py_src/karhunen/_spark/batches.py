"""The batches of rows that Spark passes to Python."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Most rows of a batch. Those of 10,000 rows, the default of Spark, leave the caches of the processor: 500 columns took
#: twice as long.
_ROWS = 1000
_OPTION = "spark.sql.execution.arrow.maxRecordsPerBatch"
_lock = threading.Lock()
#: For each session, the number of callers of `small_batches`, and its option before the first.
_changed: dict[int, tuple[int, str]] = {}


@contextmanager
def small_batches(spark: SparkSession) -> Iterator[None]:
    """Lower the option of a session for the number of rows of a batch, while any thread is within."""
    key = id(spark)
    with _lock:
        n_within, before = _changed.get(key, (0, ""))
        if n_within == 0:
            before = str(spark.conf.get(_OPTION))
            # Zero and less are no limit.
            if not 0 < int(before) <= _ROWS:
                spark.conf.set(_OPTION, str(_ROWS))
        _changed[key] = (n_within + 1, before)
    try:
        yield
    finally:
        with _lock:
            n_within, before = _changed.pop(key)
            if n_within > 1:
                _changed[key] = (n_within - 1, before)
            else:
                spark.conf.set(_OPTION, before)
