"""Warnings that point at the user's line."""

from __future__ import annotations

import sys
import warnings

#: Packages whose frames lie between the user and a warning.
BETWEEN = ("karhunen", "sklearn")


def warn(message: str, category: type[Warning]) -> None:
    """Warn as from the innermost line that is neither ours nor scikit-learn's, which wraps some methods."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_back.f_globals.get("__name__", "").partition(".")[0] in BETWEEN:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level + 1)
