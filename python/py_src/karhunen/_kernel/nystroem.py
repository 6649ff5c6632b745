"""The Nyström feature map."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from karhunen import _core
from karhunen._inputs.matrix import to_matrix, to_weights
from karhunen._inputs.suspects import tell_suspects
from karhunen._kernel.fitted import FittedKernel
from karhunen._kernel.options import kernel_arguments, kernel_option, threads_option
from karhunen._shared.arrays import FloatArray, Rows
from karhunen._shared.choices import DefiniteKernel, Gamma, Landmarks
from karhunen._shared.options import count_option, seed_option
from karhunen._shared.warning import warn

if TYPE_CHECKING:
    from typing_extensions import Self

#: Parameters of named kernels.
PARAMETERS = ("gamma", "coef0", "degree")


class Nystroem(FittedKernel):
    """Features whose inner products approximate a kernel.

    scikit-learn's `Nystroem` on karhunen's engine: kernel values with landmarks, times the inverse square root of the
    landmarks' kernel matrix. Inner products of landmarks are exact. Unlike :class:`KernelPCA`, nothing is centred. A
    linear model of the features is a kernel method.

    Parameters
    ----------
    kernel : {"linear", "poly", "rbf", "laplacian", "cosine", "chi2"} or callable, default="rbf"
        A positive semi-definite kernel. A callable takes blocks of rows, or two rows, as in :class:`KernelPCA`.
    gamma : float, "scale", "median" or None, default=None
        Coefficient of the kernels "rbf", "laplacian", "poly" and "chi2", as in :class:`KernelPCA`; None is 1 /
        n_features, but 1 for "chi2", as in scikit-learn.
    coef0 : float or None, default=None
        Constant that "poly" adds to inner products; None is 1.
    degree : float or None, default=None
        Exponent of "poly"; None is 3.
    kernel_params : dict or None, default=None
        Keyword arguments of a callable; for a named kernel, values of `gamma`, `coef0` and `degree` that are None.
    n_components : int, default=100
        Number of landmarks, which is the number of features; at most n_samples.
    landmarks : {"uniform", "kmeans++", "leverage"}, default="uniform"
        Selection of the landmarks: uniformly at random, far apart in feature space, or by ridge leverage scores.
    random_state : int, RandomState, Generator or None, default=None
        Seed of all random numbers. None is a fixed seed: every fit gives the same result.
    n_threads : int or None, default=None
        Number of threads; None uses all cores. The bits of the result do not depend on it.
    n_jobs : int or None, default=None
        scikit-learn's name of `n_threads`; -1 uses all cores.

    Attributes
    ----------
    components_ : ndarray or csr_array of shape (n_components, n_features)
        Landmark rows.
    component_indices_ : ndarray of shape (n_components,)
        Indices of the landmarks among the fitted rows, ascending.
    normalization_ : ndarray of shape (n_components, n_components)
        Symmetric inverse square root of the landmarks' kernel matrix, restricted to eigenvalues above 1.5e-8 of the
        largest.
    gamma_ : float or None
        Coefficient used; None for kernels without one.
    n_features_in_ : int
        Number of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns, if `X` had names.

    Notes
    -----
    The command line ``karhunen`` identifies a file of :meth:`save` as a feature map and cannot apply it.

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import Nystroem
    >>> x = np.random.default_rng(0).normal(size=(500, 3))
    >>> z = Nystroem(gamma=0.1, n_components=50).fit_transform(x)
    >>> exact = np.exp(-0.1 * np.square(x[0] - x[1]).sum())
    >>> bool(abs(z[0] @ z[1] - exact) < 1e-3)
    True
    """

    __module__ = "karhunen"
    _kind = _core.NystromMap

    def __init__(
        self,
        kernel: DefiniteKernel | Callable[..., Any] = "rbf",
        *,
        gamma: float | Gamma | None = None,
        coef0: float | None = None,
        degree: float | None = None,
        kernel_params: dict[str, Any] | None = None,
        n_components: int = 100,
        landmarks: Landmarks = "uniform",
        random_state: Any = None,
        n_threads: int | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.n_components = n_components
        self.landmarks = landmarks
        self.random_state = random_state
        self.n_threads = n_threads
        self.n_jobs = n_jobs

    def fit(self, X: Any, y: None = None, sample_weight: Any = None) -> Self:
        """Select landmarks among the rows of `X`.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
            Rows are samples.
        y : None
            Ignored; present for compatibility with pipelines.
        sample_weight : array-like of shape (n_samples,) or None
            Nonnegative weight of each row: rows of positive weight are drawn as landmarks in proportion to it, and the
            rules for `gamma` use it.

        Returns
        -------
        Nystroem
            The fitted estimator.
        """
        options = self._engine_options()
        function = self._function()
        matrix = to_matrix(self, X, reset=True)
        tell_suspects(self, matrix)
        if function is not None:
            if sp.issparse(matrix):
                raise ValueError("X is sparse, but a kernel function gets dense rows; pass X.toarray()")
            function.probe(matrix)
        weights = to_weights("sample_weight", sample_weight, matrix.shape[0], "rows")
        n_rows = matrix.shape[0] if weights is None else np.count_nonzero(weights)
        with self._naming_columns():
            model = _core.fit_nystrom(matrix, options, weights, function)
        self._adopt_fit(model)
        if self.n_components > n_rows:
            what = "rows" if weights is None else "rows of positive weight"
            warn(f"n_components = {self.n_components} is more than the {n_rows} {what}: all are landmarks", UserWarning)
        return self

    def transform(self, X: Any) -> FloatArray:
        """Compute the features of rows.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
            Rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Features, in float32 if `X` is, in float64 otherwise.
        """
        check_is_fitted(self)
        matrix = to_matrix(self, X, reset=False)
        with self._naming_columns():
            return self._model.transform(matrix, n_threads=threads_option(self))

    @staticmethod
    def _arguments(options: dict[str, Any]) -> dict[str, Any]:
        return {
            **kernel_arguments(options["kernel"]),
            "n_components": options["n_landmarks"],
        }

    @property
    def components_(self) -> Rows:
        """Landmark rows, shape (n_components, n_features)."""
        return self._rows("components_", self._fitted("components_").landmarks)

    @property
    def component_indices_(self) -> NDArray[np.int64]:
        """Indices of the landmarks among the fitted rows, shape (n_components,)."""
        return self._fitted("component_indices_").indices

    @property
    def normalization_(self) -> FloatArray:
        """Inverse square root of the landmarks' kernel matrix, shape (n_components, n_components)."""
        return self._array("normalization_", self._fitted("normalization_").normalization)

    @property
    def _n_features_out(self) -> int:
        """Return the number of output features for `get_feature_names_out`."""
        return len(self._model.indices)

    def _engine_options(self) -> dict[str, Any]:
        """Check every option and return the options of the engine."""
        given = {name: getattr(self, name) for name in PARAMETERS}
        if callable(self.kernel) and any(value is not None for value in given.values()):
            # The first words are scikit-learn's.
            raise ValueError(
                "Don't pass gamma, coef0 or degree to Nystroem if the kernel is a function: give it its kernel_params"
            )
        if self.kernel_params is not None and not isinstance(self.kernel_params, dict):
            raise ValueError(f"kernel_params = {self.kernel_params!r} is not allowed: it must be a dict or None")
        if not callable(self.kernel) and self.kernel_params is not None:
            unknown = set(self.kernel_params) - set(PARAMETERS)
            if unknown:
                raise ValueError(f"kernel_params has {sorted(unknown)}, but kernels have {', '.join(PARAMETERS)}")
            given = {name: self.kernel_params.get(name) if value is None else value for name, value in given.items()}
        defaults = {"gamma": 1.0 if self.kernel == "chi2" else None, "coef0": 1, "degree": 3}
        used = {name: defaults[name] if value is None else value for name, value in given.items()}
        return {
            "kernel": kernel_option(self.kernel, used["gamma"], used["degree"], used["coef0"]),
            "n_landmarks": count_option("n_components", self.n_components),
            "landmarks": self.landmarks,
            "seed": seed_option(self.random_state),
            "n_threads": threads_option(self),
        }
