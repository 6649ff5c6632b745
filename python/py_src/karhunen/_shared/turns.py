"""Calls that change one estimator take turns."""

from __future__ import annotations

import os
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

_locks: WeakKeyDictionary[Any, RLock] = WeakKeyDictionary()  # type: ignore[valid-type]


def turn(estimator: Any) -> RLock:  # type: ignore[valid-type]
    """Return the lock of an estimator, which pickles and copies do not have."""
    # One step of the interpreter: of two threads both get the lock of the first.
    return _locks.setdefault(estimator, RLock())


if hasattr(os, "register_at_fork"):
    # Other threads, and what they hold, are left behind by a fork.
    os.register_at_fork(after_in_child=_locks.clear)
