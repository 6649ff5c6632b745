"""Principal component analysis."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from karhunen import _core
from karhunen._inputs.files import Source, set_columns, to_rows
from karhunen._inputs.matrix import tell_counts, to_feature_weights, to_row_weights
from karhunen._pca.fitted import FittedAtOnce
from karhunen._pca.gaussian import GaussianComponents
from karhunen._pca.options import shared_options, solver_option
from karhunen._pca.scatter import Scatter
from karhunen._shared.arrays import FloatArray, Matrix
from karhunen._shared.checkpoints import PassLog, to_pass_log
from karhunen._shared.choices import (
    Auto,
    ColumnScaling,
    Device,
    PowerIterationNormalizer,
    Solver,
    SvdSolver,
    Weighting,
)
from karhunen._shared.device import device_option, refuse_device
from karhunen._shared.options import (
    bytes_option,
    check_sketch_options,
    flag_option,
    n_components_of,
    n_components_option,
)
from karhunen._shared.standardization import in_order_of_columns, standardization_options

if TYPE_CHECKING:
    from sklearn.decomposition import PCA as SklearnPCA
    from sklearn.pipeline import Pipeline
    from typing_extensions import Self


class PCA(FittedAtOnce, GaussianComponents):
    """Principal component analysis.

    scikit-learn's `PCA` on karhunen's engine, with sample and feature weights, scaling, sparse data without
    densifying, and a residual for every component. Code for scikit-learn works after a change of the import.

    Parameters
    ----------
    n_components : int, float, str or None, default=None
        Number of components to keep: an int from 0 to min(n_samples, n_features); a float between 0 and 1 for the
        fewest components that explain more than this share of the variance, or a str such as ``"95%"`` (``"100%"``:
        the fewest that explain all of it); None for all; ``"mle"`` for Minka's estimate of the dimension, which needs
        n_samples >= n_features.
    center : bool or array-like of shape (n_features,), default=True
        Subtract the mean of each column, or the given numbers, as R's ``prcomp(center=v)``. Variances are mean squares
        about what is subtracted. Sparse data stay sparse. The numbers of a pandas Series belong to the columns of its
        labels, if these are names and `X` has names.
    scale : bool, {"std", "pareto", "range", "binomial"} or array-like of shape (n_features,), default=False
        Divide each column by its standard deviation (True, "std"), which is PCA of the correlation matrix, known as
        unit-variance or auto scaling; by the square root of its standard deviation ("pareto"); by its largest less its
        smallest value ("range", which takes one pass more); by sqrt(2 f (1 - f)) with f half of its mean ("binomial",
        for counts 0, 1, 2 of an allele of frequency f); or by given positive numbers. Columns without variance keep
        the scale 1 unless it is given.
    whiten : bool, default=False
        Divide the scores of each component by their standard deviation.
    solver : {"auto", "svd", "covariance", "gram", "block-krylov"}, default="auto"
        Algorithm. "auto" selects the cheapest by predicted time and memory.
    weighting : {"frequency", "importance", "population"}, default="frequency"
        Meaning of the sample weights, which decides the divisor of variances: multiplicities of the rows (divisor:
        their sum - 1; the result is the same as with repeated rows), relative importances (a constant factor changes
        nothing), or shares of a whole population (divisor: their sum).
    tol : float or None, default=None
        Block Krylov iteration stops when every residual is below `tol` times the largest variance. None and 0 mean
        1e-8 for float64 and 1e-6 for float32.
    max_iter : int, default=1000
        Maximum number of passes of block Krylov iteration over the data.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the starting block of block Krylov iteration. None is a fixed seed: every fit gives the same result.
    n_threads : int or None, default=None
        Number of threads; None uses all cores. The bits of the result do not depend on it.
    strict : bool, default=False
        Raise :class:`~karhunen.NotConvergedError` if a component misses the tolerance, instead of warning.
    memory_limit : int or None, default=None
        Most bytes that a fit may hold. A table in a file whose values need more than half of it stays in the file and
        is read in every pass. None is half of the machine's memory for such a table, and no limit for arrays.
        The solver "block-krylov" may keep the values of a dense array packed for its products, in as many bytes again:
        at most half of the limit, or a quarter of the free memory without one. That saves time and changes no bit.
    device : {"cpu", "cuda"}, default="cpu"
        Where the products of a fit are computed. "cuda" copies `X` to the first GPU of NVIDIA, once, and multiplies it
        there in double precision, for the same result to rounding. It needs the driver and cuBLAS of CUDA 12 or 13
        (cuSPARSE for sparse data), which are loaded when they are asked for. Transforms are computed by the processor.
        See :ref:`devices`.
    cache_dir : str, path or None, default=None
        Folder for temporary copies of the values of a large text; None is the system's folder.
    verbose : bool, default=False
        Show a progress bar (needs tqdm).
    copy : bool, default=True
        Accepted for compatibility and ignored: `X` is neither copied nor overwritten.
    svd_solver : {"auto", "full", "covariance_eigh", "arpack", "randomized"}, default="auto"
        scikit-learn's name of `solver`: "full" is "svd", "covariance_eigh" is "covariance", "arpack" and "randomized"
        are "block-krylov".
    iterated_power, n_oversamples, power_iteration_normalizer : int or str
        Settings of scikit-learn's randomized solver, accepted for compatibility and ignored: iteration continues until
        `tol` is reached.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Principal axes, orthonormal, in order of decreasing variance. The entry with the largest absolute value in each
        is positive.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the scores, with the divisor of `weighting` (n - 1 without weights).
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the total variance.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of the centred (scaled, weighted) data.
    mean_ : ndarray of shape (n_features,)
        What is subtracted from each column: its mean, zero without `center`, or the given number.
    scale_ : ndarray of shape (n_features,)
        Divisor of each column; ones without `scale`.
    noise_variance_ : float
        Mean of the discarded variances (Tipping & Bishop 1999).
    loadings_ : ndarray of shape (n_features, n_components)
        Components times the square root of their variance; with `scale=True`, correlations of features and components.
    n_components_, n_samples_, n_features_in_ : int
        Numbers of components, rows and columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if `X` had names.
    solver_ : str
        The solver that was used.
    residuals_ : ndarray of shape (n_components,)
        Relative residual ``||S w - l w|| / l_1`` of each component.
    convergence_ : Convergence
        Solver, reason for its choice, passes over the data, and tolerance.
    n_iter_ : int
        Number of passes over the data.

    Notes
    -----
    `X` is read in place if it is float32 or float64, of any memory order and strides, memory-mapped or read-only, CSR
    or CSC with 32- or 64-bit indices. Fitted arrays are read-only views of the engine's memory; assign an attribute to
    change it. For float32 data they are float32 copies, as in scikit-learn, while the engine computes in float64.

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import PCA
    >>> x = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> pca = PCA(n_components=1).fit(x, sample_weight=[1, 2, 1])
    >>> pca.mean_
    array([3., 4.])
    >>> pca.explained_variance_.round(6)  # as of the four rows [1, 2], [3, 4], [3, 4], [5, 6]
    array([5.333333])
    >>> pca.transform(x).round(6).tolist()
    [[-2.828427], [0.0], [2.828427]]
    >>> PCA(center=[1.0, 2.0], scale="pareto").fit(x).mean_  # deviations from a reference
    array([1., 2.])
    """

    __module__ = "karhunen"

    mean_: FloatArray
    scale_: FloatArray
    noise_variance_: float
    n_components_: int
    n_samples_: int
    _views = (
        "components",
        "explained_variance",
        "explained_variance_ratio",
        "singular_values",
        "mean",
        "scale",
        "noise_variance",
        "residuals",
    )

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        center: bool | ArrayLike = True,
        scale: bool | ColumnScaling | ArrayLike = False,
        whiten: bool = False,
        solver: Solver = "auto",
        weighting: Weighting = "frequency",
        tol: float | None = None,
        max_iter: int = 1000,
        random_state: Any = None,
        n_threads: int | None = None,
        strict: bool = False,
        memory_limit: int | None = None,
        device: Device = "cpu",
        cache_dir: str | PathLike[str] | None = None,
        verbose: bool = False,
        copy: bool = True,
        svd_solver: SvdSolver = "auto",
        iterated_power: int | Auto = "auto",
        n_oversamples: int = 10,
        power_iteration_normalizer: PowerIterationNormalizer = "auto",
    ) -> None:
        self.n_components = n_components
        self.center = center
        self.scale = scale
        self.whiten = whiten
        self.solver = solver
        self.weighting = weighting
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_threads = n_threads
        self.strict = strict
        self.memory_limit = memory_limit
        self.device = device
        self.cache_dir = cache_dir
        self.verbose = verbose
        self.copy = copy
        self.svd_solver = svd_solver
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer

    def fit(
        self,
        X: Any,
        y: None = None,
        sample_weight: Any = None,
        feature_weight: Any = None,
        *,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
    ) -> Self:
        """Fit components to `X`.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), path, RowBlocks or Scatter
            Rows are samples. A str or path names a file (NPY, NPZ, CSV, TSV, Parquet, Arrow, Matrix Market, AnnData,
            PLINK .bed) or a folder of files, which may be larger than the memory; a list of paths is one table.
            :class:`RowBlocks` are rows that a function yields in blocks. A :class:`Scatter` holds the sums over rows,
            weights included; the result is the same as from the rows, in float64.
        y : None
            Ignored; present for compatibility with pipelines.
        sample_weight : array-like of shape (n_samples,) or None
            Nonnegative weight of each row; `weighting` states its meaning. Weights are in the order of the rows, also
            in a pandas Series, whatever its index.
        feature_weight : array-like of shape (n_features,) or None
            Nonnegative weight of each column: its square root multiplies the centred and scaled column. The weights of
            a pandas Series belong to the columns of its labels, if these are names and `X` has names.
        checkpoint : path-like or None, default=None
            File that keeps the result of every pass over the data: after an interruption, a fit with `resume`
            makes only the passes that are missing, and gives the same model, bit for bit. Without `resume`, an existing
            file is refused. If a pass cannot be written, the fit issues a `RuntimeWarning` and continues. The
            passes of the solver "svd" are not kept.
        resume : bool, default=False
            Continue from `checkpoint`, or start if the file does not exist. Data, weights and options must be the same
            as in the fit that wrote it.

        Returns
        -------
        PCA
            The fitted estimator.

        Raises
        ------
        ValueError
            If an option is out of range, or if a value is NaN or infinite (the message gives its row and column).
        NotConvergedError
            If `strict` and a component misses the tolerance.
        OSError
            With ``device="cuda"``, if there is no GPU or a library is missing; the message says what was looked for.
        MemoryError
            With ``device="cuda"``, if `X` needs more memory than is free on the GPU.
        FileExistsError
            If `checkpoint` exists and `resume` is False.

        Examples
        --------
        >>> from scipy.sparse import random
        >>> from karhunen import PCA
        >>> x = random(1000, 300, density=0.05, random_state=0)
        >>> PCA(n_components=5, scale=True).fit(x).n_components_
        5
        """
        log = to_pass_log(checkpoint, resume)
        if isinstance(X, Scatter):
            if log is not None:
                raise ValueError("checkpoint keeps passes over rows, and a Scatter holds none; leave it out")
            return self._fit_scatter(X, sample_weight, feature_weight)
        self._fit(X, sample_weight, feature_weight, log)
        return self

    @classmethod
    def from_covariance(cls, covariance: Any, *, n_samples: int, mean: ArrayLike | None = None, **options: Any) -> Self:
        """Fit rows of which only the covariance matrix is known, as of a publication.

        Parameters
        ----------
        covariance, n_samples, mean
            As in :meth:`Scatter.from_covariance`. The number of rows is needed because standard errors, limits and
            rules for the number of components depend on it.
        **options
            Parameters of the estimator, such as `n_components`.

        Returns
        -------
        PCA
            A fitted estimator.

        Raises
        ------
        ValueError
            As :meth:`Scatter.from_covariance`.

        Examples
        --------
        >>> from karhunen import PCA
        >>> pca = PCA.from_covariance([[1.0, 0.5], [0.5, 1.0]], n_samples=50, n_components=1)
        >>> pca.explained_variance_
        array([1.5])
        """
        if options.get("center", True) is not True:
            raise ValueError("center does not go with a covariance matrix, which is about the means; leave it out")
        return cls(**options).fit(Scatter.from_covariance(covariance, n_samples=n_samples, mean=mean))

    def fit_transform(
        self, X: Any, y: None = None, sample_weight: Any = None, feature_weight: Any = None
    ) -> FloatArray:
        """Fit components to `X` and compute the scores of its rows.

        Parameters
        ----------
        X, y, sample_weight, feature_weight
            As in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores, in float32 if `X` is, in float64 otherwise.
        """
        if isinstance(X, Scatter):
            raise TypeError(
                "a Scatter holds sums over rows, which have no scores; call fit, then transform of the rows"
            )
        return self._scores(self._fit(X, sample_weight, feature_weight))

    def _fit(
        self,
        X: Any,
        sample_weight: Any,
        feature_weight: Any,
        log: PassLog | None = None,
    ) -> Matrix | Source:
        options = self._options()
        device = device_option(self.device)
        if device is not None and log is not None:
            raise ValueError(
                f"checkpoint does not go with device = {self.device!r}: the passes are products on the device, and are "
                "not kept; leave it out"
            )
        least = 1 if self.weighting == "population" or sample_weight is not None else 2
        matrix = to_rows(self, X, reset=True, min_samples=least)
        p = matrix.shape[1]
        samples = to_row_weights(matrix, sample_weight)
        tell_counts(self.weighting, samples)
        features = to_feature_weights(self, feature_weight, p)
        self._fit_matrix(matrix, in_order_of_columns(self, options), samples, features, log, device)
        return matrix

    def _fit_scatter(self, scatter: Scatter, sample_weight: Any, feature_weight: Any) -> Self:
        """Fit to sums over rows."""
        if sample_weight is not None:
            raise ValueError("sample_weight belongs to Scatter.add: the sums of a Scatter hold the weights of its rows")
        options = self._engine_options()
        sums = scatter._fitted()
        set_columns(self, scatter.n_features_in_, getattr(scatter, "feature_names_in_", None))
        features = to_feature_weights(self, feature_weight, len(sums.mean))
        with self._call() as draw:
            model = _core.fit_scatter(sums, in_order_of_columns(self, options), features, draw)
        self._adopt_fit(model)
        return self

    def _adopt(self, model: _core.Model) -> Self:
        super()._adopt(model)
        self.n_components_ = len(model.components)
        self.n_samples_ = model.n_samples
        return self

    def _engine_options(self) -> dict[str, Any]:
        """Check every option and return the options of the engine, for work that takes no device."""
        refuse_device(self.device)
        return self._options()

    def _options(self) -> dict[str, Any]:
        """Check every option and return the options of the engine."""
        for name in ("whiten", "copy"):
            flag_option(name, getattr(self, name))
        check_sketch_options(self)
        return {
            **shared_options(self),
            **standardization_options(self),
            "n_components": n_components_option(self.n_components, mle=True),
            "memory_limit": bytes_option("memory_limit", self.memory_limit),
            "solver": solver_option(self.solver, self.svd_solver),
        }

    def _adopt_file(self, model: _core.Model, extras: Mapping[str, Any]) -> Self:
        super()._adopt_file(model, extras)
        # Files hold given centres and scales once, in the model.
        for name in ("center", "scale"):
            if isinstance(getattr(self, name), list):
                setattr(self, name, np.array(model.mean if name == "center" else model.scale))
        return self

    @staticmethod
    def _arguments(options: dict[str, Any]) -> dict[str, Any]:
        return {"n_components": n_components_of(options), "solver": options["solver"] or "auto"}

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say where methods are that other estimators of karhunen have."""
            if name == "partial_fit":
                raise AttributeError(
                    f"{type(self).__name__} fits all rows at once and has no partial_fit: "
                    "karhunen.IncrementalPCA fits rows that come in batches"
                )
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def to_sklearn(self) -> SklearnPCA | Pipeline:
        """Convert to a fitted estimator of scikit-learn that computes the same scores.

        Returns
        -------
        sklearn.decomposition.PCA or sklearn.pipeline.Pipeline
            A PCA; a pipeline of `StandardScaler` and PCA if columns are scaled or weighted, which scikit-learn's PCA
            does not support.

        Examples
        --------
        >>> from karhunen import PCA
        >>> PCA(n_components=1).fit([[0.0, 0.0], [1.0, 1.0], [2.0, 2.5]]).to_sklearn()
        PCA(n_components=1)
        """
        from karhunen._pca.to_sklearn import to_sklearn

        check_is_fitted(self)
        return to_sklearn(self, self._model_now())
