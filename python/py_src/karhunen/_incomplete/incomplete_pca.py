"""Principal component analysis of data with missing values."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from karhunen import _core
from karhunen._incomplete.convergence import warn_of_far_predictions, warn_unless_ended
from karhunen._incomplete.inputs import to_fit_entries, to_start
from karhunen._incomplete.options import engine_options, to_checkpoint, told_as_given
from karhunen._incomplete.row_by_row import RowByRow
from karhunen._shared.arrays import FloatArray
from karhunen._shared.choices import Mean, Method, OnlineRule, Regularization

if TYPE_CHECKING:
    from collections.abc import Callable

    from typing_extensions import Self


class IncompletePCA(RowByRow):
    """Principal component analysis of data with missing values, at a cost linear in what was observed.

    The model is ``x_ij = mean_j + scores_i . components_j + noise``; only observed entries take part (Raiko, Ilin &
    Karhunen 2007). It fills holes, predicts any entry with a calibrated standard deviation, and factorizes ratings.

    Parameters
    ----------
    n_components : int, default=2
        How many components to fit, at most min(n_samples, n_features). Variational methods ("vb", "vb-full", and so
        "auto") leave out those that the data do not support: ask for a few more than you expect.
    method : {"auto", "vb-full", "vb", "vb-fixed", "ppca", "map", "ridge", "als", "soft", "ccd", "em", "imputation", \
"cg", "newton", "natural", "gradient", "online"}, default="auto"
        The algorithm. "auto" is "vb-full" up to 32 components and "vb" above, "ridge" where a penalty is given.
        Learned variances and error bars: "vb-full", "vb", "vb-fixed" (one broad prior), "ppca", "map". With a penalty:
        "ridge", "als", "soft" (imputation with shrunk singular values), "ccd". Least squares: "em", "imputation", "cg",
        and the gradient methods "newton", "natural", "gradient". Row by row: "online".
    alpha : float, default=2/3
        The power of the second derivatives in "newton", "cg" and "ridge", from 0 to 1.
    regularization : float, tuple ("weighted", float), "path" or None, default=None
        The penalty on squared loadings and scores, in the units of the data; "weighted" multiplies it by the number of
        entries of each row and column. 0 is least squares. None is none for the methods of least squares, and the
        standard deviation of the entries for "als", "ridge" and "soft". "path" tries penalties from the largest that
        leaves anything down and takes the best by the entries that `early_stopping` sets aside.
    mean : {"joint", "fixed", "none"}, default="joint"
        Fit the mean of each feature with the components, hold it at that of the observed entries (which is biased where
        being observed depends on the value), or at zero.
    mean_prior : float, tuple (float, float) or None, default=None
        Pseudo-observations that every feature has beside its own: how many, or how many and of which value. Their
        value is the mean of all entries if it is not given.
    row_offsets : bool, default=False
        Give each row an offset, a level of its own in all columns, beside the mean of each column: raters who rate
        high, samples of more material. Offsets are drawn to zero by a variance that the data tell where scores have a
        penalty or a prior, and free in least squares.
    prior_variance : float or None, default=None
        The variance of the scores in "vb-fixed"; a thousand mean squares of the data if None.
    step : float or None, default=None
        The first learning rate of "gradient", "natural" and "newton"; found by a line search if None.
    inner_iterations : int, default=3
        How often "ccd" fits scores and loadings of a component in turn.
    online_rule : {"diagonal", "rls", "oja"}, default="diagonal"
        How "online" and :meth:`partial_fit` learn from a row: each loading by its own curvature, all loadings of a
        feature by recursive least squares, or along the gradient.
    tol : float, default=1e-6
        The fit stops when the cost falls by less than this share of itself in one iteration (on average over ten where
        iterations are cheap).
    gradient_tol, angle_tol, rmse_tol : float or None, default=None
        Stop as well when the gradient (``sqrt(g' H^-1 g / F)``, of methods with a penalty or none), the angle by which
        components turn in an iteration, in radians, or the share of itself by which the error of the entries fitted
        moves falls below.
    max_iter : int, default=1000
        Most iterations, of each start or penalty.
    early_stopping : bool or float, default=False
        Set this share of the entries aside, stop when their error no longer falls, and keep the best model. True is 2%
        of the entries, and more of fewer than 2,500: fifty entries, or a fifth where that is less.
    refit : bool, default=False
        Fit again with all entries once those set aside have told how far to go.
    time_limit : float or None, default=None
        Most seconds that iterations may take.
    n_starts : int, default=1
        Random starts; the best result is kept.
    error_bars : bool, default=True
        Keep the covariances of scores and loadings, which standard deviations need: ``4 c^2`` bytes for each row and
        column, with c components.
    random_state : int, RandomState, Generator or None, default=None
        Seeds the starts and the entries set aside. None is a fixed seed: the same result at every fit.
    n_threads : int or None, default=None
        Threads; all cores if None. The result has the same bits for every number of threads.
    verbose : bool, default=False
        Show a progress bar with the error and the time left (needs tqdm).

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Principal axes, orthonormal, by decreasing variance. The largest entry of each, by absolute value, is positive.
    mean_ : ndarray of shape (n_features,)
        Mean of each feature; that of all entries where a feature was never observed.
    row_offsets_ : ndarray of shape (n_samples,) or None
        Offset of each row fitted, with `row_offsets`; their sum is zero, and so is that of each component: an offset is
        the level of a row over all columns.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the scores, with divisor n - 1; of "vb-full", "vb", "vb-fixed" and "ppca" the expected one, which
        posterior means alone fall short of.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the variance that complete rows have by the fit: what components explain over all rows, what offsets
        do, and what is left of the observed entries (or the noise). Where nothing is missing it is the variance of the
        data.
    singular_values_ : ndarray of shape (n_components,)
        Norms of the columns of the scores.
    noise_variance_ : float
        Variance of an observation about its prediction; of one with weight w, this divided by w.
    scores_ : ndarray of shape (n_samples, n_components)
        Scores of the rows fitted; after :meth:`partial_fit` of the last rows.
    score_covariances_ : ndarray of shape (n_samples, n_components, n_components) or None
        Posterior covariances of `scores_`, in float32; None without `error_bars`.
    n_components_, n_samples_, n_features_in_ : int
        Numbers of components, rows and columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if `X` had names.
    row_ids_ : ndarray or None
        Ids of the rows, if `X` was an :class:`Observed` with ids or a pandas frame with an index that is not 0, 1, 2
        ... and does not repeat; after :meth:`partial_fit` of the last rows.
    column_ids_ : ndarray or None
        Ids of the columns, if `X` was an :class:`Observed` with ids, or a pandas frame whose rows have ids or whose
        columns have labels that are no names.
    method_ : str
        The algorithm that was used.
    convergence_ : IncompleteConvergence
        How the fit went: method and reason, why it stopped, cost and errors by iteration.
    n_iter_ : int
        Iterations.
    n_samples_seen_ : int
        Rows seen by :meth:`partial_fit`, repeated ones included.

    See Also
    --------
    PCA : Where nothing is missing.
    Observed : Ratings and other triples.

    Notes
    -----
    A file of :meth:`save` holds ids of rows and columns that are whole numbers or strings. It does not hold what
    :meth:`partial_fit` has learned of curvatures; a pickle does.

    References
    ----------
    T. Raiko, A. Ilin, J. Karhunen: Principal component analysis for large scale problems with lots of missing values.
    ECML 2007, doi:10.1007/978-3-540-74958-5_69.

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

    What is stored of a sparse matrix is observed, zeros included; what is not stored is missing:

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
        alpha: float = 2 / 3,
        regularization: Regularization | None = None,
        mean: Mean = "joint",
        mean_prior: float | tuple[float, float] | None = None,
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
        refit: bool = False,
        time_limit: float | None = None,
        n_starts: int = 1,
        error_bars: bool = True,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.method = method
        self.alpha = alpha
        self.regularization = regularization
        self.mean = mean
        self.mean_prior = mean_prior
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
        self.refit = refit
        self.time_limit = time_limit
        self.n_starts = n_starts
        self.error_bars = error_bars
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
        checkpoint: str | os.PathLike[str] | None = None,
        checkpoint_every: float = 60.0,
        resume: bool = False,
    ) -> Self:
        """Fit components to the observed entries of `X`.

        Parameters
        ----------
        X : array-like, dataframe, sparse matrix or Observed of shape (n_samples, n_features)
            NaN, NA, null and masked values are missing. Of a sparse matrix **what is stored is observed, explicit zeros
            included**, and what is not stored is missing.
        y : None
            Ignored; there for pipelines.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            How often each row counts: whole weights are repeated rows, and a row of weight zero takes no part but is
            scored by what was fitted to the others. The precision of rows is `entry_weight`. "online" takes none.
        entry_weight : array-like, sparse matrix or None, default=None
            Inverse variance of each entry, up to a common factor: an array that broadcasts to the shape of `X` (``(n,
            1)`` for weights of rows, ``(p,)`` for weights of columns), or a sparse matrix with the entries of `X`.
            Weight zero counts as missing.
        start : tuple of array-like or None, default=None
            Where iterations begin: components of shape (n_components, n_features), orthogonal or not, scores of shape
            (n_samples, n_components) and, if they are not to be those of the observed entries, the means of the
            features. None is a random start, followed by three sweeps of alternating least squares.
        checkpoint : path-like or None, default=None
            A file for the state of the fit, so that one that was killed goes on with `resume` and ends with the same
            model, bit for bit. It is written between iterations, and once more at Ctrl-C; a new state replaces the one
            before when it is whole. A file that exists is refused without `resume`. A state that cannot be written is a
            `RuntimeWarning`, and the fit goes on.
        checkpoint_every : float, default=60.0
            How often, in seconds.
        resume : bool, default=False
            Go on from `checkpoint`; where there is no such file yet, begin. Data and options must be those of the fit
            that wrote it, but for `max_iter`, `time_limit` and `n_threads`.

        Returns
        -------
        IncompletePCA
            Itself.

        Raises
        ------
        ValueError
            For options out of range or without use for the method; for infinite values and bad weights, with row and
            column; if nothing is observed; for a checkpoint of another fit.
        FileExistsError
            For a `checkpoint` that exists, without `resume`.

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
        self._fit(X, sample_weight, entry_weight, start, state)
        return self

    def fit_transform(self, X: Any, y: None = None, sample_weight: Any = None, entry_weight: Any = None) -> FloatArray:
        """Fit components to the observed entries of `X` and compute the scores of its rows.

        Parameters
        ----------
        X, y, sample_weight, entry_weight
            As for :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores, in float32 if `X` is, in float64 otherwise.
        """
        return self._scores(self._fit(X, sample_weight, entry_weight))

    def _fit(
        self,
        X: Any,
        sample_weight: Any,
        entry_weight: Any,
        start: Any = None,
        state: tuple[str, float, bool, Callable[[str], None]] | None = None,
    ) -> _core.Entries:
        options = engine_options(self)
        entries = to_fit_entries(self, X, sample_weight, entry_weight)
        begin = None if start is None else to_start(start, entries.shape, options["n_components"])
        with told_as_given(self), self._call() as draw:
            model = _core.fit_incomplete(entries, options, draw, begin, state)
        self._stream = None
        self._adopt(model)
        warn_unless_ended(self.convergence_, self.tol)
        warn_of_far_predictions(self.convergence_, getattr(self, "feature_names_in_", None))
        return entries
