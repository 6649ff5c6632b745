"""Principal component analysis."""

from __future__ import annotations

from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from karhunen import _core
from karhunen._inputs.files import to_rows
from karhunen._inputs.matrix import to_weights
from karhunen._pca.fitted import FittedComponents
from karhunen._pca.options import shared_options, solver_option
from karhunen._shared.arrays import FloatArray, Matrix
from karhunen._shared.choices import Auto, PowerIterationNormalizer, Solver, SvdSolver, Weighting
from karhunen._shared.dtype import in_dtype
from karhunen._shared.options import (
    bytes_option,
    check_sketch_options,
    flag_option,
    n_components_of,
    n_components_option,
)

if TYPE_CHECKING:
    from sklearn.decomposition import PCA as SklearnPCA
    from sklearn.pipeline import Pipeline
    from typing_extensions import Self


class PCA(FittedComponents):
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
    center : bool, default=True
        Subtract the mean of each column.
    scale : bool, default=False
        Divide each column by its standard deviation: PCA of the correlation matrix. Constant columns keep the scale 1.
    whiten : bool, default=False
        Divide the scores of each component by their standard deviation.
    solver : {"auto", "svd", "covariance", "gram", "block-krylov"}, default="auto"
        Algorithm. "auto" selects the cheapest by predicted time and memory.
    weighting : {"frequency", "importance", "population"}, default="frequency"
        Meaning of the sample weights, which decides the divisor of variances: multiplicities of the rows (divisor:
        their sum - 1; the result is that of repeated rows), relative importances (a constant factor changes nothing),
        or shares of a whole population (divisor: their sum).
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
    cache_dir : str, path or None, default=None
        Folder for temporary copies of the values of a large text; None is that of the system.
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
        Mean of each column; zeros without `center`.
    scale_ : ndarray of shape (n_features,)
        Divisor of each column; ones without `scale`.
    noise_variance_ : float
        Mean of the discarded variances (Tipping & Bishop 1999).
    loadings_ : ndarray of shape (n_features, n_components)
        Components times the square root of their variance; with `scale`, correlations of features and components.
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
    >>> pca.explained_variance_.round(6)  # that of the four rows [1, 2], [3, 4], [3, 4], [5, 6]
    array([5.333333])
    >>> pca.transform(x).round(6).tolist()
    [[-2.828427], [0.0], [2.828427]]
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
        center: bool = True,
        scale: bool = False,
        whiten: bool = False,
        solver: Solver = "auto",
        weighting: Weighting = "frequency",
        tol: float | None = None,
        max_iter: int = 1000,
        random_state: Any = None,
        n_threads: int | None = None,
        strict: bool = False,
        memory_limit: int | None = None,
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
        self.cache_dir = cache_dir
        self.verbose = verbose
        self.copy = copy
        self.svd_solver = svd_solver
        self.iterated_power = iterated_power
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer

    def fit(self, X: Any, y: None = None, sample_weight: Any = None, feature_weight: Any = None) -> Self:
        """Fit components to `X`.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
            Rows are samples. A str or path names a file (NPY, NPZ, CSV, TSV, Parquet, Arrow, Matrix Market) or a folder
            of files, which may be larger than the memory; a list of paths is one table.
        y : None
            Ignored; present for compatibility with pipelines.
        sample_weight : array-like of shape (n_samples,) or None
            Nonnegative weight of each row; `weighting` states its meaning.
        feature_weight : array-like of shape (n_features,) or None
            Nonnegative weight of each column: its square root multiplies the centred and scaled column.

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

        Examples
        --------
        >>> from scipy.sparse import random
        >>> from karhunen import PCA
        >>> x = random(1000, 300, density=0.05, random_state=0)
        >>> PCA(n_components=5, scale=True).fit(x).n_components_
        5
        """
        self._fit(X, sample_weight, feature_weight)
        return self

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
        return self._scores(self._fit(X, sample_weight, feature_weight))

    def _fit(self, X: Any, sample_weight: Any, feature_weight: Any) -> Matrix | _core.FileTable:
        options = self._engine_options()
        least = 1 if self.weighting == "population" or sample_weight is not None else 2
        matrix = to_rows(self, X, reset=True, min_samples=least)
        n, p = matrix.shape
        samples = to_weights("sample_weight", sample_weight, n, "rows")
        features = to_weights("feature_weight", feature_weight, p, "columns")
        self._fit_matrix(matrix, options, samples, features)
        return matrix

    def _adopt(self, model: _core.Model) -> Self:
        super()._adopt(model)
        self.n_components_ = len(model.components)
        self.n_samples_ = model.n_samples
        return self

    def _engine_options(self) -> dict[str, Any]:
        """Check every option and return those of the engine."""
        for name in ("whiten", "copy"):
            flag_option(name, getattr(self, name))
        check_sketch_options(self)
        return {
            **shared_options(self),
            "n_components": n_components_option(self.n_components, mle=True),
            "memory_limit": bytes_option("memory_limit", self.memory_limit),
            "solver": solver_option(self.solver, self.svd_solver),
        }

    def _whitened(self) -> bool:
        return flag_option("whiten", self.whiten)

    @property
    def loadings_(self) -> FloatArray:
        """Components times the square root of their variance, shape (n_features, n_components)."""
        check_is_fitted(self)
        model = self._model_now()
        return in_dtype(model.dtype, model.loadings())

    def score_samples(self, X: Any) -> FloatArray:
        """Compute the log-likelihood of each row under the model (Tipping & Bishop 1999).

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples,)
            Natural logarithm of the density. If the covariance is singular (all variance kept, fewer rows than
            columns), it is the density within the space of the components, and minus infinity outside it.
        """
        check_is_fitted(self)
        matrix = to_rows(self, X, reset=False)
        with self._naming_columns():
            return self._model_now().score_samples(matrix, n_threads=self.n_threads)

    def score(self, X: Any, y: None = None, sample_weight: Any = None) -> float:
        """Compute the mean log-likelihood of the rows, for the selection of `n_components`.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
            Rows.
        y : None
            Ignored; present for compatibility with pipelines.
        sample_weight : array-like of shape (n_samples,) or None
            Weights of the mean.

        Returns
        -------
        float
            Mean of :meth:`score_samples`.
        """
        likelihoods = self.score_samples(X)
        weights = to_weights("sample_weight", sample_weight, len(likelihoods), "rows")
        return float(np.average(likelihoods, weights=weights))

    def get_covariance(self) -> FloatArray:
        """Compute the covariance of the features under the model, in their own units.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            Variances of the kept components along their axes, `noise_variance_` in all other directions.
        """
        check_is_fitted(self)
        model = self._model_now()
        return in_dtype(model.dtype, model.covariance())

    def get_precision(self) -> FloatArray:
        """Compute the inverse of the covariance without inverting a matrix.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            The inverse of :meth:`get_covariance`.
        """
        check_is_fitted(self)
        model = self._model_now()
        return in_dtype(model.dtype, model.precision())

    @staticmethod
    def _arguments(options: dict[str, Any]) -> dict[str, Any]:
        return {"n_components": n_components_of(options), "solver": options["solver"] or "auto"}

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
