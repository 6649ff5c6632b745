"""`IncrementalPCA`: batches, weights, forgetting, merging, files, and what is refused."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.decomposition as peer
from compare import assert_allclose
from karhunen import PCA, IncrementalPCA
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ARRAYS = ("components_", "explained_variance_", "explained_variance_ratio_", "singular_values_", "mean_", "scale_")


def rows(n, p, seed=0):
    """Return rows far from zero with well separated variances."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, p)) * np.geomspace(1, 0.1, p) + 5 * rng.normal(size=p)


def in_batches(pca, x, size, weights=None):
    """Add `x` in batches of `size` rows."""
    for start in range(0, x.shape[0], size):
        part = None if weights is None else weights[start : start + size]
        pca.partial_fit(x[start : start + size], sample_weight=part)
    return pca


def assert_same(found, expected, tol=1e-12):
    """Compare fitted arrays."""
    for name in ARRAYS:
        values = getattr(expected, name)
        assert_allclose(getattr(found, name), values, rtol=tol, atol=tol * np.abs(values).max())
    assert found.noise_variance_ == pytest.approx(expected.noise_variance_, rel=1e-10)


def bits(pca):
    """Return the bytes of the fitted arrays."""
    return [getattr(pca, name).tobytes() for name in ARRAYS]


@pytest.mark.parametrize("options", [{}, {"scale": True}, {"center": False}, {"weighting": "population"}])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_batches_of_any_size_equal_one_fit(options, size):
    x = rows(2100, 12)
    found = in_batches(IncrementalPCA(4, **options), x, size)
    assert_same(found, PCA(4, solver="covariance", **options).fit(x))
    assert found.n_samples_seen_ == 2100
    assert found.method_ == "scatter"
    assert bits(found) == bits(IncrementalPCA(4, n_threads=1, **options).fit(x))
    assert_allclose(found.var_, x.var(axis=0), rtol=1e-10)
    assert_allclose(found.residual_bounds_, found.residuals_)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array, sp.coo_matrix, np.asfortranarray, pd.DataFrame])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int16])
def test_every_kind_of_rows_is_taken(kind, dtype):
    rng = np.random.default_rng(1)
    x = (rng.poisson(1.0, size=(500, 9)) * np.arange(1, 10)).astype(dtype)
    found = IncrementalPCA(3).partial_fit(kind(x[:200])).partial_fit(kind(x[200:]))
    assert_same(found, PCA(3, solver="covariance").fit(x.astype(np.float64)), 1e-10)
    scores = found.transform(kind(x))
    assert scores.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert_allclose(scores, PCA(3).fit(x.astype(np.float64)).transform(x.astype(np.float64)), rtol=2e-5, atol=2e-5)


def test_dense_and_sparse_batches_mix():
    x = rows(300, 8) * (np.random.default_rng(2).random((300, 8)) < 0.3)
    found = IncrementalPCA(3)
    for start in range(0, 300, 50):
        found.partial_fit(sp.csr_array(x[start : start + 50]) if start % 100 else x[start : start + 50])
    assert_same(found, PCA(3, solver="covariance").fit(x))


@pytest.mark.parametrize("method", ["scatter", "sketch"])
def test_weights_are_repetitions(method):
    x = rows(200, 15)
    times = np.random.default_rng(3).integers(0, 4, 200)
    found = in_batches(IncrementalPCA(3, method=method, n_oversamples=12), x, 30, times)
    assert_same(found, PCA(3, solver="covariance").fit(np.repeat(x, times, axis=0)), 1e-9)
    assert found.score(x, sample_weight=times) == pytest.approx(
        PCA(3).fit(x, sample_weight=times).score(x, sample_weight=times), rel=1e-8
    )


def test_rows_are_forgotten_as_the_formulas_say():
    first, weights, second = [[1.0, 2], [3, 4], [5, 6]], [1.0, 2, 1], [[10.0, 1], [12, 5]]
    options = {"n_components": 2, "weighting": "population"}
    everything = IncrementalPCA(**options).partial_fit(first, sample_weight=weights).partial_fit(second)
    assert_allclose(everything.explained_variance_, [15.89268645, 2.88509133], rtol=1e-9)
    assert_allclose(everything.mean_, [17 / 3, 11 / 3])
    half = IncrementalPCA(**options, forget=0.5).partial_fit(first, sample_weight=weights).partial_fit(second)
    assert_allclose(half.explained_variance_, [17.5, 3.25])
    assert_allclose(half.mean_, [7, 3.5])
    assert_allclose(half.components_, [[1, 0], [0, 1]], atol=1e-14)


def test_a_half_life_does_not_depend_on_the_batches():
    x = rows(400, 6)
    weights = 2.0 ** (-np.arange(399, -1, -1) / 50)
    expected = PCA(3, solver="covariance", weighting="population").fit(x, sample_weight=weights)
    options = {"half_life": 50.0, "weighting": "population"}
    for size in (1, 64, 400):
        assert_same(in_batches(IncrementalPCA(3, **options), x, size), expected, 1e-11)


def test_a_file_is_one_batch(tmp_path):
    x = rows(5000, 7)
    np.save(tmp_path / "a.npy", x[:3000])
    pd.DataFrame(x[3000:], columns=list("abcdefg")).to_csv(tmp_path / "b.csv", index=False)
    of_files = IncrementalPCA(3, forget=0.5, memory_limit=100_000)
    of_files.fit(tmp_path / "a.npy").partial_fit([tmp_path / "b.csv"])
    in_memory = IncrementalPCA(3, forget=0.5).fit(x[:3000]).partial_fit(x[3000:])
    assert_same(of_files, in_memory)
    assert_allclose(of_files.transform(tmp_path / "a.npy"), in_memory.transform(x[:3000]), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("p", [20, 60])
def test_a_sketch_without_oversampling_matches_scikit_learn(p):
    x = rows(150, p)
    theirs = peer.IncrementalPCA(5, batch_size=30).fit(x)
    ours = IncrementalPCA(5, method="sketch", n_oversamples=0, batch_size=30).fit(x)
    assert ours.batch_size_ == theirs.batch_size_ == 30
    assert_allclose(ours.explained_variance_, theirs.explained_variance_, rtol=1e-9)
    assert_allclose(np.abs(np.sum(ours.components_ * theirs.components_, axis=1)), np.ones(5), rtol=1e-9)
    assert_allclose(ours.var_, theirs.var_, rtol=1e-9)
    assert_allclose(ours.mean_, theirs.mean_, rtol=1e-9)


def test_a_sketch_shows_its_error_and_refine_repairs_it():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(3000, 100)) / np.sqrt(1 + np.arange(100))
    exact = PCA(5, solver="covariance").fit(x)
    sketch = in_batches(IncrementalPCA(5, method="sketch", n_oversamples=8), x, 100)
    covariance = np.cov(x.T)
    theta = sketch.explained_variance_
    true = np.linalg.norm(covariance @ sketch.components_.T - sketch.components_.T * theta, axis=0) / theta[0]
    assert (theta <= exact.explained_variance_ * (1 + 1e-12)).all()
    assert ((sketch.residuals_ > true / 2) & (sketch.residuals_ < 2 * true)).all()
    assert (true <= sketch.residual_bounds_).all()
    assert sketch.explained_variance_ratio_.sum() < exact.explained_variance_ratio_.sum()
    before = bits(sketch)
    refined = sketch.refine(x)
    assert isinstance(refined, PCA)
    assert refined.residuals_.max() < 1e-8
    assert_allclose(refined.explained_variance_, exact.explained_variance_, rtol=1e-8)
    fresh = PCA(5, solver="block-krylov", tol=1e-3).fit(x)
    assert sketch.refine(x, tol=1e-3).n_iter_ < fresh.n_iter_
    assert bits(sketch) == before
    # Its iterations have the tolerance alone as an option.
    with pytest.warns(ConvergenceWarning, match="; raise tol$"):
        sketch.refine(x, tol=1e-17)


def test_the_first_batch_may_be_shorter_than_the_number_of_components():
    x = rows(40, 6)
    pca = IncrementalPCA(5)
    for start in range(0, 40, 2):
        pca.partial_fit(x[start : start + 2])
    assert_same(pca, PCA(5, solver="covariance").fit(x))
    with pytest.raises(ValueError, match="n_components = 7 is not allowed: there are 6 columns"):
        IncrementalPCA(7).partial_fit(x)


def test_fewer_directions_than_components_are_told():
    x = np.outer([1.0, 2.0, 4.0], [1.0, 2.0, 3.0, 5.0])
    pca = IncrementalPCA(2, method="sketch", weighting="population").partial_fit(x[:2]).partial_fit(x[2:])
    with pytest.warns(UserWarning, match="the model has 1 of 2 components: the rows so far allow no more"):
        assert pca.n_components_ == 1
    assert pca.transform(x).shape == (3, 1)


@pytest.mark.parametrize("method", ["scatter", "sketch"])
def test_estimators_that_were_fitted_apart_merge(method):
    x = rows(900, 10)
    parts = [IncrementalPCA(4, method=method).fit(x[i : i + 300]) for i in (0, 300, 600)]
    before = bits(parts[1])
    merged = clone(parts[0]).fit(x[:300]).merge(parts[1]).merge(parts[2])
    assert_same(merged, PCA(4, solver="covariance").fit(x), 1e-9)
    assert bits(parts[1]) == before
    twice = copy.deepcopy(parts[0])
    twice.merge(twice)
    assert twice.n_samples_seen_ == 600
    assert_allclose(twice.mean_, parts[0].mean_)


def test_estimators_that_differ_do_not_merge():
    x = rows(50, 4)
    pca = IncrementalPCA(2).fit(x)
    with pytest.raises(ValueError, match="scale = True is not allowed: fits that are merged have the same options"):
        pca.merge(IncrementalPCA(2, scale=True).fit(x))
    with pytest.raises(ValueError, match="the other fit: 3 columns"):
        pca.merge(IncrementalPCA(2).fit(x[:, :3]))
    with pytest.raises(TypeError, match="an IncrementalPCA is needed, not PCA"):
        pca.merge(PCA(2).fit(x))
    with pytest.raises(NotFittedError):
        pca.merge(IncrementalPCA(2))
    named = [IncrementalPCA(2).fit(pd.DataFrame(x, columns=list(names))) for names in ("abcd", "abxd")]
    with pytest.raises(ValueError, match="other columns: 'x' where 'c' is expected"):
        named[0].merge(named[1])
    assert pca.n_samples_seen_ == 50


@pytest.mark.parametrize("options", [{}, {"method": "sketch", "n_oversamples": 2, "batch_size": 8}])
def test_pickles_copies_and_files_continue_with_the_same_bits(options, tmp_path):
    x = pd.DataFrame(rows(333, 6), columns=list("abcdef"))
    pca = IncrementalPCA(2, whiten=True, **options).partial_fit(x[:100])
    pca.save(tmp_path / "state.stream")
    loaded = IncrementalPCA.load(tmp_path / "state.stream").set_params(whiten=True)
    others = [pickle.loads(pickle.dumps(pca)), copy.deepcopy(pca), loaded]
    _ = pca.components_
    others.append(pickle.loads(pickle.dumps(pca)))
    expected = pca.partial_fit(x[100:]).transform(x)
    for other in others:
        assert other.n_samples_seen_ == 100
        assert other.feature_names_in_.tolist() == list("abcdef")
        np.testing.assert_array_equal(other.partial_fit(x[100:]).transform(x), expected)
    with pytest.raises(ValueError, match="incremental"):
        PCA.load(tmp_path / "state.stream")
    assert loaded.get_params()["n_components"] == 2


def test_given_scales_are_saved(tmp_path):
    x = rows(100, 5)
    scale = x.std(axis=0)
    pca = IncrementalPCA(2, method="sketch", scale=True, column_scale=scale).fit(x)
    assert_allclose(pca.scale_, scale)
    pca.save(tmp_path / "s")
    again = IncrementalPCA.load(tmp_path / "s")
    assert_allclose(again.column_scale, scale)
    assert bits(again.partial_fit(x)) == bits(pca.partial_fit(x))


def test_scales_of_the_first_rows_are_told():
    x = rows(300, 5)
    pca = IncrementalPCA(2, method="sketch", scale=True, warm_rows=100)
    for start in range(0, 300, 60):
        pca.partial_fit(x[start : start + 60])
    with pytest.warns(UserWarning, match="standard deviations of the first 100 rows"):
        scale = pca.scale_
    assert_allclose(scale, x[:100].std(axis=0, ddof=1))


def test_attributes_are_computed_when_they_are_read():
    pca = IncrementalPCA(2)
    for name in ("components_", "n_samples_seen_", "var_", "residual_bounds_"):
        assert not hasattr(pca, name)
    pca.partial_fit([[1.0, 2.0, 4.0]])
    assert pca.n_samples_seen_ == 1
    with pytest.raises(ValueError, match="the data have one row"):
        _ = pca.components_
    pca.partial_fit([[2.0, 3.0, 5.0]])
    # Two rows vary in one direction; of a scatter matrix the variance along another is rounding.
    assert pca.partial_fit([[2.0, 3.5, 5.0], [0.0, 1.0, 9.0]])._found is None
    assert pca.components_.shape == (2, 3)
    assert not pca.components_.flags.writeable
    assert not pca.var_.flags.writeable
    with pytest.raises(AttributeError):
        pca.components_ = np.eye(2)


def test_fit_starts_again_and_partial_fit_continues():
    x = rows(200, 5)
    pca = IncrementalPCA(2).fit(x[:, :3])
    assert pca.fit(x[:100]).n_features_in_ == 5
    assert_same(pca.partial_fit(x[100:]), PCA(2, solver="covariance").fit(x))
    assert_allclose(pca.fit_transform(x), PCA(2, solver="covariance").fit_transform(x), rtol=1e-9, atol=1e-12)


def test_options_do_not_change_after_the_first_rows():
    x = rows(50, 4)
    pca = IncrementalPCA(2, method="sketch", random_state=1).fit(x)
    for option, value, message in [
        ("n_components", 3, "n_components = 3, but the fit began with 2 was changed after the first rows"),
        ("forget", 0.5, "forget = 0.5, but the fit began with 1.0 was changed"),
        ("random_state", 2, "random_state = 2, but the fit began with 1 was changed"),
        ("column_scale", [1.0] * 4, "column_scale was changed"),
    ]:
        before = getattr(pca, option)
        pca.set_params(**{option: value})
        with pytest.raises(ValueError, match=message):
            pca.partial_fit(x)
        pca.set_params(**{option: before})
    assert pca.partial_fit(x).n_samples_seen_ == 100
    # Options of calls may change, and a generator gives its numbers once.
    pca = IncrementalPCA(2, random_state=np.random.RandomState(0)).partial_fit(x).set_params(n_threads=1, whiten=True)
    assert pca.partial_fit(x).transform(x).std() == pytest.approx(1, rel=0.1)


@pytest.mark.parametrize("method", ["scatter", "sketch"])
def test_what_is_refused_leaves_the_state(method):
    frame = pd.DataFrame(rows(60, 4), columns=list("abcd"))
    pca = IncrementalPCA(2, method=method).partial_fit(frame)
    before = pickle.dumps(pca)
    broken = frame.copy()
    broken.loc[7, "c"] = np.nan
    with pytest.raises(ValueError, match=r"row 7, column 2 \('c'\) is NaN"):
        pca.partial_fit(broken)
    with pytest.raises(ValueError, match="feature names"):
        pca.partial_fit(frame.rename(columns={"a": "z"}))
    with pytest.raises(ValueError, match="feature names"):
        pca.partial_fit(frame[["a", "b", "c"]])
    with pytest.raises(ValueError, match="sample_weight has 3 entries; X has 60 rows"):
        pca.partial_fit(frame, sample_weight=[1, 2, 3])
    with pytest.raises(ValueError, match=r"sample_weight\[1\] is -1"):
        pca.partial_fit(frame[:2], sample_weight=[1, -1])
    with pytest.raises(ValueError, match="0 sample"):
        pca.partial_fit(frame[:0])
    assert pickle.dumps(pca) == before


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"forget": 0.0}, "forget = 0.0 is not allowed: it lies above 0|forget = 0 is not allowed: it lies above 0"),
        ({"forget": 0.9, "half_life": 5}, "half_life = 5 is not allowed: old rows are forgotten by one rule"),
        ({"n_components": 9}, "n_components = 9 is not allowed: there are 4 columns"),
        ({"method": "sketch"}, "n_components = None is not allowed: a sketch needs the number of components"),
        ({"batch_size": 0}, "batch_size = 0 is not allowed: an update takes at least one row"),
        ({"batch_size": 2.5}, "batch_size = 2.5 is not allowed: it must be a whole number, or None"),
        ({"memory_limit": None}, "memory_limit = None is not allowed: it must be a whole number"),
        ({"column_scale": "x"}, "column_scale cannot be read as numbers"),
        ({"column_scale": [[1.0]]}, r"column_scale has shape \(1, 1\)"),
        (
            {"column_scale": [1.0] * 4},
            "column_scale is not allowed: columns are scaled with `scale`",
        ),
        ({"whiten": 1}, "whiten = 1 is not allowed"),
        ({"copy": "no"}, "copy = 'no' is not allowed"),
    ],
)
def test_options_outside_their_rules(options, message):
    with pytest.raises(ValueError, match=message):
        IncrementalPCA(**options).partial_fit(rows(20, 4))


def test_pca_says_where_partial_fit_is():
    assert not hasattr(PCA(), "partial_fit")
    with pytest.raises(AttributeError, match=r"karhunen\.IncrementalPCA fits rows that come in batches"):
        _ = PCA().partial_fit
    with pytest.raises(AttributeError, match="'PCA' object has no attribute 'components'"):
        _ = PCA().components


def test_it_is_a_transformer_of_scikit_learn():
    frame = pd.DataFrame(rows(80, 4), columns=list("abcd"))
    pipeline = make_pipeline(StandardScaler(), IncrementalPCA(2)).set_output(transform="pandas")
    scores = pipeline.fit_transform(frame)
    assert scores.columns.tolist() == ["incrementalpca0", "incrementalpca1"]
    pca = pipeline[-1]
    back = pca.inverse_transform(scores.to_numpy())
    assert_allclose(back, PCA(2).fit(StandardScaler().fit_transform(frame)).inverse_transform(scores.to_numpy()))
    assert_allclose(pca.get_covariance() @ pca.get_precision(), np.eye(4), atol=1e-9)
    assert pca.loadings_.shape == (4, 2)


#: Interrupts a batch that takes long, then prints what the estimator has seen and whether it continues.
INTERRUPTED = """
import os, signal, threading, time, pickle
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
import numpy as np
from karhunen import IncrementalPCA
x = np.random.default_rng(0).normal(size=(400_000, 600)).astype(np.float32)
pca = IncrementalPCA(3, method={method!r}).partial_fit(x[:1000])
before = pickle.dumps(pca)
threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    pca.partial_fit(x)
    print("finished")
except KeyboardInterrupt:
    print("interrupted", pickle.dumps(pca) == before, pca.partial_fit(x[:500]).n_samples_seen_)
"""


@pytest.mark.parametrize("method", ["scatter", "sketch"])
def test_ctrl_c_leaves_the_state(method):
    source = INTERRUPTED.format(method=method)
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout == "interrupted True 1500\n", done
