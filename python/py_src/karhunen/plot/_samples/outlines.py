"""Ellipses and convex hulls around groups of points."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from karhunen._shared.options import flag_option, is_number
from karhunen.plot._parts.axes import INK
from karhunen.plot._samples.groups import Colouring

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(ax: Axes, at: np.ndarray, colouring: Colouring, ellipses: float | None, hulls: bool) -> None:
    """Draw outlines of each group of points (n, 2), or of all points if there are no groups."""
    if ellipses is not None and not (is_number(ellipses) and 0.0 < ellipses < 1.0):
        raise ValueError(f"ellipses = {ellipses!r}; give the share of rows inside, above 0 and below 1, such as 0.95")
    hulls = flag_option("hulls", hulls)
    codes = np.zeros(len(at), dtype=int) if colouring.codes is None else colouring.codes
    colours = [INK] if colouring.codes is None else [look.colour for look in colouring.looks if look.is_group]
    for code, colour in enumerate(colours):
        points = at[codes == code]
        outlines = ([] if ellipses is None else [ellipse(points, ellipses)]) + ([hull(points)] if hulls else [])
        for outline in outlines:
            if len(outline):
                ax.fill(*outline.T, facecolor=colour, alpha=0.1, zorder=0.7)
                ax.plot(*np.vstack([outline, outline[:1]]).T, color=colour, linewidth=1.0, zorder=0.8)


def ellipse(points: np.ndarray, share: float) -> np.ndarray:
    """Return the ellipse (m, 2) that holds a share of a normal distribution with the mean and covariance of points.

    Of fewer than three points there is none.
    """
    if len(points) < 3:
        return np.empty((0, 2))
    variances, axes = np.linalg.eigh(np.cov(points.T))
    radii = np.sqrt(-2.0 * np.log1p(-share) * np.clip(variances, 0.0, None))
    angle = np.linspace(0.0, 2.0 * np.pi, 120, endpoint=False)
    return points.mean(axis=0) + (np.column_stack([np.cos(angle), np.sin(angle)]) * radii) @ axes.T


def hull(points: np.ndarray) -> np.ndarray:
    """Return the corners (m, 2) of the convex hull in order: two for points on a line, none for fewer than two."""
    from scipy.spatial import ConvexHull, QhullError

    if len(points) < 2:
        return np.empty((0, 2))
    try:
        return points[ConvexHull(points).vertices]
    except (QhullError, ValueError):
        along = (points - points.mean(axis=0)) @ np.linalg.svd(points - points.mean(axis=0), full_matrices=False)[2][0]
        return points[[np.argmin(along), np.argmax(along)]]
