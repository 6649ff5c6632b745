"""Factor analysis of mixed data."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from karhunen._categorical.encoding import Column, Encoding, Variable, standards
from karhunen._categorical.fitted import Categorical, squared_distances
from karhunen._shared.arrays import FloatArray


class FAMD(Categorical):
    """Factor analysis of mixed data: principal components of numbers and categories, variables with equal weights.

    PCA of standardised numbers, and of indicators of categories less their shares `p`, divided by ``sqrt(p)`` (Pagès
    2004, Revue de statistique appliquée 52, 93-111). Signs may differ from those of other programs; values are those of
    FactoMineR's `FAMD`. Columns of integers and floating-point numbers are numbers; all others, and pandas
    categoricals, hold categories. In `pca_`, numbers are standardised.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components; None keeps all: columns of numbers, and categories less the number of their variables.
    solver, tol, random_state, n_threads, verbose
        As of :class:`MCA`.

    Attributes
    ----------
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Eigenvalues, and their shares of the inertia.
    number_names_ : ndarray of shape (n_numbers,)
        Names of the columns of numbers.
    number_correlations_ : ndarray of shape (n_numbers, n_components)
        Correlations of the columns of numbers and the components.
    number_contributions_ : ndarray of shape (n_numbers, n_components)
        Share of a column in the variance of a component.
    categories_, category_names_, category_shares_, category_contributions_, category_v_tests_, variable_eta2_, pca_
        As of :class:`MCA`.
    category_coordinates_ : ndarray of shape (n_categories, n_components)
        The mean of the coordinates of the rows with a category.
    category_cos2_ : ndarray of shape (n_categories, n_components)
        Share of the squared distance of this mean from that of all rows along a component.

    Examples
    --------
    >>> import pandas as pd
    >>> from karhunen.categorical import FAMD
    >>> table = pd.DataFrame({"age": [21, 35, 48, 52, 60, 33], "sex": list("mffmmf")})
    >>> famd = FAMD().fit(table)
    >>> famd.explained_variance_.round(3)
    array([1.216, 0.784])
    """

    __module__ = "karhunen.categorical"

    @property
    def number_names_(self) -> NDArray[np.object_]:
        """Names of the columns of numbers, shape (n_numbers,)."""
        check_is_fitted(self, "pca_")
        return np.array(self._encoding.numbers, dtype=object)

    @property
    def number_correlations_(self) -> FloatArray:
        """Correlations of the columns of numbers and the components, shape (n_numbers, n_components)."""
        check_is_fitted(self, "pca_")
        found: FloatArray = self._loadings_of_numbers() * np.sqrt(self.explained_variance_)
        return found

    @property
    def number_contributions_(self) -> FloatArray:
        """Share of a column of numbers in the variance of a component, shape (n_numbers, n_components)."""
        check_is_fitted(self, "pca_")
        return self._loadings_of_numbers() ** 2

    def _loadings_of_numbers(self) -> FloatArray:
        return np.asarray(self.pca_.components_.T[: len(self.number_names_)])

    def _encode(self, columns: list[Column], shares_of: FloatArray) -> Encoding:
        numbers = [column for column in columns if column.numbers() is not None]
        names = [column.name for column in numbers]
        others = [column for column in columns if column.name not in set(names)]
        if not others or not numbers:
            kind, instead = ("categories", "MCA") if others else ("numbers", "PCA(scale=True)")
            raise ValueError(f"all columns hold {kind}; use {instead}, or give columns of both kinds")
        centre, deviation = standards(numbers, shares_of)
        variables = [Variable.of(column) for column in others]
        return Encoding([column.name for column in columns], names, centre, deviation, variables)

    def _scales(self, shares: FloatArray, encoding: Encoding) -> FloatArray:
        return np.sqrt(shares)

    def _distances(self, matrix: sp.csr_matrix, shares_of: FloatArray) -> FloatArray:
        # The mean of the rows of every category: their sum over its share.
        sums = matrix[:, len(self._encoding.numbers) :].T @ (sp.diags(shares_of) @ matrix)
        means = sp.diags(1 / self.category_shares_) @ sums
        return squared_distances(means.tocsr(), self.pca_.mean_, self.pca_.scale_)
