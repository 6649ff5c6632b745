"""Fitted kernel principal components: the engine's model behind scikit-learn's attributes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from karhunen import _core
from karhunen._inputs.matrix import name_column, to_matrix, to_scores
from karhunen._kernel.convergence import KernelConvergence
from karhunen._kernel.options import POSITIVE_ONLY, block_kernel, threads_option
from karhunen._shared.dtype import in_dtype
from karhunen._shared.progress import progress

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    from sklearn.utils import Tags
    from typing_extensions import Self


class FittedKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Scores of rows, rows from scores, and what was fitted.

    Attributes that the model is made of cannot be assigned: scores depend on several of them at once.
    """

    kernel: str | Callable[..., Any]
    kernel_params: dict[str, Any] | None
    fit_inverse_transform: bool
    verbose: bool
    #: Columns beside the features in the file that the command line fitted to, as its model files remember them.
    _columns_of_file: Mapping[str, Any] = MappingProxyType({"set_aside": (), "id_column": None})

    @property
    def eigenvalues_(self) -> np.ndarray:
        """Eigenvalues of the centred kernel matrix, shape (n_components,)."""
        return self._array("eigenvalues_", self._fitted("eigenvalues_").eigenvalues)

    @property
    def eigenvectors_(self) -> np.ndarray:
        """Eigenvectors of the centred kernel matrix, shape (n_samples, n_components)."""
        model = self._fitted("eigenvectors_")
        if model.approximation is not None:
            raise AttributeError(f"the solver {model.solver} keeps no eigenvectors: nothing that grows with n_samples")
        return self._array("eigenvectors_", model.eigenvectors)

    @property
    def explained_variance_ratio_(self) -> np.ndarray:
        """Share of the sum of all eigenvalues, shape (n_components,)."""
        ratio = self._fitted("explained_variance_ratio_").explained_variance_ratio
        return self._array("explained_variance_ratio_", ratio)

    @property
    def residuals_(self) -> np.ndarray:
        """Residual of each component relative to the largest eigenvalue, shape (n_components,)."""
        return self._array("residuals_", self._fitted("residuals_").residuals)

    @property
    def gamma_(self) -> float | None:
        """The coefficient of the kernel, if it has one."""
        return self._fitted("gamma_").gamma

    @property
    def X_fit_(self) -> np.ndarray | sp.csr_array:
        """The rows fitted, shape (n_samples, n_features), on the exact routes."""
        model = self._fitted("X_fit_")
        if model.rows is None or model.approximation is not None:
            raise AttributeError("the rows fitted are not kept: the kernel is precomputed, or approximated")
        return self._array("X_fit_", stored_rows(model.rows, model.n_features))

    @property
    def landmarks_(self) -> np.ndarray | sp.csr_array:
        """The rows that stand for all others, shape (n_landmarks, n_features), of the solver "nystrom"."""
        model = self._fitted("landmarks_")
        if model.solver != "nystrom":
            raise AttributeError(f"the solver {model.solver} has no landmarks")
        return self._array("landmarks_", stored_rows(model.rows, model.n_features))

    @property
    def X_transformed_fit_(self) -> np.ndarray:
        """Scores that rows are found from by kernel ridge regression, shape (n_samples, n_components)."""
        return self._array("X_transformed_fit_", self._ridge("X_transformed_fit_")[0])

    @property
    def dual_coef_(self) -> np.ndarray:
        """Coefficients of kernel ridge regression, shape (n_samples, n_features)."""
        return self._array("dual_coef_", self._ridge("dual_coef_")[1])

    def _fitted(self, attribute: str) -> _core.KernelModel:
        """Give the engine's model for an attribute, which an estimator that is not fitted lacks."""
        if "_model" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no attribute {attribute!r} before it is fitted")
        return self._model

    def _array(self, attribute: str, values: np.ndarray | sp.csr_array) -> np.ndarray | sp.csr_array:
        """Give an array of the engine in the type of the data; what is copied for that is copied once."""
        if self._model.dtype == "f64":
            return values
        if attribute not in self._copies:
            self._copies[attribute] = in_dtype(self._model.dtype, values)
        return self._copies[attribute]

    def _ridge(self, attribute: str) -> tuple[np.ndarray, np.ndarray]:
        ridge = self._fitted(attribute).ridge
        if ridge is None:
            raise AttributeError("there is no ridge regression: fit_inverse_transform is off, or not by ridge")
        return ridge

    @property
    def _n_features_out(self) -> int:
        """Tell `get_feature_names_out` how many there are."""
        return self._model.n_components

    def transform(self, X: Any) -> np.ndarray:
        """Compute the scores of rows, in blocks: no matrix of all new rows and all fitted ones is held.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
            New rows. For `kernel="precomputed"`, kernel values of new rows with those fitted.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores, in float32 if `X` is, in float64 otherwise.
        """
        check_is_fitted(self)
        return self._scores(to_matrix(self, X, reset=False))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Find rows from scores, by the option `pre_image`.

        There is no exact inverse: most points of feature space are the image of no row.

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
        with progress(self.verbose, type(self).__name__) as draw:
            return self._model.inverse_transform(scores, n_threads=threads_option(self), on_progress=draw)

    def _scores(self, matrix: np.ndarray | sp.csr_array | sp.csc_array) -> np.ndarray:
        """Compute the scores of rows that were checked."""
        try:
            with progress(self.verbose, type(self).__name__) as draw:
                return self._model.transform(matrix, n_threads=threads_option(self), on_progress=draw)
        except ValueError as error:
            raise name_column(error, getattr(self, "feature_names_in_", None)) from error.__cause__

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as a file that the command line ``karhunen`` reads.

        Parameters
        ----------
        path : path-like
            Where to; a safetensors file, whatever it is called. It holds the options of the fit, but none of calls
            on the fitted model (`n_threads`, `verbose`), and no kernel function.
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        beside = {"feature_names": None if names is None else names.tolist()}
        _core.save_kernel(path, self._model, {**beside, **self._columns_of_file})

    def _adopt_file(self, model: _core.KernelModel, beside: Mapping[str, Any]) -> Self:
        """Be fitted as a model file says."""
        if beside["feature_names"] is not None:
            self.feature_names_in_ = np.asarray(beside["feature_names"], dtype=object)
        self.n_features_in_ = model.n_features
        self._columns_of_file = {name: beside[name] for name in ("set_aside", "id_column")}
        return self._adopt(model)

    def _adopt(self, model: _core.KernelModel) -> Self:
        """Show how a model was fitted."""
        self._model = model
        self._copies: dict[str, Any] = {}
        self.solver_ = model.solver
        self.convergence_ = KernelConvergence.of(model)
        self.n_iter_ = model.n_passes
        self.n_components_ = model.n_components
        self.n_samples_ = model.n_samples
        return self

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether there is a model."""
        return "_model" in vars(self)

    def __getstate__(self) -> dict[str, Any]:
        """Give what a pickle keeps: the model as plain values."""
        state = dict(super().__getstate__())
        if "_model" in state:
            state["_state"] = _core.to_kernel_state(state.pop("_model"))
            del state["_copies"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take what a pickle kept."""
        state = dict(state)
        values = state.pop("_state", None)
        super().__setstate__(state)
        if values is not None:
            self._adopt(_core.from_kernel_state(values, block_kernel(self.kernel, self.kernel_params)))

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn what is accepted."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = not callable(self.kernel) and not self.fit_inverse_transform
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel in POSITIVE_ONLY
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def stored_rows(rows: np.ndarray | tuple[np.ndarray, ...], n_features: int) -> np.ndarray | sp.csr_array:
    """Give rows that the engine keeps as an array, or as data, indices and pointers."""
    if not isinstance(rows, tuple):
        return rows
    return sp.csr_array(rows, shape=(len(rows[2]) - 1, n_features))
