"""Weights: multiplicities of rows, and weights of columns."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from compare import assert_allclose
from hypothesis import given, settings
from hypothesis import strategies as st
from karhunen import PCA, IncrementalPCA, KernelPCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

SOLVERS = ["svd", "covariance", "gram", "block-krylov"]


@given(
    st.lists(st.integers(0, 4), min_size=12, max_size=25).filter(lambda w: sum(x > 0 for x in w) >= 6),
    st.sampled_from(SOLVERS),
    st.sampled_from([np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array]),
    st.booleans(),
    st.integers(0, 100),
)
@settings(max_examples=100, deadline=None)
def test_a_weight_is_a_number_of_repetitions(weights, solver, container, scale, seed):
    x = np.random.default_rng(seed).normal(size=(len(weights), 5)) * [5, 4, 3, 2, 1] + 2
    weighted = PCA(2, solver=solver, scale=scale, tol=1e-12).fit(container(x), sample_weight=weights)
    repeated = PCA(2, solver=solver, scale=scale, tol=1e-12).fit(container(np.repeat(x, weights, axis=0)))
    for name in ("mean_", "scale_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-8, err_msg=name)
    assert weighted.noise_variance_ == pytest.approx(repeated.noise_variance_, rel=1e-8)
    gap = np.diff(repeated.explained_variance_) / repeated.explained_variance_[0]
    if abs(gap[0]) > 1e-2 and repeated.explained_variance_[1] > 1.5 * repeated.noise_variance_:
        assert_allclose(np.abs(weighted.components_), np.abs(repeated.components_), atol=1e-4)


def test_meanings_of_weights(table):
    w = np.linspace(0.5, 2, 60)
    importance = PCA(2, weighting="importance").fit(table, sample_weight=w)
    assert_allclose(
        PCA(2, weighting="importance").fit(table, sample_weight=7 * w).explained_variance_,
        importance.explained_variance_,
    )
    population = PCA(2, weighting="population").fit(table, sample_weight=w)
    centred = table - np.average(table, axis=0, weights=w)
    values = np.linalg.eigvalsh(centred.T * w @ centred / w.sum())[::-1]
    assert_allclose(population.explained_variance_, values[:2])
    share = w / w.sum()
    assert_allclose(importance.explained_variance_, values[:2] / (1 - (share**2).sum()))


def test_feature_weights_multiply_standardized_columns_by_their_root(table):
    c = np.arange(1.0, 9)
    ours = PCA(3, scale=True).fit(table, feature_weight=c)
    standardized = (table - table.mean(axis=0)) / table.std(axis=0, ddof=1) * np.sqrt(c)
    assert_allclose(ours.explained_variance_, PCA(3).fit(standardized).explained_variance_)
    assert_allclose(ours.transform(table), PCA(3).fit_transform(standardized), atol=1e-10)
    full = PCA(scale=True).fit(table, feature_weight=c)
    assert_allclose(full.inverse_transform(full.transform(table)), table)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1] * 59, "sample_weight has 59 entries; X has 60 rows"),
        (np.ones((60, 1)), r"sample_weight has shape \(60, 1\); X has 60 rows"),
        ([1] * 59 + [-1], r"sample_weight\[59\] is -1; a weight must be finite"),
        ([1] * 59 + [np.nan], r"sample_weight\[59\] is NaN"),
        ([0] * 60, "sample_weight: all 60 entries are zero"),
        (["1"] * 60, "sample_weight cannot be read as numbers: the dtype is <U1"),
        (np.ones(60) * 1j, "sample_weight cannot be read as numbers: the dtype is complex128"),
        (np.arange(60).astype("M8[s]"), "sample_weight cannot be read as numbers: the dtype is datetime64"),
        (np.ma.masked_less(np.arange(60.0), 3), "sample_weight cannot be read as numbers: values are masked"),
        ([{}] * 60, "sample_weight cannot be read as numbers: float"),
        (pd.Series([1] * 59 + [None], dtype="Int64"), r"sample_weight\[59\] is NaN"),
    ],
)
def test_bad_weights_are_named(weights, message, table):
    with pytest.raises(ValueError, match=message):
        PCA(2).fit(table, sample_weight=weights)


def test_one_number_weighs_every_row(table):
    assert_allclose(
        PCA(2).fit(table, sample_weight=3).explained_variance_,
        PCA(2).fit(table, sample_weight=np.full(60, 3)).explained_variance_,
    )


def test_weights_come_in_many_containers(table):
    w = np.arange(60.0)
    expected = PCA(2).fit(table, sample_weight=w).explained_variance_
    for same in (
        w.tolist(),
        pd.Series(w, dtype="Int64"),
        np.stack([w, w])[:, :].T[:, 0],
        w[::-1][::-1],
        w.astype(">f4"),
    ):
        assert_allclose(PCA(2).fit(table, sample_weight=same).explained_variance_, expected)


def test_score_is_a_weighted_mean(table):
    pca, w = PCA(2).fit(table), np.arange(60.0)
    assert pca.score(table, sample_weight=w) == pytest.approx(np.average(pca.score_samples(table), weights=w))


def test_weights_are_routed_through_pipelines(table):
    w = np.arange(60)
    with sklearn.config_context(enable_metadata_routing=True):
        pca = PCA(2).set_fit_request(sample_weight=True)
        scaler = StandardScaler().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(scaler, pca).fit(table, sample_weight=w)
    expected = PCA(2).fit(scaler.fit_transform(table), sample_weight=w)
    assert_allclose(pipeline[-1].components_, expected.components_)


@pytest.mark.parametrize("shape", [(40, 5), (5, 40)])
@pytest.mark.parametrize("container", [np.asarray, sp.csr_array])
def test_weights_that_sum_to_one_are_no_frequencies(shape, container):
    x = container(np.random.default_rng(3).normal(size=shape))
    weights = np.full(shape[0], 1 / shape[0])
    ways_out = "weighting='importance'.*weighting='population'"
    with pytest.raises(ValueError, match=f"^sample_weight sums to .*{ways_out}"):
        PCA(2).fit(x, sample_weight=weights)
    # The remedies and their meanings: a constant factor changes nothing, or the divisor is the sum.
    importance = PCA(2, weighting="importance").fit(x, sample_weight=weights)
    assert_allclose(importance.explained_variance_, PCA(2).fit(x).explained_variance_, rtol=1e-10)
    population = PCA(2, weighting="population").fit(x, sample_weight=weights)
    ratio = (shape[0] - 1) / shape[0]
    assert_allclose(population.explained_variance_, importance.explained_variance_ * ratio, rtol=1e-10)


@pytest.mark.parametrize("estimator", [PCA(1), PCA(1, solver="svd"), IncrementalPCA(1), KernelPCA(1, kernel="rbf")])
def test_a_value_that_is_missing_in_a_row_of_weight_zero_says_so(estimator):
    x = np.arange(12.0).reshape(6, 2) ** 1.5
    x[4, 1] = np.nan
    weights = np.array([1, 1, 2, 1, 0, 1])
    with pytest.raises(ValueError, match=r"row 4, column 1 is NaN; the row has weight zero .* leave the row out"):
        estimator.fit(x, sample_weight=weights)
    weights[4] = 1
    with pytest.raises(ValueError, match=r"row 4, column 1 is NaN; remove or impute it"):
        estimator.fit(x, sample_weight=weights)
