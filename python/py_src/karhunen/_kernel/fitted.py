"""Base classes of fitted kernel estimators: the engine's model behind scikit-learn's attributes."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import scipy.sparse as sp
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from karhunen import _core
from karhunen._inputs.matrix import to_matrix, to_scores
from karhunen._inputs.report import about, write_page
from karhunen._kernel.convergence import KernelConvergence
from karhunen._kernel.function import BlockKernel
from karhunen._kernel.options import POSITIVE_ONLY, block_kernel, function_advice, special_arguments, threads_option
from karhunen._shared.arrays import FloatArray, Matrix, Rows
from karhunen._shared.choices import Kernel, KernelRoute
from karhunen._shared.dtype import in_dtype
from karhunen._shared.fitted_model import FittedModel
from karhunen._shared.summary import Summarised, outcome

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from typing_extensions import Self

Kept = TypeVar("Kept", bound=Rows)


class FittedKernel(FittedModel):
    """Base class of estimators whose model holds a kernel.

    Fitted attributes cannot be assigned: scores depend on several of them jointly.
    """

    kernel: Kernel | Callable[..., Any]
    kernel_params: dict[str, Any] | None
    n_jobs: int | None

    @property
    def gamma_(self) -> float | None:
        """Coefficient of the kernel, if it has one."""
        return self._fitted("gamma_").gamma

    def _fitted(self, attribute: str) -> Any:
        """Return the engine's model for an attribute, or raise AttributeError before the fit."""
        if "_model" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {attribute!r} before it is fitted")
        return self._model

    def _array(self, attribute: str, values: Kept) -> Kept:
        """Convert an array of the engine to the dtype of the data; copies are made once."""
        if self._model.dtype == "f64":
            return values
        if attribute not in self._copies:
            self._copies[attribute] = in_dtype(self._model.dtype, values, threads_option(self))
        return self._copies[attribute]

    def _rows(self, attribute: str, rows: FloatArray | tuple[FloatArray, ...]) -> Rows:
        """Convert stored rows, dense or as (data, indices, pointers), to an array."""
        if isinstance(rows, tuple):
            rows = sp.csr_array(rows, shape=(len(rows[2]) - 1, self._model.n_features))
        return self._array(attribute, rows)

    def _function(self) -> BlockKernel | None:
        """Return the kernel function with its arguments, if the kernel is a function."""
        return block_kernel(self.kernel, self.kernel_params) if callable(self.kernel) else None

    def _adopt(self, model: Any) -> Self:
        self._copies: dict[str, Any] = {}
        self.n_features_in_ = model.n_features
        return super()._adopt(model)

    def _not_pickled(self) -> tuple[str, ...]:
        return ("_copies",)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        kernel: Callable[..., Any] | None = None,
        kernel_params: dict[str, Any] | None = None,
    ) -> Self:
        """Read a model that :meth:`save` or the command line wrote.

        Parameters
        ----------
        path : path-like
            File to read.
        kernel : callable or None
            Kernel function of a model that was fitted with one, since files do not hold it.
        kernel_params : dict or None
            Keyword arguments of the kernel function.

        Returns
        -------
        estimator
            Fitted estimator, with the options of the fit.

        Raises
        ------
        OSError, ValueError
            If the file cannot be read or holds another kind of model; if `kernel` is missing for a model that needs
            it, or is given for one that does not.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from karhunen import KernelPCA
        >>> path = pathlib.Path(tempfile.mkdtemp(), "curve.model")
        >>> KernelPCA(1, kernel="rbf", gamma="median").fit([[0.0, 0.0], [1.0, 1.0], [2.0, 4.0]]).save(path)
        >>> KernelPCA.load(path).n_components_
        1
        """
        function = None if kernel is None else block_kernel(kernel, kernel_params)
        model, extras, options = _core.load(cls._kind, path, function)
        arguments = cls._stored(options)
        if (arguments["kernel"] == "custom") != (kernel is not None):
            raise ValueError(f"{os.fspath(path)}: the kernel of the model is {function_advice(kernel)}")
        if kernel is not None:
            arguments.update(kernel=kernel, kernel_params=kernel_params)
        return cls(**arguments)._adopt_file(model, extras)

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags for the accepted input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not callable(self.kernel)
        tags.input_tags.positive_only = self.kernel in POSITIVE_ONLY
        return tags


class FittedKernelPCA(Summarised, FittedKernel):
    """Base class of fitted kernel PCA."""

    _kind = _core.KernelModel
    _arguments = staticmethod(special_arguments)

    fit_inverse_transform: bool
    n_components_: int
    n_samples_: int
    solver_: KernelRoute
    convergence_: KernelConvergence
    n_iter_: int

    def _outcome(self) -> str:
        share = float(self.explained_variance_ratio_.sum())
        return outcome((self.n_samples_, self.n_features_in_), self.n_components_, share)

    def _names_of_features(self) -> None:
        return None

    @property
    def eigenvalues_(self) -> FloatArray:
        """Eigenvalues of the kernel matrix, shape (n_components,)."""
        return self._array("eigenvalues_", self._fitted("eigenvalues_").eigenvalues)

    @property
    def eigenvectors_(self) -> FloatArray:
        """Eigenvectors of the kernel matrix, shape (n_samples, n_components)."""
        model = self._fitted("eigenvectors_")
        if model.approximation is not None:
            raise AttributeError(f"the solver {model.solver} keeps no eigenvectors: nothing that grows with n_samples")
        return self._array("eigenvectors_", model.eigenvectors)

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """Share of the sum of all positive eigenvalues, shape (n_components,).

        NaN where that sum is unknown: the solvers "stored" and "tiles" with a kernel that may have negative
        eigenvalues.
        """
        ratio = self._fitted("explained_variance_ratio_").explained_variance_ratio
        return self._array("explained_variance_ratio_", ratio)

    @property
    def residuals_(self) -> FloatArray:
        """Residual of each component relative to the largest eigenvalue, shape (n_components,)."""
        return self._array("residuals_", self._fitted("residuals_").residuals)

    @property
    def X_fit_(self) -> Rows:
        """Fitted rows, shape (n_samples, n_features), for the exact solvers."""
        model = self._fitted("X_fit_")
        if model.rows is None or model.approximation is not None:
            raise AttributeError("the rows fitted are not kept: the kernel is precomputed, or approximated")
        return self._rows("X_fit_", model.rows)

    @property
    def landmarks_(self) -> Rows:
        """Landmark rows, shape (n_landmarks, n_features), for the solver "nystrom"."""
        model = self._fitted("landmarks_")
        if model.solver != "nystrom":
            raise AttributeError(f"the solver {model.solver} has no landmarks")
        return self._rows("landmarks_", model.rows)

    @property
    def X_transformed_fit_(self) -> FloatArray:
        """Scores of the fitted rows in the kernel ridge regression, shape (n_samples, n_components)."""
        return self._array("X_transformed_fit_", self._ridge("X_transformed_fit_")[0])

    @property
    def dual_coef_(self) -> FloatArray:
        """Coefficients of kernel ridge regression, shape (n_samples, n_features)."""
        return self._array("dual_coef_", self._ridge("dual_coef_")[1])

    def _ridge(self, attribute: str) -> tuple[FloatArray, FloatArray]:
        ridge = self._fitted(attribute).ridge
        if ridge is None:
            raise AttributeError("there is no ridge regression: fit_inverse_transform is off, or not by ridge")
        return ridge

    @property
    def _n_features_out(self) -> int:
        """Return the number of output features for `get_feature_names_out`."""
        return self._model.n_components

    def transform(self, X: Any) -> FloatArray:
        """Compute the scores of rows in blocks, without the matrix of all new and all fitted rows.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
            New rows. For `kernel="precomputed"`, kernel values between new and fitted rows.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores, in float32 if `X` is, in float64 otherwise.
        """
        check_is_fitted(self)
        return self._scores(to_matrix(self, X, reset=False))

    def report(self, path: str | os.PathLike[str], X: Any = None, *, title: str | None = None) -> Path:
        """Write a page that shows the model, and rows if they are given: one HTML file that opens without a network.

        It says in sentences what was fitted and how exact it is, and shows eigenvalues and scores in pictures and
        tables that are linked.

        Parameters
        ----------
        path : path-like
            File to write; an existing file is replaced when the new one is complete.
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), default=None
            Rows to show, as in :meth:`transform`. Of more than 10,000 the page holds some at equal distances.
        title : str or None, default=None
            Title of the page; None is a general one.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        ValueError
            If `X` does not fit the model.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from karhunen import KernelPCA
        >>> from sklearn.datasets import load_iris
        >>> x = load_iris(as_frame=True).data
        >>> path = KernelPCA(3, kernel="rbf").fit(x).report(pathlib.Path(tempfile.mkdtemp(), "iris.html"), x)
        >>> path.read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        check_is_fitted(self)
        texts = about(self, X, None, title)
        rows = None if X is None else to_matrix(self, X, reset=False)
        return write_page(self, path, rows, texts)

    def inverse_transform(self, X: Any) -> FloatArray:
        """Map scores to rows by the method `pre_image`.

        There is no exact inverse: most points of the feature space are not images of rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Scores.

        Returns
        -------
        ndarray of shape (n_samples, n_features)
            Rows in the units of the data, in float32 if `X` is, in float64 otherwise.
        """
        check_is_fitted(self)
        if not self._model.has_pre_image:
            raise NotFittedError(
                "there is no inverse transform: fit with fit_inverse_transform=True to find rows from scores"
            )
        scores = to_scores(self, X)
        with self._call() as draw:
            return self._model.inverse_transform(scores, n_threads=threads_option(self), on_progress=draw)

    def _scores(self, matrix: Matrix) -> FloatArray:
        """Compute the scores of rows that have been checked."""
        with self._call() as draw:
            return self._model.transform(matrix, n_threads=threads_option(self), on_progress=draw)

    def _adopt(self, model: _core.KernelModel) -> Self:
        self.solver_ = cast(KernelRoute, model.solver)
        self.convergence_ = KernelConvergence.of(model)
        self.n_iter_ = model.n_passes
        self.n_components_ = model.n_components
        self.n_samples_ = model.n_samples
        return super()._adopt(model)

    def __sklearn_tags__(self) -> Tags:
        """Return scikit-learn's tags for the accepted input."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = tags.input_tags.sparse and not self.fit_inverse_transform
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags
