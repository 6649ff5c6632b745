"""The batches of rows that Spark passes to Python."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Most rows of a batch. Batches of 10,000 rows, Spark's default, leave the caches of the processor: 500 columns took
#: twice as long.
_ROWS = 1000
_OPTION = "spark.sql.execution.arrow.maxRecordsPerBatch"


@contextmanager
def small_batches(spark: SparkSession) -> Iterator[None]:
    """Lower the option of a session for the number of rows of a batch.

    Of several callers at a time the first restores the option when it ends; then the batches of the others are larger.
    """
    before = str(spark.conf.get(_OPTION))
    # Zero and less mean no limit.
    if 0 < int(before) <= _ROWS:
        yield
        return
    spark.conf.set(_OPTION, str(_ROWS))
    try:
        yield
    finally:
        # A session that has ended takes no options; the error of the fit counts.
        with suppress(Exception):
            spark.conf.set(_OPTION, before)
