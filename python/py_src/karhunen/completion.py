"""Completion of tables with missing values: regularised iterative PCA as of missMDA, and means.

For R's missMDA: :func:`iterative_pca` is `imputePCA`, :func:`choose_n_components` is `estim_ncpPCA` by generalized
cross-validation. :class:`karhunen.IncompletePCA` is for large tables, error bars of predictions, and new rows with
missing values; :func:`karhunen.cross_validate_entries` compares numbers of components by entries that are held out.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array

from karhunen import PCA, _core
from karhunen._incomplete.convergence import FarPredictions, warn_of_far_predictions
from karhunen._inputs import tables
from karhunen._inputs.matrix import to_weights
from karhunen._shared.errors import name_column
from karhunen._shared.options import choice_option, count_option, flag_option, number_option
from karhunen._shared.warning import warn

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Completion", "choose_n_components", "iterative_pca", "mean"]

#: Names of the shrinkage of scores.
Shrinkage = Literal["regularized", "em"]


@dataclass(frozen=True, eq=False)
class Completion:
    """A completed table.

    Attributes
    ----------
    completed : ndarray or pandas.DataFrame of shape (n_samples, n_features)
        The table with its missing entries filled; of the type of the data.
    fitted : ndarray or pandas.DataFrame of shape (n_samples, n_features)
        The fit of every entry, by shrunken scores.
    pca : PCA
        PCA of the completed table, with population variances (divisor n).
    noise_variance : float
        Noise variance by which scores are shrunken, in standardised units if columns were scaled.
    n_iter : int
        Number of iterations.
    converged : bool
        True if the iterations converged.
    far_predictions : FarPredictions or None
        Fills more than ten standard deviations outside the observed values of their column, if there are any.
    """

    completed: Any
    fitted: Any
    pca: PCA
    noise_variance: float
    n_iter: int
    converged: bool
    far_predictions: FarPredictions | None = None


def iterative_pca(
    X: Any,
    n_components: int = 2,
    *,
    scale: bool = True,
    method: Shrinkage = "regularized",
    ridge: float = 1.0,
    sample_weight: Any = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    n_threads: int | None = None,
) -> Completion:
    """Fill missing entries by PCA of the completed table, again and again: missMDA's `imputePCA`.

    Josse & Husson (2012), doi:10.1016/j.csda.2011.11.003, section 3; Josse & Husson (2016), doi:10.18637/jss.v070.i01.

    Parameters
    ----------
    X : array-like or dataframe of shape (n_samples, n_features)
        Numbers; NaN marks a missing entry. The table is held densely. A column without entries is refused.
    n_components : int, default=2
        Number of components, at most ``min(n_samples - 2, n_features - 1)``; 0 fills with means.
    scale : bool, default=True
        Divide columns by their standard deviations, which follow the fills.
    method : {"regularized", "em"}, default="regularized"
        Shrink the scores by the share of noise in each variance, or not; without shrinkage fills follow noise where
        entries are few.
    ridge : float, default=1.0
        Factor of the noise variance (`coeff.ridge`).
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows (`row.w`).
    tol : float, default=1e-6
        Relative change of the squared error of the observed entries at which iterations end (`threshold`).
    max_iter : int, default=1000
        Most iterations.
    n_threads : int or None, default=None
        Number of threads; None is all processors.

    Returns
    -------
    Completion
        The completed table and its fit.

    Warns
    -----
    ConvergenceWarning
        If the iterations do not converge.
    UserWarning
        If missing entries are filled far outside the observed values.

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import completion
    >>> X = np.outer([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [1.0, 2.0, 4.0])
    >>> X[1, 2] = np.nan
    >>> round(float(completion.iterative_pca(X, 1, method="em", tol=1e-12).completed[1, 2]), 3)
    8.0
    """
    values, restored, names = _table(X)
    options = {
        "n_components": count_option("n_components", n_components, least=0),
        **_options(scale, method, ridge, tol, max_iter),
    }
    weights = to_weights("sample_weight", sample_weight, len(values), "rows")
    try:
        found = _core.complete(values, options, weights, n_threads)
    except ValueError as error:
        raise name_column(error, names) from error.__cause__
    completed, fitted, model, noise_variance, n_iter, converged, found_far = found
    far = None if found_far is None else FarPredictions(*found_far)
    ids = None if names is None else np.asarray(names, dtype=object)
    warn_of_far_predictions(far, ids, 'lower n_components, or use method="regularized"')
    if not converged:
        warn(f"iterative PCA stopped after {n_iter} iterations; raise max_iter or tol", ConvergenceWarning)
    kept = options["n_components"]
    pca = PCA(kept, scale=options["scale"], weighting="population", n_threads=n_threads)._adopt_fit(model)
    if names is not None:
        pca.feature_names_in_ = np.asarray(names, dtype=object)
    return Completion(restored(completed), restored(fitted), pca, noise_variance, n_iter, converged, far)


def choose_n_components(
    X: Any,
    *,
    least: int = 0,
    most: int = 5,
    scale: bool = True,
    method: Shrinkage = "regularized",
    ridge: float = 1.0,
    sample_weight: Any = None,
    tol: float = 1e-6,
    max_iter: int = 1000,
    n_threads: int | None = None,
) -> tuple[int, NDArray[np.float64]]:
    """Choose the number of components by generalized cross-validation: missMDA's `estim_ncpPCA` with ``"gcv"``.

    Parameters
    ----------
    X : array-like or dataframe of shape (n_samples, n_features)
        Numbers; NaN marks a missing entry.
    least, most : int, default=0 and 5
        The smallest and the largest number; `most` is lowered to what the table allows.
    scale, method, ridge, sample_weight, tol, max_iter, n_threads
        As of :func:`iterative_pca`.

    Returns
    -------
    n_components : int
        The first local minimum of the criterion.
    criterion : ndarray of shape (most - least + 1,)
        Approximate mean squared errors of prediction.

    Examples
    --------
    >>> from karhunen import completion
    >>> from sklearn.datasets import load_wine
    >>> completion.choose_n_components(load_wine().data, most=4)[0]
    2
    """
    values, _, names = _table(X)
    options = {"n_components": 0, **_options(scale, method, ridge, tol, max_iter)}
    weights = to_weights("sample_weight", sample_weight, len(values), "rows")
    ends = count_option("least", least, least=0), count_option("most", most, least=0)
    try:
        return _core.choose_completion(values, options, *ends, weights, n_threads)
    except ValueError as error:
        raise name_column(error, names) from error.__cause__


def mean(X: Any, *, sample_weight: Any = None) -> Any:
    """Fill missing entries with the means of their columns.

    Filled entries have no deviation, so variances and correlations come out too small; :func:`iterative_pca` keeps
    them.

    Parameters
    ----------
    X : array-like or dataframe of shape (n_samples, n_features)
        Numbers; NaN marks a missing entry.
    sample_weight : array-like of shape (n_samples,) or None, default=None
        Weights of the rows.

    Returns
    -------
    ndarray or pandas.DataFrame of shape (n_samples, n_features)
        The completed table, of the type of the data.

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import completion
    >>> completion.mean(np.array([[1.0, 5.0], [3.0, np.nan]]))
    array([[1., 5.],
           [3., 5.]])
    """
    return iterative_pca(X, 0, scale=False, sample_weight=sample_weight).completed


def _options(scale: bool, method: str, ridge: float, tol: float, max_iter: int) -> dict[str, Any]:
    """Check the options of the iterations."""
    return {
        "scale": flag_option("scale", scale),
        "method": choice_option("method", method, Shrinkage),
        "ridge": number_option("ridge", ridge),
        "tol": number_option("tol", tol),
        "max_iter": count_option("max_iter", max_iter),
    }


def _table(X: Any) -> tuple[NDArray[np.float64], Any, list[str] | None]:
    """Return the values, a function that gives an array the form of the table, and the names of its columns."""
    X = tables.as_table(X)
    if tables.is_table(X):
        values = np.ascontiguousarray(tables.to_array(X), dtype=np.float64)
        return values, lambda array: array, [str(name) for name in tables.names_of(X)]
    values = check_array(X, dtype=np.float64, ensure_all_finite=False, input_name="X", order="C")
    if not (hasattr(X, "columns") and hasattr(X, "index")):
        return values, lambda array: array, None
    frame = import_module("pandas").DataFrame
    return values, lambda array: frame(array, index=X.index, columns=X.columns), [str(name) for name in X.columns]
