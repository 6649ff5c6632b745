"""The numbers of components by several rules."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen import _core
from karhunen.plot._parts import bars
from karhunen.plot._parts.axes import COLOURS, FAINT, GREY, INK, SOFT, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Space for the curve above the rules, and between both, in rows.
CURVE, GAP = 9.0, 1.0
#: Characters in a line of the reason.
WIDTH = 80
#: Number of components that the curve shows at least, if there are so many.
LEAST = 6
#: Ratio of the first variance to the least threshold from which on the axis is logarithmic.
LOGARITHMIC = 100.0
#: Lines of thresholds, which repeat.
DASHES = ("--", ":", "-.", (0, (6, 2)), (0, (1, 1)), (0, (3, 1, 1, 1, 1, 1)))
#: Rules whose values are shares or singular values; the others have variances.
SHARES, SINGULAR = "broken-stick", "gavish-donoho"
UNITS = {SHARES: "Share of variance", SINGULAR: "Squared singular value"}


def selection(found: Any, *, ax: Axes | None = None) -> Axes:
    """Draw the number of components that each rule selects, the number that they support, and the variances at the top.

    The vertical line is at the number of :func:`karhunen.selection.suggest`, if there is one; its reason is below. A
    hollow marker is at the edge of the range of its rule, which may have found no answer within it, and does not count.
    A thin line spans the range. Rules that do not apply have no marker. At the top are the variances of the components,
    and thresholds that rules compare them with, such as the curve of parallel analysis: each in the colour and with the
    dashes of the row of its rule. A rule keeps the components before the first whose variance is below. Thresholds of
    shares and singular values are in the units of the variances. Rules that minimise a criterion have no threshold, and
    are grey.

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
        The Axes, with numbers of components on the horizontal axis and one row for each rule. The curve is its child,
        if a rule has thresholds.

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
    compared = [row for row in rows if row.n_components is not None and row.thresholds is not None]
    head = CURVE if compared else 0.0
    n_rows = len(rows) + head
    ax = axes(ax, bars.figure_size(int(np.ceil(n_rows * 1.2))))
    at = head + np.arange(len(rows))
    most = max(int(numbers.max()) if len(numbers) else 1, 1)
    right = max(1.12 * most + 1.0, min(LEAST, max((len(row.values) for row in compared), default=0)) + 0.5)
    looks = {
        id(row): {"color": COLOURS[i % len(COLOURS)], "linestyle": DASHES[i % len(DASHES)], "linewidth": 1.4}
        for i, row in enumerate(compared)
    }
    for row, height in zip(rows, at, strict=True):
        if row.n_components is None:
            ax.text(0.0, height, "does not apply", color=SOFT, fontsize=8, va="center")
            continue
        low, high = row.range
        ax.plot([low, min(high, right)], [height, height], color=FAINT, linewidth=2.5, solid_capstyle="butt", zorder=1)
        colour = SOFT
        if id(row) in looks:
            colour = looks[id(row)]["color"]
            ax.plot([low, min(high, right)], [height, height], zorder=2, **looks[id(row)])
        face = "white" if row.at_edge else colour
        ax.plot(row.n_components, height, "o", markersize=7, color=colour, markerfacecolor=face, zorder=3)
    answers = [(row.rule, row.n_components, bool(row.at_edge)) for row in rows]
    suggested, reason = _core.suggest_components(answers)
    if suggested is not None:
        ends = [head - 0.6, n_rows - 0.4]
        ax.plot([suggested] * 2, ends, color=GREY, linewidth=1.2, linestyle=":", zorder=0)
    ax.set_xlim(-0.5, right)
    ax.xaxis.get_major_locator().set_params(integer=True)
    at_edge = any(row.at_edge for row in rows if row.n_components is not None)
    label = "Components (hollow: edge of the range)" if at_edge else "Components"
    number = "none" if suggested is None else suggested
    ax.set_xlabel(label + "\n" + textwrap.fill(f"Suggested: {number}, {reason}", WIDTH))
    bars.name_rows(ax, at, [row.rule for row in rows], int(np.ceil(n_rows)))
    ax.set_ylim(n_rows - 0.4, -0.9)
    if compared:
        share = (CURVE - GAP) / (n_rows + 0.5)
        strip = ax.inset_axes([0.0, 1.0 - share, 1.0, share], sharex=ax)
        _draw_variances(strip, compared, looks, right)
    return ax


def thresholds_of(row: Any, variances: np.ndarray) -> np.ndarray:
    """Return the thresholds of a rule in the units of `variances` (k,): as far above or below as its own values."""
    n = min(len(variances), len(row.values))
    values, limits = row.values[:n], row.thresholds[:n]
    ratios = np.divide(limits, values, out=np.full(n, np.nan), where=values > 0.0)
    return variances[:n] * (ratios**2 if row.rule == SINGULAR else ratios)


def _draw_variances(strip: Axes, compared: list[Any], looks: dict[int, dict[str, Any]], right: float) -> None:
    """Draw the variances and the thresholds of rules, up to a number of components."""
    # The rule with most components; shares, or squares of singular values, only if nothing else was compared.
    best = max(compared, key=lambda row: (row.rule not in (SHARES, SINGULAR), len(row.values)))
    n = min(int(right), len(best.values))
    variances = best.values[:n] ** (2 if best.rule == SINGULAR else 1)
    look = {"marker": "o", "markersize": 3.5 if n <= 40 else 0.0, "linewidth": 1.4, "color": INK, "zorder": 3}
    strip.plot(np.arange(1, n + 1), variances, label="variances", **look)
    least = np.inf
    for row in compared:
        limits = thresholds_of(row, variances)
        least = min(least, np.nanmin(limits, initial=np.inf))
        strip.plot(np.arange(1, len(limits) + 1), limits, label=row.rule, **looks[id(row)])
    if variances[0] > LOGARITHMIC * least > 0.0:
        strip.set_yscale("log")
    else:
        strip.set_ylim(bottom=0.0)
    strip.set_ylabel(UNITS.get(best.rule, "Variance"), fontsize=9)
    strip.tick_params(axis="x", length=0, labelbottom=False)
    strip.tick_params(colors=INK, color=GREY, labelsize=8)
    strip.spines[["top", "right"]].set_visible(False)
    strip.spines[["left", "bottom"]].set_color(GREY)
