"""Rows in the space of three components."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen.plot._parts import fitted_model
from karhunen.plot._parts.axes import pyplot
from karhunen.plot._samples import columns, groups, points

if TYPE_CHECKING:
    from mpl_toolkits.mplot3d import Axes3D


def scores_3d(
    pca: Any,
    X: Any,
    *,
    components: tuple[int, int, int] = (0, 1, 2),
    color_by: Any = None,
    data: Any = None,
    max_groups: int | None = 30,
    ax: Axes3D | None = None,
) -> Axes3D:
    """Draw the rows of `X` by their scores on three components.

    All axes have equal units. Every row is a point: draw a part of a million rows, or :func:`scores`.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncompletePCA or Rotation
        Fitted estimator of karhunen or scikit-learn, or a result of :mod:`karhunen.rotation`, with three components or
        more.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
        Rows, as in `transform`.
    components : (int, int, int), default=(0, 1, 2)
        Indices of the components, from 0.
    color_by : array-like of shape (n_samples,), str or None, default=None
        Groups, numbers or the name of a column of `X` or `data`, as in :func:`scores`.
    data : dataframe of n_samples rows or None, default=None
        A separate table, of which `color_by` names a column.
    max_groups : int or None, default=30
        Number of groups with a look of their own, as in :func:`scores`.
    ax : Axes3D or None, default=None
        Axes to draw on, made with ``projection="3d"``; None creates a figure.

    Returns
    -------
    mpl_toolkits.mplot3d.axes3d.Axes3D
        The Axes.

    Raises
    ------
    ValueError
        If the model has no such components, `ax` is not three-dimensional, or there is not one colour for each row.

    Examples
    --------
    >>> from karhunen import PCA, plot
    >>> from sklearn.datasets import load_wine
    >>> wine = load_wine(as_frame=True)
    >>> ax = plot.scores_3d(PCA(3, scale=True).fit(wine.data), wine.data, color_by=wine.target)
    >>> ax.get_zlabel()
    'PC3 (11.1 %)'
    """
    fitted_model.check(pca)
    chosen = fitted_model.indices(pca, components, 3)
    given, rows = columns.separate(pca, X, color_by, data)
    at = np.asarray(pca.transform(rows))[:, chosen]
    colouring = groups.read(color_by, given, len(at), "X", max_groups, data)
    own = ax is None
    plt = pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=(6.4, 5.4), subplot_kw={"projection": "3d"}, layout="constrained")
    elif ax.name != "3d":
        raise ValueError(f"ax is a {type(ax).__name__}; scores_3d draws on Axes made with projection='3d'")
    points.draw(ax, at, colouring, dense=False)
    for write, index in zip((ax.set_xlabel, ax.set_ylabel, ax.set_zlabel), chosen, strict=True):
        write(fitted_model.name_and_share(pca, index))
    ax.set_aspect("equal")
    ax.tick_params(labelsize=8)
    for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
        axis.get_major_locator().set_params(nbins=5)
    points.legend(ax, colouring, own)
    return ax
