"""Variables that took no part in the fit, and the description of components by variables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from karhunen import _core
from karhunen._diagnostics.model import check_same_rows, component_names, frame
from karhunen._inputs.matrix import to_weights
from karhunen._shared.choices import Adjust, Weighting
from karhunen._shared.labels import in_order, is_known
from karhunen._shared.options import choice_option, probability
from karhunen._shared.warning import warn

if TYPE_CHECKING:
    from numpy.typing import NDArray

#: Maximum number of entries of a sparse matrix that are dense at once.
ENTRIES = 10_000_000


@dataclass(frozen=True, eq=False)
class Correlations:
    """Correlations of numeric variables with components.

    Attributes
    ----------
    correlations : ndarray of shape (n_variables, n_components)
        Weighted correlations; NaN for a constant variable.
    p_values : ndarray of shape (n_variables, n_components)
        Of Student's t with n - 2 degrees of freedom, corrected for the number of variables if asked for.
    n_observed : ndarray of shape (n_variables,)
        Number of observations of each variable.
    names : list of str
        Names of the variables.
    """

    correlations: NDArray[np.float64]
    p_values: NDArray[np.float64]
    n_observed: NDArray[np.float64]
    names: list[str]

    def to_frame(self) -> Any:
        """Return one row for each variable: the correlation with each component, and its p-value."""
        columns = component_names(self.correlations.shape[1])
        table = frame(self.correlations, self.names, columns)
        return table.join(frame(self.p_values, self.names, [f"p_{name}" for name in columns]))


def correlations(
    scores: Any,
    variables: Any,
    sample_weight: Any = None,
    *,
    weighting: Weighting = "frequency",
    adjust: Adjust = "none",
) -> Correlations:
    """Correlate numeric variables with scores: supplementary variables.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_components)
        Scores of the rows, as `transform` returns them.
    variables : array-like, sparse matrix or dataframe of shape (n_samples, n_variables)
        Numbers; NaN leaves a row out for that variable. Entries that a sparse matrix does not store are zeros.
    sample_weight : array-like of shape (n_samples,) or None
        Weights of the rows.
    weighting : {"frequency", "importance", "population"}, default="frequency"
        Meaning of the weights, as of the fit: tests count as many observations as their sum, or, for importance and
        population weights, as their effective number ``sum(w)**2 / sum(w**2)``.
    adjust : {"none", "holm", "fdr"}, default="none"
        Correction of the p-values of each component for the number of variables: Holm (1979), or the false discovery
        rate of Benjamini & Hochberg (1995).

    Returns
    -------
    Correlations
        Arrays with one row for each variable.
    """
    how = choice_option("adjust", adjust, Adjust)
    meaning = choice_option("weighting", weighting, Weighting)
    check_same_rows(scores, "variables", variables)
    z = _scores(scores)
    names = [str(name) for name in getattr(variables, "columns", [])]
    values = check_array(
        variables, accept_sparse="csc", dtype=np.float64, ensure_all_finite="allow-nan", input_name="variables"
    )
    weights = to_weights("sample_weight", sample_weight, len(z), "rows")
    found = [_core.correlate(z, block, meaning, weights) for block in _dense_blocks(values)]
    r, p, n = (np.concatenate(parts) for parts in zip(*found, strict=True))
    adjusted = np.column_stack([_core.adjust_p_values(np.ascontiguousarray(column), how) for column in p.T])
    return Correlations(r, adjusted, n, names or [f"x{j}" for j in range(values.shape[1])])


def _dense_blocks(values: Any) -> Iterator[NDArray[np.float64]]:
    """Yield an array whole, and a sparse matrix in dense blocks of columns."""
    if not sp.issparse(values):
        yield np.ascontiguousarray(values)
        return
    width = max(1, ENTRIES // values.shape[0])
    for first in range(0, values.shape[1], width):
        yield np.ascontiguousarray(values[:, first : first + width].toarray())


@dataclass(frozen=True, eq=False)
class Categories:
    """Categories of one supplementary variable.

    Attributes
    ----------
    names : list
        The categories: sorted, or in the order of a pandas categorical.
    barycentres : ndarray of shape (n_categories, n_components)
        Weighted mean of the scores of each category.
    v_tests : ndarray of shape (n_categories, n_components)
        Standardised deviation of the barycentres from the mean of all rows, nearly standard normal for rows drawn at
        random; as FactoMineR's `v.test`.
    p_values : ndarray of shape (n_categories, n_components)
        Probability of a deviation at least as large.
    sizes : ndarray of shape (n_categories,)
        Number of observations of each category.
    eta2 : ndarray of shape (n_components,)
        Correlation ratio: share of the variance of the scores between categories.
    eta2_p_values : ndarray of shape (n_components,)
        Of the F test of one-way analysis of variance.
    """

    names: list[Any]
    barycentres: NDArray[np.float64]
    v_tests: NDArray[np.float64]
    p_values: NDArray[np.float64]
    sizes: NDArray[np.float64]
    eta2: NDArray[np.float64]
    eta2_p_values: NDArray[np.float64]

    def to_frame(self) -> Any:
        """Return one row for each category: its size, and the barycentre and v test of each component."""
        columns = component_names(self.barycentres.shape[1])
        table = frame(self.sizes[:, None], self.names, ["size"])
        table = table.join(frame(self.barycentres, self.names, columns))
        return table.join(frame(self.v_tests, self.names, [f"v_{name}" for name in columns]))


def categories(
    scores: Any, labels: Any, sample_weight: Any = None, *, weighting: Weighting = "frequency"
) -> Categories:
    """Compute barycentres and tests of the categories of one variable: a supplementary category.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_components)
        Scores of the rows.
    labels : array-like of shape (n_samples,)
        Category of each row; None and NaN are unknown, and leave the row out.
    sample_weight : array-like of shape (n_samples,) or None
        Weights of the rows.
    weighting : {"frequency", "importance", "population"}, default="frequency"
        Meaning of the weights, as of the fit: tests count as many observations as their sum, or, for importance and
        population weights, as their effective number ``sum(w)**2 / sum(w**2)``.

    Returns
    -------
    Categories
        Arrays with one row for each category.
    """
    meaning = choice_option("weighting", weighting, Weighting)
    check_same_rows(scores, "labels", labels)
    z = _scores(scores)
    weights = to_weights("sample_weight", sample_weight, len(z), "rows")
    values = np.asarray(labels, dtype=object)
    if values.shape != (len(z),):
        raise ValueError(f"labels has shape {values.shape}; there are {len(z)} rows of scores")
    known = [is_known(value) for value in values.tolist()]
    names = in_order(labels, [value for value, there in zip(values.tolist(), known, strict=True) if there])
    place = {name: at for at, name in enumerate(names)}
    codes = [place[value] if there else -1 for value, there in zip(values.tolist(), known, strict=True)]
    return Categories(names, *_core.compare_categories(z, codes, len(names), meaning, weights))


def describe(
    scores: Any,
    table: Any,
    sample_weight: Any = None,
    *,
    model: Any = None,
    weighting: Weighting | None = None,
    adjust: Adjust = "holm",
    level: float = 0.05,
) -> dict[str, Any]:
    """Describe each component by the variables that are related to it, the strongest first.

    Parameters
    ----------
    scores : array-like of shape (n_samples, n_components)
        Scores of the rows.
    table : pandas.DataFrame of shape (n_samples, n_variables)
        Variables. Columns of numbers are correlated; others are categories. A column with another category in every
        row, such as an id or a date, is left out with a warning.
    sample_weight : array-like of shape (n_samples,) or None
        Weights of the rows.
    model : estimator or None, default=None
        The estimator of the scores, fitted to a frame. Columns of `table` that it was fitted to have no p-value: they
        made the components, and correlate with them in every table, of unrelated columns too.
    weighting : {"frequency", "importance", "population"} or None, default=None
        Meaning of the weights; None takes it from `model`, else "frequency". Tests count as many observations as their
        sum, or, for importance and population weights, as their effective number ``sum(w)**2 / sum(w**2)``.
    adjust : {"none", "holm", "fdr"}, default="holm"
        Correction of the p-values of each component for the number of variables.
    level : float, default=0.05
        Largest corrected p-value that is shown; 1 shows all.

    Returns
    -------
    dict of str to pandas.DataFrame
        For each component one row for each variable with columns `kind` ("number" or "categories"), `statistic` (a
        correlation, or a correlation ratio) and `p_value`, sorted by p-value and strength. Columns of the fit follow,
        with NaN, sorted by strength.

    Notes
    -----
    P-values hold for variables that took no part in the fit. As FactoMineR's `dimdesc`, which does not correct for the
    number of variables, and tests variables of the fit too.
    """
    how = choice_option("adjust", adjust, Adjust)
    if not hasattr(table, "columns") or not hasattr(table, "iloc"):
        raise TypeError(f"table is a {type(table).__name__}; a pandas.DataFrame is needed")
    largest = 1.0 if level == 1 else probability("level", level)
    if model is not None and not hasattr(model, "feature_names_in_"):
        raise ValueError(
            "model was fitted without column names, so that its columns in `table` are unknown; fit a frame"
        )
    of_fit = set(map(str, getattr(model, "feature_names_in_", ())))
    # The PCA of an analysis of categories divides by the sum of the weights, whatever these mean.
    _, of_model = getattr(model, "_of_categories", (None, getattr(model, "weighting", "frequency")))
    meaning = cast(Weighting, of_model) if weighting is None else weighting
    check_same_rows(scores, "table", table)
    pd = import_module("pandas")
    z = _scores(scores)
    rows: list[tuple[str, str, Any, Any]] = []
    without = []
    for at, name in enumerate(table.columns):
        column = table.iloc[:, at]
        try:
            if _is_numeric(pd, column):
                values = column.to_numpy(dtype=np.float64, na_value=np.nan)
                number = correlations(z, values[:, None], sample_weight, weighting=meaning)
                rows.append((str(name), "number", number.correlations[0], number.p_values[0]))
            elif 1 < column.nunique() < column.notna().sum():
                group = categories(z, column, sample_weight, weighting=meaning)
                rows.append((str(name), "categories", group.eta2, group.eta2_p_values))
            else:
                without.append(str(name))
        except (TypeError, ValueError) as error:
            raise ValueError(f"column {name!r}: {error}") from None
    without += [name for name, _, _, p_values in rows if name not in of_fit and np.isnan(p_values).all()]
    made = np.array([row[0] in of_fit for row in rows], dtype=bool)
    if without:
        reason = "because they are constant, have too few observations, or all rows or none share a category"
        warn(f"columns without a test, {reason}: {', '.join(without)}", UserWarning)
    found = {}
    for k, component in enumerate(component_names(z.shape[1])):
        p_values = np.array([np.nan if row[0] in of_fit else row[3][k] for row in rows], dtype=np.float64)
        statistics = [float(row[2][k]) for row in rows]
        described = pd.DataFrame(
            {
                "kind": [row[1] for row in rows],
                "statistic": statistics,
                "p_value": _core.adjust_p_values(p_values, how),
            },
            index=[row[0] for row in rows],
        )
        described = described[made | (described["p_value"] <= largest)]
        strength = described["statistic"].abs()
        order = np.lexsort((-strength.to_numpy(), described["p_value"].to_numpy()))
        found[component] = described.iloc[order]
    return found


def _is_numeric(pd: Any, column: Any) -> bool:
    """Return whether a column holds real numbers."""
    if pd.api.types.is_complex_dtype(column):
        raise ValueError("complex numbers have no correlation here; give their parts as columns")
    if column.dtype == object:
        return pd.api.types.infer_dtype(column) in ("integer", "floating", "mixed-integer-float", "decimal")
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _scores(scores: Any) -> NDArray[np.float64]:
    """Check scores and convert them to a contiguous array."""
    return np.ascontiguousarray(check_array(scores, dtype=np.float64, input_name="scores"))
