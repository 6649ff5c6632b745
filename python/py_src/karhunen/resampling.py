"""Standard errors and confidence intervals of a fit, by the bootstrap and the jackknife."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from karhunen import PCA, TruncatedSVD, _core
from karhunen._diagnostics.model import component_names, engine_model, frame
from karhunen._inputs.files import to_rows
from karhunen._inputs.matrix import tell_counts, to_feature_weights, to_weights
from karhunen._shared.choices import Alignment
from karhunen._shared.errors import a_kind
from karhunen._shared.fitted_model import feature_names
from karhunen._shared.options import (
    choice_option,
    count_option,
    flag_option,
    optional_count,
    probability,
    seed_option,
)
from karhunen._shared.standardization import in_order_of_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Estimates", "Intervals", "Replicates", "bootstrap", "jackknife"]


@dataclass(frozen=True, eq=False)
class Estimates:
    """Statistics with standard errors, bias and confidence intervals; all arrays have one shape.

    Attributes
    ----------
    estimate : ndarray
        Values of the fit to the data.
    standard_error : ndarray
        Standard errors, in the units of the statistics.
    bias : ndarray
        Estimated bias of the values: of a bootstrap the mean of the draws less the value, of a jackknife ``n - 1``
        times the mean of the fits less the value.
    lower, upper : ndarray
        Ends of the intervals.
    """

    estimate: NDArray[np.float64]
    standard_error: NDArray[np.float64]
    bias: NDArray[np.float64]
    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    @property
    def corrected(self) -> NDArray[np.float64]:
        """Values less their estimated bias."""
        return self.estimate - self.bias


@dataclass(frozen=True, eq=False)
class Replicates:
    """The fits of all draws of a bootstrap, aligned with the fit of the data.

    Attributes
    ----------
    pca : PCA or TruncatedSVD
        The fit of the data.
    explained_variance : ndarray of shape (n_draws, n_components)
        Variances of each draw.
    explained_variance_ratio : ndarray of shape (n_draws, n_components)
        Shares of the total variance of each draw.
    loadings : ndarray of shape (n_draws, n_features, n_components)
        Aligned loadings of each draw.
    """

    pca: PCA | TruncatedSVD
    explained_variance: NDArray[np.float64]
    explained_variance_ratio: NDArray[np.float64]
    loadings: NDArray[np.float64]

    def scores(self, X: Any) -> NDArray[np.float64]:
        """Compute the scores of rows on the aligned components of every draw: the partial bootstrap.

        Rows are centred and scaled as in the fit of the data, so they stay fixed and only the components vary (Lebart
        2007; Josse, Wager & Husson 2016, doi:10.1080/10618600.2014.950871). Memory: 8 bytes per draw, row and
        component; pass the rows of interest.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
            Rows of the fit, or new ones.

        Returns
        -------
        ndarray of shape (n_draws, n_samples, n_components)
            Scores.

        Examples
        --------
        >>> from sklearn.datasets import load_wine
        >>> from karhunen import PCA
        >>> from karhunen.resampling import bootstrap
        >>> wine = load_wine().data
        >>> bootstrap(PCA(2, scale=True), wine, n_draws=50, keep=True).replicates.scores(wine[:3]).shape
        (50, 3, 2)
        """
        rows = to_rows(self.pca, X, reset=False)
        n_draws, p, k = self.loadings.shape
        loadings = np.ascontiguousarray(self.loadings.reshape(n_draws, p * k))
        scores = _core.scores_of_draws(engine_model(self.pca), loadings, rows, self.pca.n_threads)
        return scores.reshape(n_draws, rows.shape[0], k)


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
    replicates : Replicates or None
        The fits of all draws, of a bootstrap with ``keep=True``.
    """

    explained_variance: Estimates
    explained_variance_ratio: Estimates
    loadings: Estimates
    names: list[str]
    replicates: Replicates | None = None

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
    groups: Any = None,
    level: float = 0.95,
    alignment: Alignment = "signs",
    keep: bool = False,
    random_state: Any = 0,
) -> Intervals:
    """Fit rows that are drawn with replacement, again and again, and compute confidence intervals.

    Rows are taken for independent, unless `groups` says otherwise. Rows with frequency weights are drawn as often as
    these sum to, each in proportion to its weight; rows with importance or population weights, such as survey weights,
    are drawn alike and keep their weights.

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
        Weights of the features; None takes those that `pca` was fitted with, such as the areas of an
        :class:`~karhunen.xarray.EOF`.
    n_draws : int, default=1000
        Number of draws, at least 20.
    groups : int, array-like of shape (n_samples,) or None, default=None
        Groups of rows that depend on one another, such as the households of a survey: groups are drawn alike and whole,
        with the weights of their rows. An int takes blocks of so many consecutive rows, for a series (Künsch 1989,
        doi:10.1214/aos/1176347265): several times as long as its dependence, and still many. At least 3 groups.
    level : float, default=0.95
        Probability that an interval holds the value of the population.
    alignment : {"signs", "procrustes"}, default="signs"
        Alignment of the loadings of a draw with the loadings of the data: the sign of each component, or an orthogonal
        rotation of all. After a rotation, intervals are of the subspace, and not of single components, whose own
        intervals are up to three times as wide.
    keep : bool, default=False
        Keep the fits of all draws as `replicates`, for :func:`karhunen.plot.bootstrap`: 8 bytes per draw, feature and
        component.
    random_state : int, RandomState instance or None, default=0
        Seed of the draws; None is 0. The result does not depend on the number of threads.

    Returns
    -------
    Intervals
        The estimate and t times √(n / (n - 1)) root mean squared errors of the draws to either side, where n is the
        number of observations (the sum of frequency weights, the effective number ``sum(w)**2 / sum(w**2)`` of other
        weights, or of the weights of groups) and t the quantile of Student's distribution with n - 1 degrees of
        freedom, and at least one: on the scale of the logarithm for variances, of the log odds for ratios, and of
        Fisher's z for loadings that are correlations (``scale=True``, centred and without weights of features). The
        squared error is the variance of the draws and the squared bias. Ends are NaN where the bias exceeds t standard
        deviations, as for weak components where features are many, and where a value of a draw has no place on the
        scale, such as a variance of zero.

    Raises
    ------
    ValueError
        If an option is out of range, fewer than three rows have positive weight, or one row has nearly all of it.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from karhunen import PCA
    >>> from karhunen.resampling import bootstrap
    >>> ends = bootstrap(PCA(2, scale=True), load_wine().data, n_draws=400).explained_variance_ratio
    >>> bool(0.32 < ends.lower[0] < 0.34 < ends.estimate[0] < 0.38 < ends.upper[0] < 0.41)
    True
    """
    estimator, options, given = _fits(pca, X, sample_weight, feature_weight, level, alignment, random_state)
    n_draws = count_option("n_draws", n_draws)
    keep = flag_option("keep", keep)
    rows, chance, aligned, seed, samples, features = given
    together = _groups(groups, rows.shape[0])
    with estimator._call() as draw:
        found, kept = _core.bootstrap(
            rows, options, n_draws, together, chance, aligned, seed, keep, samples, features, draw
        )
    intervals = _intervals(found, estimator)
    if kept is None:
        return intervals
    model, (variances, ratios, loadings) = kept
    estimator._adopt_fit(model)
    k = variances.shape[1]
    replicates = Replicates(estimator, variances, ratios, loadings.reshape(n_draws, -1, k))
    return Intervals(
        intervals.explained_variance,
        intervals.explained_variance_ratio,
        intervals.loadings,
        intervals.names,
        replicates,
    )


def jackknife(
    pca: Any,
    X: Any,
    sample_weight: Any = None,
    feature_weight: Any = None,
    *,
    n_groups: int | None = None,
    groups: Any = None,
    level: float = 0.95,
    alignment: Alignment = "signs",
    random_state: Any = 0,
) -> Intervals:
    """Fit the rows without each of them, or without each of some groups, and compute confidence intervals.

    Rows are taken for independent, unless `groups` says otherwise. Intervals of few rows hold the value of the
    population more often than with :func:`bootstrap`; the user guide has the shares. One observation of a row with a
    frequency weight is left out, and counts as often as the row was seen, so that the result is the same as with
    repeated rows; a row with an importance or population weight is left out whole, as by the JK1 method of surveys.

    Parameters
    ----------
    pca : PCA or TruncatedSVD
        Estimator with the options of the fits; it need not be fitted, and is not changed.
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
        Rows. They are read again in every fit, as by :func:`bootstrap`.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows.
    feature_weight : array-like of shape (n_features,) or None, default=None
        Weights of the features; None takes those that `pca` was fitted with, such as the areas of an
        :class:`~karhunen.xarray.EOF`.
    n_groups : int or None, default=None
        Number of groups that the rows are divided into at random, at least 3; None leaves out single rows. Each group
        or row takes the time of a fit (delete-a-group jackknife; Busing, Meijer & van der Leeden 1999, Statistics and
        Computing 9, 3-8).
    groups : int, array-like of shape (n_samples,) or None, default=None
        Groups of rows that depend on one another, or the length of blocks of a series, as by :func:`bootstrap`: each is
        left out whole. Excludes `n_groups`.
    level : float, default=0.95
        Probability that an interval holds the value of the population.
    alignment : {"signs", "procrustes"}, default="signs"
        Alignment of the loadings of a fit with the loadings of the data, as by :func:`bootstrap`.
    random_state : int, RandomState instance or None, default=0
        Seed of the groups; None is 0.

    Returns
    -------
    Intervals
        The estimate and t root mean squared errors to either side, on the scales of :func:`bootstrap`, with one degree
        of freedom less than parts are left out, or less than the number of observations of weighted rows. ``corrected``
        are the estimates less their bias.

    Raises
    ------
    ValueError
        If an option is out of range, fewer than three rows have positive weight, or frequency weights that are not
        whole numbers are to be divided into groups.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from karhunen import PCA
    >>> from karhunen.resampling import jackknife
    >>> found = jackknife(PCA(2, scale=True), load_wine().data)
    >>> ends = found.explained_variance_ratio
    >>> [round(float(value), 2) for value in (ends.lower[0], ends.estimate[0], ends.upper[0])]
    [0.33, 0.36, 0.4]
    """
    estimator, options, given = _fits(pca, X, sample_weight, feature_weight, level, alignment, random_state)
    n_groups = optional_count("n_groups", n_groups)
    rows, chance, aligned, seed, samples, features = given
    together = _groups(groups, rows.shape[0])
    with estimator._call() as draw:
        found, _ = _core.jackknife(rows, options, n_groups, together, chance, aligned, seed, samples, features, draw)
    return _intervals(found, estimator)


def _fits(
    pca: Any, X: Any, sample_weight: Any, feature_weight: Any, level: float, alignment: Any, random_state: Any
) -> tuple[Any, dict[str, Any], tuple[Any, ...]]:
    """Check the arguments of resampling: an estimator of its own, the options of the engine, and what it is given."""
    if not isinstance(pca, (PCA, TruncatedSVD)):
        raise TypeError(f"pca is {a_kind(pca)}; pass a karhunen.PCA or TruncatedSVD")
    if hasattr(pca, "_of_categories"):
        name, _ = pca._of_categories
        raise ValueError(
            f"pca is the PCA of the indicators of {name}, divided by shares of categories, which other rows change; "
            f"draw rows of the table, and fit {name} to them (the page on categories has the lines)"
        )
    chance = probability("level", level)
    aligned = choice_option("alignment", alignment, Alignment)
    seed = seed_option(random_state)
    # A clone, so that an unfitted estimator does not receive names of the data.
    estimator = clone(pca)
    rows = to_rows(estimator, X, reset=True, min_samples=2)
    n, p = rows.shape
    samples = to_weights("sample_weight", sample_weight, n, "rows")
    tell_counts(getattr(estimator, "weighting", "population"), samples)
    features = to_feature_weights(estimator, _weights_of_fit(pca, p) if feature_weight is None else feature_weight, p)
    options = estimator._engine_options()
    if isinstance(estimator, PCA):
        options = in_order_of_columns(estimator, options)
    return estimator, options, (rows, chance, aligned, seed, samples, features)


def _weights_of_fit(pca: Any, p: int) -> Any:
    """Return the weights of `p` features that `pca` was fitted with, if it is fitted and has any."""
    weights = pca._model_now().feature_weights if pca.__sklearn_is_fitted__() else None
    return weights if weights is not None and len(weights) == p else None


def _groups(groups: Any, n: int) -> list[int] | None:
    """Return the number of the group of each row; blocks of consecutive rows, if their length is given."""
    if groups is None:
        return None
    if isinstance(groups, (int, np.integer)) and not isinstance(groups, bool):
        length = count_option("groups", groups)
        return [row // length for row in range(n)]
    labels = np.asarray(groups)
    if labels.shape != (n,):
        raise ValueError(
            f"groups has the shape {labels.shape}; pass a label for each of {n} rows, or the length of blocks"
        )
    numbers: dict[Any, int] = {}
    for row, label in enumerate(labels.tolist()):
        if label is None or label != label:
            raise ValueError(f"groups: row {row} has no group; leave the row out, or give it a group of its own")
        numbers.setdefault(label, len(numbers))
    return [numbers[label] for label in labels.tolist()]


def _intervals(found: list[list[NDArray[np.float64]]], estimator: Any) -> Intervals:
    """Return the intervals of variances, ratios and loadings."""
    variances, ratios, loadings = found
    return Intervals(
        Estimates(*(values[0] for values in variances)),
        Estimates(*(values[0] for values in ratios)),
        Estimates(*loadings),
        feature_names(estimator),
    )
