"""Features as arrows from the origin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from karhunen.plot._parts import labelling
from karhunen.plot._parts.axes import laid_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Size of the head of an arrow in typographic points; its half width relative to its length; opacity without a name.
HEAD, WIDTH = 9.0, 0.5
PALE = 0.35
#: Width of a letter in typographic points; largest share of the width of the Axes for a name, and its least length.
LETTER, SHARE, SHORTEST = 5.7, 0.3, 10


def longest(tips: np.ndarray, n_arrows: int) -> np.ndarray:
    """Return the indices of the longest arrows to `tips` (n, 2), in order of decreasing length."""
    return np.argsort(-np.hypot(*tips.T), kind="stable")[:n_arrows]


def short_names(ax: Axes | None, names: Sequence[str]) -> list[str]:
    """Shorten names to what the width of `ax`, or of a new figure, allows."""
    if ax is None:
        return labelling.shorten(names)
    width = ax.get_window_extent().width * 72.0 / ax.figure.canvas.figure.dpi
    return labelling.shorten(names, int(np.clip(SHARE * width / LETTER, SHORTEST, labelling.LONGEST)))


def draw(ax: Axes, tips: np.ndarray, names: Sequence[str], colour: str, points: np.ndarray | None = None) -> None:
    """Draw arrows to `tips` (n, 2) in the units of the Axes, and write their names in the same order.

    Names cover neither one another nor the heads of arrows, and `points` and shafts as little as possible. Arrows whose
    names do not fit are pale.
    """
    figure = ax.figure.canvas.figure
    laid_out(ax)
    soft = along(tips) if points is None else np.vstack([along(tips), points])
    heads = ax.transData.inverted().transform(_heads(ax.transData.transform(tips), HEAD * figure.dpi / 72.0, ax))
    named = labelling.place(ax, tips, names, toward=tips, obstacles=heads, soft=soft, colour=colour)
    for i, tip in enumerate(tips):
        style = {"arrowstyle": "-|>", "mutation_scale": HEAD, "color": colour, "linewidth": 1.1}
        if i not in named:
            style |= {"linewidth": 0.7, "alpha": PALE}
        ax.annotate("", tip, (0.0, 0.0), arrowprops={**style, "shrinkA": 0.0, "shrinkB": 0.0}, zorder=4)


def along(tips: np.ndarray) -> np.ndarray:
    """Return points on the arrows, which labels should not cover."""
    return np.concatenate([tips * share for share in np.linspace(0.0, 0.97, 25)])


def _heads(tips: np.ndarray, size: float, ax: Axes) -> np.ndarray:
    """Return points on the outlines of the heads of arrows to `tips` (n, 2), all in pixels."""
    shafts = tips - ax.transData.transform((0.0, 0.0))
    lengths = np.hypot(*shafts.T)[:, None]
    back = -size * np.divide(shafts, lengths, out=np.zeros(shafts.shape), where=lengths > 0.0)
    across = WIDTH * back[:, ::-1] * [1.0, -1.0]
    return np.vstack([tips] + [tips + share * (back + side * across) for share in (0.3, 0.6) for side in (-1, 0, 1)])
