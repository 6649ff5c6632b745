"""Every entry of the list of differences is a difference, and has a test of ours."""

import re
from pathlib import Path

import pytest
from conftest import UNUSED
from differences import DIFFERENCES, LEFT_OUT

TESTS = Path(__file__).parents[1]
NAMES = {name for path in TESTS.glob("test_*.py") for name in re.findall(r"^def (test_\w+)", path.read_text(), re.M)}


@pytest.mark.parametrize("key", DIFFERENCES)
def test_each_has_a_test_of_ours(key):
    assert DIFFERENCES[key].instead in NAMES
    assert DIFFERENCES[key].reason


def test_none_is_left_over(request):
    assert request.config.stash[UNUSED] == set()


def test_what_is_left_out_has_a_reason():
    assert all(LEFT_OUT.values())
