"""Standard errors and confidence intervals of a fit, by the bootstrap."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from karhunen import PCA, TruncatedSVD, _core
from karhunen._diagnostics.model import component_names, feature_names, frame
from karhunen._inputs.files import to_rows
from karhunen._inputs.matrix import to_weights
from karhunen._pca.options import in_order_of_columns
from karhunen._shared.choices import Alignment
from karhunen._shared.options import choice_option, count_option, probability, seed_option

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Estimates", "Intervals", "bootstrap"]


@dataclass(frozen=True, eq=False)
class Estimates:
    """Statistics with standard errors and confidence intervals; all arrays have one shape.

    Attributes
    ----------
    estimate : ndarray
        Values of the fit to the data.
    standard_error : ndarray
        Standard deviations over the draws.
    lower, upper : ndarray
        Ends of the intervals.
    """

    estimate: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Intervals:
    """Intervals of a fit.

    Attributes
    ----------
    explained_variance : Estimates of shape (n_components,)
        Variance of each component.
    explained_variance_ratio : Estimates of shape (n_components,)
        Share of each component in the total variance.
    loadings : Estimates of shape (n_features, n_components)
        Components times the root of their variance: correlations of features and components if these were scaled.
    names : list of str
        Names of the features.
    """

    explained_variance: Estimates
    explained_variance_ratio: Estimates
    loadings: Estimates
    names: list[str]

    def to_frame(self) -> Any:
        """Return one row for each component: its variance and share with standard errors and ends of the intervals."""
        parts = {"variance": self.explained_variance, "ratio": self.explained_variance_ratio}
        columns: dict[str, NDArray[np.float64]] = {}
        for name, part in parts.items():
            columns[name] = part.estimate
            columns[f"{name}_error"] = part.standard_error
            columns[f"{name}_lower"] = part.lower
            columns[f"{name}_upper"] = part.upper
        names = component_names(len(self.explained_variance.estimate))
        return frame(np.column_stack(list(columns.values())), names, list(columns))


def bootstrap(
    pca: Any,
    X: Any,
    sample_weight: Any = None,
    feature_weight: Any = None,
    *,
    n_draws: int = 1000,
    level: float = 0.95,
    alignment: Alignment = "signs",
    random_state: Any = 0,
) -> Intervals:
    """Fit rows that are drawn with replacement, again and again, and compute confidence intervals.

    Rows with frequency weights are drawn as often as these sum to, each in proportion to its weight; rows with
    importance or population weights, such as those of a survey, are drawn alike and keep their weights.

    Parameters
    ----------
    pca : PCA or TruncatedSVD
        Estimator with the options of the fits; it need not be fitted, and is not changed.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
        Rows. They are read again in every draw, unless there are more columns than rows and no scaling: such data are
        reduced to their scores, without loss (Fisher et al. 2016, doi:10.1080/01621459.2015.1062383).
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows.
    feature_weight : array-like of shape (n_features,) or None, default=None
        Weights of the features.
    n_draws : int, default=1000
        Number of draws, at least ``2 / (1 - level)``.
    level : float, default=0.95
        Probability that an interval holds the value of the population.
    alignment : {"signs", "procrustes"}, default="signs"
        Alignment of the loadings of a draw with those of the data: the sign of each component, or an orthogonal
        rotation of all. After a rotation, intervals are those of the subspace, and not of single components, whose own
        intervals are up to three times as wide.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws; None is 0. The result does not depend on the number of threads.

    Returns
    -------
    Intervals
        Bias-corrected percentile intervals of variances, ratios and loadings. Ends are NaN where the bias exceeds the
        sampling error (the estimate lies outside the central `level` of the draws), as for trailing variances of few
        rows, and weak ones where features are many.

    Raises
    ------
    ValueError
        If an option is out of range, fewer than three rows have positive weight, or one row has nearly all of it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from karhunen import PCA
    >>> from karhunen.resampling import bootstrap
    >>> found = bootstrap(PCA(2, scale=True), load_wine().data, n_draws=400)
    >>> ends = found.explained_variance_ratio
    >>> [round(float(value), 2) for value in (ends.lower[0], ends.estimate[0], ends.upper[0])]
    [0.32, 0.36, 0.39]
    """
    if not isinstance(pca, (PCA, TruncatedSVD)):
        raise TypeError(f"pca is a {type(pca).__name__}; pass a karhunen.PCA or TruncatedSVD")
    chance = probability("level", level)
    n_draws = count_option("n_draws", n_draws)
    aligned = choice_option("alignment", alignment, Alignment)
    seed = seed_option(random_state)
    # A clone, so that an unfitted estimator does not receive names of the data.
    estimator = clone(pca)
    rows = to_rows(estimator, X, reset=True, min_samples=2)
    n, p = rows.shape
    samples = to_weights("sample_weight", sample_weight, n, "rows")
    features = to_weights("feature_weight", feature_weight, p, "columns")
    with estimator._call() as draw:
        options = estimator._engine_options()
        if isinstance(estimator, PCA):
            options = in_order_of_columns(estimator, options)
        found = _core.bootstrap(rows, options, n_draws, chance, aligned, seed, samples, features, draw)
    variances, ratios, loadings = found
    return Intervals(
        Estimates(*(values[0] for values in variances)),
        Estimates(*(values[0] for values in ratios)),
        Estimates(*loadings),
        feature_names(estimator),
    )
