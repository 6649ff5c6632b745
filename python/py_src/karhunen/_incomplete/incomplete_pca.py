"""Principal component analysis of data with missing values."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from karhunen import _core
from karhunen._incomplete.convergence import (
    warn_of_dominant,
    warn_of_far_predictions,
    warn_of_overfit,
    warn_of_parts,
    warn_unless_ended,
)
from karhunen._incomplete.ids import adopt_ids
from karhunen._incomplete.inputs import to_fit_entries, to_start
from karhunen._incomplete.options import engine_options, errors_as_given, to_checkpoint
from karhunen._incomplete.row_by_row import RowByRow
from karhunen._inputs.files import set_columns
from karhunen._inputs.matrix import to_part_weights
from karhunen._shared.arrays import FloatArray
from karhunen._shared.checkpoints import PassLog
from karhunen._shared.choices import ColumnScaling, Mean, Method, Noise, OnlineRule, Regularization
from karhunen._shared.standardization import in_order_of_columns, in_order_of_names

if TYPE_CHECKING:
    from typing_extensions import Self


class IncompletePCA(RowByRow):
    """Principal component analysis of data with missing values, at a cost linear in the number of observed entries.

    The model is ``x_ij = mean_j + scores_i . components_j + noise``; only observed entries contribute (Raiko, Ilin &
    Karhunen 2007). The estimator imputes missing values, predicts entries with standard deviations, and factorizes
    ratings.

    Parameters
    ----------
    n_components : int, default=2
        Number of components, at most min(n_samples, n_features). The variational methods "vb" and "vb-full", and so
        "auto", prune components that the data do not support: request a few more than expected.
    method : {"auto", "vb-full", "vb", "vb-fixed", "ppca", "map", "ridge", "als", "soft", "ccd", "em", "imputation", \
"cg", "newton", "natural", "gradient", "online"}, default="auto"
        Algorithm. "auto" is "vb-full" up to 32 components and "vb" above, or "ridge" if a penalty is given. Learned
        variances and error bars: "vb-full", "vb", "vb-fixed" (one broad prior), "ppca", "map". With a penalty:
        "ridge", "als", "soft" (imputation with shrunk singular values), "ccd". Least squares: "em", "imputation",
        "cg", and the gradient methods "newton", "natural", "gradient". Row by row: "online".
    scale : bool, {"std", "pareto", "range", "binomial"} or array-like of shape (n_features,), default=False
        Divide each feature by the standard deviation of its observed entries, with divisor n - 1 (about zero for
        ``mean="none"``): features of different units count alike, as in PCA of the correlation matrix. The other rules
        and given numbers are as in :class:`PCA`, from the observed entries; "binomial" is for genotypes. A constant
        feature keeps its unit. Predictions and imputed values have the units of the data; components, scores, variances
        and errors of the fit are of scaled features.
    alpha : float, default=2/3
        Exponent of the second derivatives in "newton", "cg" and "ridge", from 0 to 1.
    regularization : float, tuple ("weighted", float), "path" or None, default=None
        Penalty on squared loadings and scores, in the units of the data; "weighted" multiplies it by the number of
        entries of each row and column. 0 is least squares. None means no penalty for least squares methods, the
        standard deviation of the entries for "als" and "soft", and for "ridge" half of
        ``v (sqrt(N / n) + sqrt(N / p))`` with N entries of n rows and p columns and noise of deviation v, estimated
        from the data. "path" tries decreasing penalties from the largest with a nonzero solution, and selects the best
        on the entries held out by `early_stopping`.
    noise : {"shared", "feature"}, default="shared"
        "shared" is one noise variance for all features. "feature" learns one for each feature (factor analysis); it is
        available for "auto" without a penalty, "ppca", "vb", "vb-fixed" and "vb-full". It predicts better where some
        features are noisier than others, and takes 4 to 13 times as long. Features are divided by `scale_`, so that
        their noise variances are ``noise_variance_ * scale_**2``; intervals use `feature_noise_variance_`, which is
        estimated from left-out residuals. `max_iter` and `n_iter_` then count rounds, in each of which the components
        are fitted for given noise and the noise is updated; rounds end when the cost changes by less than `tol` per
        entry. Not with `scale`, `feature_weight`, `row_offsets`, `mean_prior`, `learn_mean_prior`, `early_stopping`,
        other tolerances, a given start or a checkpoint, nor for rows in parts.
    mean : {"joint", "fixed", "none"}, default="joint"
        Mean of each feature: fitted jointly with the components, fixed at the mean of the observed entries (biased if
        missingness depends on the values), or zero.
    mean_prior : float, tuple (float, float) or None, default=None
        Pseudo-observations of every feature: their number, or (number, value). The default value is the mean of all
        entries.
    learn_mean_prior : bool, default=False
        Learn a normal prior of the means from all features, its mean and its variance (Ilin & Raiko 2010): means of
        features with few entries shrink towards the others. ``mean_prior=(0, value)`` gives its mean. For "vb-full",
        "vb" and "vb-fixed".
    hyperprior : float, default=0.0
        Strength b of the hyperprior on every variance that "vb-full", "vb" and "vb-fixed" learn, inverse-gamma(b, b) in
        units of the mean squared deviation of an entry: as if 2 b values of that size had been seen. It keeps variances
        that few values determine from zero; Ilin & Raiko use 0.001.
    row_offsets : bool, default=False
        Fit an offset of each row, a constant in all columns, in addition to the mean of each column: for example,
        raters with generally high ratings. With penalties or priors on the scores, offsets are shrunk to zero with a
        variance estimated from the data; in least squares they are unpenalised.
    prior_variance : float or None, default=None
        Prior variance of the scores in "vb-fixed"; None is a thousand mean squares of the data.
    step : float or None, default=None
        Initial learning rate of "gradient", "natural" and "newton"; None finds it by line search.
    inner_iterations : int, default=3
        Number of updates of scores and loadings of a component in turn by "ccd".
    online_rule : {"diagonal", "rls", "oja"}, default="diagonal"
        Update rule of "online" and :meth:`partial_fit`: scaled by the curvature of each loading, recursive least
        squares for all loadings of a feature, or along the gradient.
    tol : float, default=1e-6
        The fit stops when the relative decrease of the cost in one iteration (averaged over ten if iterations are
        cheap) is below `tol`.
    gradient_tol, angle_tol, rmse_tol : float or None, default=None
        Further stopping rules: thresholds for the gradient (``sqrt(g' H^-1 g / F)``, for methods with a penalty or
        none), for the angle by which the components turn in an iteration, in radians, and for the relative change of
        the error of the fitted entries.
    max_iter : int, default=1000
        Maximum number of iterations, of each start or penalty.
    early_stopping : bool or float, default=False
        Share of the entries to hold out; the fit stops when their error no longer falls, and keeps the best model.
        True is 2% of the entries; with fewer than 2,500 entries it is fifty entries, or a fifth if that is less.
    conformal : float or None, default=None
        Share of the entries to hold out, such as 0.1: their errors calibrate the intervals of
        :meth:`predict_interval`. They are not fitted. Needs `error_bars`, and entries and rows without weights; not for
        :meth:`partial_fit`.
    refit : bool, default=False
        After early stopping, fit again with all entries, with the number of iterations or the penalty found.
    time_limit : float or None, default=None
        Maximum time of the iterations in seconds; short starts come before.
    n_starts : int or None, default=None
        Number of random starts that are fitted to the end; the best result is kept. None compares short starts until
        two agree, at most six, and fits from the best. Tables of fewer than 100,000 observed entries are also fitted
        from random starts until two have the lowest cost, at most four fits (``convergence_.starts``). A path of
        penalties and "online" have one start. 1 takes the least time, and nothing shows whether it ends at a wrong
        optimum.
    error_bars : bool, default=True
        Keep the covariances of scores and loadings, which standard deviations require: ``4 c^2`` bytes for each row
        and column, with c components.
    memory_limit : int or None, default=None
        Maximum number of bytes of the observed entries and their fit together. The entries of a file are read in
        blocks; more than the limit leaves room for are counted and refused. None sets no limit but the memory of the
        machine.
    cache_dir : str, path or None, default=None
        Folder of temporary copies of the values of a large text; None is the system's folder.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the starts and the held-out entries. None is a fixed seed: every fit gives the same result.
    n_threads : int or None, default=None
        Number of threads; None uses all cores. The bits of the result do not depend on it.
    verbose : bool, default=False
        Show a progress bar with the error and the remaining time (needs tqdm).

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Principal axes, orthonormal, in order of decreasing variance. The entry with the largest absolute value in each
        is positive.
    mean_ : ndarray of shape (n_features,)
        Mean of each feature, in the units of the data; the mean of all entries for a feature without observed entries.
    mean_prior_ : tuple (float, float) or None
        Mean and variance of the prior of the means that `learn_mean_prior` learned.
    scale_ : ndarray of shape (n_features,)
        Divisor of each feature by `scale`, or by ``noise="feature"``; one without them.
    row_offsets_ : ndarray of shape (n_samples,) or None
        Offset of each fitted row, with `row_offsets`. The offsets sum to zero, and so do the entries of each
        component.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the scores of the n rows with entries, with divisor n - 1; for "vb-full", "vb", "vb-fixed" and
        "ppca" the expected variance, which exceeds the variance of the posterior means.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the variance of complete rows under the model: the sum of the variances of the components over all
        rows, of the offsets, and of the residuals of the observed entries (or the noise). Without missing values it
        is the variance of the data.
    singular_values_ : ndarray of shape (n_components,)
        Euclidean norms of the columns of the scores.
    noise_variance_ : float
        Variance of an observation of weight 1 about its prediction, of all features together, in the units of the fit;
        with weight w, this is divided by w.
    feature_noise_variance_ : ndarray of shape (n_features,)
        As `noise_variance_`, of each feature and in its squared units: from the residuals of its entries, as large as
        they would be if each entry were left out, and nearer to the common noise where they are few. Standard
        deviations of predictions use it. Without `error_bars`, the common noise variance.
    conformal_errors_ : ndarray of shape (n_held_out,) or None
        Errors of the entries held out by `conformal`, over their standard deviations, absolute and ascending.
    scores_ : ndarray of shape (n_samples, n_components)
        Scores of the fitted rows; after :meth:`partial_fit`, of the rows of the last call.
    score_covariances_ : ndarray of shape (n_samples, n_components, n_components) or None
        Posterior covariances of `scores_`, in float32 (float64 for variances above 1e20 or below
        1e-20); None without `error_bars`. With `row_offsets`, shape
        (n_samples, n_components + 1, n_components + 1).
    n_components_, n_samples_, n_features_in_ : int
        Numbers of components, rows and columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if `X` had names.
    row_ids_ : ndarray or None
        Ids of the rows, if `X` was an :class:`Observed` with ids or a pandas frame with a unique index other than 0,
        1, 2 ...; after :meth:`partial_fit`, of the rows of the last call.
    column_ids_ : ndarray or None
        Ids of the columns, if `X` was an :class:`Observed` with ids, or a pandas frame whose rows have ids or whose
        column labels are not strings.
    method_ : str
        The algorithm that was used.
    convergence_ : IncompleteConvergence
        Method and reason, reason for the end of the fit, cost and errors by iteration.
    n_iter_ : int
        Number of iterations.
    n_samples_seen_ : int
        Number of rows seen by :meth:`partial_fit`, including repeated ones.

    See Also
    --------
    PCA : For data without missing values.
    Observed : For ratings and other triples.

    Notes
    -----
    A file of :meth:`save` holds row and column ids that are integers or strings. It does not hold the curvatures
    learned by :meth:`partial_fit`; a pickle does.

    References
    ----------
    T. Raiko, A. Ilin, J. Karhunen: Principal component analysis for large scale problems with lots of missing values.
    ECML 2007, doi:10.1007/978-3-540-74958-5_69.

    A. Ilin, T. Raiko: Practical approaches to principal component analysis in the presence of missing values. JMLR 11
    (2010), 1957-2000.

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import IncompletePCA
    >>> x = np.outer(np.arange(1.0, 9.0), [1.0, 2.0, -1.0]) + [0.0, 5.0, 1.0]
    >>> x[2, 1] = x[5, 2] = np.nan
    >>> pca = IncompletePCA(1).fit(x)
    >>> pca.impute(x)[[2, 5], [1, 2]].round(2).tolist()
    [11.0, -5.0]
    >>> value, std = pca.predict([2, 5], [1, 2], return_std=True)
    >>> value.round(2).tolist()
    [11.0, -5.0]

    Stored entries of a sparse matrix are observed, including zeros; entries that are not stored are missing:

    >>> import scipy.sparse as sp
    >>> ratings = sp.coo_array(([5.0, 0.0, 4.0, 1.0], ([0, 0, 1, 2], [0, 1, 0, 1])), shape=(3, 2))
    >>> IncompletePCA(1).fit(ratings).n_samples_
    3
    """

    __module__ = "karhunen"

    def __init__(
        self,
        n_components: int = 2,
        *,
        method: Method = "auto",
        scale: bool | ColumnScaling | ArrayLike = False,
        alpha: float = 2 / 3,
        regularization: Regularization | None = None,
        noise: Noise = "shared",
        mean: Mean = "joint",
        mean_prior: float | tuple[float, float] | None = None,
        learn_mean_prior: bool = False,
        hyperprior: float = 0.0,
        row_offsets: bool = False,
        prior_variance: float | None = None,
        step: float | None = None,
        inner_iterations: int = 3,
        online_rule: OnlineRule = "diagonal",
        tol: float = 1e-6,
        gradient_tol: float | None = None,
        angle_tol: float | None = None,
        rmse_tol: float | None = None,
        max_iter: int = 1000,
        early_stopping: bool | float = False,
        conformal: float | None = None,
        refit: bool = False,
        time_limit: float | None = None,
        n_starts: int | None = None,
        error_bars: bool = True,
        memory_limit: int | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.scale = scale
        self.alpha = alpha
        self.regularization = regularization
        self.noise = noise
        self.mean = mean
        self.mean_prior = mean_prior
        self.learn_mean_prior = learn_mean_prior
        self.hyperprior = hyperprior
        self.row_offsets = row_offsets
        self.prior_variance = prior_variance
        self.step = step
        self.inner_iterations = inner_iterations
        self.online_rule = online_rule
        self.tol = tol
        self.gradient_tol = gradient_tol
        self.angle_tol = angle_tol
        self.rmse_tol = rmse_tol
        self.max_iter = max_iter
        self.early_stopping = early_stopping
        self.conformal = conformal
        self.refit = refit
        self.time_limit = time_limit
        self.n_starts = n_starts
        self.error_bars = error_bars
        self.memory_limit = memory_limit
        self.cache_dir = cache_dir
        self.random_state = random_state
        self.n_threads = n_threads
        self.verbose = verbose

    def fit(
        self,
        X: Any,
        y: None = None,
        sample_weight: Any = None,
        entry_weight: Any = None,
        start: Any = None,
        *,
        feature_weight: Any = None,
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Fit components to the observed entries of `X`.

        Parameters
        ----------
        X : array-like, dataframe, sparse matrix or Observed of shape (n_samples, n_features), path or RowBlocks
            NaN, NA, null and masked values are missing. **Stored entries of a sparse matrix are observed, including
            explicit zeros**; entries that are not stored are missing. A str or path names a file or a folder of files,
            a list of paths is one table; their entries are read block by block, as from :class:`RowBlocks`.
        y : None
            Ignored; present for compatibility with pipelines.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Multiplicity of each row: integer weights are equivalent to repeated rows, and rows of weight zero are not
            fitted but get scores. For precisions of rows, use `entry_weight`. Not available for "online". Weights are
            in the order of the rows, also in a pandas Series, whatever its index.
        entry_weight : array-like, sparse matrix or None, default=None
            Inverse variance of each entry, up to a common factor: an array that broadcasts to the shape of `X`
            (``(n, 1)`` for weights of rows, ``(p,)`` for weights of columns), or a sparse matrix with the entries of
            `X`. Entries of weight zero are missing. The weights of a dataframe belong to the rows and columns of its
            labels, the weights of a pandas Series to the columns of its labels, if `X` has labels, too; labels that
            count from 0 are none.
        start : tuple of array-like or None, default=None
            Initial values: components of shape (n_components, n_features), orthogonal or not, scores of shape
            (n_samples, n_components) and optionally the means of the features, by default of the observed entries. None
            is a random start, followed by four sweeps of alternating least squares. Components and scores are of scaled
            and weighted features, means in the units of the data.
        feature_weight : array-like of shape (n_features,) or None, default=None
            Positive weight of each feature, which multiplies its squared residuals: entries are multiplied by its
            square root in the fit, as in :class:`PCA`. The weights of a pandas Series belong to the columns of its
            labels, if these are names and `X` has names.
        checkpoint : path-like or None, default=None
            File for the state of the fit: after an interruption, a fit with `resume` continues to the same model, bit
            for bit. The state is written between iterations, and once more at Ctrl-C; it replaces the previous one
            when complete. Without `resume`, an existing file is refused. If a state cannot be written, the fit issues
            a `RuntimeWarning` and continues.
        checkpoint_every : float, default=60.0
            Time between two states in seconds.
        resume : bool, default=False
            Continue from `checkpoint`, or start if the file does not exist. Data and options must be the same as in the
            fit that wrote it, except `max_iter`, `time_limit` and `n_threads`.

        Returns
        -------
        IncompletePCA
            The fitted estimator.

        Raises
        ------
        ValueError
            If an option is out of range or has no effect on the method; if values are infinite or weights invalid (the
            message gives row and column); if nothing is observed; if the checkpoint is of another fit.
        FileExistsError
            If `checkpoint` exists and `resume` is False.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from karhunen import IncompletePCA
        >>> x = [[0.0, 0.1], [1.0, None], [2.0, 1.9], [None, 3.1]]
        >>> path = pathlib.Path(tempfile.mkdtemp(), "long.checkpoint")
        >>> pca = IncompletePCA(1).fit(x, checkpoint=path, checkpoint_every=0, resume=True)
        >>> again = IncompletePCA(1).fit(x, checkpoint=path, resume=True)  # from its last iteration but one
        >>> bool((again.components_ == pca.components_).all())
        True
        """
        state = to_checkpoint(checkpoint, checkpoint_every, resume)
        self._fit(X, sample_weight, entry_weight, start, state, feature_weight)
        return self

    def fit_transform(
        self,
        X: Any,
        y: None = None,
        sample_weight: Any = None,
        entry_weight: Any = None,
        *,
        feature_weight: Any = None,
    ) -> FloatArray:
        """Fit components to the observed entries of `X` and compute the scores of its rows.

        Parameters
        ----------
        X, y, sample_weight, entry_weight, feature_weight
            As in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores, in float32 if `X` is, in float64 otherwise.
        """
        return self._scores(self._fit(X, sample_weight, entry_weight, feature_weight=feature_weight))

    def _fit(
        self,
        X: Any,
        sample_weight: Any,
        entry_weight: Any,
        start: Any = None,
        state: tuple[str, float, bool, Callable[[str], None]] | None = None,
        feature_weight: Any = None,
    ) -> _core.Entries:
        options = engine_options(self)
        # A file of an earlier fit left these.
        self.__dict__.pop("_columns_of_file", None)
        entries = to_fit_entries(self, X, sample_weight, entry_weight, feature_weight)
        begin = None if start is None else to_start(start, entries.shape, options["n_components"])
        with self._call() as draw:
            model = _core.fit_incomplete(entries, in_order_of_columns(self, options), draw, begin, state)
        self._adopt_found(model)
        names = getattr(self, "feature_names_in_", None)
        warn_of_far_predictions(self.convergence_.far_predictions, names)
        warn_of_dominant(model.dominant, names)
        warn_of_overfit(self.convergence_.overfit, self.n_components_)
        warn_of_parts(self.convergence_.identifiability)
        return entries

    def _begin_in_parts(
        self, feature_weight: Any, log: PassLog | None, columns: Sequence[str] | None
    ) -> _core.ClusterFit:
        """Begin a fit to rows in parts, whose columns have these names."""
        options = in_order_of_names(self, engine_options(self), columns)
        return _core.ClusterFit.of_entries(options, to_part_weights(feature_weight), log)

    def _adopt_in_parts(self, model: _core.IncompleteModel, names: Sequence[str] | None) -> None:
        """Take the model of a fit to rows in parts, and the names of their columns."""
        adopt_ids(self, None, None)
        self.__dict__.pop("_columns_of_file", None)
        set_columns(self, model.components.shape[1], names)
        self._adopt_found(model)

    def _adopt_found(self, model: _core.IncompleteModel) -> None:
        """Take the model of a fit, and warn of a limit that it met."""
        self._stream = None
        self._adopt(model)
        warn_unless_ended(self.convergence_, self.tol)

    @contextmanager
    def _call(self) -> Iterator[Callable[..., None] | None]:
        """As of other estimators, with options as they were given in errors."""
        with errors_as_given(self), super()._call() as draw:
            yield draw
