"""Fits of data in parts on any map: equal to the fit of all rows, the same bits whatever the engine, clear errors."""

import pickle
import random
import re
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from karhunen import PCA, IncompletePCA, NotConvergedError, TruncatedSVD, cluster
from sklearn.exceptions import ConvergenceWarning


@pytest.fixture(scope="module")
def rows():
    """Return 3,000 rows with weights, some of them zero."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(3000, 40)) * np.linspace(3, 1, 40) + 5, rng.integers(0, 4, 3000)


def cut(x, *others, step=400):
    """Cut rows into parts, the third of which is empty."""
    parts = [tuple(a[i : i + step] for a in (x, *others)) for i in range(0, len(x), step)]
    parts.insert(2, tuple(a[:0] for a in (x, *others)))
    return parts if others else [part[0] for part in parts]


def assert_equal(found, expected):
    scale = expected.explained_variance_[0]
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=0, atol=1e-12 * scale)
    np.testing.assert_allclose(found.mean_, expected.mean_, rtol=1e-13, atol=1e-13)
    np.testing.assert_allclose(found.scale_, expected.scale_, rtol=1e-12)
    np.testing.assert_allclose(found.components_, expected.components_, rtol=0, atol=1e-9)
    assert found.n_samples_ == expected.n_samples_


@pytest.mark.parametrize("solver", ["covariance", "block-krylov"])
@pytest.mark.parametrize("scale", [False, True])
def test_parts_give_the_fit_of_all_rows(rows, solver, scale):
    x, weights = rows
    pca = PCA(4, scale=scale, solver=solver, tol=1e-11)
    found = cluster.fit(pca, cut(x, weights))
    assert found is pca
    assert_equal(found, PCA(4, scale=scale).fit(x, sample_weight=weights))
    assert found.n_iter_ == 1 or solver == "block-krylov"
    unweighted = cluster.fit(PCA(4, scale=scale, solver=solver, tol=1e-11), cut(x))
    assert_equal(unweighted, PCA(4, scale=scale).fit(x))
    assert unweighted.transform(x[:5]).shape == (5, 4)


def load(x):
    return x


def shuffled(function, parts):
    """Compute the parts in a random order, and one of them twice."""
    parts = list(parts)
    results = [None] * len(parts)
    for i in random.Random(1).sample([*range(len(parts)), 0], len(parts) + 1):
        results[i] = function(parts[i])
    return results


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("solver", ["covariance", "block-krylov"])
def test_bits_depend_on_the_parts_alone(rows, solver, order):
    # Rows of a matrix in columns are not contiguous, and arrive in another order in another process.
    x = np.array(rows[0], order=order)
    parts = [partial(load, part) for part in cut(x)]
    expected = cluster.fit(PCA(3, solver=solver), parts).components_
    with ThreadPoolExecutor(3) as threads, ProcessPoolExecutor(2) as processes:
        for engine in (threads.map, processes.map, shuffled):
            assert np.array_equal(cluster.fit(PCA(3, solver=solver), parts, map=engine).components_, expected)
    assert np.array_equal(cluster.fit(PCA(3, solver=solver, n_threads=2), parts).components_, expected)


def test_joblib_is_an_engine(rows):
    joblib = pytest.importorskip("joblib")

    def parallel(function, parts):
        return joblib.Parallel(n_jobs=2)(joblib.delayed(function)(part) for part in parts)

    found = cluster.fit(PCA(3), cut(rows[0]), map=parallel)
    assert np.array_equal(found.components_, cluster.fit(PCA(3), cut(rows[0])).components_)


def test_sparse_parts_dataframes_and_weights_of_columns(rows):
    x = np.where(rows[0] > 6, rows[0], 0)
    expected = PCA(4).fit(sp.csr_matrix(x))
    mixed = [sp.csr_matrix(part) if i % 2 else part for i, part in enumerate(cut(x))]
    assert_equal(cluster.fit(PCA(4), mixed), expected)
    names = [f"c{j}" for j in range(40)]
    found = cluster.fit(PCA(4), [pd.DataFrame(part, columns=names) for part in cut(x)])
    assert_equal(found, expected)
    assert list(found.feature_names_in_) == names
    weights = np.linspace(0, 2, 40)
    found = cluster.fit(PCA(4), cut(x), feature_weight=weights)
    assert_equal(found, PCA(4).fit(x, feature_weight=weights))
    unnamed = cluster.fit(PCA(4), cut(x), feature_weight=pd.Series(weights))
    assert np.array_equal(unnamed.components_, found.components_)


@pytest.mark.parametrize(
    ("kind", "name"), [(PCA, "center"), (PCA, "scale"), (PCA, "feature_weight"), (IncompletePCA, "scale")]
)
def test_series_are_matched_by_the_names_of_the_first_part(rows, kind, name):
    names = [f"c{j}" for j in range(40)]
    frames = [pd.DataFrame(part, columns=names) for part in cut(rows[0])]
    named = pd.Series(np.linspace(0.5, 2, 40), names)

    def fit(values, parts=frames, engine=map):
        options, weights = ({}, values) if name == "feature_weight" else ({name: values}, None)
        return cluster.fit(kind(2, **options), parts, feature_weight=weights, map=engine)

    expected = fit(named.to_numpy())
    assert np.array_equal(fit(named[::-1]).components_, expected.components_)
    with ProcessPoolExecutor(2) as processes:
        found = fit(named[::-1], [partial(load, frame) for frame in frames], processes.map)
    assert np.array_equal(found.components_, expected.components_)
    with pytest.raises(ValueError, match=f"{name} has no number for column 'c1'"):
        fit(named.drop("c1"))
    # Columns without names take the numbers in their order, as in memory.
    plain = cut(rows[0])
    assert np.array_equal(fit(named, plain).components_, fit(named.to_numpy(), plain).components_)
    frames[-1] = frames[-1][names[::-1]]
    with pytest.raises(ValueError, match=r"part \d+ has the columns c39, .*, part 0 has the columns c0, "):
        fit(named)


def test_single_precision_stays(rows):
    found = cluster.fit(PCA(3), cut(rows[0].astype(np.float32)))
    assert found.components_.dtype == np.float32
    assert found.convergence_.tol == 1e-6


def test_errors_name_the_part(rows):
    x = rows[0].copy()
    x[1700, 7] = np.nan
    with pytest.raises(ValueError, match=r"part 5: row 100, column 7 is NaN"):
        cluster.fit(PCA(3), cut(x))
    frame = pd.DataFrame([[1.0, np.nan]], columns=["a", "b"])
    with pytest.raises(ValueError, match=r"part 1: row 0, column 1 \('b'\) is NaN.*rows and columns count from 0"):
        cluster.fit(PCA(1), [pd.DataFrame(x[:5, :2], columns=["a", "b"]), frame])
    with pytest.raises(ValueError, match=r"part 0: sample_weight\[1\] is -1"):
        cluster.fit(PCA(1), [(x[:3], [1, -1, 1])])
    with pytest.raises(ValueError, match=r"part 1: .* complex|Complex"):
        cluster.fit(PCA(3), [x[:10], x[10:20] + 1j])
    with pytest.raises(ValueError, match="part 2 has 39 columns, part 0 has 40; give all parts the same columns"):
        cluster.fit(PCA(3), [x[:10], x[10:20], x[20:30, :39]])
    with pytest.raises(ValueError, match="part 1: sample_weight has 3 entries; X has 10 rows"):
        cluster.fit(PCA(3), [(x[:10], np.ones(10)), (x[10:20], np.ones(3))])
    frames = [pd.DataFrame(x[:10, :3], columns=list("abc")), pd.DataFrame(x[:10, :3], columns=list("abd"))]
    with pytest.raises(ValueError, match="part 1 has the columns a, b, d, part 0 has the columns a, b, c"):
        cluster.fit(PCA(2), frames)
    with pytest.raises(ValueError, match="part 1 has columns without names, part 0 has the columns a, b, c"):
        cluster.fit(PCA(2), [frames[0], x[:10, :3]])
    with pytest.raises(ValueError, match="parts is empty"):
        cluster.fit(PCA(3), [])
    with pytest.raises(ValueError, match="part 0 is a tuple of 3"):
        cluster.fit(PCA(3), [(x[:10], None, None)])
    for other in (PCA, TruncatedSVD(2)):
        with pytest.raises(
            TypeError, match=r"cluster.fit fits a karhunen.PCA or IncompletePCA, not (the class PCA|TruncatedSVD)"
        ):
            cluster.fit(other, cut(rows[0]))
    with pytest.raises(ValueError, match="feature_weight has one weight for each column, in a vector"):
        cluster.fit(PCA(3), cut(rows[0]), feature_weight=2.0)
    with pytest.raises(ValueError, match="memory_limit"):
        cluster.fit(PCA(2, solver="covariance", memory_limit=10**8), [np.ones((5, 5000))])
    # A limit between what the driver and what a part needs: never another solver than the one asked for.
    with pytest.raises(ValueError, match=r"the scatter matrix of a part needs 400\.0 MB of memory"):
        cluster.fit(PCA(2, solver="covariance", memory_limit=350_000_000), [np.ones((5, 5000))])
    with pytest.raises(ValueError, match="solver"):
        cluster.fit(PCA(3, solver="svd"), cut(rows[0]))
    with pytest.raises(ValueError, match="n_components=50"):
        cluster.fit(PCA(50), cut(rows[0]))


def test_parts_that_change_between_passes_are_an_error(rows):
    calls = []

    def drifting():
        calls.append(None)
        return rows[0][:100] + len(calls)

    with pytest.raises(ValueError, match="the values of part 1 differ between passes over the data; persist"):
        cluster.fit(PCA(3, solver="block-krylov"), [rows[0][100:200], drifting])

    def growing():
        calls.append(None)
        return rows[0][: len(calls) * 10]

    with pytest.raises(ValueError, match=r"part 0 had \d+ rows in the first pass, now \d+"):
        cluster.fit(PCA(3, solver="block-krylov"), [growing])


def test_results_in_another_order_or_number_are_an_error(rows):
    parts = cut(rows[0])
    for wrong in (lambda results: results[::-1], lambda results: results[1:]):
        with pytest.raises(ValueError, match=r"the result of part \d came where that of part 0 is expected"):
            cluster.fit(PCA(3), parts, map=lambda function, parts, wrong=wrong: wrong([*map(function, parts)]))
    with pytest.raises(ValueError, match="map returned 8 results for 9 parts"):
        cluster.fit(PCA(3), parts, map=lambda function, parts: [*map(function, parts)][:-1])


def test_an_empty_part_changes_no_type(rows):
    x = rows[0].astype(np.float32)
    assert cluster.fit(PCA(3), [x[:100], np.empty((0, 40)), x[100:200]]).components_.dtype == np.float32


def test_simultaneous_fits_do_not_wait_for_threads(rows):
    def load(part):
        PCA(2).fit(part)
        return part

    parts = [partial(load, part) for part in cut(rows[0], step=1000)[:2]]
    with ThreadPoolExecutor(4) as executor:
        fits = [executor.submit(cluster.fit, PCA(2), parts) for _ in range(4)]
        assert len({fit.result(timeout=60).components_.tobytes() for fit in fits}) == 1


class Lost(RuntimeError):
    """The engine failed."""


def test_a_driver_that_was_lost_continues_with_the_same_bits(rows, tmp_path):
    parts, file = cut(rows[0]), tmp_path / "fit.passes"
    expected = cluster.fit(PCA(3, solver="block-krylov"), parts)
    passes = []

    def failing(function, parts):
        passes.append(None)
        if len(passes) == 2:
            raise Lost
        return map(function, parts)

    with pytest.raises(Lost):
        cluster.fit(PCA(3, solver="block-krylov"), parts, map=failing, checkpoint=file)
    passes.extend([None] * 10)
    before = len(passes)
    found = cluster.fit(PCA(3, solver="block-krylov"), parts, map=failing, checkpoint=file, resume=True)
    assert np.array_equal(found.components_, expected.components_)
    assert found.n_iter_ == expected.n_iter_
    assert len(passes) - before == expected.n_iter_ - 1
    # A log of all passes belongs to the same parts.
    for solver in ("covariance", "block-krylov"):
        file.unlink()
        names = [f"c{j}" for j in range(40)]
        frames = [pd.DataFrame(part, columns=names) for part in parts]
        expected = cluster.fit(PCA(3, solver=solver), frames, checkpoint=file)
        found = cluster.fit(PCA(3, solver=solver), frames, checkpoint=file, resume=True)
        assert np.array_equal(found.components_, expected.components_)
        assert np.array_equal(found.explained_variance_, expected.explained_variance_)
        assert list(found.feature_names_in_) == names
        with pytest.raises(ValueError, match="the values of part 8 differ"):
            cluster.fit(PCA(3, solver=solver), [*frames[:-1], frames[-1] + 1], checkpoint=file, resume=True)
        with pytest.raises(ValueError, match=r"other numbers of columns \(40, now 39\)"):
            cluster.fit(PCA(3, solver=solver), [frame[names[1:]] for frame in frames], checkpoint=file, resume=True)
    changed = [*parts[:-1], parts[-1] + 1]
    file.unlink()
    passes.clear()
    with pytest.raises(Lost):
        cluster.fit(PCA(3, solver="block-krylov"), parts, map=failing, checkpoint=file)
    with pytest.raises(ValueError, match="the values of part 8 differ"):
        cluster.fit(PCA(3, solver="block-krylov"), changed, checkpoint=file, resume=True)


def test_components_that_miss_the_tolerance_are_told(rows):
    pca = PCA(3, solver="block-krylov", max_iter=1, tol=1e-14)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        cluster.fit(pca, cut(rows[0]))
    with pytest.raises(NotConvergedError):
        cluster.fit(PCA(3, solver="block-krylov", max_iter=1, tol=1e-14, strict=True), cut(rows[0]))


def test_fewer_rows_than_columns():
    x = np.random.default_rng(0).normal(size=(30, 90)) * np.linspace(5, 1, 90)
    for solver in ("covariance", "block-krylov"):
        assert_equal(cluster.fit(PCA(4, solver=solver, tol=1e-11), cut(x, step=11)), PCA(4).fit(x))


def with_missing(n=600, p=9):
    rng = np.random.default_rng(5)
    x = rng.normal(size=(n, 2)) @ rng.normal(size=(2, p)) + 0.3 * rng.normal(size=(n, p)) + 4
    x[rng.random(x.shape) < 0.3] = np.nan
    return x


@pytest.mark.parametrize("method", ["em", "als"])
def test_incomplete_rows_in_parts_have_the_fit_of_all(method):
    x = with_missing()
    weights = np.random.default_rng(1).integers(1, 4, size=len(x))
    stored = [sp.csr_array(np.nan_to_num(part)) for part in np.split(x, [100, 350])]
    # Zeros instead of missing entries are not stored.
    for part in stored:
        part.eliminate_zeros()
    whole = IncompletePCA(2, method=method, n_starts=1).fit(x, sample_weight=weights)
    dense = [(x[i:j], weights[i:j]) for i, j in [(0, 100), (100, 100), (100, 350), (350, 600)]]
    sparse = list(zip(stored, np.split(weights, [100, 350]), strict=True))
    with ThreadPoolExecutor(2) as executor:
        for parts in (dense, sparse):
            pca = cluster.fit(IncompletePCA(2, method=method, n_starts=1), parts, map=executor.map)
            np.testing.assert_allclose(pca.components_, whole.components_, rtol=0, atol=1e-10)
            np.testing.assert_allclose(pca.mean_, whole.mean_, rtol=1e-10)
            np.testing.assert_allclose(pca.noise_variance_, whole.noise_variance_, rtol=1e-6)
            assert (pca.n_samples_, pca.n_features_in_, pca.scores_.shape) == (600, 9, (0, 2))
            np.testing.assert_allclose(pca.transform(x), whole.transform(x), rtol=0, atol=1e-9)
            np.testing.assert_allclose(pca.impute(x), whole.impute(x), rtol=1e-9)
            assert pca.n_iter_ == whole.n_iter_


def test_variational_bayes_in_parts_has_the_fit_of_all():
    x, run = with_missing(), {"method": "vb-full", "tol": 1e-8, "n_starts": 1}
    weights = np.random.default_rng(1).integers(1, 4, size=len(x))
    whole = IncompletePCA(4, **run).fit(x, sample_weight=weights)
    parts = [(x[i:j], weights[i:j]) for i, j in [(0, 100), (100, 100), (100, 350), (350, 600)]]
    with ThreadPoolExecutor(2) as executor:
        pca = cluster.fit(IncompletePCA(4, **run), parts, map=executor.map)
    assert (pca.method_, pca.n_iter_, len(pca.components_)) == ("vb-full", whole.n_iter_, len(whole.components_))
    # Components that are nearly pruned have directions of few digits.
    np.testing.assert_allclose(pca.components_[:2], whole.components_[:2], rtol=0, atol=1e-9)
    np.testing.assert_allclose(pca.mean_, whole.mean_, rtol=1e-9)
    np.testing.assert_allclose(pca.noise_variance_, whole.noise_variance_, rtol=1e-9)
    np.testing.assert_allclose(pca.explained_variance_, whole.explained_variance_, rtol=1e-8)
    # Covariances are of single precision.
    for found, expected, rtol in zip(
        pca.impute(x, return_std=True), whole.impute(x, return_std=True), [1e-8, 1e-5], strict=True
    ):
        np.testing.assert_allclose(found, expected, rtol=rtol)


def test_incomplete_models_of_parts_are_kept_in_files(tmp_path):
    x = with_missing()
    pca = cluster.fit(IncompletePCA(2), [x[:300], x[300:]])
    assert (pca.method_, pca.convergence_.reason) == ("als", "rows in parts")
    pca.save(tmp_path / "parts.model")
    for again in (IncompletePCA.load(tmp_path / "parts.model"), pickle.loads(pickle.dumps(pca))):
        assert again.n_samples_ == 600
        np.testing.assert_array_equal(again.transform(x), pca.transform(x))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:. missing entries are predicted far outside")
@pytest.mark.parametrize("method", ["em", "als", "vb-full"])
def test_incomplete_parts_of_scaled_and_weighted_columns(method):
    x = with_missing() * np.logspace(-2, 2, with_missing().shape[1])
    weights = np.linspace(0.5, 2, x.shape[1])
    options = {"method": method, "scale": True, "tol": 0, "max_iter": 20, "n_starts": 1}
    whole = IncompletePCA(2, **options).fit(x, feature_weight=weights)
    parts = cluster.fit(IncompletePCA(2, **options), [x[:100], x[100:350], x[350:]], feature_weight=weights)
    np.testing.assert_allclose(parts.scale_, whole.scale_, rtol=1e-12)
    for name in ("components_", "mean_", "explained_variance_"):
        np.testing.assert_allclose(getattr(parts, name), getattr(whole, name), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(parts.impute(x), whole.impute(x), rtol=1e-7, atol=1e-7)


def test_incomplete_parts_that_cannot_be_used():
    x = with_missing()
    for options, message in [
        ({"method": "vb"}, "method = 'vb' is not allowed: rows in parts are fitted by the methods em, als and vb-full"),
        ({"row_offsets": True}, "row_offsets = True is not allowed"),
        ({"early_stopping": True}, "early_stopping = True is not allowed"),
        ({"gradient_tol": 0.1}, "gradient_tol = 0.1 is not allowed"),
        ({"memory_limit": 10**6}, "a sum of normal equations needs"),
        ({"memory_limit": 10**6, "method": "vb-full"}, "a sum of posteriors needs"),
    ]:
        with pytest.raises((ValueError, MemoryError), match=re.escape(message)):
            cluster.fit(IncompletePCA(2, **options), [x[:300], x[300:]])
    with pytest.raises(ValueError, match="the weight of column 0 is zero"):
        cluster.fit(IncompletePCA(2), [x[:300], x[300:]], feature_weight=np.arange(x.shape[1]))
    x[310, 4] = np.inf
    with pytest.raises(ValueError, match="part 1: row 10, column 4 is inf"):
        cluster.fit(IncompletePCA(2), [x[:300], x[300:]])
    before = IncompletePCA(2).fit(with_missing())
    components = before.components_
    with pytest.raises(ValueError, match="part 1"):
        cluster.fit(before, [x[:300], x[300:]])
    assert before.components_ is components
    with pytest.raises(ValueError, match="observed"):
        cluster.fit(IncompletePCA(1), [np.full((4, 3), np.nan)] * 2)


def test_an_incomplete_fit_that_is_resumed_has_the_same_bits(tmp_path):
    x = with_missing()
    parts = [x[:300], x[300:]]
    whole = cluster.fit(IncompletePCA(2, tol=1e-9), parts)
    log = tmp_path / "log"
    with pytest.raises(KeyboardInterrupt):
        cluster.fit(IncompletePCA(2, tol=1e-9), parts, map=failing_after(6), checkpoint=log)
    resumed = cluster.fit(IncompletePCA(2, tol=1e-9), parts, checkpoint=log, resume=True)
    np.testing.assert_array_equal(resumed.components_, whole.components_)
    with pytest.raises(ValueError, match="n_components"):
        cluster.fit(IncompletePCA(3, tol=1e-9), parts, checkpoint=log, resume=True)


def failing_after(n_passes):
    left = [n_passes]

    def engine(function, parts):
        left[0] -= 1
        if left[0] < 0:
            raise KeyboardInterrupt
        return map(function, parts)

    return engine


def test_sparse_columns_far_from_zero_keep_their_digits():
    rng = np.random.default_rng(2)
    full = rng.normal(size=(400, 3)) * [5, 4, 1] + [1e9, -3e8, 7e8]
    x = sp.csr_array(np.hstack([full, rng.random((400, 4)) < 0.2]))
    expected = PCA(3, solver="svd").fit(x.toarray())
    pca = cluster.fit(PCA(3, strict=True), [x[:150], x[150:]])
    np.testing.assert_allclose(pca.explained_variance_ratio_, expected.explained_variance_ratio_, rtol=1e-7)
    np.testing.assert_allclose(pca.components_, expected.components_, rtol=0, atol=1e-6)


def test_incomplete_parts_take_what_is_taken_in_memory():
    x = with_missing()
    masked = np.ma.masked_invalid(x)
    whole = IncompletePCA(2).fit(x)
    of_masked = cluster.fit(IncompletePCA(2, method="als"), [masked[:300], masked[300:]])
    expected = cluster.fit(IncompletePCA(2, method="als"), [x[:300], x[300:]])
    np.testing.assert_array_equal(of_masked.components_, expected.components_)
    twice = sp.csr_array((np.array([4.0, 4.0, 1.0]), np.array([0, 0, 1]), np.array([0, 3])), shape=(1, 9))
    for part in (twice, twice.tocsc(copy=True), sp.coo_array(([1.0, 2.0], ([0, 0], [3, 3])), shape=(1, 9))):
        with pytest.raises(ValueError, match="part 1: the sparse matrix stores an entry more than once"):
            cluster.fit(IncompletePCA(2), [x, part])
    with pytest.raises(
        ValueError, match=r"the rows with entries of all parts count as 1\.0 samples; at least 2 are needed"
    ):
        cluster.fit(IncompletePCA(1), [x[:1]])
    with pytest.raises(ValueError, match="call predict or impute with rows alone"):
        expected.predict([0], [1])
    assert whole.predict([0], [1]).shape == (1,)
