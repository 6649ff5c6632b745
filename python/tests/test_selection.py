"""Rules for the number of components, parallel analysis and North's rule."""

import numpy as np
import pandas as pd
import pytest
from karhunen import PCA, selection
from sklearn.datasets import load_wine


@pytest.fixture(scope="module")
def wine():
    return load_wine().data


def planted(n=300, p=12, rank=3, seed=0):
    rng = np.random.default_rng(seed)
    return 3 * rng.normal(size=(n, rank)) @ rng.normal(size=(rank, p)) + rng.normal(size=(n, p))


def test_rules_find_a_planted_rank():
    found = {row.rule: row for row in selection.rules(PCA().fit(planted()))}
    assert len(found) == 13
    for rule in ("marchenko-pastur", "gavish-donoho", "minka", "bai-ng-ic2", "gcv"):
        assert found[rule].n_components == 3, found[rule]
        assert not found[rule].at_edge
    table = selection.to_frame(found.values())
    assert table.loc["gavish-donoho", "n_components"] == 3
    assert table.index.name == "rule"


def test_a_truncated_fit_says_which_rules_need_more():
    found = {row.rule: row for row in selection.rules(PCA(2, solver="block-krylov").fit(planted()))}
    assert found["minka"].n_components is None
    assert "fit with all components" in found["minka"].reason
    assert pd.isna(selection.to_frame([found["minka"]])["n_components"].iloc[0])


@pytest.mark.parametrize("null", ["permutation", "normal"])
def test_parallel_analysis(wine, null):
    found = selection.parallel_analysis(wine, scale=True, null=null, n_draws=50)
    assert found.n_components == 3
    assert found.rule == f"parallel-{null}"
    assert (found.values[:3] > found.thresholds[:3]).all()
    np.testing.assert_allclose(found.values, PCA(scale=True).fit(wine).explained_variance_)
    same = selection.parallel_analysis(wine, scale=True, null=null, n_draws=50, n_threads=1)
    np.testing.assert_array_equal(found.thresholds, same.thresholds)


def test_parallel_analysis_of_weighted_rows_equals_repeated_rows():
    x = planted(n=100)
    weights = np.random.default_rng(1).integers(1, 4, len(x))
    weighted = selection.parallel_analysis(x, sample_weight=weights, n_draws=60)
    repeated = selection.parallel_analysis(np.repeat(x, weights, axis=0), n_draws=60)
    assert weighted.n_components == repeated.n_components
    np.testing.assert_allclose(weighted.values, repeated.values)
    np.testing.assert_allclose(weighted.thresholds, repeated.thresholds, rtol=0.15)


def test_north_groups_variances_that_sampling_mixes(wine):
    pca = PCA(scale=True).fit(wine)
    found = selection.north(pca)
    np.testing.assert_allclose(found.standard_errors, pca.explained_variance_ * np.sqrt(2 / len(wine)))
    assert found.groups[0] == range(1)
    few = selection.north(pca, n_observations=10)
    assert len(few.groups) < len(found.groups)
    assert sum(map(len, few.groups)) == wine.shape[1]


def test_a_given_number_of_observations_replaces_the_weights(wine):
    plain = PCA(scale=True, weighting="population").fit(wine)
    # Equal weights of a population are as many observations as rows, whatever their sum.
    pca = PCA(scale=True, weighting="population").fit(wine, sample_weight=np.full(len(wine), 1e-6))
    errors = selection.north(plain).standard_errors
    np.testing.assert_allclose(selection.north(pca).standard_errors, errors)
    np.testing.assert_allclose(selection.north(pca, len(wine) / 4).standard_errors, 2 * errors)
    rows, expected = selection.rules(pca), selection.rules(plain)
    assert [row.n_components for row in rows] == [row.n_components for row in expected]
    one_heavy_row = np.where(np.arange(len(wine)) == 0, 1e6, 1e-6)
    with pytest.raises(ValueError, match="need the number of observations"):
        selection.north(PCA(weighting="population").fit(wine, sample_weight=one_heavy_row))
    for bad in (np.nan, 1, "4", True):
        with pytest.raises((TypeError, ValueError), match="n_observations"):
            selection.north(pca, bad)


def test_parallel_analysis_takes_every_meaning_of_weights(wine):
    weights = np.random.default_rng(2).uniform(0.2, 3.0, len(wine))
    features = np.linspace(0.5, 2.0, wine.shape[1])
    options = {"scale": True, "weighting": "importance", "feature_weight": features, "n_draws": 60}
    found = selection.parallel_analysis(wine, sample_weight=weights, **options)
    again = selection.parallel_analysis(wine, sample_weight=weights * 1e-6, **options)
    np.testing.assert_allclose(again.thresholds, found.thresholds, rtol=1e-9)
    pca = PCA(scale=True, weighting="importance").fit(wine, sample_weight=weights, feature_weight=features)
    np.testing.assert_allclose(found.values, pca.explained_variance_)


def test_equal_importance_weights_are_no_weights(wine):
    for n in range(4, 40):
        x = np.random.default_rng(n).normal(size=(n, 80))
        plain = selection.rules(PCA(weighting="importance").fit(x))
        found = selection.rules(PCA(weighting="importance").fit(x, sample_weight=np.full(n, 0.3)))
        assert [row.n_components for row in found] == [row.n_components for row in plain], n


def test_results_are_compared_by_identity_and_tabled_alone_or_together(wine):
    found = selection.rules(PCA(scale=True).fit(wine))
    assert len(set(found)) == len(found)
    assert len(selection.to_frame(row for row in found)) == len(found)
    assert len(selection.to_frame(found[0])) == 1


def test_unsuitable_arguments_are_named(wine):
    for bad in (0, 0.9, "mle"):
        with pytest.raises(ValueError, match="n_components"):
            selection.parallel_analysis(wine, n_components=bad)
    with pytest.raises(MemoryError, match="random tables"):
        selection.parallel_analysis(wine, n_draws=10**12)
    with pytest.raises(ValueError, match="null = 'x' is not known"):
        selection.parallel_analysis(wine, null="x")
    with pytest.raises(ValueError, match="level = 2"):
        selection.parallel_analysis(wine, level=2)
    with pytest.raises(ValueError, match="n_draws = 0 is not allowed"):
        selection.parallel_analysis(wine, n_draws=0)
    with pytest.raises(TypeError, match="pass a fitted"):
        selection.rules(wine)


@pytest.mark.parametrize("missing", [0.1, 0.3])
@pytest.mark.parametrize("null", ["permutation", "normal"])
def test_parallel_analysis_finds_the_rank_with_missing_values(missing, null):
    rng = np.random.default_rng(5)
    scores, loadings = rng.normal(size=(200, 3)), np.kron(np.eye(3), np.ones((1, 4)))
    x = 1.3 * scores @ loadings + rng.normal(size=(200, 12)) + 10.0
    incomplete = np.where(rng.random(x.shape) < missing, np.nan, x)
    found = selection.parallel_analysis(incomplete, scale=True, null=null, n_draws=60)
    assert found.n_components == 3
    assert found.rule == f"parallel-{null}"
    masked = selection.parallel_analysis(np.ma.masked_invalid(incomplete), scale=True, null=null, n_draws=60)
    np.testing.assert_array_equal(masked.values, found.values)
    with pytest.raises(ValueError, match="scale"):
        selection.parallel_analysis(incomplete, scale="range", n_draws=5)
    with pytest.raises(ValueError, match="n_components"):
        selection.parallel_analysis(incomplete, n_components=13, n_draws=5)


def test_series_are_compared_with_as_many_rows_as_they_are_worth():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(120, 6))
    for i in range(1, 120):
        x[i] = 0.9 * x[i - 1] + np.sqrt(1 - 0.81) * x[i]
    as_rows = selection.parallel_analysis(x, scale=True, n_draws=50)
    as_worth = selection.parallel_analysis(x, scale=True, n_draws=50, n_observations=12.6)
    assert as_rows.n_components > 0
    assert as_worth.n_components == 0
    assert as_worth.thresholds[0] > 1.5 * as_rows.thresholds[0]
    with pytest.raises(ValueError, match="at least 2 observations"):
        selection.parallel_analysis(x, n_observations=1)
