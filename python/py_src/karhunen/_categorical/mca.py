"""Multiple correspondence analysis."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from karhunen._categorical.encoding import Column, Encoding, Variable
from karhunen._categorical.fitted import Categorical
from karhunen._shared.arrays import FloatArray
from karhunen._shared.options import choice_option
from karhunen._shared.warning import warn

#: Corrections of eigenvalues.
Correction = Literal["benzecri", "greenacre"]


class MCA(Categorical):
    """Multiple correspondence analysis: principal components of categories.

    Correspondence analysis of the table with one column for each category of each variable (Greenacre & Blasius 2006).
    It equals the PCA of the indicators less their shares `p`, divided by ``sqrt(p * n_variables)``, which stay sparse.
    Signs may differ from those of other programs; values are those of FactoMineR's `MCA`.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of components; None keeps all with variance, at most the number of categories less that of variables.
    solver : {"auto", "svd", "covariance", "gram", "block-krylov"}, default="auto"
        As of :class:`~karhunen.PCA`, as are the following.
    tol : float or None, default=None
        Tolerance of block Krylov iteration.
    random_state : int, RandomState, Generator or None, default=None
        Seed of block Krylov iteration.
    n_threads : int or None, default=None
        Number of threads; None uses all cores.
    verbose : bool, default=False
        Show a progress bar (needs tqdm).

    Attributes
    ----------
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Eigenvalues, and their shares of the inertia ``n_categories / n_variables - 1``, of categories with weight.
    categories_ : dict of str to list
        The categories of each variable: sorted, or in the order of a pandas categorical. Rows that lack a value have
        the category "missing".
    category_names_ : ndarray of shape (n_categories,)
        Names such as "Class=1st".
    category_shares_ : ndarray of shape (n_categories,)
        Weighted share of the rows with each category. Where it is zero, results are NaN; where it is one, squared
        cosines and v-tests are.
    category_coordinates_ : ndarray of shape (n_categories, n_components)
        Principal coordinates: the mean of the coordinates of the rows with a category, over the root of the eigenvalue.
    category_contributions_, category_cos2_ : ndarray of shape (n_categories, n_components)
        Share of a category in the variance of a component, and share of the squared distance of a category from the
        mean along a component.
    category_v_tests_ : ndarray of shape (n_categories, n_components)
        Deviations of the mean of a category from zero in standard errors of drawing its rows at random. Weights count
        as numbers of rows, so they should sum to the number of respondents.
    variable_eta2_ : ndarray of shape (n_variables, n_components)
        Correlation ratios.
    n_components_, n_features_in_ : int
        Numbers of components and of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns.
    pca_ : PCA
        The PCA of the indicators, for :mod:`karhunen.diagnostics`, :mod:`karhunen.plot` and reports.

    Examples
    --------
    >>> import pandas as pd
    >>> from karhunen.categorical import MCA
    >>> table = pd.DataFrame({"sex": list("mffmmf"), "answer": ["yes", "no", "no", "yes", "no", None]})
    >>> mca = MCA().fit(table)
    >>> mca.category_names_.tolist()
    ['sex=f', 'sex=m', 'answer=no', 'answer=yes', 'answer=missing']
    >>> mca.explained_variance_.round(3)
    array([0.873, 0.5  , 0.127])
    """

    __module__ = "karhunen.categorical"

    def corrected_eigenvalues(self, correction: Correction = "benzecri") -> tuple[FloatArray, FloatArray]:
        """Compute eigenvalues and shares of the inertia corrected for the coding of one variable by several columns.

        Eigenvalues above ``1 / q``, with `q` variables, become ``(q / (q - 1) * (eigenvalue - 1 / q)) ** 2``; others
        are zero. Benzécri's shares are of their sum, Greenacre's of the mean inertia of the tables of two variables
        (Greenacre & Blasius 2006, Multiple Correspondence Analysis and Related Methods, chapter 2).

        Parameters
        ----------
        correction : {"benzecri", "greenacre"}, default="benzecri"
            Correction of the shares.

        Returns
        -------
        eigenvalues, ratio : ndarray of shape (n_components,)
            Corrected eigenvalues, and their shares.

        Raises
        ------
        ValueError
            If there is one variable, or the fit left out components above ``1 / q``.
        """
        check_is_fitted(self, "pca_")
        choice_option("correction", correction, Correction)
        found, shares = self.explained_variance_, self.category_shares_
        starts = self._encoding.starts[:-1]
        # A variable of one category has no dimension.
        kept = np.add.reduceat((shares > 0).astype(int), starts)
        q, n_categories = int((kept > 1).sum()), int(kept[kept > 1].sum())
        if q < 2:
            raise ValueError("corrections are for two variables or more with several categories")
        if len(kept) > q:
            raise ValueError("corrections are for variables with several categories; leave out those with one")
        is_complete = self.explained_variance_ratio_.sum() > 1 - 1e-9
        if not is_complete and (correction == "greenacre" or found[-1] > 1 / q):
            raise ValueError(f"the correction needs the components that n_components = {self.n_components_} left out")
        corrected = np.where(found > 1 / q, (q / (q - 1) * (found - 1 / q)) ** 2, 0.0)
        total = corrected.sum()
        if correction == "greenacre":
            total = q / (q - 1) * ((found**2).sum() - (n_categories - q) / q**2)
        return corrected, corrected / total if total > 0 else np.zeros_like(corrected)

    def _encode(self, columns: list[Column], shares_of: FloatArray) -> Encoding:
        variables = [Variable.of(column) for column in columns]
        for variable in variables:
            if len(variable.categories) > max(20, len(shares_of) / 2):
                warn(
                    f"column {variable.name!r} has {len(variable.categories)} categories in {len(shares_of)} rows: ids "
                    "and measurements are no categories; leave it out, bin it, or use FAMD for numbers",
                    UserWarning,
                )
        return Encoding([column.name for column in columns], [], np.zeros(0), np.ones(0), variables)

    def _scales(self, shares: FloatArray, encoding: Encoding) -> FloatArray:
        return np.sqrt(shares * len(encoding.variables))

    def _stretch(self, variances: FloatArray) -> FloatArray:
        return 1 / np.sqrt(variances)

    def _weight_of_variables(self) -> float:
        return float(len(self._encoding.variables))

    def _distances(self, matrix: sp.csr_matrix, shares_of: FloatArray) -> FloatArray:
        return (1 - self.category_shares_) / self.category_shares_
