"""Squared correlations of the features with components."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen.plot._parts import bars, fitted_model
from karhunen.plot._parts.axes import COLOURS, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Height of a row of bars.
HEIGHT = 0.74


def cos2(
    pca: Any,
    X: Any = None,
    *,
    components: Sequence[int] = (0, 1),
    sample_weight: Any = None,
    n_features: int | None = 20,
    feature_names: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the squared correlation of each feature with components as ranked bars, stacked by component.

    The length of a bar is the share of the variance of the feature that these components explain. After an oblique
    rotation components are correlated, and their shares do not add up: their bars are then below one another.

    Parameters
    ----------
    pca : PCA, TruncatedSVD, IncompletePCA or Rotation
        Fitted estimator of karhunen or scikit-learn, or a result of :mod:`karhunen.rotation`.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features) or None, default=None
        Rows whose columns are correlated with their scores. None takes the correlations of the model,
        :func:`karhunen.diagnostics.features`; a model of scikit-learn that has not all components knows none.
    components : sequence of int, default=(0, 1)
        Indices of components, from 0.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows of `X`.
    n_features : int or None, default=20
        Number of features to draw: those with the largest sums, fewer where space for their names is short. None draws
        all.
    feature_names : sequence of shape (n_features,) or None, default=None
        Names of the features; None uses the columns of the fitted data frame.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes, with squared correlations from 0 to 1 on the horizontal axis and features from top to bottom.

    Raises
    ------
    ValueError
        If `X` is None and the model does not know the variances of the features, or an option is out of its range.

    Examples
    --------
    >>> from karhunen import PCA, plot
    >>> from sklearn.datasets import load_wine
    >>> ax = plot.cos2(PCA(2, scale=True).fit(load_wine(as_frame=True).data), n_features=2)
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['flavanoids', 'total_phenols']
    """
    fitted_model.check(pca)
    shown = fitted_model.indices(pca, components, None)
    names = fitted_model.feature_names(pca, feature_names)
    n = fitted_model.count("n_features", n_features, len(names))
    squares = fitted_model.correlations_of(pca, X, shown, sample_weight) ** 2
    if n_features is not None:
        n = bars.fitting(ax, n)
    chosen = np.argsort(-squares.sum(axis=1), kind="stable")[:n]
    ax = axes(ax, bars.figure_size(n))
    stacked = not fitted_model.is_oblique(pca)
    left, thick = np.zeros(n), HEIGHT if stacked else HEIGHT / len(shown)
    for i, component in enumerate(shown):
        lengths = squares[chosen, i]
        look = {"color": COLOURS[i % len(COLOURS)], "label": fitted_model.component_name(pca, component)}
        at = np.arange(n) + (0.0 if stacked else (i + 0.5) * thick - HEIGHT / 2)
        ax.barh(at, lengths, left=left, height=thick, **look)
        left += lengths * stacked
    ax.set_xlim(0.0, 1.0)
    ax.set_xlabel("Squared correlation")
    ax.legend(frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0), borderaxespad=0.0)
    bars.name_rows(ax, np.arange(n), [names[j] for j in chosen], n)
    return ax
