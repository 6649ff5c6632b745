"""Explained variance of each component."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen.plot import _fitted_model
from karhunen.plot._axes import COLOURS, FAINT, INK, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of components with a number above each bar.
MOST_NUMBERS = 15


def scree(pca: Any, *, n_components: int | None = None, cumulative: bool = True, ax: Axes | None = None) -> Axes:
    """Draw the share of the total variance that each component explains.

    Parameters
    ----------
    pca : PCA, TruncatedSVD or IncompletePCA
        Fitted estimator of karhunen or scikit-learn.
    n_components : int or None, default=None
        Number of components to draw; None draws all fitted components.
    cumulative : bool, default=True
        Also draw the cumulative sum.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes, with components from 1 on the horizontal axis and percent of the total variance on the vertical axis.

    Examples
    --------
    >>> from karhunen import PCA, plot
    >>> from sklearn.datasets import load_wine
    >>> ax = plot.scree(PCA(scale=True).fit(load_wine().data))
    >>> ax.get_ylabel()
    'Explained variance (%)'
    """
    _fitted_model.check(pca)
    n = _fitted_model.count("n_components", n_components, len(pca.components_))
    shares = 100.0 * np.asarray(pca.explained_variance_ratio_)[:n]
    ax = axes(ax, (float(np.clip(2.8 + 0.34 * n, 4.6, 8.0)), 3.6))
    at = np.arange(1, n + 1)
    ax.bar(at, shares, color=COLOURS[0], width=0.74, label="each")
    if cumulative:
        look = {"marker": "o", "markersize": 4.0 if n <= 40 else 0.0, "linewidth": 1.4}
        ax.plot(at, np.cumsum(shares), color=COLOURS[1], label="running sum", **look)
        ax.set_ylim(0.0, 104.0)
        ax.legend(frameon=False, loc="lower right", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0, ncols=2)
    else:
        ax.set_ylim(0.0, 1.12 * shares.max())
    if n <= MOST_NUMBERS:
        sums = np.cumsum(shares)
        for x, share, total in zip(at, shares, sums, strict=True):
            # The first marker of the sum is on its bar: the number is written inside the bar.
            inside = cumulative and total - share < 6.0 and share > 8.0
            offset, va, colour = ((0, -4), "top", "white") if inside else ((0, 2), "bottom", INK)
            where = {"xytext": offset, "textcoords": "offset points", "ha": "center", "va": va}
            ax.annotate(f"{share:.1f}", (x, share), fontsize=8, color=colour, **where)
    ax.set_xlabel("Component")
    ax.set_ylabel("Explained variance (%)")
    ax.set_xlim(0.4, n + 0.6)
    ax.xaxis.get_major_locator().set_params(integer=True)
    if n <= MOST_NUMBERS:
        ax.set_xticks(at)
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    return ax
