"""Loadings as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen.plot import _fitted_model, _labels
from karhunen.plot._axes import INK, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of cells with their values in digits.
MOST_NUMBERS = 260
#: Maximum number of columns with full names; more are labelled by some of their numbers.
MOST_NAMED = 12
#: Maximum number of rows of which all are named.
MOST_ROWS = 60
#: Maximum length of a feature name; longer ones lose their middle.
LONGEST = 45


def loadings(
    pca: Any,
    *,
    n_components: int | None = None,
    n_features: int | None = None,
    feature_names: Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the loadings of the features on the components as a heat map.

    Loadings are components times the square root of their variance. With ``scale=True`` they are correlations;
    otherwise they have the units of the features, and features of large variance dominate.

    Parameters
    ----------
    pca : PCA or TruncatedSVD
        Fitted estimator of karhunen or scikit-learn.
    n_components : int or None, default=None
        Number of components to draw; None draws all fitted components.
    n_features : int or None, default=None
        Number of features to draw: those with the largest loadings by Euclidean norm, in their own order; None draws
        all.
    feature_names : sequence of shape (n_features,) or None, default=None
        Names of the features; None uses those of the fitted data frame.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes, with components on the horizontal and features on the vertical axis.

    Examples
    --------
    >>> from karhunen import PCA, plot
    >>> from sklearn.datasets import load_wine
    >>> ax = plot.loadings(PCA(3, scale=True).fit(load_wine(as_frame=True).data))
    >>> [label.get_text() for label in ax.get_yticklabels()][:2]
    ['alcohol', 'malic_acid']
    """
    _fitted_model.check(pca)
    names = _fitted_model.feature_names(pca, feature_names)
    k = _fitted_model.count("n_components", n_components, len(pca.components_))
    p = _fitted_model.count("n_features", n_features, len(names))
    values = _fitted_model.loadings_of(pca)[:, :k]
    rows = np.sort(np.argsort(-np.sum(values**2, axis=1), kind="stable")[:p])
    values = values[rows]
    most = np.abs(values).max() or 1.0

    ax = axes(ax, (float(np.clip(3.0 + 0.55 * k, 4.2, 9.0)), float(np.clip(1.0 + 0.27 * p, 2.6, 11.0))))
    image = ax.imshow(values, cmap="RdBu_r", vmin=-most, vmax=most, aspect="auto", interpolation="nearest")
    if k <= MOST_NAMED:
        ax.set_xticks(range(k), [_x_label(pca, i) for i in range(k)])
    else:
        shown = range(0, k, -(-k // MOST_NAMED))
        ax.set_xticks(shown, [str(i + 1) for i in shown])
        ax.set_xlabel("Component")
    shown = range(0, p, -(-p // MOST_ROWS))
    ax.set_yticks(shown, _labels.shorten([names[rows[i]] for i in shown], LONGEST))
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if k <= MOST_NAMED and p * k <= MOST_NUMBERS:
        _write_values(ax, values)
    bar = ax.figure.colorbar(image, ax=ax, aspect=30, pad=0.02)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, length=0)
    bar.set_label("Loading")
    return ax


def _x_label(pca: Any, index: int) -> str:
    """Return the name of a component above its share of the variance."""
    return f"{_fitted_model.component_name(index)}\n{100.0 * pca.explained_variance_ratio_[index]:.1f} %"


def _write_values(ax: Axes, values: np.ndarray) -> None:
    """Separate the cells by white lines and write the value into each."""
    p, k = values.shape
    ax.set_xticks(np.arange(k - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(p - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.5)
    ax.tick_params(which="minor", length=0)
    most = np.abs(values).max()
    # Two decimals for correlations; about two significant digits otherwise.
    digits = 2 if 0.1 <= most <= 1.0 or most == 0.0 else int(np.clip(2 - np.floor(np.log10(most)), 0, 5))
    for (i, j), value in np.ndenumerate(values):
        colour = "white" if abs(value) > 0.5 * most else INK
        text = f"{round(value, digits) + 0.0:.{digits}f}"  # + 0.0 removes the sign of zero
        ax.text(j, i, text, ha="center", va="center", fontsize=8, color=colour)
