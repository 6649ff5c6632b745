"""Estimators of dask collections: the fits of rows in memory, with bits that depend on the partitions alone."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import warnings

import karhunen
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.exceptions import NotFittedError

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

from karhunen.dask import PCA, IncompletePCA, IncrementalPCA, TruncatedSVD  # noqa: E402

SOLVERS = ("covariance", "block-krylov")


def block(number, n=500, p=30):
    """Return the rows of a partition, which are computed where they are needed."""
    rng = np.random.default_rng(number)
    return rng.normal(size=(n, p)) * np.linspace(3, 1, p) + 2


def make(block_info=None):
    return block(block_info[None]["chunk-location"][0])


@pytest.fixture(scope="module")
def lazy():
    """Return 10 partitions of 500 rows, none of them stored."""
    return da.map_blocks(make, chunks=((500,) * 10, (30,)), dtype=float)


@pytest.fixture(scope="module")
def rows(lazy):
    return lazy.compute()


def assert_equal(found, expected):
    scale = expected.explained_variance_[0]
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(found.components_, expected.components_, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found.explained_variance_ratio_, expected.explained_variance_ratio_, rtol=0, atol=1e-12)


@pytest.mark.parametrize("solver", SOLVERS)
def test_partitions_give_the_fit_of_all_rows(lazy, rows, solver):
    weights = np.random.default_rng(0).integers(0, 3, len(rows))
    pca = PCA(4, scale=True, solver=solver, tol=1e-11).fit(lazy, sample_weight=weights, persist=True)
    expected = karhunen.PCA(4, scale=True).fit(rows, sample_weight=weights)
    assert_equal(pca, expected)
    other = PCA(4, scale=True, solver=solver, tol=1e-11)
    other.fit(lazy.persist(), sample_weight=da.from_array(weights, chunks=333))
    assert np.array_equal(other.components_, pca.components_)
    scores = pca.transform(lazy)
    assert (scores.shape, scores.chunks) == ((5000, 4), (lazy.chunks[0], (4,)))
    np.testing.assert_allclose(scores.compute(), expected.transform(rows), rtol=0, atol=1e-8)
    back = pca.inverse_transform(scores)
    np.testing.assert_allclose(back.compute(), expected.inverse_transform(expected.transform(rows)), atol=1e-8)
    likelihood = pca.score_samples(lazy)
    assert likelihood.chunks == (lazy.chunks[0],)
    np.testing.assert_allclose(likelihood.compute(), expected.score_samples(rows), rtol=1e-9)
    np.testing.assert_allclose(pca.transform(rows[:3]), scores[:3].compute(), atol=1e-12)


def bits(estimator):
    return estimator.components_.tobytes() + estimator.explained_variance_.tobytes()


def kill_one(client):
    """Kill a worker process soon."""
    pids = list(client.run(os.getpid).values())
    thread = threading.Timer(0.2, lambda: os.kill(pids[0], signal.SIGKILL))
    thread.start()
    return thread


@pytest.mark.filterwarnings("ignore")
def test_bits_do_not_depend_on_workers_or_their_deaths(lazy):
    expected = {}
    for solver in SOLVERS:
        with dask.config.set(scheduler="synchronous"):
            expected[solver] = bits(PCA(3, solver=solver).fit(lazy))
        with dask.config.set(scheduler="threads"):
            assert bits(PCA(3, solver=solver).fit(lazy)) == expected[solver]
    for n_workers in (1, 2, 4):
        options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
        with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
            for solver in SOLVERS:
                assert bits(PCA(3, solver=solver).fit(lazy)) == expected[solver], n_workers
            if n_workers == 2:
                slow = lazy.map_blocks(slowly, dtype=float)
                thread = kill_one(client)
                found = bits(PCA(3).fit(slow))
                thread.join()
                assert found == expected["covariance"]


def slowly(rows):
    time.sleep(0.1)
    return rows


@pytest.mark.filterwarnings("ignore")
def test_large_tasks_are_sent_to_the_workers():
    x = da.random.default_rng(0).normal(size=(600, 3000), chunks=(200, 3000))
    with dask.config.set(scheduler="synchronous"):
        expected = bits(PCA(60, tol=1e-2).fit(x))
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        pca = PCA(60, tol=1e-2).fit(x)
        assert pca.solver_ == "block-krylov"
        assert bits(pca) == expected
        # A client is not the scheduler of everything.
        with dask.config.set(scheduler="threads"):
            assert bits(PCA(60, tol=1e-2).fit(x)) == expected


@pytest.mark.filterwarnings("ignore")
def test_workers_in_processes_of_their_own(rows):
    """Arrays that travel between processes may start at any byte."""
    weights = np.random.default_rng(0).integers(1, 4, len(rows)).astype(float)
    thin = np.where(rows > 4, rows, 0)
    incomplete = np.where(np.random.default_rng(1).random(rows.shape) < 0.1, np.nan, rows)
    chunks = (700, rows.shape[1])
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "silence_logs": 50}
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster):
        of_rows = da.from_array(weights, 700)
        found = PCA(3, scale=True).fit(da.from_array(rows, chunks), sample_weight=of_rows)
        assert_equal(found, karhunen.PCA(3, scale=True).fit(rows, sample_weight=weights))
        sparse = da.from_array(thin, chunks).map_blocks(sp.csr_matrix, dtype=float)
        found = PCA(3).fit(sparse, sample_weight=of_rows)
        assert_equal(found, karhunen.PCA(3).fit(sp.csr_matrix(thin), sample_weight=weights))
        found = IncompletePCA(3, method="em", n_starts=1, max_iter=8).fit(da.from_array(incomplete, chunks))
        expected = karhunen.IncompletePCA(3, method="em", n_starts=1, max_iter=8).fit(incomplete)
        np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-4)


def test_sparse_blocks_are_not_densified(lazy, rows):
    sparse = lazy.map_blocks(lambda x: sp.csr_matrix(np.where(x > 4, x, 0)), dtype=float, meta=sp.csr_matrix((0, 0)))
    expected = karhunen.PCA(4).fit(sp.csr_matrix(np.where(rows > 4, rows, 0)))
    for solver in SOLVERS:
        assert_equal(PCA(4, solver=solver, tol=1e-11).fit(sparse, persist=True), expected)
    scores = PCA(4).fit(sparse).transform(sparse)
    assert scores.compute().shape == (5000, 4)


def test_unknown_lengths_and_empty_partitions(lazy, rows):
    chosen = lazy[lazy[:, 0] > 10.3]
    assert np.isnan(chosen.shape[0])
    expected = karhunen.PCA(3).fit(rows[rows[:, 0] > 10.3])
    pca = PCA(3).fit(chosen)
    assert_equal(pca, expected)
    assert any(len(part) == 0 for part in dask.compute(*chosen.to_delayed().ravel()))
    np.testing.assert_allclose(pca.transform(chosen).compute(), expected.transform(rows[rows[:, 0] > 10.3]), atol=1e-9)
    weights = lazy[:, 1][lazy[:, 0] > 10.3] ** 2
    found = PCA(3, weighting="importance").fit(chosen, sample_weight=weights)
    keep = rows[:, 0] > 10.3
    assert_equal(found, karhunen.PCA(3, weighting="importance").fit(rows[keep], sample_weight=rows[keep, 1] ** 2))


def test_an_empty_partition_keeps_single_precision(rows):
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    single = rows[:600, :4].astype(np.float32)
    first_empty = da.concatenate([da.from_array(single[:0]), da.from_array(single, chunks=(300, 4))])
    frame = pd.DataFrame(single, columns=list("abcd"))
    frames = dd.concat([dd.from_pandas(part, npartitions=1) for part in (frame[:0], frame)], interleave_partitions=True)
    for lazy in (first_empty, first_empty[first_empty[:, 0] > -1e3], frames):
        pca = PCA(2).fit(lazy)
        scores = pca.transform(lazy)
        back = pca.inverse_transform(scores)
        for values in (scores, back):
            assert values.dtype == np.float32
            assert values.compute().dtype == np.float32
        assert pca.score_samples(lazy).compute().dtype == np.float64


def test_the_score_is_the_mean_of_rows_of_any_number(lazy, rows):
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    keep = rows[:, 0] > 10.3
    lengths_unknown = lazy[lazy[:, 0] > 10.3]
    expected = karhunen.PCA(3).fit(rows)
    pca = PCA(3).fit(lazy)
    np.testing.assert_allclose(pca.score(lazy), expected.score(rows), rtol=1e-9)
    np.testing.assert_allclose(pca.score(lengths_unknown), expected.score(rows[keep]), rtol=1e-9)
    weights = rows[:, 1] ** 2
    weighted = expected.score(rows, sample_weight=weights)
    np.testing.assert_allclose(pca.score(lazy, sample_weight=weights), weighted, rtol=1e-9)
    weighted = expected.score(rows[keep], sample_weight=weights[keep])
    found = pca.score(lengths_unknown, sample_weight=lengths_unknown[:, 1] ** 2)
    np.testing.assert_allclose(found, weighted, rtol=1e-9)
    frame = pd.DataFrame(rows, columns=[f"c{j}" for j in range(30)])
    frames = dd.from_pandas(frame.assign(weight=weights), npartitions=7)
    values = frames[list(frame.columns)]
    of_frames, expected = PCA(3).fit(values), karhunen.PCA(3).fit(frame)
    np.testing.assert_allclose(of_frames.score(values), expected.score(frame), rtol=1e-9)
    found = of_frames.score(values, sample_weight=frames["weight"])
    np.testing.assert_allclose(found, expected.score(frame, sample_weight=weights), rtol=1e-9)
    assert of_frames.score(frame) == expected.score(frame)
    with pytest.raises(ValueError, match="X has no rows of positive weight"):
        pca.score(lazy, sample_weight=np.zeros(len(rows)))
    with pytest.raises(ValueError, match="X has 29 features"):
        pca.score(lazy[:, 1:])
    with pytest.raises(NotFittedError):
        PCA(3).score(lazy)


def test_columns_in_several_chunks(lazy, rows):
    cut = da.from_array(rows, chunks=(500, 7))
    assert bits(PCA(3).fit(cut)) == bits(PCA(3).fit(lazy))
    with pytest.raises(ValueError, match=r"X.rechunk\(\{1: -1\}\)"):
        PCA(3).fit(cut[cut[:, 0] > 0])


def test_dataframes(rows):
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    frame = pd.DataFrame(rows, columns=[f"c{j}" for j in range(30)])
    frame["weight"] = np.arange(len(rows)) % 3
    lazy = dd.from_pandas(frame, npartitions=7)
    values = lazy.drop(columns="weight")
    pca = PCA(3).fit(values, sample_weight=lazy["weight"])
    expected = karhunen.PCA(3).fit(frame.drop(columns="weight"), sample_weight=frame["weight"])
    assert_equal(pca, expected)
    assert list(pca.feature_names_in_) == [f"c{j}" for j in range(30)]
    np.testing.assert_allclose(pca.transform(values).compute(), expected.transform(frame[values.columns]), atol=1e-9)
    assert pca.transform(values)[:, 0].compute().shape == (5000,)
    assert pca.transform(values.astype(np.float32)).dtype == np.float32
    with pytest.raises(ValueError, match="sample_weight of a dataframe"):
        PCA(3).fit(values, sample_weight=np.ones(len(rows)))


@pytest.mark.parametrize("kind", [PCA, IncompletePCA])
def test_a_series_of_weights_is_matched_by_the_names_of_a_dataframe(kind):
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    frame = pd.DataFrame(block(0, p=5), columns=list("abcde"))
    lazy, weights = dd.from_pandas(frame, npartitions=2), pd.Series([1.0, 2.0, 3.0, 4.0, 5.0], list("abcde"))
    expected = kind(2).fit(lazy, feature_weight=weights.to_numpy(), persist=True)
    found = kind(2).fit(lazy, feature_weight=weights[::-1], persist=True)
    assert np.array_equal(found.components_, expected.components_)
    with pytest.raises(ValueError, match="feature_weight has no number for column 'b'"):
        kind(2).fit(lazy, feature_weight=weights.drop("b"), persist=True)
    of_array = kind(2).fit(lazy.to_dask_array(lengths=True), feature_weight=weights, persist=True)
    assert np.array_equal(of_array.components_, expected.components_)


@pytest.mark.parametrize(("kind", "name"), [(PCA, "center"), (PCA, "scale"), (IncompletePCA, "scale")])
def test_series_of_centres_and_scales_are_matched_by_the_names_of_a_dataframe(kind, name):
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    frame = pd.DataFrame(block(0, p=5), columns=list("abcde"))
    lazy, given = dd.from_pandas(frame, npartitions=2), pd.Series([1.0, 2.0, 3.0, 4.0, 5.0], list("abcde"))

    def fit(values, x=lazy):
        return kind(2, **{name: values}).fit(x, persist=True)

    expected = fit(given.to_numpy())
    assert np.array_equal(fit(given[::-1]).components_, expected.components_)
    with pytest.raises(ValueError, match=f"{name} has no number for column 'b'"):
        fit(given.drop("b"))
    # Columns without names take the numbers in their order, as in memory.
    of_array = fit(given, lazy.to_dask_array(lengths=True))
    assert np.array_equal(of_array.components_, expected.components_)


def test_xarray(lazy, rows):
    xr = pytest.importorskip("xarray")
    assert bits(PCA(3).fit(xr.DataArray(lazy, dims=("time", "place")))) == bits(PCA(3).fit(lazy))
    with pytest.raises(ValueError, match="3 axes"):
        PCA(3).fit(xr.DataArray(lazy.reshape(10, 500, 30)))


def test_truncated_svd_and_incremental_pca(lazy, rows):
    assert_equal(TruncatedSVD(4, tol=1e-11).fit(lazy), karhunen.TruncatedSVD(4, tol=1e-11).fit(rows))
    assert TruncatedSVD(4).fit_transform(lazy).shape == (5000, 4)
    pca = IncrementalPCA(4).fit(lazy[:3000]).partial_fit(lazy[3000:])
    assert_equal(pca, karhunen.PCA(4).fit(rows))
    assert pca.n_samples_seen_ == 5000
    pca.partial_fit(rows[:10])
    assert pca.n_samples_seen_ == 5010
    assert pca.transform(lazy).compute().shape == (5000, 4)
    sketch = IncrementalPCA(3, method="sketch", random_state=0).fit(lazy)
    assert sketch.method_ == "sketch"
    np.testing.assert_allclose(sketch.explained_variance_, karhunen.PCA(3).fit(rows).explained_variance_, rtol=0.02)
    with pytest.raises(ValueError, match=r"half_life = 5\.0 needs rows in an order"):
        IncrementalPCA(3, half_life=5.0).fit(lazy)


def test_errors_and_notes(lazy, rows):
    bad = rows.copy()
    bad[1234, 5] = np.inf
    for estimator in (PCA(3), IncrementalPCA(3), TruncatedSVD(3)):
        with pytest.raises(ValueError, match="part 2: row 234, column 5 is inf"):
            estimator.fit(da.from_array(bad, chunks=(500, 30)))
    noise = da.zeros((2000, 20), chunks=(500, 20)).map_blocks(lambda x: np.random.default_rng().normal(size=x.shape))
    with (
        pytest.warns(UserWarning, match=r"fit\(X, persist=True\)"),
        pytest.raises(ValueError, match="the values of part 0 differ between passes over the data; persist"),
    ):
        PCA(3, solver="block-krylov").fit(noise)
    PCA(3, solver="block-krylov").fit(noise, persist=True)
    PCA(3, solver="block-krylov").fit(noise.persist())
    with pytest.raises(TypeError, match="not ndarray; the estimators of karhunen take rows in memory"):
        PCA(3).fit(rows)
    with pytest.raises(ValueError, match="sample_weight has 5 entries; X has 5000 rows"):
        PCA(3).fit(lazy, sample_weight=np.ones(5))
    with pytest.raises(ValueError, match="persist = 2 is not allowed"):
        PCA(3).fit(lazy, persist=2)
    with pytest.raises(ValueError, match="X has 29 columns, but PCA is expecting 30"):
        PCA(3).fit(lazy).transform(lazy[:, :29])


def test_weights_of_the_rows_compute_no_partition_twice():
    computed = []

    def counted(block_info=None):
        computed.append(block_info[None]["chunk-location"][0])
        return block(computed[-1])

    x = da.map_blocks(counted, chunks=((500,) * 4, (30,)), dtype=float, meta=np.empty((0, 0)))
    with dask.config.set(scheduler="synchronous"):
        for persist in (False, True):
            PCA(3).fit(x, sample_weight=x[:, 0] ** 2, persist=persist)
            assert sorted(computed) == [0, 1, 2, 3]
            computed.clear()


def test_a_failure_in_the_last_pass_leaves_the_estimator_as_it_was(rows):
    calls = []

    def failing(rows):
        calls.append(None)
        if len(calls) == 2:
            raise OSError("the disk is gone")
        return rows

    x = da.from_array(rows, chunks=rows.shape).map_blocks(failing, dtype=float, meta=np.empty((0, 0)))
    svd = TruncatedSVD(3, algorithm="covariance")
    with dask.config.set(scheduler="synchronous"):
        with pytest.raises(OSError, match="the disk is gone"):
            svd.fit(x)
        assert not hasattr(svd, "components_")
        assert len(calls) == 2
        svd.fit(x)


def test_a_repeated_merge_gives_the_same(rows):
    from karhunen.dask._incremental_pca import _merge

    learned = [karhunen.IncrementalPCA(3).partial_fit(part) for part in (rows[:100], rows[100:300])]
    assert bits(_merge(learned)) == bits(_merge(learned))
    assert _merge([*learned, None]).n_samples_seen_ == 300
    assert _merge([None]) is None


def test_lazy_results_stay_lazy_in_any_container(lazy):
    pca = PCA(3).set_output(transform="pandas")
    assert dask.is_dask_collection(pca.fit_transform(lazy))
    assert dask.is_dask_collection(pca.transform(lazy))


def test_blocks_of_another_width_than_declared(rows):
    narrow = da.from_array(rows[:, :4], chunks=(500, 4))
    lying = da.Array(narrow.dask, narrow.name, chunks=(narrow.chunks[0], (6,)), dtype=float)
    with pytest.raises(ValueError, match="X declares 6 columns, and its partitions have 4"):
        PCA(2).fit(lying)


def test_a_fitted_estimator_is_kept_and_read(lazy, tmp_path):
    pca = PCA(3).fit(lazy)
    assert bits(pickle.loads(pickle.dumps(pca))) == bits(pca)
    pca.save(tmp_path / "m.kh")
    assert bits(PCA.load(tmp_path / "m.kh")) == bits(karhunen.PCA.load(tmp_path / "m.kh")) == bits(pca)


INTERRUPTED = """
import signal, time
import dask.array as da
from karhunen.dask import PCA

def wait(block):
    time.sleep(0.5)
    return block

x = da.zeros((200, 5), chunks=(2, 5)).map_blocks(wait, dtype=float)
# A process in the background may have begun with interrupts ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
print("ready", flush=True)
try:
    PCA(2).fit(x)
except KeyboardInterrupt:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_ctrl_c_stops_a_fit():
    child = subprocess.Popen([sys.executable, "-W", "ignore", "-c", INTERRUPTED], stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "ready\n"
    time.sleep(1.5)
    # Python ignores an interrupt within a finaliser, so a few are sent. Dask awaits the tasks that run.
    for _ in range(5):
        child.send_signal(signal.SIGINT)
        try:
            assert child.communicate(timeout=4)[0] == "interrupted\n"
            break
        except subprocess.TimeoutExpired:
            continue
    else:
        child.kill()
        pytest.fail("the fit continues after five interrupts")


@pytest.fixture
def incomplete():
    """Return rows of two components and noise, a third of whose entries are missing."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(3000, 2)) @ rng.normal(size=(2, 12)) + 0.3 * rng.normal(size=(3000, 12)) + 2
    x[rng.random(x.shape) < 0.3] = np.nan
    return x


@pytest.mark.parametrize("method", ["em", "als", "vb-full"])
def test_incomplete_rows(incomplete, method):
    whole = karhunen.IncompletePCA(2, method=method, n_starts=1).fit(incomplete)
    weights = np.arange(len(incomplete)) % 3 + 1
    weighted = karhunen.IncompletePCA(2, method=method, n_starts=1).fit(incomplete, sample_weight=weights)
    lazy = da.from_array(incomplete, chunks=(700, 5))
    pca = IncompletePCA(2, method=method, n_starts=1).fit(lazy)
    again = IncompletePCA(2, method=method, n_starts=1).fit(lazy, sample_weight=da.from_array(weights, chunks=500))
    for found, expected in ((pca, whole), (again, weighted)):
        np.testing.assert_allclose(found.components_, expected.components_, rtol=0, atol=1e-9)
        np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-9)
    scores, filled = pca.transform(lazy), pca.impute(lazy)
    assert (scores.shape, filled.shape, filled.chunks[0]) == ((len(incomplete), 2), incomplete.shape, lazy.chunks[0])
    np.testing.assert_allclose(scores.compute(), whole.transform(incomplete), rtol=0, atol=1e-8)
    np.testing.assert_allclose(filled.compute(), whole.impute(incomplete), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(pca.transform(incomplete), scores.compute())
    back = pca.inverse_transform(scores).compute()
    np.testing.assert_allclose(back[np.isnan(incomplete)], filled.compute()[np.isnan(incomplete)], rtol=1e-9)
    np.testing.assert_array_equal(pca.predict(lazy).compute(), pca.predict(incomplete))
    for method in (pca.transform_offsets, pca.partial_fit):
        with pytest.raises(TypeError, match="takes rows in memory"):
            method(lazy)
    for call in (lambda: pca.transform(lazy, return_covariance=True), lambda: pca.impute(lazy, return_std=True)):
        with pytest.raises(ValueError, match="is not allowed"):
            call()


def test_incomplete_dataframes_and_sparse_blocks(incomplete):
    dd = pytest.importorskip("dask.dataframe", exc_type=ImportError)
    names = [f"c{j}" for j in range(12)]
    frame = dd.from_pandas(
        pd.DataFrame(incomplete, columns=names).astype({"c3": "float32", "c4": "Float64"}), npartitions=3
    )
    pca = IncompletePCA(2, method="em", n_starts=1).fit(frame)
    assert list(pca.feature_names_in_) == names
    filled = pca.impute(frame)
    assert {str(dtype) for dtype in filled.dtypes} == {"float32", "float64"}
    computed = filled.compute()
    assert dict(computed.dtypes) == dict(filled.dtypes)
    assert not computed.isna().any().any()
    # Entries that are not stored are missing.
    stored = da.from_array(np.nan_to_num(incomplete), chunks=(700, 12)).map_blocks(sp.csr_array).persist()
    of_stored = IncompletePCA(2, method="em", n_starts=1).fit(stored)
    whole = karhunen.IncompletePCA(2, method="em", n_starts=1).fit(incomplete)
    np.testing.assert_allclose(of_stored.components_, whole.components_, rtol=0, atol=1e-9)


def test_repeated_reading_of_incomplete_rows_is_told(incomplete):
    lazy = da.from_array(incomplete, chunks=(700, 12)) + 0.0
    with pytest.warns(UserWarning, match=r"every iteration computes the partitions of X again; .*persist=True"):
        components = IncompletePCA(2).fit(lazy).components_
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(IncompletePCA(2).fit(lazy, persist=True).components_, components)
