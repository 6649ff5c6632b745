"""Rows and features in one plot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from karhunen._shared.choices import Scaling
from karhunen._shared.options import choice_option
from karhunen.plot._parts import arrows, fitted_model
from karhunen.plot._parts.axes import COLOURS, INK, axes, cross
from karhunen.plot._samples import columns, density_grid, groups, outlines, points

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Length of the longest arrow as a share of the distance of the farthest point.
REACH = 0.9
#: Space for names beyond the tips, per letter and per line, as shares of the distance of the farthest point.
LETTER, LINE = 0.042, 0.1


def biplot(
    pca: Any,
    X: Any,
    *,
    components: tuple[int, int] = (0, 1),
    scaling: Scaling | None = None,
    color_by: Any = None,
    data: Any = None,
    max_groups: int | None = 30,
    labels: Sequence[Any] | bool | None = None,
    density: Literal["auto"] | bool = "auto",
    ellipses: float | None = None,
    hulls: bool = False,
    feature_names: Sequence[Any] | None = None,
    n_arrows: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Draw the rows of `X` as points and the features as arrows (Gabriel 1971, doi:10.1093/biomet/58.3.453).

    The projection of a point on an arrow shows the size of the feature in the row. All arrows are scaled by one factor
    that fits them to the points, so only their relative lengths are meaningful.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncompletePCA or Rotation
        Fitted estimator of karhunen or scikit-learn, or a result of :mod:`karhunen.rotation`.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
        Rows, as in `transform`.
    components : (int, int), default=(0, 1)
        Indices, from 0, of the components on the horizontal and vertical axis.
    scaling : {"form", "covariance"} or None, default=None
        "form" preserves distances between rows: points are scores, arrows are components. "covariance" preserves the
        features: arrows are loadings, whose angles show correlations, and points are scores of unit variance. None is
        "form", and "covariance" of a rotation, whose scores have unit variance: its arrows are the pattern, so that
        projections show values after oblique rotations too, but then angles are not correlations.
    color_by : array-like of shape (n_samples,), str or None, default=None
        Groups, numbers or the name of a column of `X` or `data`, as in :func:`scores`.
    data : dataframe of n_samples rows or None, default=None
        A separate table, of which `color_by` names a column.
    max_groups : int or None, default=30
        Number of groups with a look of their own, as in :func:`scores`.
    labels : sequence of shape (n_samples,), bool or None, default=None
        Names of the rows, as in :func:`scores`.
    density : {"auto", True, False}, default="auto"
        Cells of a grid instead of points, as in :func:`scores`.
    ellipses : float or None, default=None
        Share of rows inside an ellipse around each group, as in :func:`scores`.
    hulls : bool, default=False
        Convex hulls of the groups, as in :func:`scores`.
    feature_names : sequence of shape (n_features,) or None, default=None
        Names of the features; None uses the columns of the fitted data frame.
    n_arrows : int, default=15
        Maximum number of arrows: the longest in this plane are drawn. Those whose names do not fit are pale.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Examples
    --------
    >>> from karhunen import PCA, plot
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine(as_frame=True).data
    >>> ax = plot.biplot(PCA(2, scale=True).fit(wine), wine)
    >>> "flavanoids" in {text.get_text() for text in ax.texts}
    True
    """
    fitted_model.check(pca)
    first, second = fitted_model.plane(pca, components)
    names = fitted_model.feature_names(pca, feature_names)
    most = fitted_model.count("n_arrows", n_arrows, len(names))
    form = _is_form(pca, scaling)
    given, rows = columns.separate(pca, X, color_by, data)
    at = points.scores_in_plane(pca, rows, first, second)
    colouring = groups.read(color_by, given, len(at), "X", max_groups, data)
    tips = (pca.components_.T if form else fitted_model.loadings_of(pca))[:, [first, second]]
    if not form and not fitted_model.is_rotated(pca):
        spread = at.std(axis=0)
        at = at / np.where(spread > 0.0, spread, 1.0)
    chosen = arrows.longest(tips, most)
    length, far = np.hypot(*tips[chosen[0]]), np.hypot(*at.T).max()
    tips = tips[chosen] * (REACH * far / length if length > 0.0 and far > 0.0 else 1.0)

    short = arrows.short_names(ax, [names[j] for j in chosen])
    room = np.array([(LETTER * len(name), LINE) for name in short])
    ends = tips + np.sign(tips) * room * far
    own = ax is None
    ax = axes(ax, points.figure_size(np.vstack([at, ends]), 7.2))
    cross(ax)
    drawn = points.draw(ax, at, colouring, density_grid.is_wanted(density, len(at)))
    outlines.draw(ax, at, colouring, ellipses, hulls)
    ax.scatter(*ends.T, s=0.0)
    colour = COLOURS[1] if color_by is None else INK
    ax.set_xlabel(fitted_model.axis_label(pca, first))
    ax.set_ylabel(fitted_model.axis_label(pca, second))
    points.legend(ax, colouring, own)
    points.frame(ax)
    arrows.draw(ax, tips, short, colour, drawn)
    points.name_points(ax, at, X, labels, np.vstack([drawn, arrows.along(tips)]))
    return ax


def _is_form(pca: Any, scaling: Scaling | None) -> bool:
    """Return whether points are scores and arrows components, after a check of the option."""
    if scaling is None:
        return not fitted_model.is_rotated(pca)
    if choice_option("scaling", scaling, Scaling) == "form" and fitted_model.is_rotated(pca):
        raise ValueError("scaling = 'form' needs components of length one, and rotated ones are not; give 'covariance'")
    return scaling == "form"
