"""Arguments of fits that can be resumed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeAlias

from karhunen._shared.options import flag_option
from karhunen._shared.warning import warn

#: The file that keeps the passes of a fit, whether to continue from it, and a function that warns of a pass that was
#: not written.
PassLog: TypeAlias = tuple[str, bool, Callable[[str], None]]


def to_pass_log(path: Any, resume: Any) -> PassLog | None:
    """Check the file that keeps the state of a fit.

    Parameters
    ----------
    path : path-like or None
        The file; None to keep nothing.
    resume : bool
        Continue from the file if it exists.

    Returns
    -------
    PassLog or None
        The arguments of the engine.

    Raises
    ------
    ValueError, OSError
        If the file cannot be written, or exists without `resume`.
    """
    if flag_option("resume", resume) and path is None:
        raise ValueError("resume = True needs the file to continue from: pass checkpoint")
    if path is None:
        return None
    path = os.fspath(path)
    if not isinstance(path, str):
        raise ValueError(f"checkpoint = {path!r} is not allowed: give a path as text")
    folder = os.path.dirname(path)
    if folder and not os.path.isdir(folder):
        raise FileNotFoundError(f"checkpoint: there is no folder {folder}; make it first")
    if os.path.isdir(path):
        raise IsADirectoryError(f"checkpoint: {path} is a folder; give a file")
    if not resume and os.path.isfile(path) and os.path.getsize(path) > 0:
        raise FileExistsError(
            f"checkpoint: {path} exists; pass resume=True to continue from it, or remove it to start again"
        )
    return path, bool(resume), _warn_of_loss


def _warn_of_loss(message: str) -> None:
    warn(message, RuntimeWarning)
