"""How many components, and which penalty: by the entries that were not fitted."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone

from karhunen import _core
from karhunen._incomplete.inputs import to_fit_entries
from karhunen._incomplete.options import engine_options, penalty_option, told_as_given
from karhunen._shared.arrays import FloatArray
from karhunen._shared.choices import Regularization
from karhunen._shared.options import count_option
from karhunen._shared.progress import progress

if TYPE_CHECKING:
    from karhunen._incomplete.incomplete_pca import IncompletePCA


@dataclass(frozen=True, eq=False)
class EntryCrossValidation:
    """What cross-validation over entries found.

    Attributes
    ----------
    params : list of dict
        The options of each choice, for ``estimator.set_params``.
    errors : ndarray of shape (n_choices, n_folds)
        Root mean squared error of the entries of each fold, of a fit of all others.
    mean, standard_error : ndarray of shape (n_choices,)
        Of the errors of each choice; the standard error is that of the mean.
    best_index : int
        The choice of the lowest mean.
    simplest_index : int
        The simplest choice within one standard error of the lowest: fewest components, then the largest penalty.
    """

    __module__ = "karhunen"

    params: list[dict[str, Any]]
    errors: FloatArray
    best_index: int
    simplest_index: int

    @property
    def mean(self) -> FloatArray:
        """Mean error of each choice."""
        return self.errors.mean(axis=1)

    @property
    def standard_error(self) -> FloatArray:
        """Standard error of each mean."""
        return self.errors.std(axis=1, ddof=1) / np.sqrt(self.errors.shape[1])

    @property
    def best_params(self) -> dict[str, Any]:
        """Options of the lowest mean error."""
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
) -> EntryCrossValidation:
    """Compare numbers of components and penalties by the errors of entries that are not fitted.

    Entries are cut into folds at random; every choice is fitted to the entries outside every fold and predicts those
    inside. Fits run side by side, each on one thread.

    Parameters
    ----------
    estimator : IncompletePCA
        All other options; it stays as it is.
    X : array-like, dataframe, sparse matrix or Observed of shape (n_samples, n_features)
        Data, as `fit` takes them.
    n_components : iterable of int or None, default=None
        Numbers of components; that of `estimator` if None.
    regularization : iterable or None, default=None
        Penalties as `estimator` takes them; that of `estimator` if None.
    n_folds : int, default=5
        Into how many parts entries are cut.
    sample_weight, entry_weight : array-like or None, default=None
        As for :meth:`IncompletePCA.fit`. An entry of a row that counts twice lies in one
        fold, and its error counts twice.

    Returns
    -------
    EntryCrossValidation
        The errors of every choice, the best and the simplest near it.

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
    # Names and ids of the data are not to be left on an estimator that is not fitted.
    estimator = clone(estimator)
    options = engine_options(estimator)
    entries = to_fit_entries(estimator, X, sample_weight, entry_weight)
    folds = count_option("n_folds", n_folds)
    grid = {"n_folds": n_folds, **({"regularization": given} if given else {})}
    with told_as_given(estimator, **grid), progress(estimator.verbose, "cross_validate_entries") as draw:
        choices, errors, best, simplest = _core.cross_validate(entries, options, folds, components, sizes, draw)
    # The grid is that of the engine: components first, penalties within.
    params = []
    for place, (c, _) in enumerate(choices):
        choice: dict[str, Any] = {"n_components": c} if components else {}
        if given:
            choice["regularization"] = given[place % len(given)]
        params.append(choice)
    return EntryCrossValidation(params, errors, best, simplest)
