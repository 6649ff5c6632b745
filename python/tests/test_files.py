"""Fits of files, which may be larger than the memory, against fits of their arrays."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from karhunen import PCA, IncompletePCA
from scipy.io import mmwrite

#: The smallest limit of the tables below, whose values need more than half of it.
LIMIT = 110e6


@pytest.fixture(scope="module")
def rows():
    """70,000 rows of 100 columns: 56 MB."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(70_000, 20)) @ rng.normal(size=(20, 100)) + 0.1 * rng.normal(size=(70_000, 100)) + 1


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_file_beyond_the_limit_gives_the_bits_of_its_array(rows, tmp_path, order):
    path = tmp_path / "x.npy"
    np.save(path, np.asarray(rows, order=order))
    held = PCA(5, scale=True, solver="covariance").fit(np.asarray(rows, order=order))
    read = PCA(5, scale=True, solver="covariance", memory_limit=LIMIT, n_threads=2).fit(path)
    assert read.n_features_in_ == 100
    assert read.n_iter_ == 1
    np.testing.assert_array_equal(read.components_, held.components_)
    np.testing.assert_array_equal(read.explained_variance_, held.explained_variance_)
    np.testing.assert_array_equal(read.transform(str(path)), held.transform(rows))


def test_a_fit_of_a_path_and_its_scores(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(50, 3)), columns=["a", "b", "c"])
    frame.to_csv(tmp_path / "x.csv", index=False)
    pca = PCA(2)
    scores = pca.fit_transform(tmp_path / "x.csv")
    np.testing.assert_allclose(scores, PCA(2).fit_transform(frame), atol=1e-12)
    assert list(pca.feature_names_in_) == ["a", "b", "c"]
    assert pca.score(tmp_path / "x.csv") == pytest.approx(pca.score(frame))
    frame.rename(columns={"b": "other"}).to_csv(tmp_path / "y.csv", index=False)
    with pytest.raises(ValueError, match="column 1 is 'other', but the estimator was fitted with 'b' there"):
        pca.transform(tmp_path / "y.csv")
    frame[["a", "b"]].to_csv(tmp_path / "z.csv", index=False)
    with pytest.raises(ValueError, match="has 2 features, but PCA is expecting 3"):
        pca.transform(tmp_path / "z.csv")


def test_several_files_and_folders_are_one_table(tmp_path):
    frame = pd.DataFrame(np.random.default_rng(2).normal(size=(60, 3)), columns=["a", "b", "c"])
    whole = PCA(2).fit(frame)
    frame[:20].to_csv(tmp_path / "1.csv", index=False)
    frame[20:50][["c", "a", "b"]].to_csv(tmp_path / "2.csv", index=False)  # another order of the columns
    frame[50:].to_csv(tmp_path / "3.csv", index=False)
    for x in (tmp_path, sorted(tmp_path.iterdir())):
        found = PCA(2).fit(x)
        assert found.n_samples_ == 60
        np.testing.assert_allclose(found.components_, whole.components_, atol=1e-10)
        np.testing.assert_allclose(found.mean_, whole.mean_, atol=1e-14)
    frame[:5].assign(d=1.0).to_csv(tmp_path / "4.csv", index=False)
    with pytest.raises(ValueError, match=r"4\.csv: has 4 columns of numbers, but .*1\.csv has 3"):
        PCA(2).fit(tmp_path)


def test_errors_of_files_name_them(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none\.npy"):
        PCA(2).fit(tmp_path / "none.npy")
    np.save(tmp_path / "nan.npy", [[1.0, 2.0], [np.nan, 3.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match="row 1, column 0"):
        PCA(1).fit(tmp_path / "nan.npy")
    np.save(tmp_path / "one.npy", [[1.0, 2.0]])
    with pytest.raises(ValueError, match="minimum of 2 is required by PCA"):
        PCA(1).fit(tmp_path / "one.npy")


def test_a_limit_that_is_too_small_is_an_error_that_names_the_smallest(rows, tmp_path):
    np.save(tmp_path / "x.npy", rows)
    with pytest.raises(ValueError, match="but memory_limit is 20"):
        PCA(5, memory_limit=20e6).fit(tmp_path / "x.npy")


def test_texts_are_copied_to_the_cache_and_leave_nothing(rows, tmp_path):
    some = rows[:1000].round(3)
    text = pd.DataFrame(some).to_csv(index=False, header=False)
    (tmp_path / "x.csv.gz").write_bytes(gzip.compress(70 * text.encode(), compresslevel=1))
    cache = tmp_path / "cache"
    cache.mkdir()
    read = PCA(2, memory_limit=LIMIT, n_threads=2, cache_dir=cache, solver="covariance").fit(tmp_path / "x.csv.gz")
    held = PCA(2, solver="covariance").fit(np.tile(some, (70, 1)))
    np.testing.assert_array_equal(read.components_, held.components_)
    assert list(cache.iterdir()) == []


def test_entries_of_a_file_match_its_array(tmp_path):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 10)) + 0.1 * rng.normal(size=(300, 10))
    x[rng.random(x.shape) < 0.5] = np.nan
    np.save(tmp_path / "x.npy", x)
    frame = pd.DataFrame(x, columns=[f"c{j}" for j in range(10)], index=[f"r{i}" for i in range(300)])
    frame.to_csv(tmp_path / "x.csv", index_label="id")
    expected = IncompletePCA(2).fit(x)
    # A sixteenth of the limit is less than the values.
    for limit in (None, 1e8):
        pca = IncompletePCA(2, memory_limit=limit, cache_dir=tmp_path)
        np.testing.assert_array_equal(pca.fit(tmp_path / "x.npy").components_, expected.components_)
        np.testing.assert_array_equal(pca.transform(tmp_path / "x.npy"), expected.transform(x))
        np.testing.assert_array_equal(pca.impute(tmp_path / "x.npy"), expected.impute(x))
    named = IncompletePCA(2).fit(tmp_path / "x.csv")
    np.testing.assert_allclose(named.components_, expected.components_, atol=1e-9)
    assert list(named.feature_names_in_) == list(frame.columns)
    assert list(named.row_ids_[:2]) == ["r0", "r1"]
    with pytest.raises(ValueError, match="entry_weight cannot be used with a path or RowBlocks"):
        IncompletePCA(2).fit(tmp_path / "x.npy", entry_weight=np.ones(x.shape))


def test_entries_beyond_the_limit_are_counted(tmp_path):
    x = np.ones((50_000, 40)) + np.arange(40)
    x[::3, ::7] = np.nan
    np.save(tmp_path / "x.npy", x)
    with pytest.raises(
        ValueError, match=r"observed entries of 50000 rows and 40 columns needs .* memory_limit to at least"
    ):
        IncompletePCA(2, memory_limit=80e6).fit(tmp_path / "x.npy")


def test_sparse_files_beyond_the_limit_are_copied_by_rows(tmp_path):
    x = sp.csc_array(sp.random(44_000, 300, density=0.12, random_state=6, format="csc"))
    mmwrite(tmp_path / "x.mtx", x)
    sp.save_npz(tmp_path / "x.npz", x)
    expected = PCA(3, solver="covariance").fit(x.tocsr())
    for name in ("x.mtx", "x.npz"):
        # Reading 1.6 million entries in memory would take more than half of the limit.
        pca = PCA(3, solver="covariance", memory_limit=110e6, cache_dir=tmp_path, n_threads=2).fit(tmp_path / name)
        np.testing.assert_allclose(pca.explained_variance_, expected.explained_variance_, rtol=1e-9)
        np.testing.assert_allclose(abs(pca.components_), abs(expected.components_), atol=1e-6)
        np.testing.assert_allclose(pca.transform(tmp_path / name), pca.transform(x.tocsr()), atol=1e-12)
    assert len(list(tmp_path.iterdir())) == 2
