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
def test_the_model_of_merged_parts_is_that_of_all_rows(x, options):
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
