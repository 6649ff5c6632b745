"""What estimators share once they are fitted: the engine's model behind scikit-learn's attributes."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from karhunen import _core
from karhunen._inputs.matrix import name_column, to_matrix, to_scores
from karhunen._pca.convergence import Convergence, warn_unless_converged
from karhunen._shared.dtype import in_dtype
from karhunen._shared.progress import progress
from karhunen._shared.viewed_model import ViewedModel

if TYPE_CHECKING:
    import os

    from typing_extensions import Self

#: Fitted attributes that show the engine's memory, and what they are called there.
VIEWS = {
    "components_": "components",
    "explained_variance_": "explained_variance",
    "explained_variance_ratio_": "explained_variance_ratio",
    "singular_values_": "singular_values",
    "mean_": "mean",
    "scale_": "scale",
    "noise_variance_": "noise_variance",
    "residuals_": "residuals",
}


class FittedComponents(ViewedModel):
    """Scores of rows, and rows from scores."""

    _views = VIEWS
    #: Columns beside the features in the file that the command line fitted to, as its model files remember them.
    _columns_of_file: Mapping[str, Any] = MappingProxyType({"set_aside": (), "id_column": None})

    def transform(self, X: Any) -> np.ndarray:
        """Compute the scores of rows.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
            New rows. Sparse rows take time proportional to their stored entries.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores, in float32 if `X` is, in float64 otherwise.
        """
        check_is_fitted(self)
        return self._scores(to_matrix(self, X, reset=False))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Compute rows from scores: the inverse where all components are kept, the best approximation otherwise.

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
        scores = to_scores(self, X)
        return self._model_now().inverse_transform(scores, whiten=self._whitened(), n_threads=self.n_threads)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model as a file that the command line ``karhunen`` reads.

        Parameters
        ----------
        path : path-like
            Where to; a safetensors file, whatever it is called. It holds the options of the fit, but none of calls
            on the fitted model: `whiten`, `n_threads`, `verbose`.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from karhunen import PCA
        >>> path = pathlib.Path(tempfile.mkdtemp(), "line.model")
        >>> PCA(n_components=1).fit([[0.0, 0.0], [1.0, 1.0]]).save(path)
        >>> PCA.load(path).mean_
        array([0.5, 0.5])
        """
        check_is_fitted(self)
        names = getattr(self, "feature_names_in_", None)
        beside = {"feature_names": None if names is None else names.tolist(), "about_mean": self._about_mean()}
        _core.save(path, self._model_now(), {**beside, **self._columns_of_file})

    def _about_mean(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Give variances of the scores about their mean that differ from the model's own, and their shares."""
        return None

    def _adopt_file(self, model: _core.Model, beside: Mapping[str, Any]) -> Self:
        """Be fitted as a model file says."""
        if beside["feature_names"] is not None:
            self.feature_names_in_ = np.asarray(beside["feature_names"], dtype=object)
        self.n_features_in_ = len(model.mean)
        self._columns_of_file = {name: beside[name] for name in ("set_aside", "id_column")}
        return self._adopt(model)

    def _whitened(self) -> bool:
        """Tell whether scores have unit variance."""
        return False

    def _fit_matrix(
        self,
        matrix: np.ndarray | sp.csr_array | sp.csc_array,
        options: dict[str, Any],
        samples: np.ndarray | None = None,
        features: np.ndarray | None = None,
    ) -> None:
        """Fit to a matrix and weights that were checked."""
        try:
            with progress(self.verbose, type(self).__name__) as draw:
                model = _core.fit(matrix, options, samples, features, draw)
        except ValueError as error:
            raise name_column(error, getattr(self, "feature_names_in_", None)) from None
        vars(self).pop("_columns_of_file", None)
        self._adopt(model)
        warn_unless_converged(model)

    def _scores(self, matrix: np.ndarray | sp.csr_array | sp.csc_array) -> np.ndarray:
        """Compute the scores of rows that were checked."""
        model = self._model_now()
        try:
            with progress(self.verbose, type(self).__name__) as draw:
                return model.transform(matrix, whiten=self._whitened(), n_threads=self.n_threads, on_progress=draw)
        except ValueError as error:
            raise name_column(error, getattr(self, "feature_names_in_", None)) from None

    def _show(self, model: _core.Model, value: Any) -> Any:
        return in_dtype(model.dtype, value) if isinstance(value, np.ndarray) else value

    def _adopt(self, model: _core.Model) -> Self:
        super()._adopt(model)
        self.solver_ = model.solver
        self.convergence_ = Convergence.of(model)
        self.n_iter_ = model.n_passes
        return self
