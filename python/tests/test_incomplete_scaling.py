"""Scaled features and feature weights of data with missing values."""

import pickle

import numpy as np
import pandas as pd
import pytest
from karhunen import PCA, IncompletePCA, cross_validate_entries

UNITS = np.array([1e-3, 1.0, 50.0, 1e4, 3.0, 0.2])


@pytest.fixture
def x():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(80, 2)) @ rng.normal(size=(2, 6)) + 0.3 * rng.normal(size=(80, 6)) + 2.0
    x[rng.random(x.shape) < 0.2] = np.nan
    return x * UNITS


def test_entries_are_divided_by_their_deviations(x):
    d = np.nanstd(x, axis=0, ddof=1)
    pca = IncompletePCA(2, scale=True).fit(x)
    plain = IncompletePCA(2).fit(x / d)
    np.testing.assert_allclose(pca.scale_, d, rtol=1e-12)
    np.testing.assert_allclose(pca.components_, plain.components_, atol=1e-6)
    np.testing.assert_allclose(pca.mean_ / d, plain.mean_, rtol=1e-6)
    np.testing.assert_allclose(pca.impute(x) / d, plain.impute(x / d), atol=1e-5)
    value, std = pca.predict([0, 3], [1, 5], return_std=True)
    expected, expected_std = plain.predict([0, 3], [1, 5], return_std=True)
    np.testing.assert_allclose(value / d[[1, 5]], expected, atol=1e-5)
    np.testing.assert_allclose(std / d[[1, 5]], expected_std, rtol=1e-5)
    np.testing.assert_allclose(pca.score_samples(x) + np.isfinite(x) @ np.log(d), plain.score_samples(x / d), atol=1e-4)
    np.testing.assert_array_equal(plain.scale_, 1.0)


def test_complete_data_give_the_results_of_pca():
    rng = np.random.default_rng(4)
    x = (rng.normal(size=(60, 2)) @ rng.normal(size=(2, 6)) + rng.normal(size=(60, 6))) * UNITS + UNITS
    weights, features = rng.integers(1, 4, 60), rng.uniform(0.5, 2.0, 6)
    expected = PCA(2, scale=True).fit(x, sample_weight=weights, feature_weight=features)
    pca = IncompletePCA(2, scale=True, method="em", tol=1e-14, max_iter=20_000)
    pca.fit(x, sample_weight=weights, feature_weight=features)
    np.testing.assert_allclose(pca.explained_variance_, expected.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(pca.components_, expected.components_, atol=1e-5)
    np.testing.assert_allclose(pca.scale_, expected.scale_, rtol=1e-12)
    np.testing.assert_allclose(pca.mean_, expected.mean_, rtol=1e-6)


def test_files_pickles_and_streams_keep_the_scales(x, tmp_path):
    features = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 4.0])
    pca = IncompletePCA(2, scale=True).fit(x, feature_weight=features)
    pca.save(tmp_path / "m.kh")
    for again in (IncompletePCA.load(tmp_path / "m.kh"), pickle.loads(pickle.dumps(pca))):
        assert again.scale
        np.testing.assert_array_equal(again.impute(x), pca.impute(x))
        np.testing.assert_array_equal(again.scale_, pca.scale_)
    filled = pca.impute(x)
    pca.partial_fit(x[:30])
    np.testing.assert_allclose(pca.impute(x) / UNITS, filled / UNITS, atol=1.0)
    again = pickle.loads(pickle.dumps(pca)).partial_fit(x[30:])
    np.testing.assert_array_equal(again.impute(x), pca.partial_fit(x[30:]).impute(x))
    with pytest.raises(ValueError, match="scale = True needs the scales before the first row"):
        IncompletePCA(2, scale=True).partial_fit(x)


def test_single_precision_frames_and_held_out_errors(x):
    frame = pd.DataFrame(x.astype(np.float32), columns=list("abcdef"))
    single = IncompletePCA(2, scale=True).fit(frame)
    np.testing.assert_allclose(single.scale_, np.nanstd(x, axis=0, ddof=1), rtol=1e-5)
    np.testing.assert_allclose(
        single.explained_variance_, IncompletePCA(2, scale=True).fit(x).explained_variance_, rtol=1e-3
    )
    found = cross_validate_entries(IncompletePCA(scale=True), x, n_components=[1, 2])
    units = cross_validate_entries(IncompletePCA(scale=True), x / UNITS, n_components=[1, 2])
    np.testing.assert_allclose(found.errors, units.errors, rtol=1e-6)
    assert found.errors.max() < 2.0
    weighted = cross_validate_entries(IncompletePCA(), x / UNITS, n_components=[1], feature_weight=[4.0] * 6)
    plain = cross_validate_entries(IncompletePCA(), x / UNITS, n_components=[1])
    np.testing.assert_allclose(weighted.errors, 2.0 * plain.errors, rtol=1e-4)


@pytest.mark.parametrize("scale", ["std", "pareto", "range", "binomial", np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])])
def test_other_rules_match_complete_data(scale, tmp_path):
    rng = np.random.default_rng(5)
    genotypes = rng.binomial(2, [0.1, 0.3, 0.5, 0.2, 0.4, 0.25], (100, 6)).astype(float)
    complete = PCA(2, scale=scale).fit(genotypes)
    pca = IncompletePCA(2, scale=scale, method="em", tol=1e-12).fit(genotypes)
    np.testing.assert_allclose(pca.scale_, complete.scale_, rtol=1e-12)
    np.testing.assert_allclose(pca.explained_variance_ratio_, complete.explained_variance_ratio_, rtol=1e-5)
    genotypes[rng.random(genotypes.shape) < 0.1] = np.nan
    pca = IncompletePCA(2, scale=scale).fit(genotypes)
    plain = IncompletePCA(2).fit(genotypes / pca.scale_)
    np.testing.assert_allclose(pca.impute(genotypes) / pca.scale_, plain.impute(genotypes / pca.scale_), atol=1e-5)
    pca.save(tmp_path / "m.kh")
    again = IncompletePCA.load(tmp_path / "m.kh")
    np.testing.assert_array_equal(again.fit(genotypes).components_, pca.components_)
    found = cross_validate_entries(IncompletePCA(scale=scale), genotypes, n_components=[1])
    assert np.isfinite(found.errors).all()


def test_given_scales_belong_to_the_names_of_columns(x):
    frame = pd.DataFrame(x, columns=list("abcdef"))
    scales = pd.Series(UNITS, index=list("abcdef"))
    expected = IncompletePCA(2, scale=scales).fit(frame)
    found = IncompletePCA(2, scale=scales.iloc[::-1]).fit(frame)
    np.testing.assert_array_equal(found.scale_, UNITS)
    np.testing.assert_array_equal(found.components_, expected.components_)
    with pytest.raises(ValueError, match="scale has no number for column 'c'"):
        IncompletePCA(2, scale=scales.drop("c")).fit(frame)


def test_unsuitable_arguments_are_named(x):
    with pytest.raises(ValueError, match="scale = 'yes'"):
        IncompletePCA(2, scale="yes").fit(x)
    with pytest.raises(ValueError, match=r"row 0, column 2 is .*counts from 0 to 2"):
        IncompletePCA(2, scale="binomial").fit(x)
    with pytest.raises(ValueError, match="column 1"):
        IncompletePCA(2, scale=[1.0, 0.0, 1.0, 1.0, 1.0, 1.0]).fit(x)
    with pytest.raises(ValueError, match="feature_weight"):
        IncompletePCA(2).fit(x, feature_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match="the weight of column 2 is zero"):
        IncompletePCA(2).fit(x, feature_weight=[1.0, 2.0, 0.0, 1.0, 1.0, 1.0])
    with pytest.raises(ValueError, match=r"mean_prior = .*no common unit"):
        IncompletePCA(2, scale=True, mean_prior=(3, 2.0)).fit(x)
