"""Intervals of variances and loadings."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen._diagnostics.model import component_names
from karhunen.plot._parts import bars, fitted_model
from karhunen.plot._parts.axes import COLOURS, FAINT, GREY, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Number of features drawn unless it is given.
FEATURES = 30


def intervals(
    found: Any, *, component: int | None = None, n_features: int | None = None, ax: Axes | None = None
) -> Axes:
    """Draw confidence intervals: of the shares of the variance, or of the loadings of one component.

    Loadings whose interval excludes zero have filled markers. Estimates whose interval is not defined have no line.

    Parameters
    ----------
    found : karhunen.resampling.Intervals
        Result of :func:`karhunen.resampling.jackknife` or :func:`karhunen.resampling.bootstrap`.
    component : int or None, default=None
        Index of the component whose loadings are drawn, largest first; None draws the shares of the variance.
    n_features : int or None, default=None
        Number of features to draw with `component`; None draws at most 30.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes, with components from 1 or loadings on the horizontal axis.

    Raises
    ------
    ValueError
        If `found` holds no intervals, `component` is none of them, or `n_features` is given without it.

    Examples
    --------
    >>> from karhunen import PCA, plot, resampling
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine(as_frame=True).data
    >>> found = resampling.bootstrap(PCA(2, scale=True).fit(wine), wine, n_draws=100)
    >>> plot.intervals(found, component=0).get_xlabel()
    'Loading on PC1'
    """
    if not hasattr(found, "loadings") or not hasattr(found, "explained_variance_ratio"):
        raise ValueError(
            f"found is a {type(found).__name__}; pass the result of karhunen.resampling.jackknife or bootstrap"
        )
    if component is None:
        if n_features is not None:
            raise ValueError(f"n_features = {n_features!r} needs component: variances have no features")
        return _draw_shares(found.explained_variance_ratio, ax)
    n = found.loadings.estimate.shape[1]
    if isinstance(component, bool) or not hasattr(component, "__index__") or not 0 <= operator.index(component) < n:
        raise ValueError(f"component = {component!r}; there are intervals of components 0 to {n - 1}")
    most = fitted_model.count("n_features", n_features, len(found.names))
    return _draw_loadings(found, operator.index(component), most if n_features else min(most, FEATURES), ax)


def _draw_shares(shares: Any, ax: Axes | None) -> Axes:
    """Draw the share of each component with its interval."""
    n = len(shares.estimate)
    ax = axes(ax, (float(np.clip(3.2 + 0.34 * n, 4.6, 8.0)), 4.0))
    at = np.arange(1, n + 1)
    ends = 100.0 * np.array([shares.lower, shares.upper])
    ax.vlines(at, ends[0], ends[1], color=COLOURS[0], linewidth=2.0)
    ax.plot(at, 100.0 * shares.estimate, "o", color=COLOURS[0], markersize=5.0)
    ax.set_xlim(0.4, n + 0.6)
    ax.set_ylim(bottom=0.0)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("Component")
    ax.set_ylabel("Explained variance (%)")
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    return ax


def _draw_loadings(found: Any, component: int, most: int, ax: Axes | None) -> Axes:
    """Draw the largest loadings of a component with their intervals, from top to bottom."""
    estimate, low, high = (
        values[:, component] for values in (found.loadings.estimate, found.loadings.lower, found.loadings.upper)
    )
    n = bars.fitting(ax, most)
    chosen = np.argsort(-np.abs(estimate), kind="stable")[:n]
    ax = axes(ax, bars.figure_size(len(chosen)))
    at = np.arange(len(chosen))
    is_clear = (low[chosen] > 0.0) | (high[chosen] < 0.0)
    ax.axvline(0.0, color=GREY, linewidth=0.9, zorder=1)
    ax.hlines(at, low[chosen], high[chosen], color=COLOURS[0], linewidth=2.0, zorder=2)
    for kind, face in ((is_clear, COLOURS[0]), (~is_clear, "white")):
        marks = {"marker": "o", "s": 26.0, "facecolor": face, "edgecolor": COLOURS[0], "zorder": 3}
        ax.scatter(estimate[chosen][kind], at[kind], **marks)
    ax.margins(x=0.03)
    ax.set_xlabel(f"Loading on {component_names(found.loadings.estimate.shape[1])[component]}")
    bars.name_rows(ax, at, [str(found.names[j]) for j in chosen], len(chosen))
    return ax
