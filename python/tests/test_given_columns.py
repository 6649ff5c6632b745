"""Given centres and scales with other tools: series, files, rotations, reports, selection."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from karhunen import (
    PCA,
    IncompletePCA,
    IncrementalPCA,
    Scatter,
    TruncatedSVD,
    cross_validate_entries,
    resampling,
    rotation,
    selection,
)
from sklearn.base import clone
from sklearn.datasets import load_wine


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


def about(x, centres, scales):
    """Return variances and components of second moments about the centres, divisor n - 1, by numpy alone."""
    _, s, v = np.linalg.svd((x - centres) / scales, full_matrices=False)
    return s**2 / (len(x) - 1), v


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("solver", ["auto", "svd", "covariance", "gram"])
def test_given_numbers_equal_prepared_data(wine, kind, solver):
    x = wine.to_numpy()
    centres, scales = x[0], np.linspace(0.5, 3.0, 13)
    expected, components = about(x, centres, scales)
    if kind is not np.asarray and solver == "svd":
        pytest.skip("svd needs dense rows")
    pca = PCA(3, center=centres, scale=scales, solver=solver, tol=1e-12).fit(kind(x))
    np.testing.assert_allclose(pca.explained_variance_, expected[:3], rtol=1e-9)
    np.testing.assert_allclose(np.abs(pca.components_ @ components[:3].T), np.eye(3), atol=1e-6)
    np.testing.assert_array_equal(pca.mean_, centres)
    np.testing.assert_array_equal(pca.scale_, scales)
    scores = ((x - centres) / scales) @ pca.components_.T
    np.testing.assert_allclose(pca.transform(kind(x)), scores, atol=1e-8)


def test_rules_have_the_values_of_their_definition(wine):
    x = wine.to_numpy()
    deviations = x.std(axis=0, ddof=1)
    for rule, scales in [
        ("std", deviations),
        ("pareto", np.sqrt(deviations)),
        ("range", np.ptp(x, axis=0)),
    ]:
        pca = PCA(3, scale=rule).fit(wine)
        np.testing.assert_allclose(pca.scale_, scales, rtol=1e-12)
        np.testing.assert_allclose(pca.explained_variance_, about(x, x.mean(axis=0), scales)[0][:3], rtol=1e-9)
    np.testing.assert_array_equal(PCA(3, scale="std").fit(wine).components_, PCA(3, scale=True).fit(wine).components_)


def test_a_series_is_matched_by_name(wine):
    centres = wine.iloc[3]
    shuffled = centres.iloc[::-1]
    found = PCA(2, center=shuffled).fit(wine)
    np.testing.assert_array_equal(found.mean_, centres)
    # Without names the order counts.
    np.testing.assert_array_equal(PCA(2, center=shuffled).fit(wine.to_numpy()).mean_, shuffled)
    with pytest.raises(ValueError, match="center has no number for column 'ash'"):
        PCA(2, center=centres.drop("ash")).fit(wine)
    with pytest.raises(ValueError, match="scale has a number for 'more', which is not a column of X"):
        PCA(2, scale=pd.concat([centres, pd.Series({"more": 1.0})])).fit(wine)
    again = found.fit(wine.to_numpy())
    np.testing.assert_array_equal(again.mean_, shuffled)


def fits_of_weighted_columns(wine, weights):
    """Return numbers of every fit that takes weights of the columns."""
    sums = Scatter().add(wine)
    incomplete = wine.mask(np.arange(wine.size).reshape(wine.shape) % 7 == 0)
    yield PCA(2, scale=True).fit(wine, feature_weight=weights).components_
    yield PCA(2, scale=True).fit_transform(wine, feature_weight=weights)
    yield PCA(2, scale=True).fit(sums, feature_weight=weights).components_
    yield IncompletePCA(2, scale=True, tol=1e-3).fit(incomplete, feature_weight=weights).components_
    found = cross_validate_entries(
        IncompletePCA(1, scale=True, tol=1e-3), incomplete, n_folds=2, feature_weight=weights
    )
    yield found.features.q2
    for estimator in (PCA(2, scale=True), TruncatedSVD(2)):
        yield resampling.bootstrap(estimator, wine, feature_weight=weights, n_draws=20).loadings.upper
        yield resampling.jackknife(estimator, wine, feature_weight=weights, n_groups=5).loadings.upper
    yield selection.parallel_analysis(wine, scale=True, feature_weight=weights, n_draws=20).values


def test_a_series_of_weights_is_matched_by_name(wine):
    weights = pd.Series(np.linspace(0.5, 2.0, 13), wine.columns)
    expected = fits_of_weighted_columns(wine, weights.to_numpy())
    for found, wanted in zip(fits_of_weighted_columns(wine, weights.iloc[::-1]), expected, strict=True):
        np.testing.assert_array_equal(found, wanted)
    # Without names on both sides the order counts.
    by_order = PCA(2).fit(wine, feature_weight=weights.to_numpy()[::-1]).components_
    unnamed = weights.iloc[::-1].reset_index(drop=True)
    np.testing.assert_array_equal(PCA(2).fit(wine, feature_weight=unnamed).components_, by_order)
    of_array = PCA(2).fit(wine.to_numpy(), feature_weight=weights.iloc[::-1])
    np.testing.assert_array_equal(of_array.components_, by_order)
    nullable = weights.iloc[::-1].astype("Float64")
    np.testing.assert_array_equal(
        PCA(2).fit(wine, feature_weight=nullable).components_, PCA(2).fit(wine, feature_weight=weights).components_
    )


@pytest.mark.parametrize("estimator", [PCA(2), IncompletePCA(2)])
def test_labels_of_weights_are_the_columns(wine, estimator):
    weights = pd.Series(1.0, wine.columns)
    for labelled, message in [
        (weights.drop("ash"), "feature_weight has no number for column 'ash'; its labels are not the columns of X"),
        (pd.concat([weights, pd.Series({"more": 1.0})]), "feature_weight has a number for 'more', which is not"),
        (weights.rename({"ash": "hue"}), "feature_weight has a label twice"),
    ]:
        with pytest.raises(ValueError, match=message):
            estimator.fit(wine, feature_weight=labelled)


def test_a_series_of_scales_of_a_sketch_is_matched_by_name(wine):
    scales = pd.Series(np.linspace(0.5, 2.0, 13), wine.columns)
    expected = IncrementalPCA(2, method="sketch", scale=True, column_scale=scales.to_numpy()).fit(wine)
    found = IncrementalPCA(2, method="sketch", scale=True, column_scale=scales.iloc[::-1])
    np.testing.assert_array_equal(found.fit(wine).scale_, scales)
    np.testing.assert_array_equal(found.components_, expected.components_)
    found.partial_fit(wine[:50])
    np.testing.assert_array_equal(found.components_, expected.partial_fit(wine[:50]).components_)
    found.column_scale = scales
    found.partial_fit(wine[:50])
    with pytest.raises(ValueError, match="column_scale has no number for column 'ash'"):
        found.set_params(column_scale=scales.drop("ash")).fit(wine)


def test_estimators_are_cloned_pickled_and_stored(wine, tmp_path):
    pca = PCA(2, center=wine.iloc[0].to_numpy(), scale=np.full(13, 2.0))
    fitted = clone(pca).fit(wine)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).transform(wine), fitted.transform(wine))
    for estimator in (fitted, PCA(2, scale="pareto").fit(wine), PCA(2, scale="range").fit(wine)):
        estimator.save(tmp_path / "m.model")
        again = PCA.load(tmp_path / "m.model")
        np.testing.assert_array_equal(again.transform(wine), estimator.transform(wine))
        np.testing.assert_array_equal(clone(again).fit(wine).scale_, estimator.scale_)
        assert type(again.scale) is type(estimator.scale)
        assert repr(again).startswith("PCA(")
    page = fitted.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert "PCA(" in page
    rotation.varimax(fitted).save(tmp_path / "r.model")
    loaded = rotation.Rotation.load(tmp_path / "r.model")
    np.testing.assert_allclose(loaded.transform(wine), rotation.varimax(fitted).transform(wine), atol=1e-12)


def test_other_tools_take_the_options(wine):
    x = wine.to_numpy()
    found = selection.rules(PCA(scale="pareto").fit(x))
    assert any(row.n_components for row in found)
    intervals = resampling.bootstrap(PCA(2, scale="pareto"), x, n_draws=50)
    assert intervals.to_frame().shape[0] == 2
    sums = Scatter().add(x)
    from_sums = PCA(2, center=x[0], scale="pareto").fit(sums)
    np.testing.assert_allclose(
        from_sums.explained_variance_, PCA(2, center=x[0], scale="pareto").fit(x).explained_variance_, rtol=1e-8
    )
    with pytest.raises(ValueError, match="scale"):
        PCA(2, scale="range").fit(sums)


def test_unsuitable_numbers_are_named(wine):
    with pytest.raises(ValueError, match=r"scale of column 6 \('flavanoids'\) is 0"):
        PCA(scale=np.where(wine.columns == "flavanoids", 0.0, 1.0)).fit(wine)
    with pytest.raises(ValueError, match="center"):
        PCA(center=np.full(13, np.nan)).fit(wine)
    with pytest.raises(ValueError, match="centres"):
        PCA(center=[1.0, 2.0]).fit(wine)
    with pytest.raises(
        ValueError, match="scale = 'auto' is not known; choose one of 'std', 'pareto', 'range', 'binomial'"
    ):
        PCA(scale="auto").fit(wine)
    with pytest.raises(ValueError, match="center has shape"):
        PCA(center=np.ones((13, 1))).fit(wine)
    with pytest.raises(ValueError, match="center cannot be read as numbers"):
        PCA(center=["a"] * 13).fit(wine)
