"""Base class of fitted PCA: components with a mean, scales, and a Gaussian density."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import check_is_fitted

from karhunen._inputs.files import to_rows
from karhunen._inputs.matrix import mean_of, to_weights
from karhunen._pca.fitted import FittedComponents
from karhunen._shared.arrays import FloatArray
from karhunen._shared.dtype import in_dtype
from karhunen._shared.options import flag_option


class GaussianComponents(FittedComponents):
    """Base class of estimators of the Gaussian model of Tipping & Bishop (1999)."""

    whiten: bool

    def _whitened(self) -> bool:
        return flag_option("whiten", self.whiten)

    @property
    def loadings_(self) -> FloatArray:
        """Components times the square root of their variance, shape (n_features, n_components)."""
        check_is_fitted(self)
        model = self._model_now()
        return in_dtype(model.dtype, model.loadings(), self.n_threads)

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
        return mean_of(likelihoods, "sample_weight", weights)

    def get_covariance(self) -> FloatArray:
        """Compute the covariance of the features under the model, in their own units.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            Variances of the kept components along their axes, `noise_variance_` in all other directions.
        """
        check_is_fitted(self)
        model = self._model_now()
        return in_dtype(model.dtype, model.covariance(), self.n_threads)

    def get_precision(self) -> FloatArray:
        """Compute the inverse of the covariance without inverting a matrix.

        Returns
        -------
        ndarray of shape (n_features, n_features)
            The inverse of :meth:`get_covariance`.
        """
        check_is_fitted(self)
        model = self._model_now()
        return in_dtype(model.dtype, model.precision(), self.n_threads)
