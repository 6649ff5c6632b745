"""Scores as points, coloured by groups or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen.plot._parts import labelling
from karhunen.plot._parts.axes import COLOURS, FAINT, PALE, SOFT, colour_bar
from karhunen.plot._parts.fitted_model import row_names
from karhunen.plot._samples import density_grid
from karhunen.plot._samples.groups import Colouring

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of groups with names of usual size.
MOST_LARGE = 12
#: Area of crosses and stars as a multiple of the area of other markers, of which they fill a part.
THIN = 1.9
#: Place of the legend next to 3d Axes, as a share of their width.
LEGEND_3D = 1.14
#: Area of the markers in a legend as a multiple of the size of its names.
LEGEND = 3.5


def scores_in_plane(pca: Any, X: Any, first: int, second: int) -> np.ndarray:
    """Compute the scores of the rows of `X` on two components as an array, whatever type `transform` returns."""
    return np.asarray(pca.transform(X))[:, [first, second]]


def figure_size(at: np.ndarray, width: float) -> tuple[float, float]:
    """Return the size of a figure of `width` inches with Axes of about the proportions of the points (n, 2)."""
    across, up = np.ptp(at, axis=0)
    share = up / across if across > 0.0 else 1.0
    return width, float(np.clip((width - 1.6) * share + 0.9, 0.5 * width, 0.95 * width))


def draw(ax: Axes, at: np.ndarray, colouring: Colouring, dense: bool) -> np.ndarray:
    """Draw points (n, 2 or 3), or cells of a grid if `dense`; return the points that labels must not cover."""
    if dense:
        return density_grid.draw(ax, at, colouring)
    look = look_of(len(at))
    if colouring.numbers is not None:
        seen = ~np.isnan(colouring.numbers)
        if not seen.all():
            ax.scatter(*at[~seen].T, color=FAINT, marker="o", **look)
        drawn = ax.scatter(*at[seen].T, c=colouring.numbers[seen], cmap="viridis", **look)
        colour_bar(ax, drawn, colouring.name, shrink=0.75, aspect=25)
    elif colouring.codes is not None:
        codes = colouring.codes
        # Rows without a group of their own lie below the others.
        for code in sorted(range(len(colouring.looks)), key=lambda code: colouring.looks[code].is_group):
            each = colouring.looks[code]
            area = look["s"] * (THIN if each.marker in "PX*" else 1.0)
            style = {**look, "s": area, "color": each.colour, "marker": each.marker, "label": each.label}
            ax.scatter(*at[codes == code].T, **style)
    else:
        ax.scatter(*at.T, color=COLOURS[0], **look)
    return at


def draw_below(ax: Axes, at: np.ndarray, dense: bool) -> np.ndarray:
    """Draw points (n, 2) in grey, below others; return the points that labels must not cover."""
    if dense:
        return density_grid.draw(ax, at, Colouring(), cmap="Greys")
    ax.scatter(*at.T, color=PALE, **look_of(len(at)))
    return at


def look_of(n: int) -> dict[str, Any]:
    """Return the style of `n` points."""
    return {
        "s": float(np.clip(2500.0 / max(n, 1), 7.0, 34.0)),
        "alpha": 0.85 if n < 500 else 0.6,
        "linewidths": 0.4 if n < 1000 else 0.0,
        "edgecolors": "white",
        "rasterized": n > 5000,
    }


def legend(ax: Axes, colouring: Colouring, own: bool) -> None:
    """Write a legend of the groups next to the Axes, in as many columns as its height needs.

    A figure of karhunen (`own`) becomes wider where the legend has several columns.
    """
    if colouring.codes is None:
        return
    handles, labels = ax.get_legend_handles_labels()
    last = {look.label: i for i, look in enumerate(colouring.looks)}
    order = sorted(range(len(labels)), key=lambda i: last.get(labels[i], -1))
    figure = ax.figure.canvas.figure
    size = 10.0 if len(labels) <= MOST_LARGE else 8.0
    height = ax.get_window_extent().height * 72.0 / figure.dpi
    columns = -(-len(labels) // max(1, int(height / (1.5 * size)) - (colouring.name is not None)))
    special = {look.label for look in colouring.looks if not look.is_group}
    groups = [labels[i] for i in order if labels[i] not in special]
    names = dict(zip(groups, labelling.shorten(groups, labelling.LONGEST if columns == 1 else 18), strict=True))
    short = [names.get(labels[i], labels[i]) for i in order]
    # The vertical axis of a 3d plot has its numbers and its label at the right.
    left = 1.0 if ax.name != "3d" else LEGEND_3D
    placement = {"loc": "upper left", "bbox_to_anchor": (left, 1.0), "borderaxespad": 0.0, "alignment": "left"}
    style = {"frameon": False, "handletextpad": 0.3, "columnspacing": 0.8, "fontsize": size}
    written = ax.legend([handles[i] for i in order], short, title=colouring.name, ncols=columns, **placement, **style)
    for handle in written.legend_handles:
        handle.set_alpha(1.0)
        handle.set_sizes([LEGEND * size])
    if own and columns > 1:
        width = written.get_window_extent(figure.canvas.get_renderer()).width / figure.dpi
        width += (left - 1.0) * ax.get_window_extent().width / figure.dpi
        figure.set_size_inches(figure.get_figwidth() + width, figure.get_figheight())
        # The place of a legend next to 3d Axes follows from their size, and their size from the legend.
        for _ in range(3 if ax.name == "3d" else 0):
            figure.draw_without_rendering()


def name_points(ax: Axes, at: np.ndarray, X: Any, labels: Sequence[Any] | bool | None, obstacles: np.ndarray) -> None:
    """Write the names of rows, the outermost first, as far as `obstacles` leave space."""
    names = row_names(X, labels, len(at))
    if names is None:
        return
    spread = at.std(axis=0)
    far = np.hypot(*((at - at.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)).T)
    order = np.argsort(-far, kind="stable")
    order = order[: labelling.MOST]
    written = labelling.shorten([names[i] for i in order])
    labelling.place(ax, at[order], written, obstacles=obstacles, size=7.5, colour=SOFT)


def frame(ax: Axes) -> None:
    """Show all points with equal units on both axes, so that distances are those in the data."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.07)
    ax.grid(color=FAINT, linewidth=0.5, alpha=0.6)
    ax.autoscale_view()
