"""Draws of a bootstrap as clouds and confidence ellipses of features and rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen._inputs import tables
from karhunen._shared.choices import CloudKind
from karhunen._shared.options import choice_option, probability
from karhunen.plot._parts import arrows, fitted_model
from karhunen.plot._parts.axes import COLOURS, GREY, INK, PALE, axes, cross
from karhunen.plot._samples import columns, groups, outlines, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Number of ellipses of features and of rows unless it is given, and of clouds that "auto" draws with them.
FEATURES, ROWS, CLOUDS = 30, 200, 12
#: Most points of one cloud: more do not show more.
MOST_POINTS = 500
#: Corners of an ellipse that names of features do not cover; each counts.
CORNERS = 15


def bootstrap(
    found: Any,
    X: Any = None,
    *,
    components: tuple[int, int] = (0, 1),
    kind: CloudKind = "auto",
    level: float = 0.95,
    color_by: Any = None,
    max_groups: int | None = 30,
    labels: Sequence[Any] | bool | None = None,
    n_ellipses: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw how far features, or rows, move on two components from draw to draw of a bootstrap.

    Without `X`, arrows are the loadings of the features, and the tips of the draws are clouds: within the correlation
    circle if columns were scaled. With `X`, points are the scores of its rows, and clouds are their scores on the
    aligned components of the draws (partial bootstrap; Josse, Wager & Husson 2016, doi:10.1080/10618600.2014.950871).
    Items whose ellipses do not overlap differ by more than the sampling error of the components.

    Parameters
    ----------
    found : karhunen.resampling.Intervals
        Result of :func:`karhunen.resampling.bootstrap` with ``keep=True``.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features) or None, default=None
        Rows of the fit, or new ones; None draws features.
    components : (int, int), default=(0, 1)
        Indices, from 0, of the components on the horizontal and vertical axis.
    kind : {"auto", "ellipses", "points", "both"}, default="auto"
        Confidence ellipses, the points of all draws (at most 500 of each item), or both. "auto" draws both of up to 12
        items, and ellipses of more.
    level : float, default=0.95
        Share of a normal distribution with the mean and covariance of the draws that an ellipse holds.
    color_by : array-like of shape (n_samples,), str or None, default=None
        Groups, numbers or the name of a column of `X`, as in :func:`scores`.
    max_groups : int or None, default=30
        Number of groups with a look of their own, as in :func:`scores`.
    labels : sequence of shape (n_samples,), bool or None, default=None
        Names of the rows, as in :func:`scores`.
    n_ellipses : int or None, default=None
        Number of items with an ellipse or a cloud: those farthest from the centre. None is at most 30 features, which
        have names, and 200 rows. The others are small points.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Raises
    ------
    ValueError
        If `found` holds no draws, an option is out of its range, or options of rows are given without `X`.

    Examples
    --------
    >>> from karhunen import PCA, plot, resampling
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine(as_frame=True).data
    >>> found = resampling.bootstrap(PCA(2, scale=True), wine, n_draws=100, keep=True)
    >>> plot.bootstrap(found).get_xlabel()
    'PC1 (36.2 % of the variance)'
    """
    replicates = getattr(found, "replicates", None)
    if replicates is None:
        raise ValueError("found holds no draws; pass the result of karhunen.resampling.bootstrap(..., keep=True)")
    plane = list(fitted_model.plane(replicates.pca, components))
    choice_option("kind", kind, CloudKind)
    share = probability("level", level)
    if X is not None:
        return _draw_rows(replicates, X, plane, (kind, share), n_ellipses, (color_by, max_groups, labels), ax)
    for name, value in (("color_by", color_by), ("labels", labels)):
        if value is not None:
            raise ValueError(f"{name} is of rows; pass X as well")
    return _draw_features(found, plane, (kind, share), n_ellipses, ax)


def _draw_features(
    found: Any, plane: list[int], look: tuple[str, float], n_ellipses: int | None, ax: Axes | None
) -> Axes:
    """Draw arrows to the loadings, with the clouds of their tips."""
    pca = found.replicates.pca
    tips = found.loadings.estimate[:, plane]
    p = len(tips)
    chosen = arrows.longest(tips, min(p, FEATURES) if n_ellipses is None else _count(n_ellipses, p))
    clouds = found.replicates.loadings[:, chosen][:, :, plane]
    others = np.setdiff1d(np.arange(p), chosen)
    short = arrows.short_names(ax, [found.names[j] for j in chosen])
    is_circle = pca.scale is True and pca.center is True and bool((np.abs(tips) <= 1.0 + 1e-9).all())

    # Space for names beyond the tips.
    reach = np.abs(np.vstack([tips, *np.swapaxes(clouds, 0, 1)])).max(axis=0) * [1.3, 1.1]
    ax = axes(ax, (6.2, 5.6) if is_circle else points.figure_size(np.vstack([-reach, reach]), 7.2))
    cross(ax)
    if is_circle:
        angle = np.linspace(0.0, 2.0 * np.pi, 361)
        ax.plot(np.cos(angle), np.sin(angle), color=GREY, linewidth=1.0, zorder=1)
        ax.set(xlim=(-1.28, 1.28), ylim=(-1.12, 1.12), xticks=[-1, -0.5, 0, 0.5, 1], yticks=[-1, -0.5, 0, 0.5, 1])
        ax.set_aspect("equal", adjustable="box")
    if len(others):
        ax.scatter(
            *tips[others].T, color=PALE, s=float(np.clip(2500.0 / len(others), 4.0, 16.0)), linewidths=0.0, zorder=2
        )
    drawn = _draw_clouds(ax, clouds, look, [COLOURS[0]] * len(chosen))
    if not is_circle:
        ax.update_datalim(np.vstack([-reach, reach]))
        points.frame(ax)
    ax.set_xlabel(fitted_model.axis_label(pca, plane[0]))
    ax.set_ylabel(fitted_model.axis_label(pca, plane[1]))
    arrows.draw(ax, tips[chosen], short, INK, drawn)
    return ax


def _draw_rows(
    replicates: Any,
    X: Any,
    plane: list[int],
    look: tuple[str, float],
    n_ellipses: int | None,
    names: tuple[Any, int | None, Any],
    ax: Axes | None,
) -> Axes:
    """Draw scores as points, with the clouds of their scores in all draws."""
    pca, (color_by, max_groups, labels) = replicates.pca, names
    given, X = columns.separate(pca, tables.as_table(X), color_by)
    at = points.scores_in_plane(pca, X, *plane)
    n = len(at)
    colouring = groups.read(color_by, given, n, "X", max_groups)
    most = min(n, ROWS) if n_ellipses is None else _count(n_ellipses, n)
    chosen = np.sort(arrows.longest(at, most))
    rows = X if len(chosen) == n else _rows(X, chosen)
    clouds = replicates.scores(rows)[:, :, plane]
    colours = [GREY] * len(chosen)
    if colouring.codes is not None:
        colours = [colouring.looks[colouring.codes[i]].colour for i in chosen]

    own = ax is None
    ax = axes(ax, points.figure_size(at, 6.8))
    cross(ax)
    drawn = _draw_clouds(ax, clouds, look, colours)
    points.draw(ax, at, colouring, dense=False)
    ax.set_xlabel(fitted_model.axis_label(pca, plane[0]))
    ax.set_ylabel(fitted_model.axis_label(pca, plane[1]))
    points.legend(ax, colouring, own)
    points.frame(ax)
    points.name_points(ax, at, X, labels, np.vstack([at, drawn]))
    return ax


def _draw_clouds(ax: Axes, clouds: np.ndarray, look: tuple[str, float], colours: Sequence[str]) -> np.ndarray:
    """Draw clouds (n_draws, n_items, 2) as points and ellipses; return points that names should not cover."""
    from matplotlib.collections import PolyCollection

    (kind, share), n_items = look, clouds.shape[1]
    if kind == "auto":
        kind = "both" if n_items <= CLOUDS else "ellipses"
    covered = [np.empty((0, 2))]
    if kind in ("points", "both"):
        thinned = clouds[:MOST_POINTS]
        for i in range(n_items):
            ax.scatter(
                *thinned[:, i].T, color=colours[i], s=3.0, alpha=0.12, linewidths=0.0, zorder=1.5, rasterized=True
            )
        covered.append(clouds.mean(axis=0))
    if kind in ("ellipses", "both"):
        shapes = [outlines.ellipse(clouds[:, i], share) for i in range(n_items)]
        few = n_items <= 2 * CLOUDS
        style = {"facecolors": list(colours), "alpha": 0.12 if few else 0.05, "zorder": 1.6}
        ax.add_collection(PolyCollection(shapes, edgecolors="none", **style))
        edges = {"edgecolors": list(colours), "linewidths": 0.9 if few else 0.6, "alpha": 0.8 if few else 0.5}
        ax.add_collection(PolyCollection(shapes, facecolors="none", zorder=1.7, **edges))
        covered.extend(shape[:: max(1, len(shape) // CORNERS)] for shape in shapes)
        ax.update_datalim(np.vstack(shapes))
    return np.vstack(covered)


def _count(n_ellipses: int, most: int) -> int:
    """Check a number of ellipses."""
    return fitted_model.count("n_ellipses", n_ellipses, most)


def _rows(X: Any, chosen: np.ndarray) -> Any:
    """Return chosen rows of a table."""
    if hasattr(X, "iloc"):
        return X.iloc[chosen]
    if tables.is_table(X):
        return X[chosen.tolist()] if hasattr(X, "to_series") else X.take(chosen)
    return X[chosen] if hasattr(X, "shape") else [X[i] for i in chosen]
