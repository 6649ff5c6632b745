"""PCA with missing values against reference numbers, complete data and planted truth."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from compare import assert_allclose
from karhunen import PCA, IncompletePCA, Observed
from numpy.testing import assert_array_equal
from problem_q import problem

LEAST_SQUARES = ["em", "imputation", "cg", "newton", "als", "ccd"]

GOLDEN = json.loads((Path(__file__).parents[2] / "golden/missing_optima.json").read_text())


def golden(options: dict[str, object], name: str) -> tuple[dict[str, object], float, float, float]:
    """Return options, cost, RMSE and RMSE of the hidden entries from the file that the script in golden/ wrote."""
    found = GOLDEN[name]
    return options, found["cost"], found["rmse"], found["hidden_rmse"]


#: Options, cost, RMSE, RMSE of the hidden entries; for methods with priors from docs/log/reference-values.md.
OPTIMA = {
    "em": golden({}, "least_squares"),
    "cg": golden({}, "least_squares"),
    "ridge": golden({"regularization": 1.0}, "ridge"),
    "als": golden({"regularization": ("weighted", 0.02)}, "weighted"),
    "map": ({}, -665.912629558, 0.188661371, 0.361802),
    "ppca": ({}, 167.891814, 0.188782883, 0.360595),
    "vb": ({}, 281.792049, 0.189168485, 0.360950),
    "vb-fixed": ({"prior_variance": 1000.0}, 350.074149, 0.188868649, 0.361031),
    "vb-full": ({}, 281.173089, 0.189183083, 0.360951),
}


def planted(n: int, p: int, c: int, missing: float, seed: int = 0, noise: float = 0.5) -> tuple[np.ndarray, np.ndarray]:
    """Return data with NaN, and the complete data, including noise."""
    rng = np.random.default_rng(seed)
    full = (
        rng.normal(size=(n, c)) @ rng.normal(size=(c, p)) * 1.5 + rng.normal(size=p) + noise * rng.normal(size=(n, p))
    )
    return np.where(rng.random((n, p)) < missing, np.nan, full), full


@pytest.mark.parametrize("method", OPTIMA)
def test_problem_q_ends_at_its_optimum(method):
    x, full = problem()
    assert np.isnan(x).sum() == 166
    assert np.nansum(x) == pytest.approx(20.6543986537, abs=1e-9)
    options, cost, rmse, hidden = OPTIMA[method]
    pca = IncompletePCA(2, method=method, tol=1e-12, max_iter=20_000, **options).fit(x)
    missing = np.isnan(x)
    assert pca.convergence_.cost == pytest.approx(cost, rel=2e-6)
    assert pca.convergence_.rmse == pytest.approx(rmse, rel=2e-5)
    error = (pca.impute(x) - full)[missing]
    assert np.sqrt(np.mean(error**2)) == pytest.approx(hidden, rel=1e-4)


@pytest.mark.parametrize("method", ["em", "imputation", "cg", "newton"])
def test_with_nothing_missing_least_squares_is_pca(table, method):
    pca, incomplete = PCA(3).fit(table), IncompletePCA(3, method=method, tol=1e-14, max_iter=50_000).fit(table)
    assert_allclose(incomplete.components_, pca.components_, atol=1e-5)
    assert_allclose(incomplete.mean_, pca.mean_, atol=1e-6)
    assert_allclose(incomplete.explained_variance_, pca.explained_variance_, rtol=1e-6)
    assert_allclose(incomplete.explained_variance_ratio_, pca.explained_variance_ratio_, rtol=1e-6)
    assert_allclose(incomplete.singular_values_, pca.singular_values_, rtol=1e-6)
    assert_allclose(incomplete.transform(table), pca.transform(table), atol=1e-4)
    assert_allclose(
        incomplete.inverse_transform(incomplete.scores_), pca.inverse_transform(pca.transform(table)), atol=1e-4
    )


def test_auto_says_what_it_took_and_why():
    x, _ = problem()
    pca = IncompletePCA(2).fit(x)
    assert pca.method_ == "vb-full"
    assert "posteriors can be full" in pca.convergence_.reason
    assert IncompletePCA(2, regularization=1.0).fit(x).method_ == "ridge"
    assert IncompletePCA(2, regularization=0).fit(x).method_ == "cg"
    assert IncompletePCA(2, method="em").fit(x).convergence_.reason == "asked for"


def test_what_a_fit_reports():
    x, _ = problem()
    pca = IncompletePCA(2, method="newton", early_stopping=0.05, max_iter=300).fit(x)
    told = pca.convergence_
    assert_array_equal(told.iterations, np.arange(len(told.iterations)))
    assert told.iterations[-1] == pca.n_iter_
    assert (np.diff(told.seconds) >= 0).all()
    assert (told.steps[1:] > 0).all()
    # The error of the model, whose components are rotated.
    assert told.held_out_rmse == pytest.approx(np.nanmin(told.held_out_rmses), rel=1e-12)
    assert told.rmse in told.rmses
    assert_allclose(pca.singular_values_, np.linalg.norm(pca.scores_, axis=0))
    assert_allclose(pca.explained_variance_, pca.singular_values_**2 / 39)


def test_components_that_the_data_do_not_support_are_left_out():
    x, _ = planted(300, 30, 3, 0.4)
    assert IncompletePCA(8).fit(x).n_components_ == 3
    assert IncompletePCA(8, method="vb").fit(x).n_components_ == 3


@pytest.mark.parametrize(("method", "missing"), [("vb-full", 0.5), ("vb", 0.5), ("vb-full", 0.8), ("em", 0.4)])
def test_standard_deviations_are_calibrated(method, missing):
    inside = []
    for seed in range(4):
        x, full = planted(250, 40, 3, missing, seed)
        # From the start of random_state 0, the fit of seed 1 ends in a poor optimum, with a warning of its
        # predictions.
        pca = IncompletePCA(3, method=method, tol=1e-8, max_iter=5000, random_state=1).fit(x)
        i, j = np.nonzero(np.isnan(x))
        value, std = pca.predict(i, j, return_std=True)
        _, of_value = pca.predict(i, j, return_std=True, noise=False)
        assert_allclose(std**2 - of_value**2, pca.feature_noise_variance_[j], rtol=1e-9)
        inside.append(np.abs(value - full[i, j]) < 1.96 * std)
    assert 0.93 < np.concatenate(inside).mean() < 0.97


def test_new_rows_have_calibrated_deviations_too():
    x, full = planted(500, 40, 3, 0.5, seed=9)
    pca = IncompletePCA(3).fit(x[:250])
    new, missing = x[250:], np.isnan(x[250:])
    value, std = pca.predict(new, return_std=True)
    assert 0.93 < (np.abs(value - full[250:]) < 1.96 * std)[missing].mean() < 0.97
    scores, covariances = pca.transform(new, return_covariance=True)
    assert_array_equal(scores, pca.transform(new))
    assert covariances.shape == (250, 3, 3)
    assert (np.linalg.eigvalsh(covariances) > 0).all()


def test_the_rows_fitted_are_predicted_alike_by_number_and_by_value():
    x, _ = problem()
    pca = IncompletePCA(2, tol=1e-10).fit(x)
    i, j = np.indices(x.shape)
    value, std = pca.predict(i, j, return_std=True)
    again, std_again = pca.predict(x, return_std=True)
    assert_allclose(again, value, atol=1e-9)
    assert_allclose(std_again, std, rtol=1e-4)
    assert_allclose(pca.transform(x), pca.scores_, atol=1e-9)
    assert_allclose(pca.transform(x, return_covariance=True)[1], pca.score_covariances_, rtol=1e-3, atol=1e-6)
    filled, std_filled = pca.impute(x, return_std=True)
    assert_array_equal(filled[~np.isnan(x)], x[~np.isnan(x)])
    assert_array_equal(filled[np.isnan(x)], again[np.isnan(x)])
    assert_array_equal(std_filled[~np.isnan(x)], 0)
    assert_array_equal(std_filled[np.isnan(x)], std_again[np.isnan(x)])


@pytest.mark.parametrize("method", ["auto", "em", "ridge", "vb", "online"])
def test_threads_change_no_bit(method):
    x, _ = planted(400, 50, 3, 0.5)
    one, three = (IncompletePCA(3, method=method, tol=0.9, n_threads=n).fit(x) for n in (1, 3))
    assert_array_equal(one.components_, three.components_)
    assert_array_equal(one.predict([5], [7], return_std=True), three.predict([5], [7], return_std=True))


def test_rows_and_columns_without_entries():
    x, _ = planted(60, 10, 2, 0.3)
    x[7] = np.nan
    x[:, 3] = np.nan
    pca = IncompletePCA(2).fit(x)
    for array in (pca.components_, pca.scores_, pca.mean_, *pca.predict(x, return_std=True)):
        assert np.isfinite(array).all()
    assert pca.mean_[3] == pytest.approx(np.nanmean(x))
    value, std = pca.predict([0, 7], [3, 3], return_std=True)
    assert np.isfinite(std).all()
    assert value[0] == pytest.approx(np.nanmean(x), abs=0.5)


# A prior that keeps a mean far from the data makes predictions that are far from the data.
@pytest.mark.filterwarnings("ignore:.* predicted far outside what was observed")
def test_mean_and_its_prior():
    ratings = Observed([0, 1, 0], [0, 0, 1], [5.0, 4.0, 1.0], shape=(2, 3))
    prior = {"mean": "fixed", "mean_prior": (22, 3.0)}
    assert_allclose(IncompletePCA(1, method="em", **prior).fit(ratings).mean_, [3.125, 67 / 23, 3], rtol=1e-12)
    assert IncompletePCA(1, method="em", mean="none").fit(ratings).mean_.tolist() == [0, 0, 0]
    x, _ = planted(100, 8, 1, 0.3)
    strong = IncompletePCA(1, method="em", mean_prior=(1e9, 3.0), tol=1e-9, max_iter=5000).fit(x)
    assert_allclose(strong.mean_, 3 + strong.components_[0] * ((strong.mean_ - 3) @ strong.components_[0]), atol=1e-3)
    assert not np.allclose(IncompletePCA(1, method="em").fit(x).mean_, strong.mean_, atol=0.1)


def test_rows_have_a_level_of_their_own():
    x, _ = planted(150, 12, 2, 0.3)
    levels = 4 * np.random.default_rng(3).normal(size=150)
    shifted = x + levels[:, None]
    with_offsets, without = IncompletePCA(2, row_offsets=True).fit(shifted), IncompletePCA(2).fit(shifted)
    assert without.row_offsets_ is None
    assert np.corrcoef(with_offsets.row_offsets_, levels)[0, 1] > 0.98
    assert abs(with_offsets.row_offsets_.sum()) < 1e-9
    assert_allclose(with_offsets.components_.sum(axis=1), 0, atol=1e-9)
    assert with_offsets.noise_variance_ < 0.5 * without.noise_variance_
    offsets = with_offsets.transform_offsets(shifted)
    assert_allclose(offsets, with_offsets.row_offsets_, atol=1e-4)
    assert without.transform_offsets(shifted).tolist() == [0] * 150
    # Transforms, imputed values and predictions all include it.
    values = with_offsets.inverse_transform(with_offsets.transform(shifted)) + offsets[:, None]
    assert_allclose(with_offsets.predict(shifted), values, atol=1e-9)
    assert_allclose(with_offsets.impute(shifted)[np.isnan(shifted)], values[np.isnan(shifted)], atol=1e-9)
    rows, columns = np.indices(shifted.shape)
    fitted, std = with_offsets.predict(rows, columns, return_std=True)
    assert_allclose(fitted, values, atol=1e-3)
    again, deviations = with_offsets.predict(shifted, return_std=True)
    assert_allclose(again, values, atol=1e-9)
    assert_allclose(deviations, std, rtol=1e-3)
    stream = IncompletePCA(2, method="online", row_offsets=True)
    for _ in range(20):
        stream.partial_fit(shifted)
    assert np.corrcoef(stream.row_offsets_, levels)[0, 1] > 0.95
    with pytest.raises(ValueError, match="row_offsets"):
        IncompletePCA(2, row_offsets="yes").fit(x)
    assert pickle.loads(pickle.dumps(with_offsets)).row_offsets_.tolist() == with_offsets.row_offsets_.tolist()


def test_entry_weights_are_inverse_variances():
    x, _ = planted(200, 15, 2, 0.2)
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 3, x.shape).astype(float)
    options = {"method": "em", "tol": 1e-12, "max_iter": 5000}
    incomplete = np.where(weights == 0, np.nan, x)
    weighted = IncompletePCA(2, **options).fit(x, entry_weight=weights)
    assert_allclose(
        weighted.components_, IncompletePCA(2, **options).fit(incomplete, entry_weight=weights).components_, atol=1e-6
    )
    assert not np.allclose(weighted.components_, IncompletePCA(2, **options).fit(incomplete).components_, atol=1e-3)
    by_rows = IncompletePCA(2, **options).fit(x, entry_weight=weights[:, :1] + 1)
    by_all = IncompletePCA(2, **options).fit(x, entry_weight=np.repeat(weights[:, :1] + 1, 15, axis=1))
    assert_array_equal(by_rows.components_, by_all.components_)


@pytest.mark.parametrize("rule", ["diagonal", "rls"])
def test_partial_fit_comes_near_the_batch(rule):
    x, full = planted(3000, 20, 2, 0.4)
    missing = np.isnan(x)
    online = IncompletePCA(2, method="online", online_rule=rule)
    for _ in range(5):
        for rows in np.split(x, 30):
            online.partial_fit(rows)
    assert online.n_samples_seen_ == 15_000
    assert online.method_ == "online"
    assert online.scores_.shape == (100, 2)
    batch = IncompletePCA(2).fit(x)
    errors = [np.sqrt(np.mean((pca.impute(x) - full)[missing] ** 2)) for pca in (online, batch)]
    assert errors[0] < 1.01 * errors[1]


def test_partial_fit_continues_from_a_fit():
    x, full = planted(2000, 20, 2, 0.4)
    missing = np.isnan(x)
    pca = IncompletePCA(2).fit(x[:1000])

    def error() -> float:
        return np.sqrt(np.mean((pca.impute(x) - full)[missing] ** 2))

    before = error()
    for rows in np.split(x[1000:], 20):
        pca.partial_fit(rows)
    assert pca.n_samples_seen_ == 2000
    assert error() < 1.01 * before
    with pytest.raises(ValueError, match="online_rule = 'rls' cannot continue"):
        IncompletePCA(2, method="als").fit(x).set_params(method="online", online_rule="rls").partial_fit(x)


def test_the_paper_s_small_example():
    x = np.array([[-1, 1, 0, 0, np.nan], [-1, 1, np.nan, np.nan, 0], [np.nan, np.nan, -1, 1, np.nan]]).T
    pca = IncompletePCA(2, method="ridge", regularization=0.1, mean="none", tol=1e-13, max_iter=10_000).fit(x)
    assert pca.convergence_.cost == pytest.approx(0.6628427125, rel=1e-6)
    assert_allclose(pca.singular_values_, [1.9, np.sqrt(2) - 0.1], rtol=1e-4)
    soft = IncompletePCA(2, method="soft", regularization=0.1, mean="none", tol=1e-13, max_iter=50_000).fit(x)
    assert_allclose(soft.singular_values_, pca.singular_values_, rtol=1e-3)


def test_error_bars_of_offsets_when_components_have_vanished():
    rng = np.random.default_rng(4)
    x = 8 * rng.normal(size=(7, 6))
    x[rng.random(x.shape) < 0.4] = np.nan
    # The unit of the covariances came from variances near zero, and covariances of offsets overflowed.
    pca = IncompletePCA(3, method="vb-fixed", row_offsets=True).fit(x)
    assert pca.explained_variance_.max() == 0.0
    assert np.isfinite(pca.score_covariances_).all()


def test_intervals_hold_as_many_entries_as_they_say() -> None:
    x, complete = planted(150, 20, 2, 0.3, noise=0.5)
    rng = np.random.default_rng(5)
    # Errors of t with three degrees of freedom: intervals of normal errors hold other shares.
    heavy = complete + rng.standard_t(3, size=x.shape)
    missing = np.isnan(x)
    x = np.where(missing, np.nan, heavy)
    rows, columns = missing.nonzero()
    pca = IncompletePCA(2, conformal=0.2, random_state=3).fit(x)
    assert len(pca.conformal_errors_) == round(0.2 * (~missing).sum())
    assert (np.diff(pca.conformal_errors_) >= 0).all()
    for level in (0.5, 0.9):
        lower, upper = pca.predict_interval(rows, columns, level=level)
        inside = ((lower <= heavy[missing]) & (heavy[missing] <= upper)).mean()
        assert abs(inside - level) < 0.06
    bare = IncompletePCA(2).fit(x)
    assert bare.conformal_errors_ is None
    value, std = bare.predict(x, return_std=True)
    lower, upper = bare.predict_interval(x, level=0.95)
    assert_allclose(upper - value, 1.959963984540054 * std, rtol=1e-9)
    assert_allclose(value - lower, 1.959963984540054 * std, rtol=1e-9)
    with pytest.raises(ValueError, match=r"level = 1\.5 is not allowed"):
        pca.predict_interval(x, level=1.5)
    with pytest.raises(ValueError, match="predict_interval needs a fit with error_bars"):
        IncompletePCA(2, error_bars=False).fit(x).predict_interval(x)
    with pytest.raises(ValueError, match=r"conformal = 0\.2 is not allowed"):
        IncompletePCA(2, conformal=0.2).fit(x, sample_weight=np.full(150, 2.0))
    again = pickle.loads(pickle.dumps(pca))
    assert_array_equal(again.conformal_errors_, pca.conformal_errors_)
