"""Sums over rows that merge: `karhunen.Scatter`."""

import pickle
import subprocess

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from karhunen import PCA, Scatter, TruncatedSVD
from sklearn.base import clone
from sklearn.exceptions import NotFittedError


@pytest.fixture
def x():
    rng = np.random.default_rng(7)
    return rng.normal(size=(60, 4)) @ rng.normal(size=(4, 4)) + 5.0


def assert_same_model(found, expected):
    for name in ("mean_", "scale_", "explained_variance_", "explained_variance_ratio_", "singular_values_"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-11, err_msg=name)
    np.testing.assert_allclose(found.components_, expected.components_, atol=1e-11)
    assert found.n_samples_ == expected.n_samples_


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}, {"weighting": "population"}])
def test_the_model_of_merged_parts_equals_all_rows(x, options):
    parts = [Scatter().add(part) for part in (x[:1], x[1:40].astype(np.float64, order="F"), x[40:])]
    assert_same_model(PCA(**options).fit(sum(parts)), PCA(**options).fit(x))


def test_added_rows_of_any_kind_are_summed_with_their_weights(x):
    weights = np.arange(60) % 3
    scatter = Scatter().add(x[:20], weights[:20]).add(sp.csr_array(x[20:50]), weights[20:50])
    scatter.add(x[50:].tolist(), sample_weight=weights[50:])
    repeated = np.repeat(x, weights, axis=0)
    assert (scatter.n_samples_, scatter.sum_of_weights_) == (60, len(repeated))
    np.testing.assert_allclose(scatter.mean_, repeated.mean(axis=0), rtol=1e-13)
    about = repeated - repeated.mean(axis=0)
    np.testing.assert_allclose(scatter.scatter_, about.T @ about, rtol=1e-11)
    found, expected = PCA().fit(scatter), PCA().fit(repeated)
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-11)


def test_a_sum_leaves_its_parts_as_they_were(x):
    first, second = Scatter().add(x[:30]), Scatter().add(x[30:])
    before = first.scatter_.copy()
    both = first + second
    np.testing.assert_array_equal(first.scatter_, before)
    assert (first.n_samples_, both.n_samples_) == (30, 60)
    assert first.merge(second) is first
    np.testing.assert_array_equal(first.scatter_, both.scatter_)
    assert (Scatter() + second).n_samples_ == second.merge(Scatter()).n_samples_ == 30


def test_columns_are_matched_by_name(x):
    frame = pd.DataFrame(x, columns=list("abcd"))
    first, other = Scatter().add(frame[:30]), Scatter().add(frame.loc[30:, list("dbac")])
    pca = PCA().fit(first.merge(other))
    assert list(pca.feature_names_in_) == list("abcd")
    assert_same_model(pca, PCA().fit(frame))
    unknown = Scatter().add(frame.rename(columns={"c": "e"}))
    with pytest.raises(ValueError, match="column 'e' is in one of them only"):
        first.merge(unknown)
    with pytest.raises(ValueError, match="one Scatter has 4 columns, the other 3"):
        first.merge(Scatter().add(x[:, :3]))
    with pytest.raises(ValueError, match="feature names"):
        first.add(frame.rename(columns={"c": "e"}))
    assert first.n_samples_ == 60


def test_bad_rows_leave_the_sums_as_they_were(x):
    scatter = Scatter().add(pd.DataFrame(x, columns=list("abcd")))
    before = scatter.scatter_.copy()
    bad = pd.DataFrame(x, columns=list("abcd"))
    bad.loc[3, "c"] = np.inf
    with pytest.raises(ValueError, match=r"row 3, column 2.*'c'"):
        scatter.add(bad)
    good = pd.DataFrame(x, columns=list("abcd"))
    with pytest.raises(ValueError, match="sample_weight has 3 entries; X has 60 rows"):
        scatter.add(good, sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match="-1"):
        scatter.add(good, sample_weight=np.full(60, -1.0))
    with pytest.raises(TypeError, match="not with ndarray"):
        scatter.merge(x)
    np.testing.assert_array_equal(scatter.scatter_, before)


def test_failed_first_rows_fix_no_columns(x):
    scatter = Scatter()
    with pytest.raises(ValueError, match="row 0, column 0"):
        scatter.add(np.full((3, 7), np.nan))
    assert scatter.add(x).n_features_in_ == 4


def test_pickles_copies_and_files_keep_every_bit(x, tmp_path):
    scatter = Scatter(n_threads=1).add(pd.DataFrame(x, columns=list("abcd")))
    again = pickle.loads(pickle.dumps(scatter))
    scatter.save(tmp_path / "x.scatter")
    loaded = Scatter.load(tmp_path / "x.scatter")
    for other in (again, loaded):
        np.testing.assert_array_equal(other.scatter_, scatter.scatter_)
        np.testing.assert_array_equal(other.mean_, scatter.mean_)
        assert list(other.feature_names_in_) == list("abcd")
    assert again.n_threads == 1
    with pytest.raises(NotFittedError, match="call add first"):
        _ = clone(scatter).scatter_
    with pytest.raises(ValueError, match="scatter"):
        PCA.load(tmp_path / "x.scatter")
    PCA().fit(x).save(tmp_path / "x.model")
    with pytest.raises(ValueError, match="pca"):
        Scatter.load(tmp_path / "x.model")


def test_files_are_summed_and_the_command_line_reads_the_sums(x, tmp_path, program):
    np.save(tmp_path / "1.npy", x[:25])
    np.save(tmp_path / "2.npy", x[25:])
    scatter = Scatter(memory_limit=2**30, cache_dir=tmp_path).add([tmp_path / "1.npy", tmp_path / "2.npy"])
    assert_same_model(PCA().fit(scatter), PCA().fit(x))
    scatter.save(tmp_path / "12.scatter")
    arguments = ["fit", "--from-moments", tmp_path / "12.scatter", "-k", "all", "-q", "-o", tmp_path / "m"]
    subprocess.run([program, *arguments], check=True)
    assert_same_model(PCA.load(tmp_path / "m"), PCA().fit(x))


def test_the_memory_limit_is_refused_with_one_that_would_do(x):
    with pytest.raises(ValueError, match="memory_limit"):
        Scatter(memory_limit=1000).add(x)


def test_what_needs_rows_refuses_sums(x):
    scatter = Scatter().add(x)
    with pytest.raises(TypeError, match="no scores"):
        PCA().fit_transform(scatter)
    with pytest.raises(ValueError, match=r"belongs to Scatter\.add"):
        PCA().fit(scatter, sample_weight=np.ones(60))
    with pytest.raises(ValueError, match="solver"):
        PCA(solver="gram").fit(scatter)
    with pytest.raises(NotFittedError, match="call add first"):
        PCA().fit(Scatter())
    with pytest.raises((TypeError, ValueError)):
        TruncatedSVD().fit(scatter)
    assert PCA(n_components=2, whiten=True).fit(scatter, feature_weight=[1, 2, 1, 0]).transform(x).shape == (60, 2)


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"weighting": "population"}, {"n_components": 2}])
def test_the_covariance_matrix_gives_the_model_of_its_rows(x, options):
    frame = pd.DataFrame(x, columns=list("abcd"))
    expected = PCA(**options).fit(frame)
    found = PCA.from_covariance(frame.cov(), n_samples=60, mean=frame.mean(), **options)
    assert_same_model(found, expected)
    np.testing.assert_allclose(found.transform(frame), expected.transform(frame), atol=1e-10)
    assert found.feature_names_in_.tolist() == list("abcd")
    assert found.noise_variance_ == pytest.approx(expected.noise_variance_, abs=1e-12)


def test_correlations_are_the_covariances_of_standardized_columns(x):
    found = PCA.from_covariance(np.corrcoef(x.T), n_samples=60)
    expected = PCA(scale=True).fit(x)
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-11)
    np.testing.assert_array_equal(found.mean_, np.zeros(4))


def test_names_of_a_covariance_matrix_are_matched(x, tmp_path):
    frame = pd.DataFrame(x, columns=list("abcd"))
    order = list("dbca")
    found = PCA.from_covariance(frame.cov(), n_samples=60, mean=frame.mean()[order])
    np.testing.assert_allclose(found.mean_, x.mean(axis=0), rtol=1e-14)
    frame.cov().loc[order].to_csv(tmp_path / "c.csv")
    for given in (frame.cov().loc[order], tmp_path / "c.csv"):
        with pytest.raises(ValueError, match="row 'd' is where the columns have 'a'"):
            Scatter.from_covariance(given, n_samples=60)
    with pytest.raises(ValueError, match="mean needs a finite number"):
        Scatter.from_covariance(frame.cov(), n_samples=60, mean=pd.Series([1.0], index=["a"]))
    with pytest.raises(ValueError, match="center does not go with a covariance matrix"):
        PCA.from_covariance(frame.cov(), n_samples=60, center=False)


def test_what_is_not_a_covariance_matrix_is_refused(x):
    cases = [
        ([[1.0, 0.5], [0.4, 1.0]], "the covariance matrix is not symmetric: row 1, column 0 is 0.4"),
        ([[1.0, 0.5], [0.5, -1.0]], "the variance of column 1 is -1"),
        ([[1.0, 2.0], [2.0, 1.0]], "the smallest eigenvalue of the covariance matrix is -1.000e"),
        ([[1.0, 0.5]], "1 row, but 2 are needed"),
    ]
    for matrix, message in cases:
        with pytest.raises(ValueError, match=message):
            Scatter.from_covariance(matrix, n_samples=10)
    with pytest.raises(ValueError, match="n_samples = 2 is not allowed: the covariance matrix of n rows has at most"):
        Scatter.from_covariance(np.eye(3), n_samples=2)
    with pytest.raises(
        ValueError, match="n_samples = 1 is not allowed: a covariance matrix comes from two rows or more"
    ):
        Scatter.from_covariance([[1.0]], n_samples=1)
    with pytest.raises(ValueError, match="but the covariance matrix has 2 columns"):
        Scatter.from_covariance(np.eye(2), n_samples=10, mean=[1.0])
