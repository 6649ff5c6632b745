"""Base classes of fitted components: the engine's model behind scikit-learn's attributes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from karhunen import _core
from karhunen._inputs.files import Source, set_columns, to_rows
from karhunen._inputs.matrix import to_part_weights, to_scores
from karhunen._inputs.report import about, write_page
from karhunen._shared.arrays import FloatArray, Matrix
from karhunen._shared.checkpoints import PassLog
from karhunen._shared.choices import Route
from karhunen._shared.convergence import Convergence, warn_unless_converged
from karhunen._shared.dtype import in_dtype
from karhunen._shared.fitted_model import FittedModel, ViewedModel
from karhunen._shared.standardization import in_order_of_names
from karhunen._shared.summary import Summarised, outcome

if TYPE_CHECKING:
    from typing_extensions import Self


class FittedComponents(Summarised, FittedModel):
    """Base class of estimators that map rows to scores and scores to rows."""

    def transform(self, X: Any) -> FloatArray:
        """Compute the scores of rows.

        Parameters
        ----------
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), or path
            New rows, or the files that hold them. The time for sparse rows is proportional to their stored entries.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Scores, in float32 if `X` is, in float64 otherwise.
        """
        check_is_fitted(self)
        return self._scores(to_rows(self, X, reset=False))

    def inverse_transform(self, X: Any) -> FloatArray:
        """Map scores to rows: exactly if all components are kept, otherwise as the best approximation.

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

    def report(
        self,
        path: str | os.PathLike[str],
        X: Any = None,
        *,
        sample_weight: Any = None,
        level: float | None = None,
        title: str | None = None,
    ) -> Path:
        """Write a page that shows the model, and rows if they are given: one HTML file that opens without a network.

        It says in sentences what was fitted, how exact it is, how many components the rules of
        :mod:`karhunen.selection` suggest, what each component is about and which rows are odd, with pictures and tables
        that are linked.

        Parameters
        ----------
        path : path-like
            File to write; an existing file is replaced when the new one is complete.
        X : array-like, sparse matrix or dataframe of shape (n_samples, n_features), path or None, default=None
            Rows to show. They count as the fitted rows if there are as many, and their scores have the variances of the
            fit. Of more than 10,000 the page holds those beyond a limit, and others at equal distances.
        sample_weight : array-like of shape (n_samples,) or None, default=None
            Weights of the rows, as in the fit. Rows count as the rows of a weighted fit only with its weights.
        level : float or None, default=None
            Share of normal rows within each limit; None is 0.95.
        title : str or None, default=None
            Title of the page; None is a general one.

        Returns
        -------
        pathlib.Path
            The file.

        Raises
        ------
        ValueError
            If `level` is not a probability, or `X` or the weights do not fit the model.
        OSError
            If the file cannot be written.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from karhunen import PCA
        >>> from sklearn.datasets import load_wine
        >>> wine = load_wine(as_frame=True).data
        >>> path = PCA(3, scale=True).fit(wine).report(pathlib.Path(tempfile.mkdtemp(), "wine.html"), wine)
        >>> path.read_text(encoding="utf-8")[:15]
        '<!doctype html>'
        """
        check_is_fitted(self)
        texts = about(self, X, level, title)
        rows = None if X is None else to_rows(self, X, reset=False)
        return write_page(self, path, rows, texts, sample_weight=sample_weight)

    def _whitened(self) -> bool:
        """Return whether scores have unit variance."""
        return False

    def _scores(self, matrix: Matrix | Source) -> FloatArray:
        """Compute the scores of rows that have been checked."""
        model = self._model_now()
        with self._call() as draw:
            return model.transform(matrix, whiten=self._whitened(), n_threads=self.n_threads, on_progress=draw)


class FittedAtOnce(FittedComponents, ViewedModel):
    """Base class of estimators that fit all rows in one call."""

    explained_variance_: FloatArray
    explained_variance_ratio_: FloatArray
    singular_values_: FloatArray
    residuals_: FloatArray
    solver_: Route
    convergence_: Convergence
    n_iter_: int

    _kind = _core.Model

    def _outcome(self) -> str:
        model = self._model
        shape = model.n_samples, len(model.mean)
        return outcome(shape, len(model.explained_variance), float(model.explained_variance_ratio.sum()))

    def _fit_matrix(
        self,
        matrix: Matrix | Source,
        options: dict[str, Any],
        samples: NDArray[np.float64] | None = None,
        features: NDArray[np.float64] | None = None,
        log: PassLog | None = None,
        device: list[str] | None = None,
    ) -> None:
        """Fit to a matrix and weights that have been checked, on a GPU if `device` holds folders of libraries."""
        with self._call() as draw:
            model = _core.fit(matrix, options, samples, features, draw, log, device)
        self._adopt_found(model)
        self._keep_columns_of_file(matrix)

    def _begin_in_parts(
        self, feature_weight: Any, log: PassLog | None, columns: Sequence[str] | None
    ) -> _core.ClusterFit:
        """Begin a fit to rows in parts, whose columns have these names."""
        options = in_order_of_names(self, cast(Any, self)._engine_options(), columns)
        return _core.ClusterFit(options, to_part_weights(feature_weight), log)

    def _adopt_in_parts(self, model: _core.Model, names: Sequence[str] | None) -> None:
        """Take the model of a fit to rows in parts, and the names of their columns."""
        set_columns(self, model.components.shape[1], names)
        self._adopt_found(model)

    def _adopt_found(self, model: _core.Model) -> None:
        """Take the model of a fit, and warn of components that missed the tolerance."""
        self._adopt_fit(model)
        warn_unless_converged(model, "the data", model.advice)

    def _show(self, model: _core.Model, value: Any) -> Any:
        return in_dtype(model.dtype, value, self.n_threads) if isinstance(value, np.ndarray) else value

    def _adopt(self, model: _core.Model) -> Self:
        super()._adopt(model)
        self.solver_ = cast(Route, model.solver)
        self.convergence_ = Convergence.of(model)
        self.n_iter_ = model.n_passes
        return self
