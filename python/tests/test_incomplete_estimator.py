"""Conventions of scikit-learn, pickles, files, warnings and errors of `IncompletePCA`."""

import copy
import pickle
import warnings

import cloudpickle
import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from compare import assert_allclose
from karhunen import IncompleteConvergence, IncompletePCA, Observed, cross_validate_entries
from numpy.testing import assert_array_equal
from problem_q import problem
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from test_incomplete import planted


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return problem()[0]


def same(one: IncompletePCA, two: IncompletePCA, x: np.ndarray) -> None:
    assert one.get_params() == two.get_params()
    assert_array_equal(one.transform(x), two.transform(x))
    assert_array_equal(one.predict([1, 2], [3, 4], return_std=True), two.predict([1, 2], [3, 4], return_std=True))
    assert_array_equal(one.score_covariances_, two.score_covariances_)
    assert_array_equal(one.convergence_.costs, two.convergence_.costs)
    assert_array_equal(one.convergence_.held_out_rmses, two.convergence_.held_out_rmses)
    assert repr(one.convergence_) == repr(two.convergence_)
    assert one.n_iter_ == two.n_iter_


@pytest.mark.parametrize("copied", [lambda p: pickle.loads(pickle.dumps(p)), copy.copy, copy.deepcopy])
@pytest.mark.parametrize("method", ["vb-full", "vb", "newton", "map"])
def test_copies_are_the_same(x, copied, method):
    pca = IncompletePCA(2, method=method, early_stopping=0.05, tol=1e-4).fit(x)
    same(copied(pca), pca, x)


def test_pickles_of_other_libraries(x, tmp_path):
    pca = IncompletePCA(2).fit(x)
    joblib.dump(pca, tmp_path / "p")
    same(joblib.load(tmp_path / "p"), pca, x)
    same(cloudpickle.loads(cloudpickle.dumps(pca)), pca, x)
    assert not hasattr(clone(pca), "components_")
    fits = joblib.Parallel(2)(joblib.delayed(IncompletePCA(c).fit)(x) for c in (1, 2))
    same(fits[1], pca, x)


def test_a_stream_is_pickled_with_what_it_learned():
    x, _ = planted(200, 10, 2, 0.3)
    whole = IncompletePCA(2).partial_fit(x[:100]).partial_fit(x[100:])
    first = pickle.loads(pickle.dumps(IncompletePCA(2).partial_fit(x[:100])))
    same(first.partial_fit(x[100:]), whole, x)


def test_assigned_attributes_are_obeyed(x):
    pca = IncompletePCA(2).fit(x)
    scores = pca.transform(x)
    with pytest.raises(ValueError, match="read-only"):
        pca.components_[0, 0] = 1
    pca.components_ = -pca.components_
    assert_allclose(pca.inverse_transform([[1.0, 2.0]])[0], pca.mean_ + [1, 2] @ pca.components_)
    assert_allclose(pca.transform(x), -scores, atol=1e-9)
    pca.mean_ = pca.mean_ + 1
    assert_allclose(pca.inverse_transform([[0.0, 0.0]])[0], pca.mean_)


def test_files_read_back_with_the_same_bits(x, tmp_path):
    frame = pd.DataFrame(x, columns=[f"ü {j}" for j in range(12)])
    options = {
        "method": "newton", "alpha": 0.625, "regularization": ("weighted", 0.1), "mean_prior": (2.0, 3.0), "step": 0.5,
        "early_stopping": 0.1, "time_limit": 90.5, "n_starts": 2, "random_state": 7, "max_iter": 50, "tol": 1e-3,
    }  # fmt: skip
    pca = IncompletePCA(2, **options).fit(frame)
    pca.save(tmp_path / "m.model")
    again = IncompletePCA.load(tmp_path / "m.model")
    same(again, pca, frame)
    assert again.feature_names_in_.tolist() == frame.columns.tolist()
    assert again.predict([3], ["ü 4"]) == pca.predict([3], ["ü 4"])
    pca = IncompletePCA(2, row_offsets=True, random_state=0).fit(frame)
    pca.save(tmp_path / "m.model")
    again = IncompletePCA.load(tmp_path / "m.model")
    same(again, pca, frame)
    assert again.row_offsets
    assert again.row_offsets_.tolist() == pca.row_offsets_.tolist()
    for method, penalty in (("cg", None), ("cg", 0.0), ("ridge", 2.5), ("ridge", "path")):
        options = {"regularization": penalty, "early_stopping": 0.1, "refit": True, "rmse_tol": 1e-3}
        pca = IncompletePCA(2, method=method, **options).fit(x)
        pca.save(tmp_path / "m.model")
        again = IncompletePCA.load(tmp_path / "m.model")
        assert {name: getattr(again, name) for name in options} == options
        assert again.convergence_.runs == pca.convergence_.runs


def test_files_of_ratings_keep_their_ids(tmp_path):
    ratings = Observed(["ann", "bob", "bob", "cid"], [10, 10, 70, 70], [5, 4, 2, 1])
    pca = IncompletePCA(1).fit(ratings)
    pca.save(tmp_path / "m.model")
    again = IncompletePCA.load(tmp_path / "m.model")
    assert again.predict(["cid"], [10]) == pca.predict(["cid"], [10])
    assert again.transform(ratings).tolist() == pca.transform(ratings).tolist()
    tuples = IncompletePCA(1).fit(Observed([(1, 2), (3, 4)], ["a", "a"], [1, 2]))
    with pytest.raises(ValueError, match=r"row ids are not all whole numbers or all strings.*\(1, 2\)"):
        tuples.save(tmp_path / "m.model")
    with pytest.raises(FileNotFoundError):
        IncompletePCA.load(tmp_path / "nothing.model")


def test_a_pipeline_takes_missing_values(x):
    y = np.nansum(x, axis=1)
    model = make_pipeline(IncompletePCA(2), LinearRegression()).fit(x, y)
    assert model.predict(x).shape == (40,)


def test_limits_warn_and_are_told(x):
    with pytest.warns(ConvergenceWarning, match="method em: max_iter was reached after 2 iterations"):
        pca = IncompletePCA(2, method="em", max_iter=2, tol=1e-12).fit(x)
    assert not pca.convergence_.converged
    with pytest.warns(ConvergenceWarning, match="time_limit was reached"):
        IncompletePCA(2, method="em", time_limit=0.0, tol=1e-12).fit(x)
    told = IncompletePCA(2, method="em").fit(x).convergence_
    assert isinstance(told, IncompleteConvergence)
    assert told.converged
    assert told.stop == "the cost fell by less than tol"


def test_more_starts_are_never_worse(x):
    options = {"method": "als", "regularization": 0.1, "random_state": 3}
    assert IncompletePCA(4, n_starts=5, **options).fit(x).convergence_.cost <= (
        IncompletePCA(4, n_starts=1, **options).fit(x).convergence_.cost
    )


def test_a_path_of_penalties_is_told(x):
    pca = IncompletePCA(2, method="ridge", regularization="path", early_stopping=0.1).fit(x)
    runs = pca.convergence_.runs
    penalties = [run.penalty for run in runs]
    assert len(penalties) > 3
    assert penalties == sorted(penalties, reverse=True)
    assert pca.convergence_.held_out_rmse == min(run.held_out_rmse for run in runs)
    assert not pca.convergence_.refitted
    refitted = pca.set_params(refit=True).fit(x).convergence_
    assert refitted.refitted
    starts = IncompletePCA(2, method="als", n_starts=3).fit(x).convergence_.runs
    assert [run.penalty for run in starts] == [None] * 3
    assert all(run.n_iterations > 0 for run in starts)


@pytest.mark.parametrize(
    ("name", "value", "stop"),
    [
        ("gradient_tol", 0.1, "the gradient was below gradient_tol"),
        ("angle_tol", 0.1, "the components turned by less than angle_tol"),
        ("rmse_tol", 0.1, "the error of the entries fitted moved by less than rmse_tol"),
    ],
)
def test_other_rules_stop_a_fit(x, name, value, stop):
    pca = IncompletePCA(2, method="als", tol=0.0, **{name: value}).fit(x)
    assert pca.convergence_.stop == stop
    assert pca.convergence_.converged


def test_without_error_bars(x):
    pca = IncompletePCA(2, error_bars=False).fit(x)
    assert pca.score_covariances_ is None
    assert pca.predict([0], [0]).shape == (1,)
    for call in (lambda: pca.predict([0], [0], return_std=True), lambda: pca.impute(x, return_std=True)):
        with pytest.raises(ValueError, match="error_bars=True"):
            call()
    same_bars = pickle.loads(pickle.dumps(pca))
    assert same_bars.score_covariances_ is None


def test_nothing_works_before_a_fit(x):
    for call in ("transform", "impute", "predict", "inverse_transform", "save"):
        with pytest.raises(NotFittedError):
            getattr(IncompletePCA(), call)(x)


REFUSED = {
    "n_components": ["two", 0, 13, 2.0, None],
    "method": ["nipals", 3],
    "alpha": [2, "much", None],
    "regularization": [-1.0, "ridge", ("lasso", 1.0), ("weighted", "x")],
    "mean": ["zero", None],
    "mean_prior": ["three", (1, 2, 3), -1.0],
    "learn_mean_prior": ["yes", 1],
    "hyperprior": [-1.0, "x", None],
    "prior_variance": [-1.0, "x"],
    "step": [0.5, "x"],
    "inner_iterations": [0, 5],
    "online_rule": ["newton", "rls", None],
    "tol": [-1, 1.5, "x"],
    "gradient_tol": [-1.0, 0.1, "x"],
    "angle_tol": [-1.0, "x"],
    "rmse_tol": [-1.0, "x"],
    "refit": [True, "x"],
    "max_iter": [0, "x"],
    "early_stopping": [1.5, "x", 0.0],
    "time_limit": [-1.0, "x"],
    "n_starts": [0, "x"],
    "random_state": ["x"],
    "error_bars": ["yes"],
    "n_threads": [0, "x"],
    "verbose": ["yes"],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in REFUSED for value in REFUSED[name]])
def test_bad_options_are_refused_by_name(x, name, value):
    with pytest.raises(ValueError, match="seed" if name == "random_state" else name):
        IncompletePCA(**{"n_components": 2, name: value}).fit(x)


def test_partial_fit_takes_one_row_at_a_time(x):
    pca, together = IncompletePCA(2), IncompletePCA(2)
    for row in x[:39]:
        pca.partial_fit(row[None])
        assert pca.transform(row[None]).shape == (1, 2)
    together.partial_fit(x[:1]).partial_fit(x[1:39])
    assert pca.n_samples_seen_ == together.n_samples_seen_ == 39
    # The same plane: the rows of the model rotate its axes and move its origin within it.
    plane = pca.components_.T @ pca.components_
    assert_allclose(together.components_.T @ together.components_, plane, atol=1e-9)
    assert_allclose(plane @ (pca.mean_ - together.mean_), pca.mean_ - together.mean_, atol=1e-9)
    restored = pickle.loads(pickle.dumps(pca))
    assert_array_equal(restored.partial_fit(x[39:]).components_, pca.partial_fit(x[39:]).components_)
    fitted = IncompletePCA(2, method="als").fit(x).set_params(method="online").partial_fit(x[:1])
    assert (fitted.explained_variance_ > 0).all()


def test_partial_fit_refuses_what_it_cannot_obey(x):
    with pytest.raises(ValueError, match="'fixed'"):
        IncompletePCA(2, mean="fixed").partial_fit(x)
    with pytest.raises(AttributeError, match="partial_fit") as error:
        IncompletePCA(2, method="vb").partial_fit(x)
    assert "row by row" in str(error.value.__cause__)
    pca = IncompletePCA(2, mean="none").partial_fit(x)
    assert pca.mean_.tolist() == [0] * 12
    with pytest.raises(ValueError, match="11 features"):
        pca.partial_fit(x[:, :11])


def test_verbose_draws_errors_and_the_time_left(capsys):
    x, _ = planted(4000, 200, 10, 0.7)
    IncompletePCA(10, verbose=True, early_stopping=True).fit(x)
    drawn = capsys.readouterr().err
    assert "IncompletePCA (vb-full)" in drawn
    assert "IncompletePCA: 100%" in drawn
    assert "RMSE 0." in drawn
    assert "held out 0." in drawn
    pca = IncompletePCA(15, method="em", tol=3e-7, verbose=True).fit(x)
    assert " left, iteration" in capsys.readouterr().err
    pca.set_params(verbose=False).transform(x)
    assert capsys.readouterr().err == ""


def test_entry_weights_are_routed(x):
    with sklearn.config_context(enable_metadata_routing=True):
        pca = IncompletePCA(1).set_fit_request(entry_weight=True)
        weighted = make_pipeline(pca, LinearRegression()).fit(x, np.ones(40), entry_weight=np.arange(40)[:, None])
    expected = IncompletePCA(1).fit(x, entry_weight=np.arange(40)[:, None])
    assert_array_equal(weighted[0].components_, expected.components_)


def test_learned_variances_match_the_population():
    truth = np.array([60.0, 30.0, 15.0, 8.0, 5.0])
    ratios = {"em": [], "vb-full": []}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        axes = np.linalg.qr(rng.standard_normal((600, 5)))[0]
        x = (rng.standard_normal((400, 5)) * np.sqrt(truth)) @ axes.T + rng.standard_normal((400, 600))
        x[rng.random(x.shape) < 0.002] = np.nan
        for method, found in ratios.items():
            found.append(IncompletePCA(5, method=method).fit(x).explained_variance_ / truth)
    em, vb = (np.mean(found, axis=0) for found in ratios.values())
    # Eigenvalues of a sample are too large, most of all the small ones.
    assert em[-1] > 1.3
    np.testing.assert_allclose(vb, 1.0, atol=0.15)


def test_scaled_columns_without_entries_have_the_mean_of_all_in_their_units():
    rng = np.random.default_rng(2)
    x = 1000.0 + 180.0 * rng.standard_normal((60, 5))
    x[:, 2] = np.nan
    plain, scaled = (IncompletePCA(1, scale=scale).fit(x) for scale in (False, True))
    assert scaled.mean_[2] == pytest.approx(np.nanmean(x))
    assert scaled.mean_[2] == pytest.approx(plain.mean_[2])
    (value,), (std,) = scaled.predict([0], [2], return_std=True)
    assert value == pytest.approx(np.nanmean(x))
    assert std == pytest.approx(plain.predict([0], [2], return_std=True)[1][0], rel=0.5)
    with pytest.raises(ValueError, match="mean_prior = 5"):
        IncompletePCA(1, scale=True, mean_prior=5).fit(x)


def test_cross_validation_of_scaled_columns_has_the_units_of_the_table():
    rng = np.random.default_rng(4)
    x = rng.standard_normal((60, 2)) @ rng.standard_normal((2, 6)) + 0.3 * rng.standard_normal((60, 6))
    x[:, 5] = np.nan
    x[[3, 40], 5] = [1e6, 1.1e6]
    found = cross_validate_entries(IncompletePCA(scale=True), x, n_components=[1, 2])
    assert found.errors.max() < 3.0


def test_components_of_ppca_that_fit_noise_are_warned_of():
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(200, 20))
    with pytest.warns(ConvergenceWarning, match=r"fit noise: they lower -ln p by \d+ with 90 loadings"):
        overfit = IncompletePCA(5, method="ppca").fit(noise).convergence_.overfit
    assert overfit.n_parameters == 90
    assert not overfit.outnumbered
    noise[rng.random(noise.shape) < 0.7] = np.nan
    with pytest.warns(ConvergenceWarning, match="scores and loadings outnumber the entries, so that"):
        pca = IncompletePCA(10, method="ppca", n_starts=1).fit(noise)
    assert pca.convergence_.overfit.outnumbered
    assert pca.convergence_.stop.startswith("scores and loadings outnumber")
    with pytest.warns(ConvergenceWarning, match="scores and loadings outnumber the entries, so that"):
        pca = IncompletePCA(10, method="ppca", tol=0.0, n_starts=1).fit(noise)
    assert pca.convergence_.stop.startswith("the noise vanished")
    assert IncompletePCA(5, method="vb-full").fit(noise).convergence_.overfit is None


def test_ppca_with_more_parameters_than_entries_stops_where_little_is_gained():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(200, 3)) @ rng.normal(size=(3, 120)) + rng.normal(size=(200, 120))
    x[rng.random(x.shape) < 0.85] = np.nan
    with pytest.warns(ConvergenceWarning, match="scores and loadings outnumber the entries, so that"):
        pca = IncompletePCA(15, method="ppca", n_starts=1).fit(x)
    assert pca.convergence_.stop.startswith(("scores and loadings outnumber", "the noise vanished"))
    assert pca.n_iter_ < 500


def test_a_column_that_hides_components_is_warned_of():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 10)) * 2 + rng.normal(size=(300, 10)) * 0.5
    x[rng.random(x.shape) < 0.2] = np.nan
    x[:, 4] *= 1e5
    table = pd.DataFrame(x, columns=list("abcdefghij"))
    message = r"2 components have no variance: apart from column 'e', all columns together have \d\.\de-\d+ of it; set"
    with pytest.warns(ConvergenceWarning, match=message):
        IncompletePCA(3).fit(table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IncompletePCA(3, scale=True).fit(table)


def test_the_learned_prior_of_the_means_is_kept(x, tmp_path):
    pca = IncompletePCA(2, learn_mean_prior=True, hyperprior=0.001, mean_prior=(0, 1.5), random_state=0).fit(x)
    mean, variance = pca.mean_prior_
    assert mean == 1.5
    assert variance > 0
    pca.save(tmp_path / "m.model")
    again = IncompletePCA.load(tmp_path / "m.model")
    assert again.mean_prior_ == pca.mean_prior_
    assert again.get_params() == pca.get_params()
    assert IncompletePCA(2).fit(x).mean_prior_ is None
