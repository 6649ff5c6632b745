"""Calls that change one estimator take turns."""

from __future__ import annotations

import os
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

_locks: WeakKeyDictionary[Any, RLock] = WeakKeyDictionary()  # type: ignore[valid-type]
_new = RLock()


def turn(estimator: Any) -> RLock:  # type: ignore[valid-type]
    """Return the lock of an estimator, which pickles and copies do not have."""
    with _new:
        return _locks.setdefault(estimator, RLock())


def _forget() -> None:
    """Forget the locks, in a process whose other threads a fork has left behind."""
    global _new
    _new = RLock()
    _locks.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
