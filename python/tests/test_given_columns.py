"""Given centres and scales with other tools: series, files, rotations, reports, selection."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from karhunen import PCA, Scatter, resampling, rotation, selection
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
def test_given_numbers_are_those_of_prepared_data(wine, kind, solver):
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
    with pytest.raises(ValueError, match="scale has a number for 'more', which is no column of X"):
        PCA(2, scale=pd.concat([centres, pd.Series({"more": 1.0})])).fit(wine)
    again = found.fit(wine.to_numpy())
    np.testing.assert_array_equal(again.mean_, shuffled)


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
