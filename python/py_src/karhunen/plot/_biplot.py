"""Rows and features in one picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen._shared.choices import Scaling
from karhunen._shared.options import choice_option
from karhunen.plot import _arrows, _fitted_model, _points
from karhunen.plot._axes import COLOURS, INK, axes, cross
from karhunen.plot._labels import LONGEST

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: How far the longest arrow reaches, as a share of the farthest point.
REACH = 0.9
#: Room for names beyond the tips, for each letter and for a line, as shares of the farthest point.
LETTER, LINE = 0.042, 0.1


def biplot(
    pca: Any,
    X: Any,
    *,
    components: tuple[int, int] = (0, 1),
    scaling: Scaling = "form",
    color_by: Any = None,
    labels: Sequence[Any] | bool | None = None,
    feature_names: Sequence[Any] | None = None,
    n_arrows: int = 15,
    ax: Axes | None = None,
) -> Axes:
    """Draw the rows of `X` as points and the features as arrows (Gabriel 1971, doi:10.1093/biomet/58.3.453).

    The projection of a point on an arrow tells how large that feature is in that row. The arrows share one factor that
    fits them to the points, so only their relative lengths mean something.

    Parameters
    ----------
    pca : PCA or TruncatedSVD
        Fitted, karhunen's or scikit-learn's.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
        Rows, as `transform` takes them.
    components : (int, int), default=(0, 1)
        Indices of the components across and upwards, from 0.
    scaling : {"form", "covariance"}, default="form"
        What is true to scale: distances between rows (points are scores, arrows are components), or the features
        (arrows are loadings, whose angles tell correlations; points are scores of unit variance).
    color_by : array-like of shape (n_samples,) or None, default=None
        Groups or numbers, as for :func:`scores`.
    labels : sequence of shape (n_samples,), bool or None, default=None
        Names of the rows, as for :func:`scores`.
    feature_names : sequence of shape (n_features,) or None, default=None
        Names of the features; those of the fitted data frame if None.
    n_arrows : int, default=15
        Arrows at most: the longest of this plane.
    ax : Axes or None, default=None
        Where to draw; a new figure if None.

    Returns
    -------
    matplotlib.axes.Axes
        The picture.

    Examples
    --------
    >>> from karhunen import PCA, plot
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine(as_frame=True).data
    >>> ax = plot.biplot(PCA(2, scale=True).fit(wine), wine)
    >>> "flavanoids" in {text.get_text() for text in ax.texts}
    True
    """
    _fitted_model.check(pca)
    first, second = _fitted_model.plane(pca, components)
    names = _fitted_model.feature_names(pca, feature_names)
    most = _fitted_model.count("n_arrows", n_arrows, len(names))
    choice_option("scaling", scaling, Scaling)
    at = _points.scores_in_plane(pca, X, first, second)
    if scaling == "form":
        tips = pca.components_[[first, second]].T
    else:
        spread = at.std(axis=0)
        at = at / np.where(spread > 0.0, spread, 1.0)
        tips = _fitted_model.loadings_of(pca)[:, [first, second]]
    chosen = _arrows.longest(tips, most)
    length, far = np.hypot(*tips[chosen[0]]), np.hypot(*at.T).max()
    tips = tips[chosen] * (REACH * far / length if length > 0.0 and far > 0.0 else 1.0)

    room = np.array([(LETTER * min(len(names[j]), LONGEST), LINE) for j in chosen])
    ends = tips + np.sign(tips) * room * far
    ax = axes(ax, _points.figure_size(np.vstack([at, ends]), 7.2))
    cross(ax)
    _points.draw(ax, at, color_by)
    ax.scatter(*ends.T, s=0.0)
    colour = COLOURS[1] if color_by is None else INK
    _arrows.draw(ax, tips, colour)
    ax.set_xlabel(_fitted_model.axis_label(pca, first))
    ax.set_ylabel(_fitted_model.axis_label(pca, second))
    _points.frame(ax)
    _arrows.name(ax, tips, [names[j] for j in chosen], colour, at)
    _points.name_points(ax, at, X, labels, _arrows.along(tips))
    return ax
