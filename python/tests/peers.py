"""Golden files of other programs, and comparison of their values with ours."""

import json
from pathlib import Path

import numpy as np
from compare import assert_allclose

ROOT = Path(__file__).parents[2]


def golden(name):
    """Return the content of a file."""
    return json.loads((ROOT / f"golden/{name}.json").read_text())


def close(found, expected, signs=1.0, rtol=1e-9, atol=1e-10):
    """Compare arrays whose columns may have other signs."""
    assert_allclose(found * signs, np.asarray(expected, dtype=float), rtol=rtol, atol=atol)


def signs_of(found, expected):
    """Return the sign of each column of `found` in `expected`."""
    return np.sign((found * np.asarray(expected)).sum(axis=0))
