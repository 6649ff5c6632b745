"""Fixtures of several tests: data, the command line."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def table() -> np.ndarray:
    """Return 60 x 8 numbers with a mean and a clear order of variances."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 8)) @ np.diag([5, 4, 3, 2.5, 2, 1.5, 1, 0.5]) @ rng.normal(size=(8, 8)) + 3


@pytest.fixture(scope="session")
def program() -> str:
    """Return the command line, built by the test command or here."""
    given = os.environ.get("KARHUNEN_PROGRAM")
    if given:
        return given
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "karhunen-cli"], cwd=ROOT, check=True)
    return str(ROOT / "target/release/karhunen")
