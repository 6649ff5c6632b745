"""Numbers of points in the cells of a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen.plot._parts.axes import colour_bar
from karhunen.plot._samples.groups import Colouring

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Number of points above which ``density="auto"`` draws a grid.
MOST_POINTS = 50_000
#: Number of cells along the longer side.
CELLS = 220


def is_wanted(density: Any, n: int) -> bool:
    """Return whether `n` points are drawn as a grid, after a check of the option."""
    if isinstance(density, str) and density == "auto":
        return n > MOST_POINTS
    if not isinstance(density, (bool, np.bool_)):
        raise ValueError(f"density = {density!r} is not known; choose one of 'auto', True, False")
    return bool(density)


def draw(ax: Axes, at: np.ndarray, colouring: Colouring, cmap: str = "viridis") -> np.ndarray:
    """Draw cells by their number of points, their most frequent group or their mean number; return the centres."""
    from matplotlib.colors import LogNorm, to_rgba

    low, span = at.min(axis=0), np.ptp(at, axis=0)
    side = float(span.max()) / CELLS or 1.0
    across, up = (np.floor(span / side).astype(int) + 1).tolist()
    place = np.minimum(((at - low) / side).astype(np.int64), [across - 1, up - 1])
    cells = place[:, 1] * across + place[:, 0]
    counts = np.bincount(cells, minlength=across * up)
    extent = (low[0], low[0] + across * side, low[1], low[1] + up * side)
    look: dict[str, Any] = {"extent": extent, "origin": "lower", "aspect": "auto", "interpolation": "nearest"}
    if colouring.numbers is not None:
        seen = ~np.isnan(colouring.numbers)
        totals = np.bincount(cells[seen], colouring.numbers[seen], minlength=len(counts))
        known = np.bincount(cells[seen], minlength=len(counts))
        means = np.ma.masked_array(totals / np.maximum(known, 1), known == 0)
        image = ax.imshow(means.reshape(up, across), cmap=cmap, **look)
        colour_bar(ax, image, f"Mean of {colouring.name or 'cell'}", shrink=0.75, aspect=25)
    elif colouring.codes is not None:
        k = len(colouring.looks)
        most = np.bincount(cells * k + colouring.codes, minlength=len(counts) * k).reshape(-1, k).argmax(axis=1)
        colours = np.array([to_rgba(each.colour) for each in colouring.looks])[most]
        colours[:, 3] = np.where(counts > 0, 0.35 + 0.65 * np.log1p(counts) / np.log1p(counts.max()), 0.0)
        image = ax.imshow(colours.reshape(up, across, 4), **look)
        for each in colouring.looks:
            ax.scatter([], [], color=each.colour, marker="s", label=each.label)
    else:
        shown = np.ma.masked_equal(counts.reshape(up, across), 0)
        image = ax.imshow(shown, cmap=cmap, norm=LogNorm(1, max(2, counts.max())), **look)
        if cmap == "viridis":
            colour_bar(ax, image, "Rows per cell", shrink=0.75, aspect=25)
    image.sticky_edges.x.clear()
    image.sticky_edges.y.clear()
    full = np.flatnonzero(counts)
    return low + side * (np.column_stack([full % across, full // across]) + 0.5)
