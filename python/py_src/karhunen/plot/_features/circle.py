"""Correlations of the features with two components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen.plot._parts import arrows, fitted_model
from karhunen.plot._parts.axes import COLOURS, FAINT, GREY, axes, cross
from karhunen.plot._parts.labelling import LONGEST

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Space for names beside the circle: units per letter, and the maximum.
LETTER = 0.044
WIDEST = 2.4


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
        Names of the features; None uses those of the fitted data frame.
    n_arrows : int, default=30
        Maximum number of arrows: the longest in this plane are drawn.
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

    ends = tips[chosen, 0] + np.sign(tips[chosen, 0]) * [LETTER * min(len(names[j]), LONGEST) for j in chosen]
    left, right = np.clip([-ends.min(), ends.max()], 1.15, WIDEST)
    ax = axes(ax, (0.8 + 1.8 * (left + right), 4.7))
    cross(ax)
    angle = np.linspace(0.0, 2.0 * np.pi, 361)
    ax.plot(np.cos(angle), np.sin(angle), color=GREY, linewidth=1.0, zorder=1)
    ax.plot(np.cos(angle) / 2, np.sin(angle) / 2, color=FAINT, linewidth=0.8, linestyle=(0, (4, 3)), zorder=0.6)
    arrows.draw(ax, tips[chosen], COLOURS[0])
    ticks = [-1.0, -0.5, 0.0, 0.5, 1.0]
    ax.set(xlim=(-left, right), ylim=(-1.15, 1.15), xticks=ticks, yticks=ticks)
    ax.set_aspect("equal", adjustable="box")
    ax.set_xlabel(fitted_model.axis_label(pca, first))
    ax.set_ylabel(fitted_model.axis_label(pca, second))
    arrows.name(ax, tips[chosen], [names[j] for j in chosen], COLOURS[0])
    return ax
