"""scikit-learn's tools applied to the estimators, and effects of options."""

import copy
import pickle
import threading
import time

import joblib
import numpy as np
import pandas as pd
import pytest
from compare import assert_allclose
from karhunen import PCA, NotConvergedError, TruncatedSVD
from numpy.testing import assert_array_equal
from scipy.stats import multivariate_normal
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline

ESTIMATORS = [PCA(3, whiten=True, scale=True), TruncatedSVD(3)]


def through_joblib(estimator, tmp_path):
    joblib.dump(estimator, tmp_path / "estimator.joblib")
    return joblib.load(tmp_path / "estimator.joblib", mmap_mode="r")


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize("way", ["pickle", "copy", "deepcopy", "joblib"])
def test_copies_score_with_the_same_bits(estimator, way, table, tmp_path):
    frame = pd.DataFrame(table, columns=list("abcdefgh"))
    fitted = clone(estimator).fit(frame)
    again = {
        "pickle": lambda: pickle.loads(pickle.dumps(fitted)),
        "copy": lambda: copy.copy(fitted),
        "deepcopy": lambda: copy.deepcopy(fitted),
        "joblib": lambda: through_joblib(fitted, tmp_path),
    }[way]()
    assert vars(again).keys() == vars(fitted).keys()
    assert again.get_params() == fitted.get_params()
    assert again.convergence_ == fitted.convergence_
    assert_array_equal(again.transform(frame), fitted.transform(frame))
    assert_array_equal(again.feature_names_in_, fitted.feature_names_in_)


def test_a_pickle_holds_the_model_once():
    x = np.random.default_rng(0).normal(size=(30, 20_000))
    pca = PCA(10).fit(x)
    assert len(pickle.dumps(pca)) < 1.5 * (pca.components_.nbytes + 2 * pca.mean_.nbytes)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_clones_are_not_fitted(estimator, table):
    fitted = clone(estimator).fit(table)
    with pytest.raises(NotFittedError):
        clone(fitted).transform(table)
    with pytest.raises(AttributeError):
        _ = clone(fitted).components_


def test_pipelines_and_searches():
    x, y = load_iris(return_X_y=True)
    pipeline = make_pipeline(PCA(), LogisticRegression(max_iter=500))
    search = GridSearchCV(pipeline, {"pca__n_components": [1, 2, 3], "pca__scale": [False, True]}, n_jobs=2).fit(x, y)
    assert search.best_score_ > 0.95
    likelihoods = [cross_val_score(PCA(k), x).mean() for k in (1, 2)]
    assert likelihoods[1] > likelihoods[0]


def test_set_output_names_columns(table):
    pca = PCA(2).set_output(transform="pandas").fit(table)
    scores = pca.transform(table)
    assert scores.columns.tolist() == ["pca0", "pca1"]
    assert pca.get_feature_names_out().tolist() == ["pca0", "pca1"]
    assert TruncatedSVD(1).fit(table).get_feature_names_out().tolist() == ["truncatedsvd0"]


def test_assigned_attributes_are_obeyed_and_arrays_are_read_only(table):
    pca = PCA(3).fit(table)
    scores = pca.transform(table)
    with pytest.raises(ValueError, match="read-only"):
        pca.components_ *= -1
    pca.components_ = -pca.components_
    assert_allclose(pca.transform(table), -scores)
    assert_allclose(pickle.loads(pickle.dumps(pca)).transform(table), -scores)
    pca.mean_ = np.zeros(8)
    assert_allclose(pca.transform(table), table @ pca.components_.T)
    pca.components_ = pca.components_[:2]
    with pytest.raises(ValueError, match="explained_variance: 3 values, but 2 are needed"):
        pca.transform(table)


def test_a_second_fit_forgets_the_first(table):
    pca = PCA(3).fit(pd.DataFrame(table, columns=list("abcdefgh")))
    pca.set_params(n_components=2).fit(table[:, :5])
    assert pca.components_.shape == (2, 5)
    assert not hasattr(pca, "feature_names_in_")
    assert pca.transform(table[:, :5]).shape == (60, 2)


@pytest.mark.parametrize("estimator", [PCA(3, solver="block-krylov"), TruncatedSVD(3, algorithm="block-krylov")])
def test_components_that_miss_the_tolerance_warn_or_raise(estimator):
    x = np.random.default_rng(0).normal(size=(400, 300))
    estimator = clone(estimator).set_params(tol=1e-12, max_iter=2)
    for call in (estimator.fit, estimator.fit_transform):
        with pytest.warns(ConvergenceWarning, match="of 3 components converged in .* raise max_iter or tol") as told:
            call(x)
        assert [warning.filename for warning in told] == [__file__]
    assert estimator.convergence_.n_converged < 3
    assert estimator.residuals_.max() > 1e-12
    with pytest.raises(NotConvergedError, match="of 3 components converged"):
        estimator.set_params(strict=True).fit(x)


def test_random_states_seed_the_iteration():
    x = np.random.default_rng(0).normal(size=(300, 200))

    def components(state):
        return PCA(2, solver="block-krylov", tol=1e-2, random_state=state).fit(x).components_

    assert_array_equal(components(None), components(0))
    assert_array_equal(components(7), components(np.int64(7)))
    assert_array_equal(components(np.random.RandomState(3)), components(np.random.RandomState(3)))
    assert_array_equal(components(np.random.default_rng(3)), components(np.random.default_rng(3)))
    assert not np.array_equal(components(7), components(8))


@pytest.mark.parametrize("solver", ["svd", "covariance", "block-krylov"])
def test_the_bits_do_not_depend_on_threads(solver):
    x = np.random.default_rng(0).normal(size=(3000, 150))
    fits = [PCA(4, solver=solver, n_threads=n).fit(x) for n in (1, 2, 5, None)]
    for pca in fits[1:]:
        assert_array_equal(pca.components_, fits[0].components_)
        assert_array_equal(pca.transform(x), fits[0].transform(x))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 9}, r"n_components=9 must be between 0 and min\(n_samples, n_features\)=8 for X of"),
        ({"n_components": 1.0}, "n_components = 1.0 is not allowed"),
        ({"n_components": "all"}, "n_components = 'all' is not allowed"),
        ({"n_components": "0%"}, "n_components = '0%' is not allowed"),
        ({"n_components": "101%"}, "n_components = '101%' is not allowed"),
        ({"n_components": "ten %"}, "or a text \\('95%', or '100%' for all of it\\)"),
        ({"n_components": -1}, "n_components = -1 is not allowed"),
        ({"n_components": True}, "n_components = True is not allowed"),
        (
            {"solver": "qr"},
            "solver = 'qr' is not known; choose one of 'auto', 'svd', 'covariance', 'gram', 'block-",
        ),
        ({"solver": 3}, "solver = 3 is not known"),
        ({"svd_solver": "svd"}, "svd_solver = 'svd' is not known; choose one of 'auto', 'full'"),
        ({"svd_solver": "full", "solver": "gram"}, "solver = 'gram' and svd_solver = 'full' say the same"),
        ({"svd_solver": ["full"]}, r"svd_solver = \['full'\] is not known"),
        ({"weighting": "counts"}, "weighting = 'counts' is not known"),
        ({"weighting": None}, "weighting = None is not known; it must be a string"),
        ({"n_components": 2**64}, "n_components = 18446744073709551616 is not allowed: it must be below"),
        ({"max_iter": 2**64}, "max_iter = 18446744073709551616 is not allowed"),
        ({"n_threads": 2**64}, "n_threads = 18446744073709551616 is not allowed"),
        ({"tol": 2.0}, "tol = 2 is not allowed: a tolerance lies between 0 and 1"),
        ({"tol": "small"}, "tol = 'small' is not allowed"),
        ({"max_iter": 0}, "max_iter = 0 is not allowed"),
        ({"n_threads": 0}, "n_threads = 0 is not allowed"),
        ({"center": "yes"}, "center = 'yes' is not allowed: give True, False, or one number"),
        ({"whiten": None}, "whiten = None is not allowed"),
        ({"random_state": "x"}, "'x' cannot be used to seed"),
        ({"iterated_power": "many"}, "iterated_power = 'many' is not allowed: give a whole number from 0 on or 'auto'"),
        ({"iterated_power": -1}, "iterated_power = -1 is not allowed"),
        ({"n_oversamples": 0}, "n_oversamples = 0 is not allowed: give a whole number from 1 on"),
        (
            {"power_iteration_normalizer": "qr"},
            "power_iteration_normalizer = 'qr' is not allowed: give 'auto' or 'QR' or",
        ),
    ],
)
def test_options_out_of_range_are_named(options, message, table):
    with pytest.raises(ValueError, match=message):
        PCA(**options).fit(table)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components = 0 is not allowed"),
        ({"n_components": 9}, r"n_components=9 must be between 1 and min\(n_samples, n_features\)=8"),
        ({"algorithm": "magic"}, "algorithm = 'magic' is not known; choose one of 'auto', 'svd'"),
        ({"algorithm": None}, "algorithm = None is not known"),
        ({"n_iter": 1.5}, "n_iter = 1.5 is not allowed"),
    ],
)
def test_options_of_truncated_svd_out_of_range_are_named(options, message, table):
    with pytest.raises(ValueError, match=message):
        TruncatedSVD(**options).fit(table)


def test_a_density_without_noise_is_that_within_the_space_of_the_components():
    # Integers: the rank is 3 in float32, too.
    rng = np.random.default_rng(0)
    x = rng.integers(-4, 5, size=(6, 3)) @ rng.integers(-4, 5, size=(3, 9)) + 5.0
    for dtype, atol in ((np.float64, 1e-6), (np.float32, 1e-2)):
        for n_components in (6, None):
            pca = PCA(n_components, svd_solver="full").fit(x.astype(dtype))
            assert pca.noise_variance_ == 0
            peer = multivariate_normal(PCA(3).fit(x).mean_, np.cov(x.T), allow_singular=True)
            assert_allclose(pca.score_samples(x.astype(dtype)), peer.logpdf(x), atol=atol)
            assert pca.score(x.astype(dtype)) == pytest.approx(peer.logpdf(x).mean(), abs=atol)
            assert pca.score_samples(x[:1].astype(dtype) + 1) == -np.inf
    # A singular covariance has no inverse.
    with pytest.raises(ValueError, match="so the covariance of the model is singular"):
        PCA().fit(x).get_precision()


def test_no_component_leaves_a_mean_and_a_noise(table, tmp_path):
    pca = PCA(0).fit(table)
    assert pca.components_.shape == (0, 8)
    assert pca.fit_transform(table).shape == pca.transform(table).shape == (60, 0)
    assert pca.noise_variance_ == pytest.approx(table.var(axis=0, ddof=1).mean())
    assert_allclose(pca.inverse_transform(np.empty((2, 0))), [table.mean(axis=0)] * 2)
    expected = multivariate_normal(table.mean(axis=0), pca.noise_variance_ * np.eye(8))
    assert_allclose(pca.score_samples(table), expected.logpdf(table))
    assert [pca.get_feature_names_out().tolist(), pca.loadings_.shape] == [[], (8, 0)]
    for again in (pickle.loads(pickle.dumps(pca)), clone(pca).fit(table)):
        assert again.noise_variance_ == pca.noise_variance_
    pca.save(tmp_path / "none.model")
    again = PCA.load(tmp_path / "none.model")
    assert (again.n_components, again.noise_variance_) == (0, pca.noise_variance_)
    assert_array_equal(again.score_samples(table), pca.score_samples(table))


@pytest.mark.parametrize(("text", "share"), [("95%", 0.95), (" 50 % ", 0.5), ("99%", 0.99)])
def test_a_share_of_the_variance_may_be_a_text(text, share, table, tmp_path):
    pca, same = PCA(text).fit(table), PCA(share).fit(table)
    assert pca.n_components == text
    assert_array_equal(pca.components_, same.components_)
    pca.save(tmp_path / "share.model")
    assert PCA.load(tmp_path / "share.model").n_components == share


def test_all_of_the_variance_is_the_rank(tmp_path):
    x = np.random.default_rng(0).normal(size=(30, 3)) @ np.random.default_rng(1).normal(size=(3, 7))
    pca = PCA("100%").fit(x)
    assert pca.n_components_ == 3
    pca.save(tmp_path / "all.model")
    again = PCA.load(tmp_path / "all.model")
    assert again.n_components == "100%"
    assert clone(again).fit(x).n_components_ == 3


def test_a_share_is_exceeded():
    # Four equal variances: as in scikit-learn, a half is not more than a half.
    x = np.concatenate([np.eye(4), -np.eye(4)])
    assert [PCA(share).fit(x).n_components_ for share in (0.2, 0.25, 0.5, 0.75)] == [1, 2, 3, 4]


@pytest.mark.parametrize("estimator", [PCA(2), PCA(2, scale=True, whiten=True), TruncatedSVD(2)])
def test_fitted_arrays_have_the_type_of_the_data(estimator, table, tmp_path):
    double, single = clone(estimator).fit(table), clone(estimator).fit(table.astype(np.float32))
    path = tmp_path / "single.model"
    single.save(path)
    for pca in (single, pickle.loads(pickle.dumps(single)), type(single).load(path)):
        for name, value in vars(double).items():
            if isinstance(value, np.ndarray):
                found = getattr(pca, name)
                assert (name, value.dtype, found.dtype) == (name, np.float64, np.float32)
                if name != "residuals_":
                    assert_allclose(found, value, rtol=1e-4, atol=1e-5, err_msg=name)
        assert not pca.components_.flags.writeable
    if isinstance(estimator, PCA):
        assert single.loadings_.dtype == single.get_covariance().dtype == single.get_precision().dtype == np.float32
        assert (
            clone(estimator)
            .set_params(scale=False)
            .fit(table.astype(np.float32))
            .to_sklearn()
            .transform(table.astype(np.float32))
            .dtype
            == np.float32
        )


@pytest.mark.parametrize("size", [1e25, 1e-25])
def test_variances_that_float32_cannot_hold_stay_float64(size, table):
    x = (table * size).astype(np.float32)
    pca = PCA(2).fit(x)
    assert pca.components_.dtype == pca.mean_.dtype == pca.singular_values_.dtype == np.float32
    assert pca.explained_variance_.dtype == np.float64
    assert_allclose(pca.explained_variance_, np.var(pca.transform(x).astype(float), axis=0, ddof=1), rtol=1e-4)


def test_covariance_and_precision_are_those_of_numpy_and_free_the_interpreter():
    x = np.random.default_rng(0).normal(size=(500, 400))
    pca = PCA(300, scale=True).fit(x)
    weights, noise = pca.explained_variance_ - pca.noise_variance_, pca.noise_variance_
    inner = (pca.components_.T * weights) @ pca.components_ + noise * np.eye(400)
    expected = inner * np.outer(pca.scale_, pca.scale_)
    found = pca.get_covariance()
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_allclose(pca.get_precision() @ found, np.eye(400), atol=1e-8)
    large, ticks, done = PCA(600).fit(np.random.default_rng(1).normal(size=(700, 1500))), [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.002)

    thread = threading.Thread(target=tick)
    thread.start()
    start = time.perf_counter()
    large.get_covariance()
    end = time.perf_counter()
    done.set()
    thread.join()
    assert sum(start + 0.02 < at < end for at in ticks) >= 2
