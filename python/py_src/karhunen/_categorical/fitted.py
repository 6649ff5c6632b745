"""What MCA and FAMD share: a PCA of scaled indicators, and its results by category."""

from __future__ import annotations

from abc import abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from karhunen import PCA
from karhunen._categorical.encoding import Column, Encoding, columns_of
from karhunen._inputs import tables
from karhunen._inputs.matrix import to_weights
from karhunen._shared.arrays import FloatArray
from karhunen._shared.choices import Solver
from karhunen._shared.options import count_option
from karhunen._shared.warning import warn

if TYPE_CHECKING:
    from sklearn.utils import Tags
    from typing_extensions import Self

#: Eigenvalues below this share of the first are rounding errors of zero.
_ROUNDING = 1e-12


class Categorical(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of PCA of indicators of categories."""

    pca_: PCA
    feature_names_in_: NDArray[np.object_]
    categories_: dict[str, list[Any]]
    category_names_: NDArray[np.object_]
    category_shares_: FloatArray
    category_coordinates_: FloatArray
    category_contributions_: FloatArray
    category_cos2_: FloatArray
    category_v_tests_: FloatArray
    n_features_in_: int

    _encoding: Encoding

    def __init__(
        self,
        n_components: int | None = None,
        *,
        solver: Solver = "auto",
        tol: float | None = None,
        random_state: Any = None,
        n_threads: int | None = None,
        verbose: bool = False,
    ) -> None:
        self.n_components = n_components
        self.solver = solver
        self.tol = tol
        self.random_state = random_state
        self.n_threads = n_threads
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
            Weights of the rows: numbers of respondents, or survey weights. The result is that of the repeated rows.

        Returns
        -------
        Self
            The fitted estimator.

        Raises
        ------
        ValueError
            If values are not of the kind that is analysed, or the rows have no variance.
        """
        self._fit(X, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Fit to the rows of a table, and return their coordinates. Parameters are those of :meth:`fit`."""
        X = tables.as_table(X)
        return self.fit(X, y, sample_weight).transform(X)

    def transform(self, X: Any) -> FloatArray:
        """Compute the principal coordinates of rows, of the fit or supplementary.

        Parameters
        ----------
        X : table of shape (n_samples, n_features)
            Rows with the columns of the fit.

        Returns
        -------
        ndarray of shape (n_samples, n_components)
            Principal coordinates, whose weighted variances are `explained_variance_`.

        Raises
        ------
        ValueError
            If the columns are not those of the fit, or a row has a category that no row of the fit had.
        """
        matrix = self._matrix_of(X)
        return np.asarray(self.pca_._scores(matrix))

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
            Shares; those of a component sum to one for the rows and weights of the fit.
        """
        scores = self.transform(X)
        weights = to_weights("sample_weight", sample_weight, len(scores), "rows")
        shares_of = np.full(len(scores), 1 / len(scores)) if weights is None else weights / weights.sum()
        found: FloatArray = shares_of[:, None] * scores**2 / self.explained_variance_
        return found

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
        matrix = self._matrix_of(X)
        scores = np.asarray(self.pca_._scores(matrix))
        distances = squared_distances(matrix, self.pca_.mean_, self.pca_.scale_)
        with np.errstate(divide="ignore", invalid="ignore"):
            found: FloatArray = scores**2 / distances[:, None]
        return found

    def _matrix_of(self, X: Any) -> sp.csr_matrix:
        """Return the numbers and indicators of rows with the columns of the fit."""
        check_is_fitted(self, "pca_")
        return self._encoding.matrix(columns_of(X))

    def _fit(self, X: Any, sample_weight: Any) -> None:
        columns = columns_of(X)
        n = len(columns[0].values)
        weights = to_weights("sample_weight", sample_weight, n, "rows")
        given = np.ones(n) if weights is None else weights
        if not (np.isfinite(given).all() and (given >= 0).all() and given.sum() > 0):
            raise ValueError("sample_weight must be finite and at least 0, and positive for some row")
        total = float(given.sum())
        shares_of = given / total
        encoding = self._encode(columns, shares_of)
        names = [*encoding.numbers, *encoding.category_names]
        if len(set(names)) < len(names):
            twice = next(name for j, name in enumerate(names) if name in names[:j])
            raise ValueError(f"{twice!r} names two categories; rename a column or a category")
        matrix = encoding.matrix(columns)
        k = len(encoding.numbers)
        shares = np.asarray(matrix[:, k:].T @ shares_of).ravel()
        # A category of rows without weight has no share.
        scale = np.concatenate([np.ones(k), np.where(shares > 0, self._scales(shares, encoding), 1.0)])
        pca = self._fit_pca(matrix, (weights, scale), encoding, int((given > 0).sum()))
        pca.feature_names_in_ = np.array(names, dtype=object)
        self.pca_, self._encoding, self.category_shares_ = pca, encoding, shares
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array(encoding.names, dtype=object)
        self.categories_ = {variable.name: variable.categories for variable in encoding.variables}
        self.category_names_ = np.array(encoding.category_names, dtype=object)
        self._describe(matrix, shares_of, total)

    def _fit_pca(self, matrix: sp.csr_matrix, given: tuple[Any, FloatArray], encoding: Encoding, n_rows: int) -> PCA:
        """Fit as many components as were asked for, or all with variance."""
        weights, scale = given
        counts = [len(variable.categories) - 1 for variable in encoding.variables]
        rank = min(len(encoding.numbers) + sum(counts), n_rows - 1)
        alike = "all rows are alike: there is nothing to analyse"
        if rank < 1:
            raise ValueError(alike)
        wanted = rank if self.n_components is None else count_option("n_components", self.n_components)
        options = {name: getattr(self, name) for name in ("solver", "tol", "random_state", "n_threads", "verbose")}
        pca = PCA(min(wanted, rank), scale=scale, weighting="population", **options).fit(matrix, sample_weight=weights)
        variances = pca.explained_variance_
        n_found = int((variances > _ROUNDING * max(variances[0], 1e-3)).sum())
        if n_found == 0:
            raise ValueError(alike)
        if self.n_components is not None and n_found < wanted:
            raise ValueError(f"n_components = {wanted} is not allowed: categories and rows have {n_found} dimensions")
        if n_found < len(variances):
            pca = PCA(n_found, scale=scale, weighting="population", **options).fit(matrix, sample_weight=weights)
        return pca

    def _describe(self, matrix: sp.csr_matrix, shares_of: FloatArray, total: float) -> None:
        """Compute the results by category, from the loadings alone."""
        first, scale = len(self._encoding.numbers), self.pca_.scale_
        shares, loadings = self.category_shares_, self.pca_.components_.T[first:]
        variances = self.pca_.explained_variance_
        # Without rows, or with all of them, a category has no deviation.
        starts = self._encoding.starts
        kept = np.add.reduceat((shares > 0).astype(int), starts[:-1])
        is_alone = np.repeat(kept == 1, np.diff(starts))
        counted = total >= 2
        if not counted:
            warn(
                f"v-tests count weights as rows, and they sum to {total:g}; give weights that sum to the number of "
                "respondents",
                UserWarning,
            )
        with np.errstate(divide="ignore", invalid="ignore"):
            # Sums of X over the rows of a category are those of the fit: lambda v = X'WX v.
            means = variances * loadings * (scale[first:] / shares)[:, None]
            deviation = np.sqrt(shares * (total - 1) / (1 - shares)) if counted else np.full(len(shares), np.nan)
            v_tests = means / np.sqrt(variances) * deviation[:, None]
            coordinates = means * self._stretch(variances)
            cos2 = coordinates**2 / self._distances(matrix, shares_of)[:, None]
        found = {"coordinates": coordinates, "v_tests": v_tests, "cos2": cos2, "contributions": loadings**2}
        for name, values in found.items():
            defined = (shares > 0) & ~is_alone if name in ("v_tests", "cos2") else shares > 0
            setattr(self, f"category_{name}_", np.where(defined[:, None], values, np.nan))

    @property
    def n_components_(self) -> int:
        """Number of components."""
        check_is_fitted(self, "pca_")
        return int(self.pca_.n_components_)

    @property
    def explained_variance_(self) -> FloatArray:
        """Eigenvalues: variances of the coordinates of the rows, with divisor the sum of the weights."""
        check_is_fitted(self, "pca_")
        return np.asarray(self.pca_.explained_variance_)

    @property
    def explained_variance_ratio_(self) -> FloatArray:
        """Shares of the inertia."""
        check_is_fitted(self, "pca_")
        return np.asarray(self.pca_.explained_variance_ratio_)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    @property
    def variable_eta2_(self) -> FloatArray:
        """Correlation ratios of the variables of categories and the components, shape (n_variables, n_components).

        Share of the variance of the coordinates of the rows between the categories of a variable.
        """
        check_is_fitted(self, "pca_")
        contributions = np.nan_to_num(self.category_contributions_)
        sums: FloatArray = np.add.reduceat(contributions, self._encoding.starts[:-1], axis=0)
        return sums * self.explained_variance_ * self._weight_of_variables()

    def to_frame(self) -> Any:
        """Return one row for each category: coordinates, contributions, squared cosines and v-tests, as a DataFrame."""
        check_is_fitted(self, "pca_")
        pandas = import_module("pandas")
        data = {"share": self.category_shares_}
        labels = {"coordinates": "coordinate", "contributions": "contribution", "cos2": "cos2", "v_tests": "v_test"}
        for name, label in labels.items():
            values = getattr(self, f"category_{name}_")
            data |= {f"{label}_{k + 1}": values[:, k] for k in range(values.shape[1])}
        return pandas.DataFrame(data, index=self.category_names_)

    def _stretch(self, variances: FloatArray) -> Any:
        """Return the factor from the mean of the rows of a category to its coordinate."""
        return 1.0

    def _weight_of_variables(self) -> float:
        """Return the number by which the squares of a variable are divided."""
        return 1.0

    @abstractmethod
    def _encode(self, columns: list[Column], shares_of: FloatArray) -> Encoding:
        """Check the columns, and find the categories and the standards of the numbers."""

    @abstractmethod
    def _scales(self, shares: FloatArray, encoding: Encoding) -> FloatArray:
        """Return the divisor of the indicator of each category."""

    @abstractmethod
    def _distances(self, matrix: sp.csr_matrix, shares_of: FloatArray) -> FloatArray:
        """Return the squared distance of each category from the mean, in the space of its coordinates."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = True
        return tags


def squared_distances(rows: sp.csr_matrix, centre: FloatArray, scale: FloatArray) -> FloatArray:
    """Return the squared distances of sparse rows from a centre, each column divided by its scale."""
    scaled, about = rows @ sp.diags(1 / scale), centre / scale
    squares = np.asarray(scaled.multiply(scaled).sum(axis=1)).ravel()
    found: FloatArray = np.maximum(squares - 2 * (scaled @ about) + about @ about, 0.0)
    return found
