"""Truncated singular value decomposition."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen import _core
from karhunen._inputs.matrix import to_matrix
from karhunen._inputs.suspects import tell_suspects
from karhunen._pca.fitted import FittedAtOnce
from karhunen._pca.options import shared_options
from karhunen._shared.arrays import FloatArray, Matrix
from karhunen._shared.choices import Algorithm, PowerIterationNormalizer, Route
from karhunen._shared.options import (
    check_sketch_options,
    choice_option,
    count_option,
    n_components_of,
    route_option,
)

if TYPE_CHECKING:
    from typing_extensions import Self

#: Equivalent solvers of the engine for scikit-learn's names.
SKLEARN_ALGORITHMS: dict[str, Route] = {"randomized": "block-krylov", "arpack": "block-krylov"}


class TruncatedSVD(FittedAtOnce):
    """Truncated singular value decomposition: principal components without centring.

    scikit-learn's `TruncatedSVD` on karhunen's engine; for word counts it is known as latent semantic analysis.

    Parameters
    ----------
    n_components : int, default=2
        Number of components to keep, from 1 to min(n_samples, n_features).
    algorithm : {"auto", "svd", "covariance", "gram", "block-krylov", "randomized", "arpack"}, default="auto"
        Solver. scikit-learn's "randomized" and "arpack" both select "block-krylov".
    n_iter, n_oversamples, power_iteration_normalizer : int or str
        Settings of scikit-learn's randomized solver, accepted for compatibility and ignored: iteration continues until
        `tol` is reached.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the starting block of block Krylov iteration. None is a fixed seed: every fit gives the same result.
    tol : float or None, default=None
        Block Krylov iteration stops when every residual is below `tol` times the largest squared singular value. None
        and 0 mean 1e-8 for float64 and 1e-6 for float32.
    max_iter : int, default=1000
        Maximum number of passes of block Krylov iteration over the data.
    n_threads : int or None, default=None
        Number of threads; None uses all cores. The bits of the result do not depend on it.
    strict : bool, default=False
        Raise :class:`~karhunen.NotConvergedError` if a component misses the tolerance, instead of warning.
    verbose : bool, default=False
        Show a progress bar (needs tqdm).

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        Right singular vectors. The largest entry of each, by absolute value, is positive.
    explained_variance_ : ndarray of shape (n_components,)
        Variance of the scores about their mean, with divisor n, as scikit-learn computes it.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Share of the sum of the variances of the columns.
    singular_values_ : ndarray of shape (n_components,)
        Singular values of `X`.
    solver_, residuals_, convergence_, n_iter_, n_features_in_, feature_names_in_
        As in :class:`~karhunen.PCA`.

    Notes
    -----
    :meth:`load` refuses files written by :class:`~karhunen.PCA` or by the command line: they lack the variances about
    the mean.

    Examples
    --------
    >>> from scipy.sparse import random
    >>> from karhunen import TruncatedSVD
    >>> x = random(100, 50, density=0.1, random_state=0)
    >>> TruncatedSVD(n_components=3).fit_transform(x).shape
    (100, 3)
    """

    __module__ = "karhunen"

    _views = ("components", "singular_values", "residuals")

    def __init__(
        self,
        n_components: int = 2,
        *,
        algorithm: Algorithm = "auto",
        n_iter: int = 5,
        n_oversamples: int = 10,
        power_iteration_normalizer: PowerIterationNormalizer = "auto",
        random_state: Any = None,
        tol: float | None = None,
        max_iter: int = 1000,
        n_threads: int | None = None,
        strict: bool = False,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.algorithm = algorithm
        self.n_iter = n_iter
        self.n_oversamples = n_oversamples
        self.power_iteration_normalizer = power_iteration_normalizer
        self.random_state = random_state
        self.tol = tol
        self.max_iter = max_iter
        self.n_threads = n_threads
        self.strict = strict
        self.verbose = verbose

    def fit(self, X: Any, y: None = None) -> Self:
        """Fit components to `X`.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features)
            Rows are samples.
        y : None
            Ignored; present for compatibility with pipelines.

        Returns
        -------
        TruncatedSVD
            The fitted estimator.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Any, y: None = None) -> FloatArray:
        """Fit components to `X` and compute the scores of its rows.

        Parameters
        ----------
        X, y
            As in :meth:`fit`.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores, in float32 if `X` is, in float64 otherwise.
        """
        options = self._engine_options()
        matrix = to_matrix(self, X, reset=True)
        tell_suspects(self, matrix)
        most = min(matrix.shape)
        if self.n_components > most:
            raise ValueError(
                f"n_components={self.n_components} must be between 1 and min(n_samples, n_features)={most} for X of "
                f"shape {matrix.shape}; ask for at most {most}, or add rows or columns"
            )
        self._fit_matrix(matrix, options)
        scores = self._scores(matrix)
        self._set_variances(matrix, scores)
        return scores

    def _set_variances(self, matrix: Matrix, scores: FloatArray) -> None:
        """Set the variances of the scores about their mean, as scikit-learn's estimator does."""
        total = _core.column_moments(matrix, self.n_threads)[1].sum()
        variance = np.var(scores, axis=0, dtype=np.float64)
        self._show_variances(variance, variance / total if total > 0 else np.zeros(scores.shape[1]))

    def _show_variances(self, variance: FloatArray, ratio: FloatArray) -> None:
        self.explained_variance_ = self._show(self._model, variance)
        self.explained_variance_ratio_ = self._show(self._model, ratio)

    def _engine_options(self) -> dict[str, Any]:
        """Check every option and return the options of the engine."""
        algorithm = choice_option("algorithm", self.algorithm, Algorithm)
        check_sketch_options(self)
        return {
            **shared_options(self),
            "n_components": {"count": count_option("n_components", self.n_components)},
            "center": False,
            "scale": False,
            # The variance with this divisor is not reported; it is defined even for a single row.
            "weighting": "population",
            "solver": route_option(SKLEARN_ALGORITHMS.get(algorithm, algorithm)),
        }

    @staticmethod
    def _arguments(options: dict[str, Any]) -> dict[str, Any]:
        return {"n_components": n_components_of(options), "algorithm": options["solver"] or "auto"}

    def _model_of_file(self) -> _core.Model:
        variances = (self.explained_variance_, self.explained_variance_ratio_)
        return self._with_parts(dict(zip(("variance_about_mean", "variance_ratio_about_mean"), variances, strict=True)))

    @classmethod
    def _check_file(cls, path: str | os.PathLike[str], model: _core.Model) -> None:
        if model.about_mean is None:
            raise ValueError(
                f"{os.fspath(path)}: the model was not saved by a TruncatedSVD, whose variances are those about the "
                "mean; read it with PCA.load"
            )

    def _adopt_file(self, model: _core.Model, extras: Mapping[str, Any]) -> Self:
        super()._adopt_file(model, extras)
        if model.about_mean is not None:
            self._show_variances(*(np.array(values) for values in model.about_mean))
        return self
