"""Features as arrows from the origin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from karhunen.plot._parts import labelling

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def longest(tips: np.ndarray, n_arrows: int) -> np.ndarray:
    """Return the indices of the longest arrows to `tips` (n, 2), in order of decreasing length."""
    return np.argsort(-np.hypot(*tips.T), kind="stable")[:n_arrows]


def draw(ax: Axes, tips: np.ndarray, colour: str) -> None:
    """Draw arrows to `tips` (n, 2) in the units of the Axes."""
    for tip in tips:
        style = {"arrowstyle": "-|>", "mutation_scale": 9, "color": colour, "linewidth": 1.1}
        ax.annotate("", tip, (0.0, 0.0), arrowprops={**style, "shrinkA": 0.0, "shrinkB": 0.0}, zorder=4)


def along(tips: np.ndarray) -> np.ndarray:
    """Return points on the arrows, which labels must not cover."""
    return np.concatenate([tips * share for share in np.linspace(0.0, 0.97, 25)])


def name(ax: Axes, tips: np.ndarray, names: Sequence[str], colour: str, points: np.ndarray | None = None) -> None:
    """Write the names of the arrows beyond their tips, as far as arrows and `points` leave space."""
    names = labelling.shorten(names)
    obstacles = along(tips) if points is None else np.vstack([along(tips), points])
    labelling.place(ax, tips, names, toward=tips, obstacles=obstacles, keep=True, colour=colour)
