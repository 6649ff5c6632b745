"""Fixtures of several tests: data, the command line."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def table() -> np.ndarray:
    """Return 60 x 8 numbers with a mean and a clear order of variances."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 8)) @ np.diag([5, 4, 3, 2.5, 2, 1.5, 1, 0.5]) @ rng.normal(size=(8, 8)) + 3


@pytest.fixture
def temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of the test, where `tempfile` makes its files: examples do not delete theirs."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.fixture(scope="session")
def program() -> str:
    """Return the command line, built by the test command or here."""
    given = os.environ.get("KARHUNEN_PROGRAM")
    if given:
        return given
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "karhunen-cli"], cwd=ROOT, check=True)
    return str(ROOT / "target/release/karhunen")


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return a classic session of Spark with two cores."""
    from pyspark.sql import SparkSession

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
        session = (
            SparkSession.builder.master("local[2,4]")
            .config("spark.ui.enabled", "false")
            .config("spark.driver.memory", "1g")
            .config("spark.sql.shuffle.partitions", "4")
            .config("spark.sql.execution.arrow.maxRecordsPerBatch", "40")
            .config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
            .getOrCreate()
        )
        session.sparkContext.setLogLevel("OFF")
        yield session
        session.stop()
