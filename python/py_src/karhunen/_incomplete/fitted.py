"""Base class of fitted `IncompletePCA`: scores, predictions, imputation, files."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from karhunen import _core
from karhunen._incomplete.convergence import IncompleteConvergence
from karhunen._incomplete.filled import fill
from karhunen._incomplete.ids import adopt_ids, id_list, index_of
from karhunen._incomplete.inputs import to_entries
from karhunen._incomplete.options import incomplete_arguments
from karhunen._inputs import tables
from karhunen._inputs.matrix import mean_of, to_scores, to_weights
from karhunen._inputs.report import about, write_page
from karhunen._shared.arrays import FloatArray, Ids
from karhunen._shared.choices import Method, Unknown
from karhunen._shared.fitted_model import ViewedModel
from karhunen._shared.options import choice_option, flag_option, number_option
from karhunen._shared.summary import Summarised, outcome

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from typing_extensions import Self

#: Methods with a likelihood; "auto" selects among them and others by other arguments.
LEARN_VARIANCES = ("auto", "vb-full", "vb", "vb-fixed", "ppca", "map")


def _learns_variances(estimator: FittedIncomplete) -> bool:
    """Return True if the method has a likelihood, else raise AttributeError."""
    if estimator.method in LEARN_VARIANCES:
        return True
    raise AttributeError(
        f"method = {estimator.method!r} learns no variances, so it has no likelihood; compare such fits with "
        "cross_validate_entries"
    )


class FittedIncomplete(Summarised, ViewedModel):
    """Methods and attributes of a fitted :class:`IncompletePCA`."""

    explained_variance_: FloatArray
    explained_variance_ratio_: FloatArray
    singular_values_: FloatArray
    mean_: FloatArray
    noise_variance_: float
    scores_: FloatArray
    row_offsets_: FloatArray | None
    n_components_: int
    n_samples_: int
    row_ids_: Ids | None
    column_ids_: Ids | None
    method_: Method
    convergence_: IncompleteConvergence
    n_iter_: int

    _views = (
        "components",
        "explained_variance",
        "explained_variance_ratio",
        "singular_values",
        "mean",
        "noise_variance",
        "scores",
        "row_offsets",
    )
    _kind = _core.IncompleteModel
    _arguments = staticmethod(incomplete_arguments)

    def _outcome(self) -> str:
        shape, share = (self.n_samples_, self.n_features_in_), float(self.explained_variance_ratio_.sum())
        return f"{outcome(shape, self.n_components_, share)}, by {self.method_}"

    def _names_of_features(self) -> Any:
        return getattr(self, "feature_names_in_", self.column_ids_)

    def transform(self, X: Any, *, return_covariance: bool = False) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Compute the scores of rows with missing values, which are optimal given the components.

        For the fitted rows they equal `scores_` with "ppca", the variational methods and "online". With other methods
        `scores_` come from the last iteration, and the difference decreases with `tol`.

        Parameters
        ----------
        X : array-like, dataframe, sparse matrix or Observed of shape (n_samples, n_features)
            Rows, as in :meth:`fit`. A row without entries gets the mean of the prior.
        return_covariance : bool, default=False
            Also return the covariances of the scores.

        Returns
        -------
        scores : ndarray of shape (n_samples, n_components)
            Scores, in float32 if `X` is, in float64 otherwise.
        covariances : ndarray of shape (n_samples, n_components, n_components)
            In float32; only with `return_covariance`. With `row_offsets`, shape (n_samples, n_components + 1,
            n_components + 1); the last row and column belong to the offset. Without penalties they are zero for rows
            with fewer entries than components.
        """
        check_is_fitted(self)
        entries = to_entries(self, X, reset=False)
        if not flag_option("return_covariance", return_covariance):
            return self._scores(entries)
        with self._call() as draw:
            return self._model_now().transform_with_covariances(entries, self.n_threads, draw)

    def _scores(self, entries: _core.Entries) -> FloatArray:
        with self._call() as draw:
            return self._model_now().transform(entries, self.n_threads, draw)

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        sample_weight: Any = None,
        level: float | None = None,
        title: str | None = None,
    ) -> Path:
        """Write a page that shows the model, and rows if they are given: one HTML file that opens without a network.

        It says in sentences what was fitted, how far the fit converged, where values are missing, how certain their
        predictions are, what each component is about and which rows are odd, with pictures and tables that are linked.

        Parameters
        ----------
        path : path-like
            File to write; an existing file is replaced when the new one is complete.
        X : array-like, dataframe, sparse matrix or Observed of shape (n_samples, n_features), default=None
            Rows to show, as in :meth:`fit`. They count as the fitted rows if there are as many, with the same scores.
            Of more than 10,000 the page holds those beyond a limit, and others at equal distances.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Multiplicities of the rows, as in the fit, of which the limits of SPE are.
        level : float or None, default=None
            Share of normal rows within the limits of T² and SPE; None is 0.95.
        title : str or None, default=None
            Title of the page; None is a general one.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        ValueError
            If `level` is not a probability, or `X` or the weights do not fit the model.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> from karhunen import IncompletePCA
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6)) + 0.2 * rng.normal(size=(60, 6))
        >>> x[rng.random(x.shape) < 0.2] = np.nan
        >>> path = IncompletePCA(2).fit(x).report(pathlib.Path(tempfile.mkdtemp(), "report.html"), x)
        >>> path.read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        check_is_fitted(self)
        texts = about(self, X, level, title)
        entries = None if X is None else to_entries(self, X, reset=False)
        return write_page(self, path, entries, texts, sample_weight=sample_weight)

    def transform_offsets(self, X: Any) -> FloatArray:
        """Compute the offsets of rows with missing values, jointly with their scores; zeros without `row_offsets`.

        Parameters
        ----------
        X : array-like, dataframe, sparse matrix or Observed of shape (n_samples, n_features)
            Rows, as in :meth:`fit`. The offset of a row without entries is zero.

        Returns
        -------
        ndarray of shape (n_samples,)
            Offset of each row in all columns, in addition to the mean.
        """
        check_is_fitted(self)
        entries = to_entries(self, X, reset=False)
        with self._call() as draw:
            offsets = self._model_now().offsets(entries, self.n_threads, draw)
        return np.zeros(entries.shape[0]) if offsets is None else offsets

    @available_if(_learns_variances)
    def score_samples(self, X: Any) -> FloatArray:
        """Compute the log-likelihood of the observed entries of each row.

        The density is the normal distribution of these entries given components, learned variances and noise; scores
        are integrated out. Available for methods with learned variances: "vb-full", "vb", "vb-fixed", "ppca", "map",
        and "auto" if it selects one of them.

        Parameters
        ----------
        X : array-like, dataframe, sparse matrix or Observed of shape (n_samples, n_features)
            Rows, as in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples,)
            Natural logarithm of the density; zero for a row without entries.
        """
        check_is_fitted(self)
        entries = to_entries(self, X, reset=False)
        with self._call() as draw:
            return self._model_now().score_samples(entries, self.n_threads, draw)

    @available_if(_learns_variances)
    def score(self, X: Any, y: None = None, sample_weight: Any = None) -> float:
        """Compute the mean log-likelihood of rows, for the selection of `n_components`.

        Such a selection holds out whole rows. :func:`cross_validate_entries` holds out entries, which is the task in
        imputation and prediction, and works for all methods.

        Parameters
        ----------
        X : array-like, dataframe, sparse matrix or Observed of shape (n_samples, n_features)
            Rows that were not fitted.
        y : None
            Ignored; present for compatibility with pipelines.
        sample_weight : array-like of shape (n_samples,) or None
            Weights of the mean.

        Returns
        -------
        float
            Mean of :meth:`score_samples`.

        Examples
        --------
        >>> import numpy as np
        >>> from karhunen import IncompletePCA
        >>> from sklearn.model_selection import GridSearchCV
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 10)) + 0.3 * rng.normal(size=(200, 10))
        >>> x[rng.random(x.shape) < 0.3] = np.nan
        >>> search = GridSearchCV(IncompletePCA(method="ppca"), {"n_components": [1, 2, 3]}).fit(x)
        >>> search.best_params_
        {'n_components': 2}
        """
        likelihoods = self.score_samples(X)
        weights = to_weights("sample_weight", sample_weight, len(likelihoods), "rows")
        return mean_of(likelihoods, "sample_weight", weights)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Map scores to rows, with row offsets of zero.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores. With `row_offsets`, add the result of :meth:`transform_offsets` to all columns.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Values without noise, in float32 if `X` is, in float64 otherwise.
        """
        check_is_fitted(self)
        return self._model_now().inverse_transform(to_scores(self, X), self.n_threads)

    def predict(
        self,
        rows: Any,
        columns: Any = None,
        *,
        return_std: bool = False,
        noise: bool = True,
        unknown: Unknown = "refuse",
    ) -> FloatArray | tuple[FloatArray, FloatArray]:
        """Predict entries of the fitted data, or all entries of new rows.

        Parameters
        ----------
        rows : array-like
            Fitted rows: their ids if `row_ids_` is not None (from an :class:`Observed` or the index of a pandas
            frame), otherwise their indices. Without `columns`, new rows with missing values, as in :meth:`transform`.
        columns : array-like or None, default=None
            Columns, in a shape that broadcasts with the shape of `rows`: their ids if `column_ids_` is not None,
            otherwise their indices or names. The prediction for a column without observed entries is the mean of all
            entries.
        return_std : bool, default=False
            Also return standard deviations.
        noise : bool, default=True
            True for standard deviations of new observations, False for standard deviations of values without noise. The
            variances differ by `feature_noise_variance_`.
        unknown : {"refuse", "nan"}, default="refuse"
            An error for a row or column that was not fitted, or NaN for its predictions and standard deviations.

        Returns
        -------
        values : ndarray
            Predictions, in the broadcast shape of `rows` and `columns`, or (n_samples, n_features) without `columns`.
        std : ndarray
            Standard deviations, in the shape of `values`; only with `return_std`.

        Examples
        --------
        >>> from karhunen import IncompletePCA, Observed
        >>> users = ["ann", "ann", "bob", "bob", "cid", "cid", "dan"]
        >>> films = ["Alien", "Brazil", "Alien", "Brazil", "Brazil", "Casino", "Casino"]
        >>> pca = IncompletePCA(1).fit(Observed(users, films, [5, 4, 4, 3, 2, 1, 2]))
        >>> value, std = pca.predict(["dan", "ann"], ["Alien", "Casino"], return_std=True)
        >>> value.shape, bool((std > 0).all())
        ((2,), True)
        """
        check_is_fitted(self)
        flag_option("noise", noise)
        if flag_option("return_std", return_std):
            self._expect_error_bars()
        unknown_option = choice_option("unknown", unknown, Unknown)
        if columns is None:
            if unknown_option != "refuse":
                raise ValueError("unknown = 'nan' needs pairs of rows and columns; leave it out")
            return self._predict_rows(rows, return_std, noise)
        n, p = self._model_now().scores.shape[0], self.n_features_in_
        if n == 0:
            raise ValueError(
                "the rows were fitted in parts, with which their scores are; call predict or impute with rows alone"
            )
        rows = index_of("rows", rows, self.row_ids_, n, unknown=unknown)
        columns = index_of("columns", columns, self._column_names(columns), p, unknown=unknown)
        rows, columns = np.broadcast_arrays(rows, columns)
        # Positions that are not known are -1.
        is_unknown = (np.minimum(rows, columns) < 0).ravel()
        flat = [np.ascontiguousarray(np.maximum(ids, 0)).ravel() for ids in (rows, columns)]
        with self._call() as draw:
            found = self._model_now().predict_pairs(*flat, bool(noise) if return_std else None, self.n_threads, draw)
        found[is_unknown] = np.nan
        values = found[:, 0].reshape(rows.shape)
        return (values, found[:, 1].reshape(rows.shape)) if return_std else values

    def predict_interval(
        self, rows: Any, columns: Any = None, *, level: float = 0.95, unknown: Unknown = "refuse"
    ) -> tuple[FloatArray, FloatArray]:
        """Compute intervals that hold new observations with a given probability.

        The ends are the predictions of :meth:`predict`, less and plus a number of standard deviations. With `conformal`
        that is an order statistic of `conformal_errors_`: n errors give intervals that hold an entry with probability
        `level` or more, whatever the distribution of the errors, if entries are missing completely at random. That is
        on average over entries, not in each row or column. Otherwise it is the quantile of the normal distribution.

        Parameters
        ----------
        rows, columns : array-like
            As in :meth:`predict`.
        level : float, default=0.95
            Probability, between 0 and 1; with `conformal` at most n / (n + 1).
        unknown : {"refuse", "nan"}, default="refuse"
            As in :meth:`predict`.

        Returns
        -------
        lower, upper : ndarray
            Ends of the intervals, in the shape of the values of :meth:`predict`.

        References
        ----------
        J. Lei, M. G'Sell, A. Rinaldo, R. J. Tibshirani, L. Wasserman: Distribution-free predictive inference for
        regression. JASA 113 (2018), theorem 2.2.

        Examples
        --------
        >>> import numpy as np
        >>> from karhunen import IncompletePCA
        >>> rng = np.random.default_rng(0)
        >>> x = rng.normal(size=(200, 2)) @ rng.normal(size=(2, 10)) + rng.standard_t(3, size=(200, 10))
        >>> missing = rng.random(x.shape) < 0.2
        >>> pca = IncompletePCA(2, conformal=0.1).fit(np.where(missing, np.nan, x))
        >>> lower, upper = pca.predict_interval(*missing.nonzero(), level=0.9)
        >>> inside = (lower < x[missing]) & (x[missing] < upper)
        >>> bool(0.85 < inside.mean() < 0.95)
        True
        """
        check_is_fitted(self)
        self._expect_error_bars("predict_interval")
        factor = self._model_now().interval_factor(number_option("level", level))
        values, std = self.predict(rows, columns, return_std=True, unknown=unknown)
        return values - factor * std, values + factor * std

    @property
    def conformal_errors_(self) -> FloatArray | None:
        """Errors of the entries held out by `conformal`, over their standard deviations, shape (n_held_out,)."""
        check_is_fitted(self)
        return self._model_now().conformal_errors

    def _predict_rows(self, X: Any, return_std: bool, noise: bool) -> FloatArray | tuple[FloatArray, FloatArray]:
        if hasattr(X, "tocoo"):
            raise ValueError(
                "predict without columns gives the values of all entries, which a sparse matrix is not meant to hold; "
                "ask for pairs of rows and columns, or call impute for an array"
            )
        if np.ndim(X) == 1:
            raise ValueError("Reshape your data: without columns, predict expects new rows, got an array of one axis")
        entries = to_entries(self, X, reset=False)
        return self._values_and_std(entries, noise) if return_std else self._values(entries)

    def _values(self, entries: _core.Entries) -> FloatArray:
        """Compute the values of all entries of rows."""
        with self._call() as draw:
            return self._model_now().values(entries, self.n_threads, draw)

    def _values_and_std(self, entries: _core.Entries, noise: bool) -> tuple[FloatArray, FloatArray]:
        """Compute the values of all entries of rows, and their standard deviations."""
        with self._call() as draw:
            return self._model_now().predict_rows(entries, bool(noise), self.n_threads, draw)

    def _column_names(self, wanted: Any) -> Ids | None:
        """Return the ids of columns, or their names unless integers are requested: data frames accept both."""
        if self.column_ids_ is not None:
            return self.column_ids_
        if np.asarray(wanted).dtype.kind in "iu":
            return None
        return getattr(self, "feature_names_in_", None)

    def _expect_error_bars(self, what: str = "return_std = True") -> None:
        if not self._model_now().has_error_bars:
            raise ValueError(f"{what} needs a fit with error_bars=True")

    def impute(self, X: Any, *, return_std: bool = False) -> Any:
        """Fill the missing values of `X` with predictions; observed values keep their bits.

        Parameters
        ----------
        X : array-like, dataframe, sparse matrix or Observed of shape (n_samples, n_features)
            Rows with missing values, fitted or new.
        return_std : bool, default=False
            Also return the standard deviations of the predictions.

        Returns
        -------
        filled : array, DataFrame or Table of shape (n_samples, n_features)
            In the container of `X`, with its names and index; columns without missing values are unchanged, others
            become floating point. An array for a sparse matrix or :class:`Observed`.
        std : ndarray of shape (n_samples, n_features)
            Standard deviations of new observations, including noise; zero for observed entries. Only with
            `return_std`.

        Examples
        --------
        >>> import pandas as pd
        >>> from karhunen import IncompletePCA
        >>> x = pd.DataFrame({"a": [1.0, 2.0, None, 4.0], "b": [2, 4, 6, 8]}, index=list("wxyz"))
        >>> IncompletePCA(1, method="em").fit(x).impute(x).round(1)
             a  b
        w  1.0  2
        x  2.0  4
        y  3.0  6
        z  4.0  8
        """
        check_is_fitted(self)
        X = tables.as_held(X)
        if not flag_option("return_std", return_std):
            entries = to_entries(self, X, reset=False)
            return fill(X, self._values(entries), entries)
        self._expect_error_bars()
        entries = to_entries(self, X, reset=False)
        values, std = self._values_and_std(entries, True)
        rows, columns, *_ = entries.triples()
        std[rows, columns] = 0.0
        return fill(X, values, entries), std

    @property
    def score_covariances_(self) -> FloatArray | None:
        """Posterior covariances of the scores, shape (n_samples, n_components, n_components).

        float32, unless variances are above 1e20 or below 1e-20.

        With `row_offsets`, shape (n_samples, n_components + 1, n_components + 1): the last row and column are the
        offset's.
        """
        check_is_fitted(self)
        return self._model_now().score_covariances()

    @property
    def feature_noise_variance_(self) -> FloatArray:
        """Variance of the observations of each feature about their predictions, shape (n_features,).

        In the squared units of the feature; see :class:`IncompletePCA`.
        """
        check_is_fitted(self)
        return self._model_now().feature_noise_variance

    @property
    def scale_(self) -> FloatArray:
        """Divisor of each feature, shape (n_features,), by `scale`; ones without it."""
        check_is_fitted(self)
        found = self._model_now().scale
        return np.ones(self.n_features_in_) if found is None else found

    @property
    def mean_prior_(self) -> tuple[float, float] | None:
        """Mean and variance of the prior of the means that `learn_mean_prior` learned; None if it was not learned."""
        check_is_fitted(self)
        return self._model_now().mean_prior

    @property
    def loadings_(self) -> FloatArray:
        """Components times the square root of their variance, shape (n_features, n_components)."""
        check_is_fitted(self)
        return self.components_.T * np.sqrt(self.explained_variance_)

    def _extras(self) -> dict[str, Any]:
        columns = self.column_ids_ if self.column_ids_ is not None else getattr(self, "feature_names_in_", None)
        return {
            "row_ids": id_list("row", self.row_ids_),
            "column_ids": id_list("column", columns),
            **self._columns_of_file,
        }

    def _adopt_file(self, model: _core.IncompleteModel, extras: Mapping[str, Any]) -> Self:
        rows, columns = (
            None if extras[name] is None else np.asarray(extras[name]) for name in ("row_ids", "column_ids")
        )
        adopt_ids(self, rows, columns)
        self._columns_of_file = {name: extras[name] for name in ("triples", "of_file")}
        return self._adopt(model)

    def _adopt(self, model: _core.IncompleteModel) -> Self:
        super()._adopt(model)
        self.n_components_ = len(model.components)
        self.n_samples_ = model.n_samples
        self.method_ = cast(Method, model.method)
        self.convergence_ = IncompleteConvergence.of(model)
        self.n_iter_ = int(self.convergence_.iterations[-1]) if len(self.convergence_.iterations) else 0
        return self

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags: NaN is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
