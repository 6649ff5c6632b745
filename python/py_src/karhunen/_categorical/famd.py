"""Factor analysis of mixed data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from karhunen import _core
from karhunen._categorical.encoding import Column
from karhunen._categorical.fitted import Categorical
from karhunen._shared.arrays import FloatArray

if TYPE_CHECKING:
    from typing_extensions import Self


class FAMD(Categorical):
    """Factor analysis of mixed data: principal components of numbers and categories, variables with equal weights.

    PCA of standardised numbers, and of indicators of categories less their shares `p`, divided by ``sqrt(p)`` (Pagès
    2004, Revue de statistique appliquée 52, 93-111). Values match FactoMineR's `FAMD`, up to signs. Columns of integers
    and floating-point numbers are numbers; all others, and pandas categoricals, hold categories. In `pca_`, numbers are
    standardised.

    Parameters
    ----------
    n_components : int, float, str or None, default=None
        As of :class:`MCA`; all are columns of numbers, and categories less the number of their variables.
    weighting, handle_unknown, solver, tol, max_iter, random_state, n_threads, strict, memory_limit, verbose
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
        Share of the squared distance of this mean from the mean of all rows along a component.

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
    _analysis = "famd"

    number_names_: NDArray[np.object_]
    number_correlations_: FloatArray
    number_contributions_: FloatArray

    def _numbers_in(self, column: Column) -> FloatArray | None:
        return column.numbers()

    def _adopt(self, model: _core.CategoricalModel) -> Self:
        names = [name for name, categories, _ in model.variables if categories is None]
        self.number_names_ = np.array(names, dtype=object)
        self.number_correlations_, self.number_contributions_ = model.numbers()
        return super()._adopt(model)

    def _not_pickled(self) -> tuple[str, ...]:
        return (*super()._not_pickled(), "number_names_", "number_correlations_", "number_contributions_")
