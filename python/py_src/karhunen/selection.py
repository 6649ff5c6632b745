"""How many components: rules side by side, parallel analysis, North's rule, and one suggestion.

No rule is right for all data: :func:`suggest` takes parallel analysis, or what several families of rules agree on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from karhunen import PCA, EntryCrossValidation, _core
from karhunen._diagnostics.model import engine_model
from karhunen._inputs.files import to_rows
from karhunen._inputs.incomplete import without_masks
from karhunen._inputs.matrix import tell_counts, to_feature_weights, to_weights
from karhunen._shared.choices import ColumnScaling, Null, Weighting
from karhunen._shared.options import (
    choice_option,
    count_option,
    is_number,
    number_option,
    optional_count,
    seed_option,
)
from karhunen._shared.standardization import in_order_of_columns

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "Selection",
    "Separation",
    "Suggestion",
    "cross_validation",
    "north",
    "parallel_analysis",
    "rules",
    "suggest",
    "to_frame",
]


@dataclass(frozen=True, eq=False)
class Selection:
    """The number of components by one rule.

    Attributes
    ----------
    rule : str
        Name of the rule.
    n_components : int or None
        The number; None if the rule does not apply.
    at_edge : bool
        True if the number is the smallest or largest that the rule could choose: it may have found no answer within
        its range.
    range : tuple of int
        The smallest and largest number that the rule could choose.
    reason : str
        Why this number, or why the rule does not apply.
    first : int
        The number of components, or the component, of the first of `values`.
    values : ndarray
        Values that the rule compares: one for each component, or a criterion for each number of components.
    thresholds : ndarray or None
        Thresholds of the values, for rules that compare.
    """

    rule: str
    n_components: int | None
    at_edge: bool
    range: tuple[int, int]
    reason: str
    first: int
    values: NDArray[np.float64]
    thresholds: NDArray[np.float64] | None


@dataclass(frozen=True)
class Suggestion:
    """A number of components that the answers of rules support.

    Attributes
    ----------
    n_components : int or None
        The number; None if no two families of rules agree, or no rule applies.
    reason : str
        The rule or the families that support it, or why there is none.
    """

    n_components: int | None
    reason: str


def suggest(selections: Iterable[Selection]) -> Suggestion:
    """Suggest one number from the answers of rules.

    That is the answer of parallel analysis, or of cross-validation, if there is one; otherwise the number that most
    families of rules give, if two or more do and no other number has as many. The criteria of Bai and Ng are one
    family, and so are Kaiser's and Jolliffe's rules: a family has the answer of more than half of its rules. Answers at
    the edge of their range do not count; where parallel analysis or cross-validation has its largest number, there may
    be more, and none is suggested.

    Parameters
    ----------
    selections : iterable of Selection
        Answers of :func:`rules`, :func:`parallel_analysis` and :func:`cross_validation`.

    Returns
    -------
    Suggestion
        The number and its reason.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from karhunen import PCA, selection
    >>> x = load_wine().data
    >>> answers = selection.rules(PCA(scale=True).fit(x))
    >>> selection.suggest([*answers, selection.parallel_analysis(x, scale=True)]).n_components
    3
    """
    answers = [(row.rule, row.n_components, bool(row.at_edge)) for row in selections]
    return Suggestion(*_core.suggest_components(answers))


def rules(pca: Any, n_observations: float | None = None) -> list[Selection]:
    """Evaluate all rules that take the variances of a fit.

    Kaiser's and Jolliffe's rules, broken stick, the Marchenko-Pastur edge, the threshold of Gavish & Donoho (2014),
    Minka's evidence (2000), six criteria of Bai & Ng (2002), and generalized cross-validation (Josse & Husson 2012).

    Parameters
    ----------
    pca : PCA, TruncatedSVD or IncrementalPCA
        A fitted model. Several rules need all variances, which a fit of some components of large data does not have,
        and say so.
    n_observations : float or None, default=None
        Number of independent rows; None is the sum of frequency weights, and the effective number
        ``sum(w)**2 / sum(w**2)`` of importance and population weights.

    Returns
    -------
    list of Selection
        One for each rule.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from karhunen import PCA, selection
    >>> found = selection.rules(PCA(scale=True).fit(load_wine().data))
    >>> {row.rule: row.n_components for row in found[:3]}
    {'kaiser': 3, 'jolliffe': 5, 'broken-stick': 2}
    """
    return [Selection(**row) for row in _core.select_components(engine_model(pca), _observations(n_observations))]


def parallel_analysis(
    X: Any,
    *,
    n_components: int | None = None,
    scale: bool | ColumnScaling | ArrayLike = False,
    sample_weight: Any = None,
    feature_weight: Any = None,
    weighting: Weighting = "frequency",
    null: Null = "permutation",
    level: float | None = 0.95,
    n_draws: int = 200,
    n_observations: float | None = None,
    random_state: Any = 0,
    n_threads: int | None = None,
) -> Selection:
    """Keep the components whose variance exceeds the variance in random data: parallel analysis (Horn 1965).

    Values may be missing. Random data then have the pattern of missing entries of the data, with the observed values
    of every column in random order among its observed entries, and both are fitted by probabilistic PCA, as
    :class:`karhunen.IncompletePCA` does with ``method="ppca"``; variances are those along the components plus the
    noise.

    Parameters
    ----------
    X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
        Rows; NaN, NA and masked values are missing.
    n_components : int or None, default=None
        The largest number that the rule can choose; None is all. With missing values at most one less than the number
        of features, and None is at most 10.
    scale : bool, {"std", "pareto", "range", "binomial"} or array-like of shape (n_features,), default=False
        Divide columns by their standard deviation (True), or as `scale` of :class:`karhunen.PCA` says. With missing
        values not "range" and "binomial".
    sample_weight : array-like of shape (n_samples,) or None
        Weights of the rows.
    feature_weight : array-like of shape (n_features,) or None
        Weights of the features.
    weighting : {"frequency", "importance", "population"}, default="frequency"
        Meaning of the weights of rows: random data have as many rows as frequency weights sum to; other weights stay
        with their rows.
    null : {"permutation", "normal"}, default="permutation"
        Random data: the values of every column in random order, or independent normal values.
    level : float or None, default=0.95
        Quantile over the random tables that a variance must exceed (Glorfeld 1995); None is their mean, which keeps
        a component of noise in about half of all cases.
    n_draws : int, default=200
        Number of random tables.
    n_observations : float or None, default=None
        Number of independent rows that the rows are worth, where they depend on one another (a series, or members of a
        household): random data have as many rows. None is the number that the weights mean.
    random_state : int, RandomState instance or None, default=0
        Seed of the random tables.
    n_threads : int or None, default=None
        Number of threads; None is all processors. The result does not depend on it.

    Returns
    -------
    Selection
        The number of components, with the variances and what they must exceed.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from karhunen import selection
    >>> wine = load_wine().data
    >>> selection.parallel_analysis(wine, scale=True).n_components
    3
    >>> wine[::10, 3] = float("nan")
    >>> selection.parallel_analysis(wine, scale=True, n_draws=50).n_components
    3
    """
    if level is not None and not is_number(level):
        raise ValueError(f"level = {level!r} is not allowed: a number between 0 and 1, or None, is needed")
    how = choice_option("null", null, Null)
    n_draws = count_option("n_draws", n_draws)
    pca = PCA(optional_count("n_components", n_components), scale=scale, weighting=weighting, n_threads=n_threads)
    rows = to_rows(pca, without_masks(X), reset=True, min_samples=2)
    weights = to_weights("sample_weight", sample_weight, rows.shape[0], "rows")
    tell_counts(weighting, weights)
    features = to_feature_weights(pca, feature_weight, rows.shape[1])
    quantile = None if level is None else float(level)
    observations = _observations(n_observations)
    seed = seed_option(random_state)
    with pca._call() as draw:
        options = in_order_of_columns(pca, pca._engine_options())
        row = _core.parallel_analysis(
            rows, options, how, quantile, n_draws, observations, seed, weights, features, draw
        )
    return Selection(**row)


def cross_validation(found: EntryCrossValidation) -> list[Selection]:
    """Choose the number of components by errors of held-out entries.

    Parameters
    ----------
    found : EntryCrossValidation
        What :func:`karhunen.cross_validate_entries` returns, for several numbers of components. Of several penalties of
        a number, that with the least error counts.

    Returns
    -------
    list of Selection
        Two choices: the number with the least mean squared error of held-out entries, hence the highest Q²; and the
        smallest number whose error is within one standard error of the least (Breiman et al. 1984, Classification and
        Regression Trees, section 3.4.3). Both may choose 0, the prediction by means. Values are mean squared errors
        from 0 components on, NaN for a number that was not compared.

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import IncompletePCA, cross_validate_entries, selection
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 3)) @ rng.normal(size=(3, 12)) + 0.3 * rng.normal(size=(100, 12))
    >>> found = cross_validate_entries(IncompletePCA(method="ppca"), X, n_components=range(1, 6))
    >>> {row.rule: row.n_components for row in selection.cross_validation(found)}
    {'cross-validation': 4, 'cross-validation-1se': 3}
    """
    if not isinstance(found, EntryCrossValidation):
        raise TypeError(f"found is a {type(found).__name__}; pass what karhunen.cross_validate_entries returns")
    if not found._rules:
        raise ValueError("found is of an earlier version, which did not keep squared errors; cross-validate again")
    return [Selection(**row) for row in found._rules]


@dataclass(frozen=True, eq=False)
class Separation:
    """Sampling errors of the variances of a fit.

    Attributes
    ----------
    standard_errors : ndarray of shape (n_components,)
        Standard error of each variance.
    overlaps : list of bool
        For each pair of neighbours, True if the bars of one standard error overlap.
    groups : list of range
        Ranges of components, counted from 0, that overlap, single ones included: directions within a range are
        arbitrary in the space that it spans.
    """

    standard_errors: NDArray[np.float64]
    overlaps: list[bool]
    groups: list[range]


def north(pca: Any, n_observations: float | None = None) -> Separation:
    """Compute the standard errors of variances by the rule of North et al. (1982): ``variance * sqrt(2 / n)``.

    Parameters
    ----------
    pca : PCA, TruncatedSVD or IncrementalPCA
        A fitted model.
    n_observations : float or None, default=None
        Effective number of independent rows, for example of a time series; None is the number of rows, or what their
        weights count as.

    Returns
    -------
    Separation
        Standard errors, and the components that they do not distinguish.
    """
    errors, overlaps, groups = _core.separate_components(engine_model(pca), _observations(n_observations))
    return Separation(errors, overlaps, [range(*group) for group in groups])


def _observations(n_observations: Any) -> float | None:
    """Check a number of observations; the engine checks its range."""
    return None if n_observations is None else number_option("n_observations", n_observations)


def to_frame(found: Selection | Iterable[Selection]) -> Any:
    """Return choices as a pandas.DataFrame: one row for each rule, with its number and reason.

    Parameters
    ----------
    found : Selection or iterable of Selection
        Choices of :func:`rules` and :func:`parallel_analysis`.

    Returns
    -------
    pandas.DataFrame
        Columns `n_components`, `at_edge` and `reason`, indexed by rule.
    """
    pandas = import_module("pandas")
    found = [found] if isinstance(found, Selection) else list(found)
    table = pandas.DataFrame(
        {
            "n_components": pandas.array([row.n_components for row in found], dtype="Int64"),
            "at_edge": [row.at_edge for row in found],
            "reason": [row.reason for row in found],
        },
        index=[row.rule for row in found],
    )
    return table.rename_axis("rule")
