"""Multiple correspondence analysis."""

from __future__ import annotations

from typing import Literal

from sklearn.utils.validation import check_is_fitted

from karhunen import _core
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
    Values match FactoMineR's `MCA`, up to signs.

    Parameters
    ----------
    n_components : int, float, str or None, default=None
        Number of components; a float between 0 and 1, or a str such as "95%", for the fewest that explain this share of
        the inertia; None keeps all with variance, at most the number of categories less the number of variables.
    weighting : {"frequency", "importance", "population"}, default="frequency"
        Meaning of the weights: v-tests count frequency weights as numbers of respondents, and other weights, such as
        survey weights, as their effective number ``sum(w)**2 / sum(w**2)``. Nothing else depends on it.
    handle_unknown : {"error", "ignore"}, default="error"
        How :meth:`transform` treats a row with a category that no row of the fit had, or without a value where all of
        them had one: raise an error, or take its indicators of this column as zeros, as scikit-learn's `OneHotEncoder`.
        Its coordinates then follow from its other columns; zeros and the means of the indicators give the same ones.
        Files do not keep it: a loaded model has the default, which `set_params` changes.
    solver : {"auto", "svd", "covariance", "gram", "block-krylov"}, default="auto"
        As of :class:`~karhunen.PCA`, as are the following.
    tol : float or None, default=None
        Tolerance of block Krylov iteration.
    max_iter : int, default=1000
        Maximum number of passes of block Krylov iteration.
    random_state : int, RandomState, Generator or None, default=None
        Seed of block Krylov iteration.
    n_threads : int or None, default=None
        Number of threads; None uses all cores.
    strict : bool, default=False
        Raise :class:`~karhunen.NotConvergedError` if a component misses the tolerance, instead of warning.
    memory_limit : int or None, default=None
        Most bytes that a fit may hold.
    verbose : bool, default=False
        Show a progress bar (needs tqdm).

    Attributes
    ----------
    explained_variance_, explained_variance_ratio_ : ndarray of shape (n_components,)
        Eigenvalues, and their shares of the inertia ``n_categories / n_variables - 1``, of categories with weight.
    categories_ : dict of str to list
        The categories of each variable: sorted, or in the order of a pandas categorical. Rows that lack a value have
        the category "missing". After :meth:`load`, their names, because files hold these alone.
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
        Deviations of the mean of a category from zero in standard errors of drawing its rows at random. The categories
        made the components, so that most deviate by more than two even if the answers are unrelated: they order the
        categories, and test nothing.
    variable_eta2_ : ndarray of shape (n_variables, n_components)
        Correlation ratios.
    n_components_, n_features_in_ : int
        Numbers of components and of columns.
    feature_names_in_ : ndarray of shape (n_features,)
        Names of the columns.
    pca_ : PCA
        The PCA of the indicators, for :mod:`karhunen.diagnostics`, :mod:`karhunen.plot` and reports. Its `weighting` is
        "population", because variances are divided by the sum of the weights; observations are counted by the
        `weighting` of the analysis. :mod:`karhunen.resampling` refuses it: categories have other shares in other rows.

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
    _analysis = "mca"

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
        check_is_fitted(self)
        return self._model.corrected_eigenvalues(choice_option("correction", correction, Correction))

    def _warn_of_doubts(self) -> None:
        n = self.pca_.n_samples_
        for name, categories in self.categories_.items():
            if _core.are_many_categories(len(categories), n):
                warn(
                    f"column {name!r} has {len(categories)} categories in {n} rows: ids and measurements are no "
                    "categories; leave it out, bin it, or use FAMD for numbers",
                    UserWarning,
                )
        super()._warn_of_doubts()
