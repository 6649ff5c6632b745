"""Principal component analysis of rows that come in batches."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from karhunen import _core
from karhunen._inputs import tables
from karhunen._inputs.files import Source, to_rows
from karhunen._inputs.matrix import to_row_weights
from karhunen._pca.gaussian import GaussianComponents
from karhunen._pca.options import NOT_INCREMENTAL, column_scale_option
from karhunen._pca.pca import PCA
from karhunen._shared.arrays import FloatArray, Matrix
from karhunen._shared.choices import IncrementalMethod, Weighting
from karhunen._shared.convergence import warn_unless_converged
from karhunen._shared.fitted_model import leaves_unchanged
from karhunen._shared.options import (
    bytes_option,
    engine_arguments,
    flag_option,
    is_whole,
    n_components_of,
    n_components_option,
    optional_count,
    seed_option,
    tol_option,
)
from karhunen._shared.standardization import in_order_of_columns
from karhunen._shared.turns import turn
from karhunen._shared.warning import warn

if TYPE_CHECKING:
    from typing_extensions import Self


class _Found(NamedTuple):
    """The components of the rows so far, and the fit and the number of rows that they are of."""

    fit: _core.IncrementalFit
    n_samples: int
    model: _core.Model
    variances: FloatArray
    residual_bounds: FloatArray


class IncrementalPCA(GaussianComponents):
    """Principal component analysis of rows that come in batches.

    scikit-learn's `IncrementalPCA` on karhunen's engine: batches of any number of rows, from one, dense or sparse
    without densifying, with weights, scaling and forgetting. Up to some 5,000 columns the result is the same as from
    :class:`~karhunen.PCA` of all rows; with more it is a sketch whose error is measured.

    Parameters
    ----------
    n_components : int, float, str or None, default=None
        Number of components, as in :class:`~karhunen.PCA`; a sketch needs an int. The fitted attributes have fewer
        while there are fewer rows, and in a sketch also while the rows vary in fewer directions.
    center : bool, default=True
        Subtract the mean of each column.
    scale : bool, default=False
        Divide each column by its standard deviation. A sketch needs fixed scales: see `column_scale`, `warm_rows`.
    whiten : bool, default=False
        Divide the scores of each component by their standard deviation.
    weighting : {"frequency", "importance", "population"}, default="frequency"
        Meaning of the sample weights, as in :class:`~karhunen.PCA`.
    method : {"auto", "scatter", "sketch"}, default="auto"
        Statistics that are kept of the rows: the scatter matrix of the columns, which is exact, or a sketch of the
        leading directions. "auto" is the scatter matrix if two of them fit in `memory_limit`.
    n_oversamples : int or None, default=None
        Directions of a sketch beyond the components; None is max(n_components + 10, 32).
    batch_size : int or None, default=None
        Number of rows of one update of a sketch; None is twice the number of its directions, at least 64, or for
        sparse rows four times, at least 256. Rows wait until there are so many, whatever the sizes of the batches. The
        scatter matrix does not depend on it.
    forget : float, default=1.0
        Factor of the weights of all earlier rows at each call of :meth:`partial_fit`, above 0 and at most 1.
    half_life : float or None, default=None
        Sum of later weights after which the weight of a row has halved: without weights, a number of rows. Unlike
        `forget` it does not depend on the batches. None means no decay.
    column_scale : array-like of shape (n_features,) or None, default=None
        Scales of the columns for a sketch with `scale`. The numbers of a pandas Series belong to the columns of its
        labels, if these are names and the first rows have names.
    warm_rows : int, default=10000
        For a sketch with `scale` and without `column_scale`: the scales are the standard deviations of the first
        `warm_rows` rows, which are kept until then; rows of weight zero do not count. A warning says so when attributes
        are read.
    memory_limit : int, default=512000000
        Number of bytes that decides the method "auto". Tables in files whose values need more than half of it are read
        in blocks.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the random vectors that measure the error of a sketch, and of :meth:`refine`. None is a fixed seed.
    n_threads : int or None, default=None
        Number of threads; None uses all cores. The bits of the result do not depend on it.
    verbose : bool, default=False
        Show a progress bar (needs tqdm).
    copy : bool, default=True
        Accepted for compatibility and ignored: `X` is neither copied nor overwritten.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Principal axes, orthonormal, in order of decreasing variance. The entry with the largest absolute value in each
        is positive.
    explained_variance_ : ndarray of shape (n_components,)
        Variance along each component, with the divisor of `weighting`. In a sketch it is never too large.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the total variance, which is exact.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the centred (scaled, weighted) data.
    residuals_ : ndarray of shape (n_components,)
        Relative residual ``||S w - l w|| / l_1`` of each component `w` with variance `l`, where `S` is the exact
        covariance. In a sketch it is estimated on random vectors that the fit never used.
    residual_bounds_ : ndarray of shape (n_components,)
        Bounds of the residuals, each of which holds in 99% of cases; with the method "scatter", the residuals.
    mean_ : ndarray of shape (n_features,)
        Mean of each column; zeros without `center`.
    var_ : ndarray of shape (n_features,)
        Variance of each column, with the sum of the weights as divisor.
    scale_ : ndarray of shape (n_features,)
        Divisor of each column; ones without `scale`.
    noise_variance_ : float
        Mean of the discarded variances (Tipping & Bishop 1999), from the exact total.
    loadings_ : ndarray of shape (n_features, n_components)
        Components times the square root of their variance.
    n_components_, n_samples_seen_, n_features_in_ : int
        Numbers of components, rows so far and columns.
    batch_size_ : int
        Number of rows of one update.
    method_ : str
        "scatter" or "sketch".
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if `X` had names.

    Notes
    -----
    Fitted arrays are computed when the first of them is read after a batch, so batches cost no decomposition. They are
    read-only views of the engine's memory, in float64. Without `forget` the result has the same bits however the rows
    are divided into batches. A call that raises, or is interrupted, leaves the estimator as it was.

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import PCA, IncrementalPCA
    >>> x = np.random.default_rng(0).normal(size=(1000, 8)) * np.arange(8, 0, -1)
    >>> pca = IncrementalPCA(n_components=2)
    >>> for batch in (x[:1], x[1:600], x[600:]):
    ...     pca = pca.partial_fit(batch)
    >>> pca.n_samples_seen_, pca.method_
    (1000, 'scatter')
    >>> bool(np.allclose(pca.components_, PCA(2).fit(x).components_, rtol=0, atol=1e-12))
    True
    """

    __module__ = "karhunen"

    n_samples_seen_: int
    batch_size_: int
    method_: str
    _kind = _core.IncrementalState
    #: The engine's fit, which takes more rows.
    _fit: _core.IncrementalFit
    #: The components of its rows, once they were asked for.
    _found: _Found | None
    #: Options of the engine with which the fit began.
    _began_with: dict[str, Any]

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        center: bool = True,
        scale: bool = False,
        whiten: bool = False,
        weighting: Weighting = "frequency",
        method: IncrementalMethod = "auto",
        n_oversamples: int | None = None,
        batch_size: int | None = None,
        forget: float = 1.0,
        half_life: float | None = None,
        column_scale: Any = None,
        warm_rows: int = 10_000,
        memory_limit: int = 512_000_000,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: bool = False,
        copy: bool = True,
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.whiten = whiten
        self.weighting = weighting
        self.method = method
        self.n_oversamples = n_oversamples
        self.batch_size = batch_size
        self.forget = forget
        self.half_life = half_life
        self.column_scale = column_scale
        self.warm_rows = warm_rows
        self.memory_limit = memory_limit
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose
        self.copy = copy

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Fit components to `X` alone, and forget all earlier rows.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), path or RowBlocks
            Rows are samples. A str or path names a file or a folder of files, a list of paths one table in several
            files; they are read in blocks, as :class:`RowBlocks` are.
        y : None
            Ignored; present for compatibility with pipelines.
        sample_weight : array-like of shape (n_samples,) or None
            Nonnegative weight of each row; `weighting` states its meaning.

        Returns
        -------
        IncrementalPCA
            The fitted estimator. :meth:`partial_fit` adds rows to it.

        Raises
        ------
        ValueError
            If an option is out of range, or if a value is NaN or infinite (the message gives its row and column).

        Examples
        --------
        >>> from scipy.sparse import random
        >>> from karhunen import IncrementalPCA
        >>> x = random(1000, 300, density=0.05, random_state=0)
        >>> IncrementalPCA(n_components=5, scale=True).fit(x).partial_fit(x).n_samples_seen_
        2000
        """
        batches = None if sample_weight is not None else tables.batches(X)
        if batches is None:
            self._fit_rows(X, sample_weight)
            return self
        self._begin(next(batches), self._engine_options(), None, 1)
        self._add_batches(batches, 1)
        _ = self._found_now
        return self

    def fit_transform(self, X: Any, y: None = None, sample_weight: Any = None) -> FloatArray:
        """Fit components to `X` alone and compute the scores of its rows.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores, in float32 if `X` is, in float64 otherwise.
        """
        return self._scores(self._fit_rows(tables.as_table(X), sample_weight))

    def partial_fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Add rows, any number of them from one.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
            New rows, as in :meth:`fit`. Queries and streams of tables (a DuckDB relation, a LazyFrame of polars, a
            RecordBatchReader of pyarrow) are read batch by batch if there is no `sample_weight`.
        y : None
            Ignored; present for compatibility with pipelines.
        sample_weight : array-like of shape (n_samples,) or None
            Nonnegative weight of each row.

        Returns
        -------
        IncrementalPCA
            The estimator.

        Raises
        ------
        ValueError
            As in :meth:`fit`; if an option was changed after the first rows; for other columns than in the first rows.
            The estimator stays as it was; of a query or stream, the batches before the error are added.

        Examples
        --------
        >>> from karhunen import IncrementalPCA
        >>> pca = IncrementalPCA(1, half_life=1.0, weighting="importance").partial_fit([[0.0, 0.0]])
        >>> pca.partial_fit([[3.0, 3.0]]).mean_  # the second row weighs twice as much as the first
        array([2., 2.])
        """
        batches = None if sample_weight is not None else tables.batches(X)
        if batches is not None:
            return self._add_batches(batches, 0)
        options = self._engine_options()
        with turn(self):
            if not self.__sklearn_is_fitted__():
                return self._begin_with(X, options, sample_weight)
            self._refuse_changes(in_order_of_columns(self, options))
            rows = to_rows(self, X, reset=False)
            fit = self._fit
            if fit.n_samples_seen % fit.batch_size + rows.shape[0] >= fit.batch_size:
                return self._add_to_copy(rows, sample_weight)
            # Rows that only wait for others take less time than a copy.
            try:
                self._push(fit, rows, sample_weight)
            finally:
                self._adopt_rows(fit)
            return self

    @leaves_unchanged
    def _begin_with(self, X: Any, options: dict[str, Any], sample_weight: Any) -> Self:
        """Begin with the rows of `X`."""
        self._begin(X, options, sample_weight, 1)
        return self

    @leaves_unchanged
    def _add_to_copy(self, rows: Matrix | Source, sample_weight: Any) -> Self:
        """Add rows to a copy of the sums, which an interrupted call leaves behind."""
        fit = _core.IncrementalFit.resume(self._fit.state())
        self._push(fit, rows, sample_weight)
        return self._adopt_rows(fit)

    def _add_batches(self, batches: Iterator[Any], first: int) -> Self:
        """Add batches, of which errors give the number, from `first` on."""
        for number, batch in enumerate(batches, first):
            try:
                self.partial_fit(batch)
            except ValueError as error:
                raise ValueError(f"batch {number}: {error}") from None
        return self

    def merge(self, other: IncrementalPCA) -> Self:
        """Add the rows of another estimator, fitted apart with the same options.

        Parameters
        ----------
        other : IncrementalPCA
            Fitted estimator, which does not change.

        Returns
        -------
        IncrementalPCA
            The estimator. With the method "scatter" it is as if it had seen all rows; truncated sketches lose accuracy
            by merging, and `residuals_` show how much.

        Raises
        ------
        ValueError
            If the columns, the method or the options differ, for sketches also the seed or the scales.

        Examples
        --------
        >>> from karhunen import IncrementalPCA
        >>> first, second = (IncrementalPCA(1).fit(x) for x in ([[1.0], [2.0]], [[6.0], [7.0]]))
        >>> first.merge(second).mean_
        array([4.])
        """
        check_is_fitted(self)
        if not isinstance(other, IncrementalPCA):
            raise TypeError(f"an IncrementalPCA is needed, not {type(other).__name__}")
        check_is_fitted(other)
        names = (getattr(estimator, "feature_names_in_", None) for estimator in (self, other))
        mine, theirs = (None if found is None else list(found) for found in names)
        if mine is not None and theirs is not None and mine != theirs:
            different = next((pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1]), None)
            found = f"{len(theirs)} columns" if different is None else f"{different[1]!r}"
            expected = f"{len(mine)}" if different is None else f"{different[0]!r}"
            raise ValueError(f"the estimators have other columns: {found} where {expected} is expected")
        with turn(self):
            return self._add_fit(other._fit)

    @leaves_unchanged
    def _add_fit(self, other: _core.IncrementalFit) -> Self:
        """Add the rows of another fit to a copy of the sums."""
        fit = _core.IncrementalFit.resume(self._fit.state())
        fit.merge(other, optional_count("n_threads", self.n_threads))
        return self._adopt_rows(fit)

    def refine(self, X: Any, sample_weight: Any = None, *, tol: float | None = None) -> PCA:
        """Fit a PCA to data that can be read again, starting from the components of this estimator.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
            The rows of this estimator, or rows like them.
        sample_weight : array-like of shape (n_samples,) or None
            Nonnegative weight of each row.
        tol : float or None
            Tolerance, as of :class:`~karhunen.PCA`.

        Returns
        -------
        PCA
            A fit of `X` to the tolerance, in fewer passes than ``PCA(solver="block-krylov").fit`` takes. This estimator
            does not change.

        Examples
        --------
        >>> import numpy as np
        >>> from karhunen import IncrementalPCA
        >>> x = np.random.default_rng(0).normal(size=(2000, 60)) / np.sqrt(1 + np.arange(60))
        >>> sketch = IncrementalPCA(3, method="sketch", n_oversamples=5).fit(x)
        >>> bool(sketch.residuals_.max() > 1e-3), bool(sketch.refine(x).residuals_.max() < 1e-8)
        (True, True)
        """
        check_is_fitted(self)
        matrix = to_rows(self, X, reset=False)
        weights = to_row_weights(matrix, sample_weight)
        threads = optional_count("n_threads", self.n_threads)
        with self._call() as draw:
            model = self._fit.refine(matrix, weights, tol_option(tol), threads, draw)
        shared = ("n_components", "center", "scale", "whiten", "weighting", "random_state", "n_threads", "verbose")
        pca = PCA(**{name: getattr(self, name) for name in shared}, solver="block-krylov", tol=tol)
        if hasattr(self, "feature_names_in_"):
            pca.feature_names_in_ = self.feature_names_in_.copy()
        pca._adopt_fit(model)
        warn_unless_converged(model, "the data", model.advice)
        return pca

    @property
    def components_(self) -> FloatArray:
        """Principal axes, shape (n_components, n_features)."""
        return self._found_now.model.components

    @property
    def explained_variance_(self) -> FloatArray:
        """Variance along each component."""
        return self._found_now.model.explained_variance

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """Share of the total variance."""
        return self._found_now.model.explained_variance_ratio

    @property
    def singular_values_(self) -> FloatArray:
        """Singular values of the centred (scaled, weighted) data."""
        return self._found_now.model.singular_values

    @property
    def residuals_(self) -> FloatArray:
        """Relative residual of each component."""
        return self._found_now.model.residuals

    @property
    def residual_bounds_(self) -> FloatArray:
        """Bounds of the residuals."""
        return self._found_now.residual_bounds

    @property
    def mean_(self) -> FloatArray:
        """Mean of each column."""
        return self._found_now.model.mean

    @property
    def var_(self) -> FloatArray:
        """Variance of each column."""
        return self._found_now.variances

    @property
    def scale_(self) -> FloatArray:
        """Divisor of each column."""
        return self._found_now.model.scale

    @property
    def noise_variance_(self) -> float:
        """Mean of the discarded variances."""
        return self._found_now.model.noise_variance

    @property
    def n_components_(self) -> int:
        """Number of components."""
        return len(self._found_now.model.components)

    @property
    def _n_features_out(self) -> int:
        """Return the number of output features for `get_feature_names_out`."""
        return self.n_components_

    def _engine_options(self) -> dict[str, Any]:
        """Check every option and return the options of the engine, except the seed."""
        for name in ("whiten", "copy", "verbose"):
            flag_option(name, getattr(self, name))
        if self.method == "sketch" and not is_whole(self.n_components):
            raise ValueError(
                f"n_components = {self.n_components!r} is not allowed: a sketch needs the number of components"
            )
        return {
            **engine_arguments(self, NOT_INCREMENTAL),
            "n_components": n_components_option(self.n_components),
            "memory_limit": bytes_option("memory_limit", self.memory_limit),
            "column_scale": column_scale_option(self.column_scale),
        }

    def _refuse_changes(self, options: dict[str, Any]) -> None:
        """Refuse options that differ from those with which the fit began."""
        began = self._began_with
        if self.random_state is None or is_whole(self.random_state):
            options = {**options, "seed": seed_option(self.random_state)}
        changed = next((name for name, value in options.items() if value != began[name]), None)
        if changed is None:
            return
        now, then = options[changed], began[changed]
        if changed == "n_components":
            now, then = self.n_components, n_components_of(began)
        shown = "" if changed == "column_scale" else f" = {now!r}, but the fit began with {then!r}"
        name = {"seed": "random_state"}.get(changed, changed)
        raise ValueError(
            f"{name}{shown} was changed after the first rows, and options hold for all rows: restore it, or start "
            "again with fit"
        )

    def _fit_rows(self, X: Any, sample_weight: Any) -> Matrix | Source:
        least = 1 if self.weighting == "population" or sample_weight is not None else 2
        matrix = self._begin(X, self._engine_options(), sample_weight, least)
        try:
            _ = self._found_now
        except NotFittedError as error:
            raise ValueError(str(error)) from None
        return matrix

    def _begin(self, X: Any, options: dict[str, Any], sample_weight: Any, min_samples: int) -> Matrix | Source:
        """Begin a fit with the rows of `X`."""
        options = {**options, "seed": seed_option(self.random_state)}
        matrix = to_rows(self, X, reset=True, min_samples=min_samples)
        options = in_order_of_columns(self, options)
        fit = _core.IncrementalFit(options, matrix.shape[1])
        self._push(fit, matrix, sample_weight)
        self._began_with = options
        self.__dict__.pop("_columns_of_file", None)
        self._keep_columns_of_file(matrix)
        self._adopt_rows(fit)
        return matrix

    def _push(self, fit: _core.IncrementalFit, matrix: Matrix | Source, sample_weight: Any) -> None:
        weights = to_row_weights(matrix, sample_weight)
        with self._call() as draw:
            fit.push(matrix, weights, optional_count("n_threads", self.n_threads), draw)

    def _adopt_rows(self, fit: _core.IncrementalFit) -> Self:
        """Become fitted with the rows of a fit, whose components are computed when they are asked for."""
        # In one step, for threads that read.
        self.__dict__.update(
            _fit=fit,
            _found=None,
            n_samples_seen_=fit.n_samples_seen,
            batch_size_=fit.batch_size,
            method_=fit.method,
        )
        return self

    def _adopt(self, model: _core.IncrementalState) -> Self:
        fit = _core.IncrementalFit.resume(model)
        self.n_features_in_ = fit.n_features
        return self._adopt_rows(fit)

    @property
    def _found_now(self) -> _Found:
        """Return the components of the rows so far."""
        check_is_fitted(self)
        fit, found = self._fit, self._found
        if found is None or found.fit is not fit or found.n_samples != fit.n_samples_seen:
            # Of the rows now, whatever another thread adds meanwhile.
            now = _core.IncrementalFit.resume(fit.state())
            try:
                model, variances, bounds, notes = now.model(optional_count("n_threads", self.n_threads))
            except ValueError as error:
                # Also an AttributeError: of such rows, attributes such as `mean_` are not there yet.
                raise NotFittedError(str(error)) from None
            for array in (variances, bounds):
                array.flags.writeable = False
            self._found = found = _Found(fit, now.n_samples_seen, model, variances, bounds)
            for note in notes:
                warn(note, UserWarning)
        return found

    def _model_now(self) -> _core.Model:
        return self._found_now.model

    def _outcome(self) -> str:
        # Components are found when they are asked for.
        return f"fitted to {self.n_samples_seen_:,} x {self.n_features_in_:,}"

    def _model_to_keep(self) -> _core.IncrementalState:
        return self._fit.state()

    def _not_pickled(self) -> tuple[str, ...]:
        return ("_fit", "_found")

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether there are rows."""
        return "_fit" in vars(self)

    def _adopt_file(self, model: _core.IncrementalState, extras: Mapping[str, Any]) -> Self:
        super()._adopt_file(model, extras)
        self._began_with = {**self._engine_options(), "seed": seed_option(self.random_state)}
        return self

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a fit that :meth:`save` or the command line wrote, and which takes more rows.

        Parameters
        ----------
        path : path-like
            File to read.

        Returns
        -------
        IncrementalPCA
            Fitted estimator, with the options of the fit.

        Raises
        ------
        OSError, ValueError
            If the file cannot be read or holds another kind of model.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from karhunen import IncrementalPCA
        >>> path = pathlib.Path(tempfile.mkdtemp(), "line.stream")
        >>> IncrementalPCA(n_components=1).fit([[0.0, 0.0], [1.0, 1.0]]).save(path)
        >>> IncrementalPCA.load(path).partial_fit([[2.0, 2.0]]).mean_
        array([1., 1.])
        """
        state, extras, options = _core.load(cls._kind, path)
        return cls(**cls._stored(options), column_scale=state.column_scale)._adopt_file(state, extras)

    @staticmethod
    def _arguments(options: dict[str, Any]) -> dict[str, Any]:
        return {"n_components": n_components_of(options)}
