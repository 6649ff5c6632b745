"""Kernel principal component analysis."""

from __future__ import annotations

from collections.abc import Callable
from os import PathLike
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from karhunen import _core
from karhunen._inputs.matrix import to_matrix, to_weights
from karhunen._inputs.suspects import tell_suspects
from karhunen._kernel.convergence import warn_of_spectrum
from karhunen._kernel.fitted import FittedKernelPCA
from karhunen._kernel.options import (
    MAX_ITER,
    OTHERS,
    block_kernel,
    kernel_option,
    pre_image_option,
    solver_option,
    threads_option,
)
from karhunen._shared.arrays import FloatArray, Matrix
from karhunen._shared.checkpoints import to_pass_log
from karhunen._shared.choices import Auto, EigenSolver, Gamma, Kernel, KernelSolver, Landmarks, PreImage
from karhunen._shared.options import (
    bytes_option,
    check_sketch_options,
    engine_arguments,
    flag_option,
    n_components_option,
    seed_option,
    tol_option,
)

if TYPE_CHECKING:
    from typing_extensions import Self

    from karhunen._kernel.function import BlockKernel


class KernelPCA(FittedKernelPCA):
    """Kernel principal component analysis.

    scikit-learn's `KernelPCA` on karhunen's engine: iterative solvers with a tolerance, a memory limit, sample
    weights, and approximations with error estimates. Code for scikit-learn works after a change of the import.

    Parameters
    ----------
    n_components : int, float, str or None, default=None
        Number of components to keep, at most n_samples: an int; a float between 0 and 1 for the fewest components that
        explain more than this share of the sum of all positive eigenvalues, or a str such as ``"95%"`` (for exact
        solvers; with kernels that may not be positive semi-definite, for the solver "full"); None keeps all with
        nonzero eigenvalues.
    kernel : {"linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "additive_chi2", "chi2", "precomputed"} \
or callable, default="linear"
        The kernel. With "precomputed", `X` is the kernel matrix: between fitted rows in :meth:`fit`, between new and
        fitted rows in :meth:`transform`. A callable takes two blocks of rows, float64 arrays of shapes (a, n_features)
        and (b, n_features), and returns an array of shape (a, b); or, as in scikit-learn, two rows of shape
        (n_features,), and returns a number, which is far slower. Calls with the first rows determine the form. Several
        threads may call it.
    gamma : float, "scale", "median" or None, default=None
        Coefficient of the kernels "rbf", "laplacian", "poly", "sigmoid" and "chi2"; other kernels have none. None is 1
        / n_features, "scale" is 1 / (n_features * X.var()), "median" is 1 / the median distance between different
        rows, for the kernels that decay with a distance: squared Euclidean for "rbf", L1 for "laplacian", chi-squared
        for "chi2". Pairs are weighted by the product of their weights; of more than 1,000 rows, 1,000 are drawn.
    degree : float, default=3
        Exponent of "poly".
    coef0 : float, default=1
        Constant that "poly" and "sigmoid" add to inner products.
    kernel_params : dict or None, default=None
        Keyword arguments of a callable.
    center : bool, default=True
        Subtract the mean in feature space. Without it, components are eigenvectors of the kernel matrix as it is, as
        `PCA(center=False)` is for the kernel "linear". For exact solvers.
    alpha : float or None, default=None
        Ridge penalty of `pre_image="ridge"`; None is 1, as in scikit-learn.
    fit_inverse_transform : bool, default=False
        Fit the pre-image map of :meth:`inverse_transform`.
    pre_image : {"auto", "ridge", "fixed-point"}, default="auto"
        Method that maps scores to rows: "ridge" is kernel ridge regression of the rows on their scores, as in
        scikit-learn; "fixed-point" is the iteration of Mika et al. (1998), for the kernel "rbf" and the exact solvers.
        "auto" is the fixed point if available, which denoises better, and "ridge" if `alpha` is given; for other
        kernels it is a ridge regression of the centred rows, unlike scikit-learn's.
    solver : {"auto", "full", "stored", "tiles", "nystrom", "fourier"}, default="auto"
        Algorithm. "full" reduces the whole matrix to tridiagonal form; "stored" uses block Krylov iteration to `tol`
        with one triangle of the kernel matrix in memory; "tiles" recomputes the matrix in every pass, in memory
        proportional to n_samples; "nystrom" uses landmarks; "fourier" uses random Fourier features ("rbf" and
        "laplacian"). "auto" is exact if `memory_limit` and half an hour on one core permit, and "nystrom" otherwise.
    landmarks : {"uniform", "kmeans++", "leverage"}, default="uniform"
        Selection of landmarks for "nystrom": uniformly at random, far apart in feature space, or by ridge leverage
        scores.
    n_features : int or None, default=None
        Number of landmarks for "nystrom" or of random features for "fourier". None is the larger of 1,000 and four
        times the number of components.
    memory_limit : int or None, default=None
        Maximum memory of a fit besides the data, in bytes. None is half of the machine's memory.
    tol : float or None, default=None
        Iteration stops when every residual is below `tol` times the largest eigenvalue. None and 0 mean 1e-8 for
        float64 and 1e-5 for float32.
    max_iter : int or None, default=None
        Maximum number of passes of an iteration over the kernel matrix; None is 1000.
    remove_zero_eig : bool, default=False
        Drop components with eigenvalue zero. They are always dropped if `n_components` is None.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all random numbers. None is a fixed seed: every fit gives the same result.
    n_threads : int or None, default=None
        Number of threads; None uses all cores. The bits of the result do not depend on it.
    strict : bool, default=False
        Raise :class:`~karhunen.NotConvergedError` if a component misses the tolerance, instead of warning.
    verbose : bool, default=False
        Show a progress bar (needs tqdm).
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        scikit-learn's name of `solver`: "dense" is "full", "arpack" and "randomized" are "stored".
    iterated_power : int or "auto", default="auto"
        Setting of scikit-learn's randomized solver, accepted for compatibility and ignored: iteration continues until
        `tol` is reached.
    copy_X : bool, default=True
        Accepted for compatibility and ignored: the engine keeps its own copy of `X`.
    n_jobs : int or None, default=None
        scikit-learn's name of `n_threads`; -1 uses all cores.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the kernel matrix (centred unless `center=False`) in decreasing order, which are the sums of
        squares of the scores. With weights, the matrix is of repeated rows.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Eigenvectors of the same matrix. The entry with the largest absolute value in each is positive. Not
        available from the approximate solvers, which store nothing proportional to n_samples.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the sum of all positive eigenvalues. NaN where that sum is unknown: the solvers "stored" and "tiles"
        with a kernel that may have negative eigenvalues, such as "sigmoid", "precomputed" or a function.
    gamma_ : float or None
        Coefficient used; None for kernels without one.
    X_fit_ : ndarray or csr_array of shape (n_samples, n_features)
        Fitted rows, for the exact solvers, unless the kernel is precomputed.
    landmarks_ : ndarray or csr_array of shape (n_landmarks, n_features)
        Landmark rows, for the solver "nystrom".
    dual_coef_ : ndarray of shape (n_samples, n_features)
        Coefficients of the kernel ridge regression, if it is the pre-image method.
    X_transformed_fit_ : ndarray of shape (n_samples, n_components)
        Scores of the fitted rows in the kernel ridge regression.
    residuals_ : ndarray of shape (n_components,)
        Relative residual ``||K u - l u|| / l_1`` of each component.
    solver_ : str
        The solver that was used.
    convergence_ : KernelConvergence
        Solver, reason for its choice, passes, tolerance, smallest eigenvalue, errors of an approximation.
    n_iter_ : int
        Number of passes over the kernel matrix.
    n_components_, n_samples_, n_features_in_ : int
        Numbers of components, rows and columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if `X` had names.

    Notes
    -----
    Fitted arrays are read-only views of the engine's memory. For float32 data they are float32 copies, and the
    iterative solvers compute kernel values in float32.

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import KernelPCA
    >>> angle = np.linspace(0, 6, 40)
    >>> ring = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> x = np.concatenate([ring, 4 * ring])
    >>> pca = KernelPCA(n_components=2, kernel="rbf", gamma=0.3).fit(x)
    >>> inner, outer = np.split(pca.transform(x)[:, 0], 2)
    >>> bool(inner.max() < outer.min() or outer.max() < inner.min())  # a line parts them
    True
    >>> pca.solver_, pca.convergence_.reason
    ('full', '80 rows are few')
    """

    __module__ = "karhunen"

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        kernel: Kernel | Callable[..., Any] = "linear",
        gamma: float | Gamma | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
        center: bool = True,
        alpha: float | None = None,
        fit_inverse_transform: bool = False,
        pre_image: PreImage = "auto",
        solver: KernelSolver = "auto",
        landmarks: Landmarks = "uniform",
        n_features: int | None = None,
        memory_limit: int | None = None,
        tol: float | None = None,
        max_iter: int | None = None,
        remove_zero_eig: bool = False,
        random_state: Any = None,
        n_threads: int | None = None,
        strict: bool = False,
        verbose: bool = False,
        eigen_solver: EigenSolver = "auto",
        iterated_power: int | Auto = "auto",
        copy_X: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.kernel_params = kernel_params
        self.center = center
        self.alpha = alpha
        self.fit_inverse_transform = fit_inverse_transform
        self.pre_image = pre_image
        self.solver = solver
        self.landmarks = landmarks
        self.n_features = n_features
        self.memory_limit = memory_limit
        self.tol = tol
        self.max_iter = max_iter
        self.remove_zero_eig = remove_zero_eig
        self.random_state = random_state
        self.n_threads = n_threads
        self.strict = strict
        self.verbose = verbose
        self.eigen_solver = eigen_solver
        self.iterated_power = iterated_power
        self.copy_X = copy_X
        self.n_jobs = n_jobs

    def fit(
        self,
        X: Any,
        y: None = None,
        sample_weight: Any = None,
        *,
        checkpoint: str | PathLike[str] | None = None,
        resume: bool = False,
    ) -> Self:
        """Fit kernel principal components to `X`.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
            Rows are samples. For `kernel="precomputed"`, the kernel matrix, shape (n_samples, n_samples).
        y : None
            Ignored; present for compatibility with pipelines.
        sample_weight : array-like of shape (n_samples,) or None
            Nonnegative weight of each row, used as its multiplicity: the result is the same as with repeated rows.
        checkpoint : path-like or None, default=None
            File that keeps the result of every pass over the kernel matrix: after an interruption, a fit with `resume`
            makes only the passes that are missing, and gives the same model, bit for bit. Without `resume`, an existing
            file is refused. If a pass cannot be written, the fit issues a `RuntimeWarning` and continues. Only
            the solvers "stored" and "tiles" make several; a kernel function is refused.
        resume : bool, default=False
            Continue from `checkpoint`, or start if the file does not exist. Data, weights and options must be the same
            as in the fit that wrote it.

        Returns
        -------
        KernelPCA
            The fitted estimator.

        Raises
        ------
        ValueError
            If an option is out of range; if a value is NaN or infinite (the message gives its row and column); if
            requested eigenvalues are negative beyond rounding.
        NotConvergedError
            If `strict` and a component misses the tolerance.
        FileExistsError
            If `checkpoint` exists and `resume` is False.

        Examples
        --------
        >>> from scipy.sparse import random
        >>> from karhunen import KernelPCA
        >>> x = random(1000, 300, density=0.05, random_state=0)
        >>> KernelPCA(n_components=5, kernel="cosine").fit(x).eigenvalues_.shape
        (5,)
        """
        self._fit(X, sample_weight, to_pass_log(checkpoint, resume))
        return self

    def fit_transform(self, X: Any, y: None = None, sample_weight: Any = None) -> FloatArray:
        """Fit kernel principal components to `X` and compute the scores of its rows.

        Parameters
        ----------
        X, y, sample_weight
            As in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores, in float32 if `X` is, in float64 otherwise.
        """
        matrix, weights = self._fit(X, sample_weight)
        # Approximate solvers store no scores, and rows of weight zero have none.
        known = len(self._model.eigenvectors) == matrix.shape[0] and (weights is None or weights.all())
        return self._model.fitted_scores(matrix.dtype == np.float32) if known else self._scores(matrix)

    def _fit(
        self, X: Any, sample_weight: Any, log: tuple[str, bool, Callable[[str], None]] | None = None
    ) -> tuple[Matrix, FloatArray | None]:
        options = self._engine_options()
        function = block_kernel(self.kernel, self.kernel_params)
        if log is not None and function is not None:
            raise ValueError("checkpoint needs a kernel of karhunen: nothing shows whether a function is the same")
        matrix = to_matrix(self, X, reset=True)
        if self.kernel != "precomputed":
            tell_suspects(self, matrix)
        weights = to_weights("sample_weight", sample_weight, matrix.shape[0], "rows")
        self._check_form(matrix, function)
        keep_zeros = not flag_option("remove_zero_eig", self.remove_zero_eig)
        with self._call() as draw:
            model = _core.fit_kernel(matrix, options, weights, function, keep_zeros, draw, log)
        self._adopt_fit(model)
        warn_of_spectrum(model)
        return matrix, weights

    def _check_form(self, matrix: Matrix, function: BlockKernel | None) -> None:
        """Check conditions on the storage of the data, and probe a kernel function."""
        if sp.issparse(matrix) and (function is not None or self.fit_inverse_transform):
            what = "a kernel function gets" if function is not None else "an inverse transform is learnt from"
            raise ValueError(f"X is sparse, but {what} dense rows; pass X.toarray()")
        if self.kernel == "precomputed" and matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"X has shape {matrix.shape}, but a precomputed kernel matrix is square")
        if function is not None:
            function.probe(matrix)

    def _engine_options(self) -> dict[str, Any]:
        """Check every option and return the options of the engine."""
        for name in ("copy_X", "verbose"):
            flag_option(name, getattr(self, name))
        check_sketch_options(self)
        return {
            **engine_arguments(self, OTHERS),
            "tol": tol_option(self.tol),
            "seed": seed_option(self.random_state),
            "max_iter": MAX_ITER if self.max_iter is None else self.max_iter,
            "n_threads": threads_option(self),
            "kernel": kernel_option(self.kernel, self.gamma, self.degree, self.coef0),
            "n_components": n_components_option(self.n_components),
            "center": flag_option("center", self.center),
            "solver": solver_option(self.solver, self.eigen_solver),
            "pre_image": pre_image_option(self),
            "memory_limit": bytes_option("memory_limit", self.memory_limit),
        }
