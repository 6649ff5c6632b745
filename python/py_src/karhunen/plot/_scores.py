"""Rows in the plane of two components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from karhunen.plot import _ellipses, _fitted_model, _points
from karhunen.plot._axes import axes, cross

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def scores(
    pca: Any,
    X: Any,
    *,
    components: tuple[int, int] = (0, 1),
    color_by: Any = None,
    labels: Sequence[Any] | bool | None = None,
    deviations: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the rows of `X` by their scores on two components.

    Both axes have equal units, so that distances between points are those in the plane of the two components.

    Parameters
    ----------
    pca : PCA, TruncatedSVD or IncompletePCA
        Fitted estimator of karhunen or scikit-learn.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
        Rows, as in `transform`.
    components : (int, int), default=(0, 1)
        Indices, from 0, of the components on the horizontal and vertical axis.
    color_by : array-like of shape (n_samples,) or None, default=None
        Colours: groups (strings, booleans, categories, up to ten different integers) get a colour and marker each, and
        a legend; numbers get a colour bar. Missing values are grey. The name of a pandas series becomes the title.
    labels : sequence of shape (n_samples,), bool or None, default=None
        Names of the rows. None uses the index of a data frame if it holds strings, True always uses it, False writes
        none. Labels that would cover another label or a point are omitted; outermost rows have priority.
    deviations : float or None, default=None
        Draw an ellipse of this many standard deviations around each point, for the uncertainty of scores of rows with
        missing values. Only for :class:`karhunen.IncompletePCA`.
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
    >>> wine = load_wine(as_frame=True)
    >>> ax = plot.scores(PCA(2, scale=True).fit(wine.data), wine.data, color_by=wine.target)
    >>> ax.get_xlabel()
    'PC1 (36.2 % of the variance)'
    """
    _fitted_model.check(pca)
    first, second = _fitted_model.plane(pca, components)
    at = _points.scores_in_plane(pca, X, first, second)
    ax = axes(ax, _points.figure_size(at, 6.4))
    cross(ax)
    if deviations is not None:
        _ellipses.draw(ax, at, _ellipses.covariances(pca, X, first, second), deviations)
    _points.draw(ax, at, color_by)
    ax.set_xlabel(_fitted_model.axis_label(pca, first))
    ax.set_ylabel(_fitted_model.axis_label(pca, second))
    _points.frame(ax)
    _points.name_points(ax, at, X, labels)
    return ax
