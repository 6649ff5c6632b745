"""Selection of the number of components and the penalty by held-out entries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from karhunen import _core
from karhunen._incomplete.incomplete_pca import IncompletePCA
from karhunen._incomplete.inputs import to_fit_entries
from karhunen._incomplete.options import engine_options, errors_as_given, penalty_option
from karhunen._shared.arrays import FloatArray
from karhunen._shared.choices import Regularization
from karhunen._shared.fitted_model import feature_names
from karhunen._shared.options import count_option
from karhunen._shared.progress import progress
from karhunen._shared.standardization import in_order_of_columns

#: Numbers of each choice, in total and by feature.
NUMBERS = ("press", "msep", "msep_standard_error", "q2", "r2")


@dataclass(frozen=True, eq=False)
class FeatureErrors:
    """Errors of held-out entries by feature, in the units of the feature.

    Attributes
    ----------
    press : ndarray of shape (n_choices, n_features)
        Sum of squared errors (the predicted residual sum of squares).
    msep, msep_standard_error : ndarray of shape (n_choices, n_features)
        Mean squared error of prediction, and its standard error over folds.
    q2, r2 : ndarray of shape (n_choices, n_features)
        Share of the squares of held-out entries that is predicted, and of the squares of all entries that is fitted.
        NaN for a constant feature.
    names : list of str
        Names of the features.
    """

    __module__ = "karhunen"

    press: FloatArray
    msep: FloatArray
    msep_standard_error: FloatArray
    q2: FloatArray
    r2: FloatArray
    names: list[str]


@dataclass(frozen=True, eq=False)
class EntryCrossValidation:
    """Result of cross-validation over entries.

    Errors are in the units of the data; with ``scale=True``, in standard deviations of the observed entries of each
    feature. Squares are multiplied by the weights of entries, rows and features.

    Attributes
    ----------
    params : list of dict
        Options of each choice, for ``estimator.set_params``.
    errors : ndarray of shape (n_choices, n_folds)
        Root mean squared error of the held-out entries of each fold.
    mean, standard_error : ndarray of shape (n_choices,)
        Mean error of each choice, and the standard error of this mean.
    press : ndarray of shape (n_choices,)
        Sum of the squared errors of all held-out entries (the predicted residual sum of squares).
    msep, msep_standard_error : ndarray of shape (n_choices,)
        Mean squared error of prediction, and its standard error over folds.
    rmse, rmse_standard_error : ndarray of shape (n_choices,)
        Its root, and the standard error of the root.
    q2 : ndarray of shape (n_choices,)
        Share of the squares of held-out entries, about the means of all entries, that is predicted: ``1 - PRESS / SS``.
        It falls once further components fit noise, and is negative for predictions that are worse than the means.
    r2 : ndarray of shape (n_choices,)
        Share of the squares of all entries that the fit to all of them reproduces. It does not fall.
    n_apart : ndarray of int of shape (n_choices,)
        Number of fits, to the other entries of each fold and to all entries, whose starts ended apart: their errors may
        be of a wrong optimum.
    features : FeatureErrors
        The same of each feature, in its own units.
    msep_of_means : float
        Mean squared error without components: predictions by the means of the entries that were not held out.
    best_index : int or None
        Index of the choice with the lowest mean squared error, hence the highest Q²; None if none predicts better than
        the means.
    simplest_index : int or None
        Index of the simplest choice whose mean squared error is within one standard error of the lowest: fewest
        components, then largest penalty. None if the means are that choice.
    """

    __module__ = "karhunen"

    params: list[dict[str, Any]]
    errors: FloatArray
    best_index: int | None
    simplest_index: int | None
    press: FloatArray
    msep: FloatArray
    msep_standard_error: FloatArray
    q2: FloatArray
    r2: FloatArray
    n_apart: NDArray[np.int64]
    features: FeatureErrors
    msep_of_means: float
    _rules: list[dict[str, Any]] = field(repr=False)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take a pickle; errors that pickles of earlier versions lack are NaN, of no feature."""
        n = len(state["params"])
        unknown = {name: np.full(n, np.nan) for name in NUMBERS}
        nothing = FeatureErrors(**{name: np.empty((n, 0)) for name in NUMBERS}, names=[])
        others = {"n_apart": np.zeros(n, np.int64), "features": nothing, "msep_of_means": np.nan, "_rules": []}
        self.__dict__.update({**unknown, **others, **state})

    def to_frame(self) -> Any:
        """Return the options and errors of all choices as a pandas.DataFrame: one row for each choice."""
        table = import_module("pandas").DataFrame(self.params)
        numbers = {name: getattr(self, name) for name in ("mean", "standard_error", *NUMBERS)}
        return table.assign(**numbers)

    @property
    def mean(self) -> FloatArray:
        """Mean error of each choice, shape (n_choices,)."""
        return self.errors.mean(axis=1)

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of each mean, shape (n_choices,)."""
        return self.errors.std(axis=1, ddof=1) / np.sqrt(self.errors.shape[1])

    @property
    def rmse(self) -> FloatArray:
        """Root of `msep`, shape (n_choices,)."""
        return np.sqrt(self.msep)

    @property
    def rmse_standard_error(self) -> FloatArray:
        """Standard error of `rmse`, shape (n_choices,): `msep_standard_error` over ``2 * rmse``, to first order."""
        errors = self.rmse
        return np.divide(self.msep_standard_error, 2.0 * errors, out=np.zeros_like(errors), where=errors != 0.0)

    @property
    def best_params(self) -> dict[str, Any]:
        """Options with the lowest mean squared error; ``{"n_components": 0}`` if the means predict better."""
        return self._params(self.best_index)

    @property
    def simplest_params(self) -> dict[str, Any]:
        """Options of the simplest choice within one standard error of the lowest.

        ``{"n_components": 0}``, which is not a fit, says that means predict as well.
        """
        return self._params(self.simplest_index)

    def _params(self, index: int | None) -> dict[str, Any]:
        """Return the options of a choice."""
        return {"n_components": 0} if index is None else self.params[index]


def cross_validate_entries(
    estimator: IncompletePCA,
    X: Any,
    *,
    n_components: int | Iterable[int] | None = None,
    regularization: Iterable[Regularization] | None = None,
    n_folds: int = 5,
    sample_weight: Any = None,
    entry_weight: Any = None,
    feature_weight: Any = None,
) -> EntryCrossValidation:
    """Compare numbers of components and penalties by their errors on held-out entries.

    Entries are split into folds at random; every choice is fitted to the complement of every fold and predicts the
    entries of the fold, so that each entry is predicted once by a fit that does not know it. One more fit to all
    entries gives R². Fits run in parallel, each on one thread. With ``scale=True`` every fit scales by the deviations
    of its own entries; errors are divided by the deviations of all entries, which are the same for all fits. Complete
    data are cross-validated in the same way: ``IncompletePCA(method="ppca")`` has the components of PCA if all entries
    are observed. Least squares (``method="em"``) are less robust: they extrapolate from rows of which few entries are
    left.

    Parameters
    ----------
    estimator : IncompletePCA
        Estimator with all other options; it is not changed.
    X : array-like, dataframe, sparse matrix or Observed of shape (n_samples, n_features)
        Data, as in :meth:`IncompletePCA.fit`, with or without missing values.
    n_components : int, iterable of int or None, default=None
        Numbers of components; None uses the number of `estimator`.
    regularization : iterable or None, default=None
        Penalties, as in :class:`IncompletePCA`; None uses the penalty of `estimator`.
    n_folds : int, default=5
        Number of folds.
    sample_weight, entry_weight, feature_weight : array-like or None, default=None
        As in :meth:`IncompletePCA.fit`. An entry of a row of weight two is in one fold, and its error counts twice.

    Returns
    -------
    EntryCrossValidation
        Errors of every choice, with the best and the simplest within one standard error of it.

    Notes
    -----
    Folds are of entries, and not of rows: the scores of a row that is held out would need its values, and such errors
    fall with every component (Bro, Kjeldahl, Smilde & Kiers 2008, doi:10.1007/s00216-007-1790-1).

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import IncompletePCA, cross_validate_entries
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 15)) + 0.3 * rng.normal(size=(200, 15))
    >>> x[rng.random(x.shape) < 0.3] = np.nan
    >>> found = cross_validate_entries(IncompletePCA(), x, n_components=[1, 2, 3, 4])
    >>> found.simplest_params
    {'n_components': 2}
    >>> bool(found.q2[1] > found.q2[0]), bool(found.r2[3] > found.q2[3])
    (True, True)
    >>> pca = IncompletePCA().set_params(**found.simplest_params).fit(x)
    """
    if not isinstance(estimator, IncompletePCA):
        raise TypeError(
            f"estimator is a {type(estimator).__name__}; pass a karhunen.IncompletePCA, which fits complete data, too"
        )
    if isinstance(n_components, (int, np.integer)):
        n_components = [int(n_components)]
    components = [] if n_components is None else [count_option("n_components", c) for c in n_components]
    given = [] if regularization is None else list(regularization)
    penalties = [penalty_option(penalty) for penalty in given]
    for name, values, wanted in (("n_components", components, n_components), ("regularization", given, regularization)):
        if wanted is not None and not values:
            raise ValueError(f"{name} is empty: give at least one value, or None for the value of the estimator")
    sizes = [penalty for penalty in penalties if penalty is not None]
    if len(sizes) < len(penalties):
        raise ValueError("regularization holds None, which is not a penalty; leave it out, or fit each method alone")
    if "path" in given:
        raise ValueError("regularization holds 'path', which chooses a penalty itself; give the penalties to compare")
    # A clone, so that an unfitted estimator does not receive names and ids of the data.
    estimator = clone(estimator)
    options = engine_options(estimator)
    entries = to_fit_entries(estimator, X, sample_weight, entry_weight, feature_weight)
    folds = count_option("n_folds", n_folds)
    grid = {"n_folds": n_folds, **({"regularization": given} if given else {})}
    with errors_as_given(estimator, **grid), progress(estimator.verbose, "cross_validate_entries") as draw:
        options = in_order_of_columns(estimator, options)
        choices, found = _core.cross_validate(entries, options, folds, components, sizes, draw)
    # The order of the engine: components first, penalties within.
    params = []
    for place, (c, _) in enumerate(choices):
        choice: dict[str, Any] = {"n_components": c} if components else {}
        if given:
            choice["regularization"] = given[place % len(given)]
        params.append(choice)
    features = FeatureErrors(**found.pop("features"), names=feature_names(estimator))
    return EntryCrossValidation(params=params, features=features, _rules=found.pop("rules"), **found)
