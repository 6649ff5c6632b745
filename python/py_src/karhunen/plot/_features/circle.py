"""Correlations of the features with two components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen.plot._parts import arrows, fitted_model
from karhunen.plot._parts.axes import COLOURS, FAINT, GREY, axes, cross, laid_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Distance of a name, and radius of the circle in a new figure, in typographic points.
GAP, RADIUS = 7.0, 129.6
#: Space around the centre in radii: least, and most for names. Repetitions that find the radius with such space.
MARGIN, WIDEST, ROUNDS = 1.15, 2.2, 4


def correlation_circle(
    pca: Any,
    X: Any = None,
    *,
    components: tuple[int, int] = (0, 1),
    sample_weight: Any = None,
    feature_names: Sequence[Any] | None = None,
    n_arrows: int = 30,
    ax: Axes | None = None,
) -> Axes:
    """Draw the correlation of each feature with two components, inside the circle of radius 1.

    An arrow that reaches the circle is a feature fully explained by the two components; its squared length is the
    explained share of its variance. Arrows of a rotation are the correlations with the rotated components: its
    structure, of features with unit variance. After an oblique rotation these components are correlated, and the
    squared length is not the explained share.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncompletePCA or Rotation
        Fitted estimator of karhunen or scikit-learn, or a result of :mod:`karhunen.rotation`.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features) or None, default=None
        Rows whose columns are correlated with their scores. None takes the correlations of the model,
        :func:`karhunen.diagnostics.features`; a model of scikit-learn that has not all components knows none.
    components : (int, int), default=(0, 1)
        Indices, from 0, of the components on the horizontal and vertical axis.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows of `X`.
    feature_names : sequence of shape (n_features,) or None, default=None
        Names of the features; None uses the columns of the fitted data frame.
    n_arrows : int, default=30
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
    >>> ax = plot.correlation_circle(PCA(2, scale=True).fit(load_wine(as_frame=True).data))
    >>> ax.get_xlabel()
    'PC1 (36.2 % of the variance)'
    """
    fitted_model.check(pca)
    first, second = fitted_model.plane(pca, components)
    names = fitted_model.feature_names(pca, feature_names)
    most = fitted_model.count("n_arrows", n_arrows, len(names))
    tips = fitted_model.correlations_of(pca, X, [first, second], sample_weight)
    chosen = arrows.longest(tips, most)

    tips, short = tips[chosen], arrows.short_names(ax, [names[j] for j in chosen])
    room = np.sign(tips[:, 0]) * [GAP + arrows.LETTER * len(name) for name in short]
    left, right = _sides(tips[:, 0], room, RADIUS)
    ax = axes(ax, (0.8 + RADIUS / 72.0 * (left + right), 4.7))
    width, height = laid_out(ax)
    radius = height / (2 * MARGIN)
    for _ in range(ROUNDS):
        left, right = _sides(tips[:, 0], room, radius)
        radius = min(radius, width / (left + right))
    cross(ax)
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    ax.plot(np.cos(angle), np.sin(angle), color=GREY, linewidth=1.0, zorder=1)
    ax.plot(np.cos(angle) / 2, np.sin(angle) / 2, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0.6)
    ticks = [-1.0, -0.5, 0.0, 0.5, 1.0]
    ax.set(xlim=(-left, right), ylim=(-MARGIN, MARGIN), xticks=ticks, yticks=ticks)
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlabel(fitted_model.axis_label(pca, first))
    ax.set_ylabel(fitted_model.axis_label(pca, second))
    arrows.draw(ax, tips, short, COLOURS[0])
    return ax


def _sides(tips: np.ndarray, room: np.ndarray, radius: float) -> np.ndarray:
    """Return the space left and right of the centre, in radii, that names need: `room` beyond tips, in points."""
    ends = tips + room / radius
    return np.clip([-ends.min(), ends.max()], MARGIN, WIDEST)
