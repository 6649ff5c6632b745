"""Contributions of the features to a component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen._diagnostics.features import contributions as contributions_of
from karhunen.plot._parts import bars, fitted_model
from karhunen.plot._parts.axes import COLOURS, INK, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def contributions(
    pca: Any,
    *,
    component: int = 0,
    n_features: int | None = 20,
    feature_names: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the contributions of the features to a component as ranked bars.

    The contribution of a feature is its share in the variance of the component, in percent: contributions of all
    features add up to 100. They are :attr:`karhunen.diagnostics.Features.contributions`, which after an oblique
    rotation may be negative. A dashed line is the contribution if all features contributed alike,
    ``100 / n_features_in_``.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncompletePCA or Rotation
        Fitted estimator of karhunen or scikit-learn, or a result of :mod:`karhunen.rotation`.
    component : int, default=0
        Index of the component, from 0.
    n_features : int or None, default=20
        Number of features to draw: those with the largest contributions, fewer where space for their names is short.
        None draws all.
    feature_names : sequence of shape (n_features,) or None, default=None
        Names of the features; None uses the columns of the fitted data frame.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes, with percent on the horizontal axis and features from top to bottom.

    Raises
    ------
    ValueError
        If `pca` is not a fitted model, the component does not exist or has no variance, or `n_features` is not a
        positive integer.

    Examples
    --------
    >>> from karhunen import PCA, plot
    >>> from sklearn.datasets import load_wine
    >>> ax = plot.contributions(PCA(2, scale=True).fit(load_wine(as_frame=True).data), n_features=3)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['flavanoids', 'total_phenols', 'od280/od315_of_diluted_wines']
    """
    fitted_model.check(pca)
    index = fitted_model.component_index(pca, component)
    names = fitted_model.feature_names(pca, feature_names)
    n = fitted_model.count("n_features", n_features, len(names))
    values = 100.0 * contributions_of(pca)[:, index]
    if np.isnan(values).any():
        name = fitted_model.component_name(pca, index)
        raise ValueError(f"component = {component!r}; {name} has no variance to which features contribute")
    if n_features is not None:
        n = bars.fitting(ax, n)
    chosen = np.argsort(-values, kind="stable")[:n]
    ax = axes(ax, bars.figure_size(n))
    ax.barh(np.arange(n), values[chosen], height=0.74, color=COLOURS[0])
    ax.axvline(100.0 / len(names), color=INK, linewidth=1.0, linestyle="--")
    ax.set_xlim(1.05 * min(float(values.min()), 0.0), 1.05 * max(float(values.max()), 100.0 / len(names)))
    ax.set_xlabel(f"Contribution to {fitted_model.component_name(pca, index)} (%)")
    bars.name_rows(ax, np.arange(n), [names[j] for j in chosen], n)
    return ax
