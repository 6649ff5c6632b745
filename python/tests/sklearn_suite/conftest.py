"""What scikit-learn's tests ask of pytest: two fixtures, and marks on those that must fail."""

from pathlib import Path

import numpy as np
import pytest
from differences import DIFFERENCES

HERE = Path(__file__).parent
#: Keys of the list of differences that fit no test, where every test was collected.
UNUSED = pytest.StashKey()


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request):
    """Give the type of the data, of which scikit-learn itself tests float64 alone."""
    return request.param


@pytest.fixture
def global_random_seed():
    """Give the seed that scikit-learn takes where none is asked for."""
    return 42


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Mark the deliberate differences: a test that begins to pass fails, and so does any other that fails."""
    unused = set(DIFFERENCES)
    files = set()
    for item in items:
        if item.path.parent != HERE or not item.path.name.startswith("test_sklearn_"):
            continue
        files.add(item.path)
        # Their warnings are theirs: what is run is their test, not our code alone.
        item.add_marker(pytest.mark.filterwarnings("default"))
        for key, difference in DIFFERENCES.items():
            if item.name.startswith(key):
                unused.discard(key)
                item.add_marker(pytest.mark.xfail(reason=difference.reason, strict=True))
    complete = files == set(HERE.glob("test_sklearn_*.py")) and not any("::" in argument for argument in config.args)
    config.stash[UNUSED] = unused if complete else set()
