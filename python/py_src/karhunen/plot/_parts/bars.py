"""Horizontal bars with names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from karhunen.plot._parts import labelling
from karhunen.plot._parts.axes import FAINT, laid_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Height of a row in a new figure, in inches.
ROW = 0.2
#: Height of a line of text as a multiple of its size.
LINE = 1.3
#: Smallest and usual size of the names, in typographic points.
SMALLEST, USUAL = 5.5, 9.0
#: Maximum length of a name; longer ones lose their middle.
LONGEST = 45
#: Maximum share of the width for names, and width of a letter as a multiple of its size.
SHARE, LETTER = 0.65, 0.55


def fitting(ax: Axes | None, most: int) -> int:
    """Return the number of rows with legible names, at most `most` and at least one; a new figure has space for all."""
    if ax is None:
        return most
    height = ax.get_window_extent().height * 72.0 / ax.figure.canvas.figure.dpi
    return int(np.clip(height // (7.0 * LINE), 1, most))


def figure_size(n_rows: int) -> tuple[float, float]:
    """Return the size of a figure with this number of rows."""
    return 6.4, float(np.clip(1.0 + ROW * n_rows, 2.2, 30.0))


def name_rows(ax: Axes, at: np.ndarray, names: Sequence[str], n_rows: int) -> None:
    """Name rows at heights `at` (n,), the first at the top, in a size that fits; where none does, only some of them."""
    ax.set_ylim(n_rows - 0.4, -0.6)
    ax.set_yticks([])
    ax.spines["left"].set_visible(False)
    ax.grid(axis="x", color=FAINT, linewidth=0.6)
    width, height = laid_out(ax)
    size = height / n_rows / LINE
    step = int(np.ceil(SMALLEST / size))
    size = float(np.clip(size, SMALLEST, USUAL))
    ax.set_yticks(at[::step], labelling.shorten(names, longest(width, size))[::step], fontsize=size)
    ax.tick_params(axis="y", length=0)


def longest(width: float, size: float) -> int:
    """Return the number of letters of names of a size that leave space to Axes of a width in typographic points."""
    return int(np.clip(SHARE * width / (LETTER * size), 8, LONGEST))
