"""Explained variance of each component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen.plot._parts import fitted_model
from karhunen.plot._parts.axes import COLOURS, FAINT, GREY, INK, axes, laid_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of separate bars; more are drawn as one area with steps.
MOST_BARS = 400
#: Maximum number of components with a number above each bar, and with a marker on the curve.
MOST_NUMBERS = 15
MOST_MARKERS = 40
#: Height of the longest bar, and of the first and last value of the curve, as shares of the height of the Axes. The
#: space between them holds the number above the bar.
BARS, FIRST, LAST = 0.58, 0.71, 0.96
#: Distance of the bars below which not all components are numbered, in typographic points.
NARROWEST = 16.0
#: Smallest and usual size of the numbers, in typographic points.
SMALLEST, USUAL = 6.0, 8.0


def scree(pca: Any, *, n_components: int | None = None, cumulative: bool = True, ax: Axes | None = None) -> Axes:
    """Draw the share of the total variance that each component explains.

    The bars fill the lower part of the Axes whatever the share of the first component is. The cumulative sum is a curve
    above the bars, with its own axis on the right; the two scales differ.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncompletePCA or Rotation
        Fitted estimator of karhunen or scikit-learn, or a result of :mod:`karhunen.rotation`.
    n_components : int or None, default=None
        Number of components to draw; None draws all fitted components.
    cumulative : bool, default=True
        Also draw the cumulative sum, if there are several components.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes of the bars, with components from 1 on the horizontal axis and percent of the total variance on the
        vertical axis. The Axes of the curve are a twin of them.

    Raises
    ------
    ValueError
        If `pca` is not a fitted model, or `n_components` not a positive integer.

    Examples
    --------
    >>> from karhunen import PCA, plot
    >>> from sklearn.datasets import load_wine
    >>> ax = plot.scree(PCA(scale=True).fit(load_wine().data))
    >>> ax.get_ylabel()
    'Explained variance (%)'
    """
    fitted_model.check(pca)
    n = fitted_model.count("n_components", n_components, fitted_model.n_components(pca))
    shares = fitted_model.shares(pca)[:n]
    ax = axes(ax, (float(np.clip(3.2 + 0.34 * n, 4.6, 8.0)), 4.0))
    at = np.arange(1, n + 1)
    if n <= MOST_BARS:
        ax.bar(at, shares, color=COLOURS[0], width=0.74)
    else:
        ax.stairs(shares, np.arange(0.5, n + 1.0), color=COLOURS[0], fill=True)
    # Variances after an oblique rotation may be negative.
    most, least = float(shares.max()) or 1.0, min(float(shares.min()), 0.0)
    ax.set_xlabel(fitted_model.components_label(pca))
    ax.set_xlim(0.4, n + 0.6)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_ylabel("Explained variance (%)")
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    if cumulative and n > 1:
        ax.set_ylim(least, least + (most - least) / BARS)
        ax.set_yticks(_ticks(least, most))
        ax.spines["left"].set_bounds(least, most)
        ax.yaxis.label.set(y=0.0, ha="left")
        _curve(ax, at, np.cumsum(shares))
    else:
        ax.set_ylim(least, least + 1.12 * (most - least))
    if n <= MOST_NUMBERS:
        width, _ = laid_out(ax)
        _write_numbers(ax, at, shares, width / np.ptp(ax.get_xlim()))
    return ax


def _curve(ax: Axes, at: np.ndarray, sums: np.ndarray) -> None:
    """Draw the cumulative sum above the bars, with an axis on the right."""
    right = ax.twinx()
    look = {"marker": "o", "markersize": 4.0 if len(at) <= MOST_MARKERS else 0.0, "linewidth": 1.4}
    right.plot(at, sums, color=COLOURS[1], **look)
    rise = max(sums[-1] - sums[0], 1e-9)
    unit = rise / (LAST - FIRST)
    right.set_ylim(sums[0] - FIRST * unit, sums[0] + (1.0 - FIRST) * unit)
    right.set_yticks(_ticks(sums[0], sums[0] + rise))
    right.set_ylabel("Cumulative (%)", color=COLOURS[1], y=1.0, ha="right")
    right.tick_params(colors=INK, color=GREY)
    for side in ("top", "left", "bottom"):
        right.spines[side].set_visible(False)
    right.spines["right"].set_color(GREY)
    right.spines["right"].set_bounds(sums[0], sums[0] + rise)


def _ticks(low: float, high: float) -> np.ndarray:
    """Return few round values from `low` to `high`."""
    from matplotlib.ticker import MaxNLocator

    ticks = MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]).tick_values(low, high)
    rounding = 1e-9 * (high - low)
    return ticks[(ticks >= low - rounding) & (ticks <= high + rounding)]


def _write_numbers(ax: Axes, at: np.ndarray, shares: np.ndarray, pitch: float) -> None:
    """Write the components below and the percentages above bars that are `pitch` typographic points apart."""
    if pitch > NARROWEST:
        ax.set_xticks(at)
    texts = [
        ax.annotate(
            fitted_model.percent(share),
            (x, max(share, 0.0)),
            xytext=(0, 2),
            textcoords="offset points",
            ha="center",
            va="bottom",
            fontsize=USUAL,
            color=INK,
        )
        for x, share in zip(at, shares, strict=True)
    ]
    widest = max(text.get_window_extent().width for text in texts) * 72.0 / ax.figure.canvas.figure.dpi
    size = USUAL * (pitch - 1.5) / widest
    for text in texts:
        if size < SMALLEST:
            text.remove()
        else:
            text.set_fontsize(min(size, USUAL))
