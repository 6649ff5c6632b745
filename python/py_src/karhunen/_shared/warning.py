"""Warnings attributed to the user's line of code."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

#: Packages whose frames are skipped: they call methods of estimators.
BETWEEN = ("karhunen", "sklearn", "pyspark")

#: Changes the texts of warnings.
_translate: ContextVar[Callable[[str], str]] = ContextVar("_translate", default=str)


@contextmanager
def translated(translate: Callable[[str], str]) -> Iterator[None]:
    """Change the texts of warnings of karhunen in this thread."""
    token = _translate.set(translate)
    try:
        yield
    finally:
        _translate.reset(token)


def warn(message: str, category: type[Warning]) -> None:
    """Warn from the innermost frame outside karhunen and the packages that call its methods."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_back.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(_translate.get()(message), category, stacklevel=level + 1)
