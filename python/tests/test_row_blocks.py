"""Rows that a function yields in blocks, against fits of their arrays."""

from __future__ import annotations

import pickle
import signal
import threading
import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from karhunen import PCA, IncompletePCA, KernelPCA, RowBlocks


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(3000, 4)) @ rng.normal(size=(4, 30)) + 0.1 * rng.normal(size=(3000, 30)) + 5


class Calls:
    """A factory that counts its calls."""

    def __init__(self, x, n_rows=700):
        self.x, self.n_rows, self.calls = x, n_rows, 0

    def __call__(self):
        """Yield the blocks."""
        self.calls += 1
        for begin in range(0, self.x.shape[0], self.n_rows):
            yield self.x[begin : begin + self.n_rows]


@pytest.mark.parametrize("solver", ["covariance", "block-krylov", "svd"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_blocks_give_the_model_of_their_array(rows, solver, dtype):
    x = rows.astype(dtype)
    calls = Calls(x)
    found = PCA(3, scale=True, solver=solver).fit(RowBlocks(calls, 30, n_samples=3000))
    expected = PCA(3, scale=True, solver=solver).fit(x)
    # One call finds the form of the rows; rows that fit into memory are kept after the first pass.
    assert calls.calls == 2
    assert found.n_samples_ == 3000
    tolerance = 1e-4 if dtype == "float32" else 1e-9
    np.testing.assert_allclose(abs(found.components_), abs(expected.components_), atol=tolerance)
    if solver == "covariance":
        np.testing.assert_array_equal(found.components_, expected.components_)


def test_scores_match_the_array(rows):
    blocks = RowBlocks(Calls(rows))
    pca = PCA(3)
    scores = pca.fit_transform(blocks)
    np.testing.assert_allclose(scores, PCA(3).fit_transform(rows), atol=1e-10)
    np.testing.assert_array_equal(pca.transform(blocks), pca.transform(rows))
    np.testing.assert_allclose(pca.score(blocks), pca.score(rows))
    assert repr(blocks) == "RowBlocks(? x ?)"


def test_rows_with_missing_values_are_learned_block_by_block(rows, tmp_path):
    x = np.where(np.random.default_rng(1).random(rows.shape) < 0.3, np.nan, rows)
    np.save(tmp_path / "x.npy", x)
    at_once = IncompletePCA(4).partial_fit(x)
    for source in [tmp_path / "x.npy", RowBlocks(Calls(x, 3000), 30, n_samples=3000)]:
        found = IncompletePCA(4).partial_fit(source)
        assert found.n_samples_seen_ == 3000
        np.testing.assert_array_equal(found.components_, at_once.components_)
    blocks = IncompletePCA(4).partial_fit(RowBlocks(Calls(x), 30, n_samples=3000))
    again = blocks.n_samples_seen_, blocks.scores_.shape
    assert again == (3000, (200, 4))  # of the last block
    # Subspaces are compared by the cosines of their angles.
    cosines = np.linalg.svd(blocks.components_ @ at_once.components_.T, compute_uv=False)
    assert cosines.min() > 0.999
    assert blocks.partial_fit(tmp_path / "x.npy").n_samples_seen_ == 6000
    with pytest.raises(ValueError, match="entry_weight cannot be used with a path"):
        IncompletePCA(4).partial_fit(tmp_path / "x.npy", entry_weight=np.ones_like(x))


def test_weights_belong_to_all_rows(rows):
    weights = np.arange(3000) % 3
    found = PCA(2, solver="covariance").fit(RowBlocks(Calls(rows)), sample_weight=weights)
    expected = PCA(2, solver="covariance").fit(rows, sample_weight=weights)
    np.testing.assert_array_equal(found.components_, expected.components_)


@pytest.mark.parametrize("kind", [sp.csr_matrix, sp.csc_array, sp.coo_array])
def test_sparse_blocks(kind):
    x = sp.csr_array(sp.random(900, 60, density=0.1, random_state=1, format="csr"))
    calls = Calls(x, 128)

    def factory():
        return (kind(block) for block in calls())

    found = PCA(4).fit(RowBlocks(factory))
    expected = PCA(4).fit(x)
    np.testing.assert_allclose(abs(found.components_), abs(expected.components_), atol=1e-8)
    np.testing.assert_allclose(found.transform(RowBlocks(factory)), found.transform(x), atol=1e-12)


def test_frames_give_their_names():
    frame = pd.DataFrame(np.random.default_rng(2).normal(size=(90, 3)), columns=["a", "b", "c"])
    frame["b"] = frame["b"].astype("float32")
    calls = Calls(frame, 40)

    def factory():
        return (block.reset_index(drop=True) for block in calls())

    pca = PCA(2).fit(RowBlocks(factory))
    assert list(pca.feature_names_in_) == ["a", "b", "c"]
    np.testing.assert_allclose(pca.components_, PCA(2).fit(frame).components_, atol=1e-12)
    with pytest.raises(ValueError, match="column 0 is 'c', but the estimator was fitted with 'a' there"):
        pca.transform(RowBlocks(lambda: [frame[["c", "b", "a"]]]))
    with pytest.raises(ValueError, match="the columns of block 1 have other names than the columns of the first"):
        PCA(1).fit(RowBlocks(lambda: [frame, frame[["c", "b", "a"]]]))


def test_a_buffer_that_is_yielded_again_and_again(rows):
    buffer = np.empty((500, 30))

    def blocks():
        for begin in range(0, 3000, 500):
            buffer[:] = rows[begin : begin + 500]
            yield buffer

    found = PCA(2, solver="covariance").fit(RowBlocks(blocks))
    np.testing.assert_array_equal(found.components_, PCA(2, solver="covariance").fit(rows).components_)


def test_a_type_for_all_blocks(rows):
    mixed = [rows[:1000].astype("float32"), rows[1000:]]
    with pytest.raises(ValueError, match="block 1 holds float64, but the first float32; give the dtype"):
        PCA(2).fit(RowBlocks(lambda: mixed))
    found = PCA(2).fit(RowBlocks(lambda: mixed, dtype="float64"))
    assert found.transform(RowBlocks(lambda: mixed, dtype="float64")).dtype == np.float64
    integers = [np.arange(12).reshape(4, 3) ** 2]
    assert PCA(1).fit(RowBlocks(lambda: integers)).transform(RowBlocks(lambda: integers)).dtype == np.float64


class Dataset:
    """An array of another library, which returns rows for a slice."""

    def __init__(self, x, chunks):
        self._x, self.shape, self.chunks, self.slices = x, x.shape, chunks, []

    def __getitem__(self, key):
        self.slices.append(key)
        return self._x[key]


def test_an_array_of_another_library_is_read_by_chunks(rows):
    data = Dataset(rows, (1000, 30))
    blocks = RowBlocks.from_array(data, rows=1300)
    assert repr(blocks) == "RowBlocks(3000 x 30)"
    np.testing.assert_allclose(PCA(2).fit(blocks).components_, PCA(2).fit(rows).components_, atol=1e-12)
    assert {key.start for key in data.slices} == {0, 1300, 2600}
    # Blocks of whole chunks, of about 8 MiB.
    wide = Dataset(np.ones((40_000, 300)), (1000, 300))
    RowBlocks.from_array(wide)._learned()
    assert wide.slices[0].stop % 1000 == 0
    assert 4 * 2**20 < wide.slices[0].stop * 300 * 8 <= 8 * 2**20
    with pytest.raises(ValueError, match=r"an array of shape \(3000,\) has no rows and columns"):
        RowBlocks.from_array(rows[:, 0])


def test_what_is_not_a_factory_is_refused(rows):
    with pytest.raises(TypeError, match="factory is of type generator, which cannot be called; give a function"):
        RowBlocks(block for block in [rows])
    spent = iter([rows])
    with pytest.raises(ValueError, match="returned the same iterator again, whose blocks are gone"):
        PCA(2).fit(RowBlocks(lambda: spent))
    with pytest.raises(TypeError, match="returned an object of type int, which is not an iterable of blocks"):
        PCA(2).fit(RowBlocks(lambda: 3))
    with pytest.raises(ValueError, match="returned no block"):
        PCA(2).fit(RowBlocks(list))
    with pytest.raises(ValueError, match=r"block 0: .*1D array"):
        PCA(2).fit(RowBlocks(lambda: rows))
    for arguments, message in [
        ({"n_features": 0}, "n_features = 0 is not allowed"),
        ({"n_samples": 2.5}, "n_samples = 2.5 is not allowed"),
        ({"dtype": "int32"}, "dtype = 'int32' is not allowed"),
    ]:
        with pytest.raises(ValueError, match=message):
            RowBlocks(list, **arguments)


def test_blocks_that_differ_are_refused(rows):
    with pytest.raises(ValueError, match="block 1 has 29 columns, but 30 are needed"):
        PCA(2).fit(RowBlocks(lambda: [rows, rows[:, 1:]]))
    with pytest.raises(ValueError, match="block 0 has 30 columns, but 31 are needed"):
        PCA(2).fit(RowBlocks(lambda: [rows], 31))
    with pytest.raises(ValueError, match="block 1 is sparse, but the first is dense"):
        PCA(2).fit(RowBlocks(lambda: [rows, sp.csr_array(rows)]))
    for n, found in [(2999, "more than n_samples = 2999"), (3001, "3000 rows, not n_samples = 3001")]:
        with pytest.raises(ValueError, match=found):
            PCA(2).fit(RowBlocks(Calls(rows), 30, n))
    with pytest.raises(ValueError, match="row 2, column 1 is NaN"):
        PCA(1).fit(RowBlocks(lambda: [np.ones((2, 2)), np.array([[1.0, np.nan]])]))


def test_another_number_of_rows_in_a_later_pass(rows):
    calls = Calls(rows)

    def shrinking():
        blocks = list(calls())
        return blocks if calls.calls == 1 else blocks[:-1]

    with pytest.raises(ValueError, match="returned 2800 rows, not the 3000 rows of the pass before"):
        PCA(2).fit(RowBlocks(shrinking))


def test_an_exception_of_the_factory_is_raised(rows):
    calls = Calls(rows)

    class Broken(Exception):
        pass

    def failing():
        for number, block in enumerate(calls()):
            if number == 2 and calls.calls > 1:
                raise Broken("no connection")
            yield block

    with pytest.raises(Broken, match="no connection"):
        PCA(2).fit(RowBlocks(failing))


def test_the_generator_is_closed(rows):
    closed = []

    def blocks():
        try:
            yield from Calls(rows)()
        finally:
            closed.append(threading.current_thread())

    PCA(2, solver="covariance").fit(RowBlocks(blocks))
    assert len(closed) == 2


def test_missing_values_of_blocks():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(400, 2)) @ rng.normal(size=(2, 12)) + 0.1 * rng.normal(size=(400, 12))
    x[rng.random(x.shape) < 0.4] = np.nan
    found = IncompletePCA(2).fit(RowBlocks(Calls(x, 90)))
    expected = IncompletePCA(2).fit(x)
    np.testing.assert_array_equal(found.components_, expected.components_)
    np.testing.assert_array_equal(found.transform(RowBlocks(Calls(x, 90))), expected.transform(x))
    np.testing.assert_array_equal(found.impute(RowBlocks(Calls(x, 90))), expected.impute(x))


def test_estimators_that_hold_their_rows_say_so(rows):
    with pytest.raises(ValueError, match="X is a RowBlocks, which PCA and IncompletePCA read"):
        KernelPCA(2).fit(RowBlocks(Calls(rows)))


def test_a_limit_that_is_too_small_is_refused(rows):
    with pytest.raises(ValueError, match=r"memory_limit is 1\.0 MB; .*set memory_limit to at least"):
        PCA(2, memory_limit=1e6).fit(RowBlocks(Calls(rows)))


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs a timer")
def test_an_interrupt_ends_a_blocked_read(rows):
    release = threading.Event()
    calls = Calls(rows)

    def blocked():
        for block in calls():
            if calls.calls > 1:
                release.wait(60)
            yield block

    previous = signal.signal(signal.SIGALRM, lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    begun = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            PCA(2).fit(RowBlocks(blocked, 30, 3000))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
        release.set()
    # The read is left to itself; without that, the call would last a minute.
    assert time.monotonic() - begun < 30


def test_an_estimator_that_was_fitted_to_blocks_is_pickled(rows):
    pca = PCA(2).fit(RowBlocks(Calls(rows)))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(pca)).components_, pca.components_)
