"""Requirements of scikit-learn's tests: two fixtures, and marks for tests that must fail."""

from pathlib import Path

import numpy as np
import pytest
from differences import DIFFERENCES

HERE = Path(__file__).parent
#: Keys of the list of differences that match no test, if every test was collected.
UNUSED = pytest.StashKey()


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request):
    """Return the dtype of the data; scikit-learn tests float64 by default."""
    return request.param


@pytest.fixture
def global_random_seed():
    """Return scikit-learn's default seed."""
    return 42


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark the deliberate differences, so that a test that begins to pass fails."""
    unused = set(DIFFERENCES)
    files = set()
    for item in items:
        if item.path.parent != HERE or not item.path.name.startswith("test_sklearn_"):
            continue
        files.add(item.path)
        # Warnings are not errors here: the tests also run scikit-learn's code.
        item.add_marker(pytest.mark.filterwarnings("default"))
        for key, difference in DIFFERENCES.items():
            if item.name.startswith(key):
                unused.discard(key)
                item.add_marker(pytest.mark.xfail(reason=difference.reason, strict=True))
    complete = files == set(HERE.glob("test_sklearn_*.py")) and not any("::" in argument for argument in config.args)
    config.stash[UNUSED] = unused if complete else set()
