"""The numbers of components by several rules."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen.plot._parts import bars
from karhunen.plot._parts.axes import COLOURS, FAINT, GREY, INK, SOFT, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Space above the rules for the counts, and height of the largest count, in rows.
COUNTS = 3.2
TALLEST = 2.4


def selection(found: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the number of components that each rule selects, and above how many rules select each number.

    A hollow marker is at the edge of the range of its rule, which may have found no answer within it. A thin line spans
    the range. Rules that do not apply have no marker.

    Parameters
    ----------
    found : iterable of karhunen.selection.Selection
        Results of :func:`karhunen.selection.rules` and :func:`karhunen.selection.parallel_analysis`, drawn from top to
        bottom.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes, with numbers of components on the horizontal axis and one row for each rule.

    Raises
    ------
    ValueError
        If `found` is empty or holds something else.

    Examples
    --------
    >>> from karhunen import PCA, plot, selection
    >>> from sklearn.datasets import load_wine
    >>> ax = plot.selection(selection.rules(PCA(scale=True).fit(load_wine().data)))
    >>> [text.get_text() for text in ax.get_yticklabels()][:3]
    ['kaiser', 'jolliffe', 'broken-stick']
    """
    rows = [found] if hasattr(found, "rule") else list(found) if isinstance(found, Iterable) else []
    if not rows or not all(hasattr(row, "rule") and hasattr(row, "n_components") for row in rows):
        raise ValueError("found holds no results of karhunen.selection; pass rules(pca), or a list of such results")
    numbers = np.array([row.n_components for row in rows if row.n_components is not None], dtype=int)
    n_rows = len(rows) + COUNTS
    ax = axes(ax, bars.figure_size(int(np.ceil(n_rows * 1.2))))
    at = COUNTS + np.arange(len(rows))
    most = max(int(numbers.max()) if len(numbers) else 1, 1)
    right = 1.12 * most + 1.0
    for row, height in zip(rows, at, strict=True):
        if row.n_components is None:
            ax.text(0.0, height, "does not apply", color=SOFT, fontsize=8, va="center")
            continue
        low, high = row.range
        ax.plot([low, min(high, right)], [height, height], color=FAINT, linewidth=2.5, solid_capstyle="butt", zorder=1)
        face = "white" if row.at_edge else COLOURS[0]
        ax.plot(row.n_components, height, "o", markersize=7, color=COLOURS[0], markerfacecolor=face, zorder=3)
    _draw_counts(ax, numbers)
    ax.set_xlim(-0.5, right)
    ax.xaxis.get_major_locator().set_params(integer=True)
    at_edge = any(row.at_edge for row in rows if row.n_components is not None)
    ax.set_xlabel("Components (hollow: at the edge of the range)" if at_edge else "Components")
    bars.name_rows(ax, at, [row.rule for row in rows], int(np.ceil(n_rows)))
    ax.set_ylim(COUNTS + len(rows) - 0.4, -0.9)
    return ax


def _draw_counts(ax: Axes, numbers: np.ndarray) -> None:
    """Draw bars of the number of rules that select each number of components."""
    base = COUNTS - 0.6
    chosen, counts = np.unique(numbers, return_counts=True)
    if len(chosen):
        heights = TALLEST * counts / counts.max()
        ax.bar(chosen, -heights, bottom=base, width=0.5, color=COLOURS[1], zorder=2)
        for number, count, height in zip(chosen, counts, heights, strict=True):
            ax.annotate(
                str(count),
                (number, base - height),
                xytext=(0, 2),
                textcoords="offset points",
                ha="center",
                fontsize=8,
                color=INK,
            )
    ax.axhline(base, color=GREY, linewidth=0.9)
    ax.text(1.0, base - 0.15, "rules", transform=ax.get_yaxis_transform(), ha="right", color=SOFT, fontsize=8)
