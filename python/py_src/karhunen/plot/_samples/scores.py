"""Rows in the plane of two components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from karhunen.plot._parts import fitted_model
from karhunen.plot._parts.axes import axes, cross
from karhunen.plot._samples import columns, density_grid, groups, outlines, points, uncertainty

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def scores(
    pca: Any,
    X: Any,
    *,
    components: tuple[int, int] = (0, 1),
    new: Any = None,
    color_by: Any = None,
    data: Any = None,
    max_groups: int | None = 30,
    labels: Sequence[Any] | bool | None = None,
    density: Literal["auto"] | bool = "auto",
    ellipses: float | None = None,
    hulls: bool = False,
    deviations: float | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the rows of `X` by their scores on two components.

    Both axes have equal units, so that distances between points are those in the plane of the two components.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncompletePCA or Rotation
        Fitted estimator of karhunen or scikit-learn, or a result of :mod:`karhunen.rotation`, whose scores
        have unit variance.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
        Rows, as in `transform`.
    components : (int, int), default=(0, 1)
        Indices, from 0, of the components on the horizontal and vertical axis.
    new : array-like, sparse matrix or dataframe of shape (n_new, n_features) or None, default=None
        Other rows, drawn over the rows of `X`, which are grey. All following options are then about the rows of `new`.
    color_by : array-like of shape (n_samples,), str or None, default=None
        Colours: groups (strings, booleans, categories, up to ten different integers) get a colour and marker each, and
        a legend; numbers get a colour bar. Missing values are grey. The name of a pandas series becomes the title. A
        string is the name of a column of `X`, which may then hold columns that are not features, or of `data`.
    data : dataframe of n_samples rows or None, default=None
        A separate table, of which `color_by` names a column, such as the groups of the rows.
    max_groups : int or None, default=30
        Number of groups with a look of their own: the largest. The others are grey and one entry of the legend, with
        their number; None draws all. Colours and markers repeat after 60 groups.
    labels : sequence of shape (n_samples,), bool or None, default=None
        Names of the rows. None uses the index of a data frame if it holds strings, True always uses it, False writes
        none. Labels that would cover another label or a point are omitted; outermost rows have priority.
    density : {"auto", True, False}, default="auto"
        Draw the number of rows in each cell of a grid instead of points: the colour is the logarithm of the number, the
        most frequent group or the mean of the numbers in `color_by`. "auto" does so for more than 50,000 rows.
    ellipses : float or None, default=None
        Draw an ellipse around each group, or around all rows: it holds this share of a normal distribution with the
        mean and covariance of the group. Groups of fewer than three rows have none.
    hulls : bool, default=False
        Draw the convex hull of each group, or of all rows.
    deviations : float or None, default=None
        Draw an ellipse of this many standard deviations around each point, for the uncertainty of scores of rows with
        missing values. Only for :class:`karhunen.IncompletePCA`.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes.

    Raises
    ------
    ValueError
        If `pca` is not a fitted model, there is not one colour or label for each row, or an option is out of its range.

    Examples
    --------
    >>> from karhunen import PCA, plot
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine(as_frame=True)
    >>> ax = plot.scores(PCA(2, scale=True).fit(wine.data), wine.data, color_by=wine.target)
    >>> ax.get_xlabel()
    'PC1 (36.2 % of the variance)'
    """
    fitted_model.check(pca)
    first, second = fitted_model.plane(pca, components)
    below = None if new is None else points.scores_in_plane(pca, X, first, second)
    given, name = (X, "X") if new is None else (new, "new")
    given, rows = columns.separate(pca, given, color_by, data, name)
    at = points.scores_in_plane(pca, rows, first, second)
    everything = at if below is None else np.vstack([below, at])
    colouring = groups.read(color_by, given, len(at), name, max_groups, data)
    dense = density_grid.is_wanted(density, len(at))
    own = ax is None
    ax = axes(ax, points.figure_size(everything, 6.4))
    cross(ax)
    obstacles = np.empty((0, 2))
    if below is not None:
        obstacles = points.draw_below(ax, below, density_grid.is_wanted(density, len(below)))
    if deviations is not None:
        uncertainty.draw(ax, at, uncertainty.covariances(pca, rows, first, second), deviations)
    obstacles = np.vstack([obstacles, points.draw(ax, at, colouring, dense)])
    outlines.draw(ax, at, colouring, ellipses, hulls)
    ax.set_xlabel(fitted_model.axis_label(pca, first))
    ax.set_ylabel(fitted_model.axis_label(pca, second))
    points.legend(ax, colouring, own)
    points.frame(ax)
    points.name_points(ax, at, rows, labels, obstacles)
    return ax
