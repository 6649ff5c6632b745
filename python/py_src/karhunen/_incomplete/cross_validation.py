"""Selection of the number of components and the penalty by held-out entries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from karhunen import _core
from karhunen._incomplete.inputs import to_fit_entries
from karhunen._incomplete.options import engine_options, errors_as_given, penalty_option
from karhunen._shared.arrays import FloatArray
from karhunen._shared.choices import Regularization
from karhunen._shared.options import count_option
from karhunen._shared.progress import progress

if TYPE_CHECKING:
    from karhunen._incomplete.incomplete_pca import IncompletePCA


@dataclass(frozen=True, eq=False)
class EntryCrossValidation:
    """Result of cross-validation over entries.

    Attributes
    ----------
    params : list of dict
        Options of each choice, for ``estimator.set_params``.
    errors : ndarray of shape (n_choices, n_folds)
        Root mean squared error of the held-out entries of each fold.
    mean, standard_error : ndarray of shape (n_choices,)
        Mean error of each choice, and the standard error of this mean.
    best_index : int
        Index of the choice with the lowest mean error.
    simplest_index : int
        Index of the simplest choice within one standard error of the lowest: fewest components, then largest penalty.
    """

    __module__ = "karhunen"

    params: list[dict[str, Any]]
    errors: FloatArray
    best_index: int
    simplest_index: int

    @property
    def mean(self) -> FloatArray:
        """Mean error of each choice, shape (n_choices,)."""
        return self.errors.mean(axis=1)

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of each mean, shape (n_choices,)."""
        return self.errors.std(axis=1, ddof=1) / np.sqrt(self.errors.shape[1])

    @property
    def best_params(self) -> dict[str, Any]:
        """Options with the lowest mean error."""
        return self.params[self.best_index]

    @property
    def simplest_params(self) -> dict[str, Any]:
        """Options of the simplest choice within one standard error of the lowest."""
        return self.params[self.simplest_index]


def cross_validate_entries(
    estimator: IncompletePCA,
    X: Any,
    *,
    n_components: Iterable[int] | None = None,
    regularization: Iterable[Regularization] | None = None,
    n_folds: int = 5,
    sample_weight: Any = None,
    entry_weight: Any = None,
    feature_weight: Any = None,
) -> EntryCrossValidation:
    """Compare numbers of components and penalties by their errors on held-out entries.

    Entries are split into folds at random; every choice is fitted to the complement of every fold and predicts the
    entries of the fold. Fits run in parallel, each on one thread. With ``scale=True`` errors are those of scaled
    features, by the standard deviations of each fit.

    Parameters
    ----------
    estimator : IncompletePCA
        Estimator with all other options; it is not changed.
    X : array-like, dataframe, sparse matrix or Observed of shape (n_samples, n_features)
        Data, as in :meth:`IncompletePCA.fit`.
    n_components : iterable of int or None, default=None
        Numbers of components; None uses that of `estimator`.
    regularization : iterable or None, default=None
        Penalties, as in :class:`IncompletePCA`; None uses that of `estimator`.
    n_folds : int, default=5
        Number of folds.
    sample_weight, entry_weight, feature_weight : array-like or None, default=None
        As in :meth:`IncompletePCA.fit`. An entry of a row of weight two is in one fold, and its error counts twice.

    Returns
    -------
    EntryCrossValidation
        Errors of every choice, with the best and the simplest within one standard error of it.

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
    >>> pca = IncompletePCA().set_params(**found.simplest_params).fit(x)
    """
    components = [] if n_components is None else [count_option("n_components", c) for c in n_components]
    given = [] if regularization is None else list(regularization)
    penalties = [penalty_option(penalty) for penalty in given]
    for name, values, wanted in (("n_components", components, n_components), ("regularization", given, regularization)):
        if wanted is not None and not values:
            raise ValueError(f"{name} is empty: give at least one value, or None for that of the estimator")
    sizes = [penalty for penalty in penalties if penalty is not None]
    if len(sizes) < len(penalties):
        raise ValueError("regularization holds None, which is no penalty; leave it out, or fit the methods one by one")
    if "path" in given:
        raise ValueError("regularization holds 'path', which chooses a penalty itself; give the penalties to compare")
    # A clone, so that an unfitted estimator does not receive names and ids of the data.
    estimator = clone(estimator)
    options = engine_options(estimator)
    entries = to_fit_entries(estimator, X, sample_weight, entry_weight, feature_weight)
    folds = count_option("n_folds", n_folds)
    grid = {"n_folds": n_folds, **({"regularization": given} if given else {})}
    with errors_as_given(estimator, **grid), progress(estimator.verbose, "cross_validate_entries") as draw:
        choices, errors, best, simplest = _core.cross_validate(entries, options, folds, components, sizes, draw)
    # The order of the engine: components first, penalties within.
    params = []
    for place, (c, _) in enumerate(choices):
        choice: dict[str, Any] = {"n_components": c} if components else {}
        if given:
            choice["regularization"] = given[place % len(given)]
        params.append(choice)
    return EntryCrossValidation(params, errors, best, simplest)
