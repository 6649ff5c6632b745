"""Kernel principal component analysis."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from karhunen import _core
from karhunen._inputs.matrix import to_matrix, to_weights
from karhunen._kernel.convergence import warn_of_spectrum
from karhunen._kernel.fitted import FittedKernelPCA
from karhunen._kernel.options import (
    MAX_ITER,
    block_kernel,
    bytes_option,
    kernel_option,
    route_option,
    threads_option,
)
from karhunen._shared.arrays import FloatArray, Matrix
from karhunen._shared.choices import Auto, EigenSolver, Gamma, Kernel, KernelSolver, Landmarks, PreImage
from karhunen._shared.options import (
    check_sketch_options,
    choice_option,
    count_option,
    flag_option,
    name_option,
    number_option,
    optional_count,
    seed_option,
    tol_option,
)

if TYPE_CHECKING:
    from typing_extensions import Self

    from karhunen._kernel.function import BlockKernel


class KernelPCA(FittedKernelPCA):
    """Kernel principal component analysis.

    scikit-learn's `KernelPCA` on karhunen's engine: truncated and exact to a tolerance, within a limit of memory, with
    sample weights, and approximations that say how far they are off. Code for scikit-learn works after a change of the
    import.

    Parameters
    ----------
    n_components : int or None, default=None
        How many components to keep, at most n_samples; all whose eigenvalue is not zero if None.
    kernel : {"linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "additive_chi2", "chi2", "precomputed"} \
or callable, default="linear"
        The kernel. "precomputed" means that `X` is the kernel matrix: of the fitted rows for :meth:`fit`, of new rows
        with the fitted ones for :meth:`transform`. A callable gets two blocks of rows, float64 arrays of shapes
        (a, n_features) and (b, n_features), and gives an array of shape (a, b); or, as in scikit-learn, two rows of
        shape (n_features,), and gives a number, which takes a call for each pair and is far slower. Which of the two it
        takes is found out by calls with the first rows. It may be called from several threads.
    gamma : float, "scale", "median" or None, default=None
        Coefficient of the kernels "rbf", "laplacian", "poly", "sigmoid" and "chi2". None is 1 / n_features, "scale" is
        1 / (n_features * X.var()), "median" is 1 / the median distance between rows that differ (for the kernels that
        decay with one: squared Euclidean for "rbf", L1 for "laplacian", chi-squared for "chi2"; pairs count by the
        product of their weights, and 1,000 rows drawn in proportion to the weights stand for more). Others have none.
    degree : float, default=3
        The power of "poly".
    coef0 : float, default=1
        What "poly" and "sigmoid" add to inner products.
    kernel_params : dict or None, default=None
        Keyword arguments for a callable.
    alpha : float or None, default=None
        The ridge of `pre_image="ridge"`; 1 if None, as in scikit-learn.
    fit_inverse_transform : bool, default=False
        Learn to find rows from scores, for :meth:`inverse_transform`.
    pre_image : {"auto", "ridge", "fixed-point"}, default="auto"
        How rows are found from scores: by kernel ridge regression of the rows on their scores, as in scikit-learn, or
        as the fixed point of Mika et al. (1998), for the kernel "rbf" on the exact routes. "auto" is the fixed point
        where there is one, which denoises better, and the ridge where `alpha` is given; for other kernels a ridge
        regression of the centred rows, which scikit-learn's is not.
    solver : {"auto", "full", "stored", "tiles", "nystrom", "fourier"}, default="auto"
        The route to the components: all eigenvectors; block Krylov iteration to `tol` with one triangle of the kernel
        matrix stored; the same with the matrix computed anew in each pass, in memory proportional to n_samples;
        landmarks (Nyström); random Fourier features ("rbf" and "laplacian"). "auto" is exact wherever `memory_limit`
        and half an hour on one core allow it, by landmarks otherwise.
    landmarks : {"uniform", "kmeans++", "leverage"}, default="uniform"
        How the landmarks of the solver "nystrom" are chosen: each row as likely as another, far apart from each other
        in feature space, or by ridge leverage scores.
    n_features : int or None, default=None
        Landmarks of the solver "nystrom", random features of "fourier". None is 1,000 or four times the components,
        whichever is more.
    memory_limit : int or None, default=None
        Bytes that a fit may hold beside the data. None is half of the machine's memory.
    tol : float or None, default=None
        Iteration stops when every residual is below `tol` times the largest eigenvalue. None is 1e-8 for float64 and
        1e-5 for float32, and so is scikit-learn's 0.
    max_iter : int or None, default=None
        Passes over the kernel matrix that an iteration may make; 1000 if None.
    remove_zero_eig : bool, default=False
        Leave out components of eigenvalue zero. They are always left out if `n_components` is None.
    random_state : int, RandomState, Generator or None, default=None
        Seeds everything that is drawn. None is a fixed seed: the same result at every fit.
    n_threads : int or None, default=None
        Threads; all cores if None. The result has the same bits for every number of threads.
    strict : bool, default=False
        Raise :class:`~karhunen.NotConvergedError` where a component misses the tolerance, instead of warning.
    verbose : bool, default=False
        Show a progress bar (needs tqdm).
    eigen_solver : {"auto", "dense", "arpack", "randomized"}, default="auto"
        scikit-learn's name of `solver`: "full", "stored" and "stored" but for "auto".
    iterated_power : int or "auto", default="auto"
        A setting of scikit-learn's randomized solver, which has no error control. It means nothing here, where
        iteration goes on to `tol`; its value is accepted and unused.
    copy_X : bool, default=True
        As in scikit-learn, where False allows that `X` is kept instead of a copy. The engine keeps its own copy.
    n_jobs : int or None, default=None
        scikit-learn's name of `n_threads`; -1 is all cores.

    Attributes
    ----------
    eigenvalues_ : ndarray of shape (n_components,)
        Eigenvalues of the centred kernel matrix, descending: sums of squares of the scores. With weights, those of the
        matrix of repeated rows.
    eigenvectors_ : ndarray of shape (n_samples, n_components)
        Eigenvectors of the centred kernel matrix. The largest entry of each, by absolute value, is positive. Not on the
        approximate routes, which keep nothing that grows with n_samples.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the sum of all eigenvalues.
    gamma_ : float or None
        The coefficient that was used; None for kernels without one.
    X_fit_ : ndarray or csr_array of shape (n_samples, n_features)
        The rows that new ones are compared with, on the exact routes and unless the kernel is precomputed.
    landmarks_ : ndarray or csr_array of shape (n_landmarks, n_features)
        The rows that stand for all others, of the solver "nystrom".
    dual_coef_ : ndarray of shape (n_samples, n_features)
        Coefficients of kernel ridge regression, if rows are found by it.
    X_transformed_fit_ : ndarray of shape (n_samples, n_components)
        The scores that they belong to.
    residuals_ : ndarray of shape (n_components,)
        ``||K u - l u|| / l_1`` of each component: how exact it is.
    solver_ : str
        The route that was taken.
    convergence_ : KernelConvergence
        How the fit went: route, reason, passes, tolerance, negative eigenvalues, errors of an approximation.
    n_iter_ : int
        Passes over the kernel matrix.
    n_components_, n_samples_, n_features_in_ : int
        Numbers of components, rows and columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if `X` had names.

    Notes
    -----
    Fitted arrays are read-only views of the engine's memory; of float32 data they are copies in float32, in which the
    iterative routes compute kernel values.

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
        n_components: int | None = None,
        *,
        kernel: Kernel | Callable[..., Any] = "linear",
        gamma: float | Gamma | None = None,
        degree: float = 3,
        coef0: float = 1,
        kernel_params: dict[str, Any] | None = None,
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

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Fit kernel principal components to `X`.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
            Rows are samples. For `kernel="precomputed"`, the kernel matrix, shape (n_samples, n_samples).
        y : None
            Ignored; there for pipelines.
        sample_weight : array-like of shape (n_samples,) or None
            A weight of at least 0 for each row, which counts it: the result is that of repeated rows.

        Returns
        -------
        KernelPCA
            Itself.

        Raises
        ------
        ValueError
            For options out of range; for a value that is NaN or infinite, with its row and column; for wanted
            eigenvalues far below zero.
        NotConvergedError
            If `strict`.

        Examples
        --------
        >>> from scipy.sparse import random
        >>> from karhunen import KernelPCA
        >>> x = random(1000, 300, density=0.05, random_state=0)
        >>> KernelPCA(n_components=5, kernel="cosine").fit(x).eigenvalues_.shape
        (5,)
        """
        self._fit(X, sample_weight)
        return self

    def fit_transform(self, X: Any, y: None = None, sample_weight: Any = None) -> FloatArray:
        """Fit kernel principal components to `X` and give the scores of its rows.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores, in float32 if `X` is, in float64 otherwise.
        """
        matrix, weights = self._fit(X, sample_weight)
        # Approximate routes keep no scores, and rows of weight zero have none.
        known = len(self._model.eigenvectors) == matrix.shape[0] and (weights is None or weights.all())
        return self._model.fitted_scores(matrix.dtype == np.float32) if known else self._scores(matrix)

    def _fit(self, X: Any, sample_weight: Any) -> tuple[Matrix, FloatArray | None]:
        options = self._engine_options()
        function = block_kernel(self.kernel, self.kernel_params)
        matrix = to_matrix(self, X, reset=True)
        weights = to_weights("sample_weight", sample_weight, matrix.shape[0], "rows")
        self._check_form(matrix, function)
        keep_zeros = not flag_option("remove_zero_eig", self.remove_zero_eig)
        with self._call() as draw:
            model = _core.fit_kernel(matrix, options, weights, function, keep_zeros, draw)
        self._adopt_fit(model)
        warn_of_spectrum(model)
        return matrix, weights

    def _check_form(self, matrix: Matrix, function: BlockKernel | None) -> None:
        """Check what depends on how the data are stored, and whether a kernel function takes blocks."""
        if sp.issparse(matrix) and (function is not None or self.fit_inverse_transform):
            what = "a kernel function gets" if function is not None else "an inverse transform is learnt from"
            raise ValueError(f"X is sparse, but {what} dense rows; pass X.toarray()")
        if self.kernel == "precomputed" and matrix.shape[0] != matrix.shape[1]:
            raise ValueError(f"X has shape {matrix.shape}, but a precomputed kernel matrix is square")
        if function is not None:
            function.probe(matrix)

    def _engine_options(self) -> dict[str, Any]:
        """Check every option and give those of the engine."""
        for name in ("copy_X", "verbose"):
            flag_option(name, getattr(self, name))
        check_sketch_options(self)
        inverse = flag_option("fit_inverse_transform", self.fit_inverse_transform)
        if inverse and isinstance(self.kernel, str) and self.kernel == "precomputed":
            # scikit-learn's words.
            raise ValueError("Cannot fit_inverse_transform with a precomputed kernel: it holds no rows to be found")
        pre_image = choice_option("pre_image", self.pre_image, PreImage)
        if self.alpha is not None and pre_image == "auto":
            pre_image = "ridge"
        if self.alpha is not None and pre_image == "fixed-point":
            raise ValueError(f"alpha = {self.alpha!r} is for pre_image='ridge'; the fixed point has none")
        return {
            "tol": tol_option(self.tol),
            "seed": seed_option(self.random_state),
            "strict": flag_option("strict", self.strict),
            "max_iter": MAX_ITER if self.max_iter is None else count_option("max_iter", self.max_iter),
            "n_threads": threads_option(self),
            "kernel": kernel_option(self.kernel, self.gamma, self.degree, self.coef0),
            "n_components": optional_count("n_components", self.n_components),
            "solver": route_option(self.solver, self.eigen_solver),
            "landmarks": name_option("landmarks", self.landmarks),
            "n_features": optional_count("n_features", self.n_features),
            "pre_image": pre_image if inverse else None,
            "alpha": 1.0 if self.alpha is None else number_option("alpha", self.alpha),
            "memory_limit": bytes_option("memory_limit", self.memory_limit),
        }
