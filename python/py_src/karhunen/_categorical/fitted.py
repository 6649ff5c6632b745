"""What MCA and FAMD share: the engine's model of a table of categories behind scikit-learn's attributes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from karhunen import PCA, _core
from karhunen._categorical.encoding import Column, EngineColumn, columns_of
from karhunen._inputs import tables
from karhunen._inputs.matrix import tell_counts, to_weights
from karhunen._shared.arrays import FloatArray
from karhunen._shared.choices import Solver, Weighting
from karhunen._shared.convergence import warn_unless_converged
from karhunen._shared.earlier_pickles import refuse_without_model
from karhunen._shared.fitted_model import FittedModel
from karhunen._shared.options import (
    bytes_option,
    choice_option,
    engine_arguments,
    flag_option,
    n_components_of,
    n_components_option,
    optional_count,
    route_option,
    seed_option,
    tol_option,
)
from karhunen._shared.summary import outcome
from karhunen._shared.warning import warn

if TYPE_CHECKING:
    import os

    from sklearn.utils import Tags
    from typing_extensions import Self

#: Arguments that are not options of the engine.
_OTHERS = frozenset(("random_state", "verbose", "handle_unknown"))

#: What is done with rows of a category that no row of the fit had.
Unknown = Literal["error", "ignore"]


class Categorical(FittedModel):
    """Base class of PCA of indicators of categories."""

    pca_: PCA
    explained_variance_: FloatArray
    explained_variance_ratio_: FloatArray
    categories_: dict[str, list[Any]]
    category_names_: NDArray[np.object_]
    category_shares_: FloatArray
    category_coordinates_: FloatArray
    category_contributions_: FloatArray
    category_cos2_: FloatArray
    category_v_tests_: FloatArray
    variable_eta2_: FloatArray
    n_components_: int

    _kind = _core.CategoricalModel
    #: The engine's name of the analysis.
    _analysis: Literal["mca", "famd"]
    #: True if the columns of the fit had names of their own.
    _has_names: bool

    def __init__(
        self,
        n_components: int | float | str | None = None,
        *,
        weighting: Weighting = "frequency",
        handle_unknown: Unknown = "error",
        solver: Solver = "auto",
        tol: float | None = None,
        max_iter: int = 1000,
        random_state: Any = None,
        n_threads: int | None = None,
        strict: bool = False,
        memory_limit: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.weighting = weighting
        self.handle_unknown = handle_unknown
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.n_threads = n_threads
        self.strict = strict
        self.memory_limit = memory_limit
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit to the rows of a table.

        Parameters
        ----------
        X : dataframe of any library, query, stream, or array-like of shape (n_samples, n_features)
            Table.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,) or None
            Weights of the rows: numbers of respondents, or survey weights. The result is the same as with repeated
            rows.

        Returns
        -------
        Self
            The fitted estimator.

        Raises
        ------
        ValueError
            If values are not of the kind that is analysed, or the rows have no variance.
        NotConvergedError
            If `strict` and a component misses the tolerance.
        """
        options = self._engine_options()
        columns, has_names = columns_of(X)
        n = len(columns[0].values)
        weights = to_weights("sample_weight", sample_weight, n, "rows")
        if weights is not None and not (np.isfinite(weights).all() and (weights >= 0).all() and weights.any()):
            raise ValueError("sample_weight must be finite and at least 0, and positive for some row")
        tell_counts(self.weighting, weights)
        categories: dict[str, list[Any]] = {}
        given: list[EngineColumn] = []
        for column in columns:
            numbers = self._numbers_in(column)
            if numbers is not None:
                given.append((column.name, numbers, None))
            else:
                categories[column.name] = column.categories()
                given.append(column.of_categories(categories[column.name]))
        with self._call() as draw:
            model = _core.fit_categorical(given, options, weights, draw)
        self._adopt_fit(model)
        self._has_names = has_names
        self.categories_ = {
            name: [*categories[name], texts[-1]] if has_missing else categories[name]
            for name, texts, has_missing in model.variables
            if texts is not None
        }
        self._warn_of_doubts()
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to the rows of a table, and return their coordinates. Parameters are as in :meth:`fit`."""
        X = tables.as_table(X)
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X: Any) -> FloatArray:
        """Compute the principal coordinates of rows, of the fit or supplementary.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the columns of the fit; by place, if the columns of the fit had no names. A value belongs to the
            category that it equals, or whose name in `category_names_` it reads as.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Principal coordinates, whose weighted variances are `explained_variance_`.

        Raises
        ------
        ValueError
            If the columns differ from the fitted columns, or a row has a category that no row of the fit had, unless
            `handle_unknown` is "ignore".
        """
        given = self._columns_like_fit(X)
        with self._call() as draw:
            return self._model.transform(given, self._ignores(), self.n_threads, draw)

    def row_contributions(self, X: Any, sample_weight: Any = None) -> FloatArray:
        """Compute the share of each row of the fit in the variance of each component.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            The rows of the fit.
        sample_weight : array-like of shape (n_samples,) or None
            Their weights in the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Shares, which sum to one for each component over the rows of the fit with its weights.
        """
        given = self._columns_like_fit(X)
        weights = to_weights("sample_weight", sample_weight, len(given[0][1]), "rows")
        with self._call() as draw:
            return self._model.row_contributions(given, weights, self.n_threads, draw)

    def row_cos2(self, X: Any) -> FloatArray:
        """Compute the share of the squared distance of each row from the mean along each component.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Squared cosines; NaN for a row at the mean.
        """
        given = self._columns_like_fit(X)
        with self._call() as draw:
            return self._model.row_cos2(given, self._ignores(), self.n_threads, draw)

    def to_frame(self) -> Any:
        """Return one row for each category: coordinates, contributions, squared cosines and v-tests, as a DataFrame."""
        check_is_fitted(self)
        pandas = import_module("pandas")
        data = {"share": self.category_shares_}
        labels = {"coordinates": "coordinate", "contributions": "contribution", "cos2": "cos2", "v_tests": "v_test"}
        for name, label in labels.items():
            values = getattr(self, f"category_{name}_")
            data |= {f"{label}_{k + 1}": values[:, k] for k in range(values.shape[1])}
        return pandas.DataFrame(data, index=self.category_names_)

    def _numbers_in(self, column: Column) -> FloatArray | None:
        """Return the numbers of a column of a fit; None if it holds categories."""
        return None

    def _ignores(self) -> bool:
        """Return whether rows may have categories that no row of the fit had."""
        return choice_option("handle_unknown", self.handle_unknown, Unknown) == "ignore"

    def _columns_like_fit(self, X: Any) -> list[EngineColumn]:
        """Return the columns of rows of the fit, or of others."""
        check_is_fitted(self)
        columns, _ = columns_of(X)
        variables = self._model.variables
        if not self._has_names and len(columns) == len(variables):
            columns = [replace(column, name=name) for column, (name, *_) in zip(columns, variables, strict=True)]
        kinds = {name: (texts, has_missing) for name, texts, has_missing in variables}
        given = []
        for column in columns:
            # The engine refuses columns of another name.
            texts, has_missing = kinds.get(column.name, ([], False))
            if texts is None:
                given.append(column.of_numbers())
                continue
            categories = self.categories_.get(column.name, [])
            # A text that reads like the category of missing values is another category.
            given.append(column.of_categories(categories[:-1] if has_missing else categories))
        return given

    def _warn_of_doubts(self) -> None:
        """Warn of a fit whose results are in doubt."""
        pca = self.pca_._model
        if not self._model.has_v_tests:
            # Weights of other meanings count as fewer than two rows only if one row holds nearly all.
            counted = self.weighting == "frequency"
            found = f"count as {pca.sum_of_weights:g}" if counted else "count as fewer"
            advice = '; give numbers of respondents, or weighting="importance"' if counted else ""
            warn(f"v-tests need two observations, and the weights {found}{advice}", UserWarning)
        warn_unless_converged(pca, "the data", pca.advice)

    def _engine_options(self) -> dict[str, Any]:
        """Check every option and return the options of the engine."""
        flag_option("verbose", self.verbose)
        self._ignores()
        return {
            **engine_arguments(self, _OTHERS),
            "analysis": self._analysis,
            "n_components": n_components_option(self.n_components),
            "weighting": choice_option("weighting", self.weighting, Weighting),
            "solver": route_option(self.solver),
            "tol": tol_option(self.tol),
            "memory_limit": bytes_option("memory_limit", self.memory_limit),
            "seed": seed_option(self.random_state),
            "n_threads": optional_count("n_threads", self.n_threads),
        }

    @staticmethod
    def _arguments(options: dict[str, Any]) -> dict[str, Any]:
        return {
            "n_components": n_components_of(options),
            "weighting": options.get("weighting", "frequency"),
            "solver": options["solver"] or "auto",
        }

    @classmethod
    def _check_file(cls, path: str | os.PathLike[str], model: _core.CategoricalModel) -> None:
        if model.analysis != cls._analysis:
            name = model.analysis.upper()
            raise ValueError(f"{path}: holds a model of {name}; read it with karhunen.categorical.{name}.load")

    def _adopt(self, model: _core.CategoricalModel) -> Self:
        """Set fitted attributes to the results of the engine."""
        pca = model.pca
        arguments = PCA._stored(json.loads(_core.to_state(pca)["options"]))
        threads = {"n_threads": self.n_threads, "verbose": self.verbose}
        self.pca_ = PCA(**{**arguments, **threads})._adopt_file(pca, {"feature_names": model.feature_names})
        self.pca_._of_categories = (type(self).__name__, self.weighting)
        self.n_components_ = len(pca.explained_variance)
        self.explained_variance_ = pca.explained_variance
        self.explained_variance_ratio_ = pca.explained_variance_ratio
        self.feature_names_in_ = np.array([name for name, *_ in model.variables], dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        self.category_names_ = np.array(model.category_names, dtype=object)
        self.category_shares_ = model.shares
        (
            self.category_coordinates_,
            self.category_contributions_,
            self.category_cos2_,
            self.category_v_tests_,
        ) = model.categories()
        self.variable_eta2_ = model.eta2()
        return super()._adopt(model)

    def _adopt_file(self, model: _core.CategoricalModel, extras: Mapping[str, Any]) -> Self:
        # Files hold the names of categories, not their values.
        self.categories_ = {name: texts for name, texts, _ in model.variables if texts is not None}
        self._has_names = extras["feature_names"] is not None
        return super()._adopt_file(model, extras)

    def _extras(self) -> dict[str, Any]:
        extras = super()._extras()
        return extras if self._has_names else {**extras, "feature_names": None}

    def _not_pickled(self) -> tuple[str, ...]:
        return (
            *("pca_", "n_components_", "explained_variance_", "explained_variance_ratio_"),
            *("feature_names_in_", "n_features_in_", "category_names_", "category_shares_", "category_coordinates_"),
            *("category_contributions_", "category_cos2_", "category_v_tests_", "variable_eta2_"),
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the state of a pickle."""
        refuse_without_model(state, type(self))
        super().__setstate__(state)

    @contextmanager
    def _naming_columns(self) -> Iterator[None]:
        # Errors name columns of the table, not of the matrix of numbers and indicators.
        yield

    def _outcome(self) -> str:
        shape = self.pca_.n_samples_, self.n_features_in_
        return outcome(shape, self.n_components_, float(self.explained_variance_ratio_.sum()))

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = []
        return tags
