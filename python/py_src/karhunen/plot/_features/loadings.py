"""Loadings as a heat map or as ranked bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from karhunen._shared.choices import LoadingsKind
from karhunen._shared.options import choice_option
from karhunen.plot._features import heat_map, loading_bars
from karhunen.plot._parts import fitted_model

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of features that are a heat map unless `kind` is given.
MOST_FEATURES = 30


def loadings(
    pca: Any,
    *,
    n_components: int | None = None,
    n_features: int | None = None,
    kind: LoadingsKind = "auto",
    feature_names: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the loadings of the features on the components as a heat map or as ranked bars.

    Loadings are components times the square root of their variance. With ``scale=True`` they are correlations;
    otherwise they have the units of the features, and features of large variance dominate. A rotation shows its
    pattern; after an oblique rotation, correlations are its structure, which :func:`correlation_circle` draws.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncompletePCA or Rotation
        Fitted estimator of karhunen or scikit-learn, or a result of :mod:`karhunen.rotation`, whose pattern is drawn.
    n_components : int or None, default=None
        Number of components to draw; None draws all fitted components as a heat map, and three as bars.
    n_features : int or None, default=None
        Number of features to draw. As bars: the features with the largest loadings of each component, in the order of
        their size; None draws up to 15 per component, as many as have legible names. As a heat map: the features with
        the largest loadings by Euclidean norm, in their own order; None draws all.
    kind : {"auto", "bars", "heatmap"}, default="auto"
        "auto" draws a heat map of up to 30 features, else bars. A heat map names the features with the largest loadings
        where space for names is short; of more than 1000 features, each row of cells represents several and shows the
        loading of largest size.
    feature_names : sequence of shape (n_features,) or None, default=None
        Names of the features; None uses the columns of the fitted data frame.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes. Of a heat map, components are on the horizontal and features on the vertical axis; of bars, loadings
        are on the horizontal axis, and components below one another with their features.

    Raises
    ------
    ValueError
        If `pca` is not a fitted model, a number is not a positive integer, `kind` is not known, or `feature_names` does
        not have a name for each feature.

    Examples
    --------
    >>> from karhunen import PCA, plot
    >>> from sklearn.datasets import load_wine
    >>> pca = PCA(3, scale=True).fit(load_wine(as_frame=True).data)
    >>> ax = plot.loadings(pca)
    >>> [label.get_text() for label in ax.get_yticklabels()][:2]
    ['alcohol', 'malic_acid']
    >>> ax = plot.loadings(pca, kind="bars", n_components=1, n_features=2)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['flavanoids', 'total_phenols']
    """
    fitted_model.check(pca)
    names = fitted_model.feature_names(pca, feature_names)
    k = fitted_model.count("n_components", n_components, fitted_model.n_components(pca))
    p = fitted_model.count("n_features", n_features, len(names))
    choice_option("kind", kind, LoadingsKind)
    values = fitted_model.loadings_of(pca)[:, :k]
    if kind == "heatmap" or (kind == "auto" and len(names) <= MOST_FEATURES):
        return heat_map.draw(pca, values, p, names, ax)
    return loading_bars.draw(pca, values, n_components, None if n_features is None else p, names, ax)
