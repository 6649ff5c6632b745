"""Data that several tests read."""

import numpy as np
import pytest


@pytest.fixture
def table() -> np.ndarray:
    """Give 60 x 8 numbers with a mean and a clear order of variances."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(60, 8)) @ np.diag([5, 4, 3, 2.5, 2, 1.5, 1, 0.5]) @ rng.normal(size=(8, 8)) + 3
