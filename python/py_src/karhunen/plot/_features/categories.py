"""Categories of MCA and FAMD in the plane of two components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from karhunen.plot._parts import fitted_model, labelling
from karhunen.plot._parts.axes import COLOURS, INK, MARKERS, axes, cross, laid_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Area of the marker of a category of all rows, and least area, in square typographic points.
LARGEST, LEAST = 160.0, 14.0


def categories(model: Any, *, components: tuple[int, int] = (0, 1), n_labels: int = 60, ax: Axes | None = None) -> Axes:
    """Draw the categories of a multiple correspondence analysis, or of mixed data, at their coordinates.

    Categories near one another are chosen by the same rows, those far from the centre by rows that differ from the
    mean. The area of a marker is the share of the rows; colours and markers show the variables.

    Parameters
    ----------
    model : MCA or FAMD
        Fitted estimator of :mod:`karhunen.categorical`.
    components : (int, int), default=(0, 1)
        Indices, from 0, of the components on the horizontal and vertical axis.
    n_labels : int, default=60
        Maximum number of names: those farthest from the centre are written, where they fit.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Examples
    --------
    >>> import pandas as pd
    >>> from karhunen import plot
    >>> from karhunen.categorical import MCA
    >>> table = pd.DataFrame({"sex": list("mffmmf"), "answer": ["yes", "no", "no", "yes", "no", None]})
    >>> ax = plot.categories(MCA().fit(table))
    >>> ax.get_xlabel()
    'PC1 (58.2 % of the variance)'
    """
    if not hasattr(model, "category_names_"):
        check_is_fitted(model)
        raise TypeError(f"model is a {type(model).__name__}; plot.categories draws an MCA or FAMD")
    first, second = fitted_model.plane(model.pca_, components)
    at = model.category_coordinates_[:, [first, second]]
    # Categories without weight have no coordinates.
    has_place = np.isfinite(at).all(axis=1)
    most = fitted_model.count("n_labels", n_labels, len(at))
    ax = axes(ax, (6.4, 5.2))
    cross(ax)
    areas = np.maximum(LARGEST * model.category_shares_, LEAST)
    start = 0
    for i, (name, found) in enumerate(model.categories_.items()):
        chosen = np.flatnonzero(has_place[start : start + len(found)]) + start
        start += len(found)
        ax.scatter(
            *at[chosen].T,
            s=areas[chosen],
            color=COLOURS[i % len(COLOURS)],
            marker=MARKERS[i % len(MARKERS)],
            alpha=0.85,
            linewidths=0.0,
            label=name,
            zorder=3,
        )
    ax.margins(0.14)
    ax.set_xlabel(fitted_model.axis_label(model.pca_, first))
    ax.set_ylabel(fitted_model.axis_label(model.pca_, second))
    if len(model.categories_) <= len(MARKERS):
        legend = ax.legend(frameon=False, fontsize=8.5, labelcolor=INK)
        for handle in getattr(legend, "legend_handles", None) or legend.legendHandles:
            handle.set_sizes([36.0])
    placed = np.flatnonzero(has_place)
    order = placed[np.argsort(-np.hypot(*at[placed].T), kind="stable")][:most]
    names = labelling.shorten([model.category_names_[j] for j in order])
    labelling.place(ax, at[order], names, toward=at[order], obstacles=_outlines(ax, at[placed], areas[placed]))
    return ax


def _outlines(ax: Axes, at: np.ndarray, areas: np.ndarray) -> np.ndarray:
    """Return points on circles around markers, which labels do not cover."""
    laid_out(ax)
    angle = np.linspace(0.0, 2.0 * np.pi, 12, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    # The half diagonal of a square of this area.
    reach = np.sqrt(areas / 2) * ax.figure.canvas.figure.dpi / 72.0
    points = ax.transData.transform(at)[:, None] + reach[:, None, None] * circle
    found: np.ndarray = ax.transData.inverted().transform(points.reshape(-1, 2))
    return found
