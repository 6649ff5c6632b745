"""Diagnostics compared with FactoMineR's, on wine with two supplementary numbers and a supplementary category."""

import json
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from karhunen import PCA, IncompletePCA, IncrementalPCA, KernelPCA, TruncatedSVD, diagnostics, rotation
from scipy import stats
from sklearn.decomposition import PCA as SklearnPCA

ROOT = Path(__file__).parents[2]
ACTIVE = 11


@pytest.fixture(scope="module")
def wine():
    return pd.read_csv(ROOT / "examples/data/wine.csv")


@pytest.fixture(params=["factominer_wine", "factominer_wine_scaled", "factominer_wine_weighted"])
def golden(request):
    return json.loads((ROOT / f"golden/{request.param}.json").read_text())


def fitted(golden, wine):
    """Fit as FactoMineR does, with divisor n."""
    weights = golden["weights"] or None
    pca = PCA(3, scale=golden["scale"], weighting="population").fit(wine.iloc[:, :ACTIVE], sample_weight=weights)
    return pca, weights


def close(found, expected, signs=1.0):
    np.testing.assert_allclose(found * signs, np.asarray(expected, dtype=float), rtol=1e-7, atol=1e-9)


def test_values_match_factominer(golden, wine):
    pca, weights = fitted(golden, wine)
    features = diagnostics.features(pca)
    signs = np.sign((features.correlations * np.array(golden["var_cor"])).sum(axis=0))
    close(pca.explained_variance_, golden["eigenvalues"])
    close(features.correlations, golden["var_cor"], signs)
    close(features.contributions, golden["var_contrib"])
    close(features.cos2, golden["var_cos2"])
    close(features.communalities, np.sum(golden["var_cos2"], axis=1))
    samples = diagnostics.samples(pca, wine.iloc[:, :ACTIVE])
    close(samples.scores[:5], golden["ind_coord_head"], signs)
    close(samples.contributions(weights)[:5], golden["ind_contrib_head"])
    close(samples.cos2[:5], golden["ind_cos2_head"])
    close(np.sqrt(samples.distance2[:5]), golden["ind_dist_head"])
    numbers = diagnostics.correlations(samples.scores, wine.iloc[:, ACTIVE:13], weights)
    close(numbers.correlations, golden["quanti_sup_cor"], signs)
    groups = diagnostics.categories(samples.scores, wine["class"], weights)
    close(groups.barycentres, golden["quali_sup_coord"], signs)
    close(groups.eta2, golden["quali_sup_eta2"][0])
    close(groups.v_tests, golden["quali_sup_v_test"], signs)


def test_descriptions_match_dimdesc(wine):
    golden = json.loads((ROOT / "golden/factominer_wine_scaled.json").read_text())
    pca, _ = fitted(golden, wine)
    scores = pca.transform(wine.iloc[:, :ACTIVE])
    described = diagnostics.describe(scores, wine.astype({"class": str}), adjust="none", level=1.0)["PC1"]
    numbers = described[described["kind"] == "number"]
    names, expected = golden["describe_quanti_names"], np.array(golden["describe_quanti"])
    sign = np.sign(numbers.loc[names[0], "statistic"] * expected[0, 0])
    found = numbers.loc[names, ["statistic", "p_value"]].to_numpy()
    np.testing.assert_allclose(found * [sign, 1.0], expected, rtol=1e-7, atol=1e-300)
    group = described[described["kind"] == "categories"][["statistic", "p_value"]].to_numpy()
    np.testing.assert_allclose(group[0], golden["describe_quali"][0], rtol=1e-7)


def test_corrections_leave_out_what_chance_explains(wine):
    pca = PCA(2, scale=True).fit(wine.iloc[:, :ACTIVE])
    noise = pd.DataFrame(np.random.default_rng(1).standard_normal((len(wine), 200))).add_prefix("noise")
    table = pd.concat([wine.iloc[:, :ACTIVE], noise], axis=1)
    scores = pca.transform(wine.iloc[:, :ACTIVE])
    plain = diagnostics.describe(scores, table, adjust="none")["PC1"]
    holm = diagnostics.describe(scores, table)["PC1"]
    assert plain.index.str.startswith("noise").sum() > 2
    assert not holm.index.str.startswith("noise").any()
    assert holm["p_value"].is_monotonic_increasing


def test_sparse_rows_files_and_single_precision(wine, tmp_path):
    x = wine.iloc[:, :ACTIVE].to_numpy()
    pca = PCA(3, scale=True).fit(x)
    dense = diagnostics.samples(pca, x)
    np.save(tmp_path / "x.npy", x)
    for rows in (sp.csr_array(x), tmp_path / "x.npy"):
        same = diagnostics.samples(pca, rows)
        np.testing.assert_allclose(same.spe, dense.spe, rtol=1e-9)
        np.testing.assert_allclose(same.t2, dense.t2, rtol=1e-9)
    single = diagnostics.samples(pca, x.astype(np.float32))
    assert single.scores.dtype == np.float32
    np.testing.assert_allclose(single.spe, dense.spe, rtol=1e-3)
    terms = diagnostics.row_contributions(pca, x)
    np.testing.assert_allclose(terms.spe.sum(axis=1), dense.spe, rtol=1e-10)
    np.testing.assert_allclose(terms.t2.sum(axis=1), dense.t2, rtol=1e-10)


def test_a_monitor_finds_the_row_that_broke_and_its_feature(wine):
    x = wine.iloc[:, :ACTIVE]
    pca = PCA(4, scale=True).fit(x)
    monitor = diagnostics.Monitor(pca, x, level=0.99)
    new = x.iloc[:20].copy()
    new.iloc[7, 5] += 6 * x.iloc[:, 5].std()
    found = monitor.check(new)
    assert found.beyond_spe[7] or found.beyond_t2[7]
    assert (found.beyond_spe | found.beyond_t2).sum() <= 3
    terms = diagnostics.row_contributions(pca, new.iloc[7:8])
    assert (
        terms.names[int(np.argmax(np.abs(terms.t2 / monitor.t2_limit) + terms.spe / monitor.spe_limit))] == x.columns[5]
    )
    assert list(found.to_frame().columns) == ["T2", "SPE", "beyond_T2", "beyond_SPE"]
    assert list(found.to_frame().index) == list(new.index)
    new_limits, fitted_limits = monitor.limits(), monitor.limits(fitted=True)
    assert new_limits[1] > fitted_limits[1]
    other = diagnostics.Monitor(pca, x, method="jackson-mudholkar")
    np.testing.assert_allclose(other.spe_limit, monitor.spe_limit, rtol=0.1)


def test_models_keep_the_limits_of_a_monitor(wine, tmp_path):
    x = wine.iloc[:, :ACTIVE]
    for pca in (PCA(3, scale=True).fit(x), TruncatedSVD(3).fit(x)):
        with pytest.raises(ValueError, match="the model keeps no limits for new rows; give the rows of the fit as X"):
            diagnostics.Monitor(pca)
        monitor = diagnostics.Monitor(pca, x)
        monitor.keep()
        pca.save(tmp_path / "wine.kh")
        for other in (pca, pickle.loads(pickle.dumps(pca)), type(pca).load(tmp_path / "wine.kh")):
            kept = diagnostics.Monitor(other, level=0.99)
            assert kept.limits() == monitor.limits()
            assert kept.limits(0.9) == monitor.limits(0.9)
            assert kept.fitted is None
            np.testing.assert_array_equal(kept.check(x).beyond_spe, monitor.check(x).beyond_spe)
            with pytest.raises(ValueError, match="fitted needs the rows of the fit"):
                kept.limits(fitted=True)
    with pytest.raises(ValueError, match="sample_weight needs the rows of the fit"):
        diagnostics.Monitor(pca, sample_weight=np.ones(len(x)))


@pytest.mark.parametrize("change", ["fit", "assign"])
def test_a_monitor_is_of_the_model_it_was_made_for(wine, change):
    x = wine.iloc[:, :ACTIVE]
    for pca in (PCA(2).fit(x), IncompletePCA(2, method="ppca", n_starts=1).fit(x)):
        kept = diagnostics.Monitor(pca, x)
        kept.keep()
        monitor = diagnostics.Monitor(pca)
        assert monitor.limits() == kept.limits()
        if change == "fit":
            pca.fit(x * 10 + 7)
        else:
            pca.mean_ = pca.mean_ + 50
        for call in (monitor.keep, lambda m=monitor: m.check(x), lambda m=monitor: pickle.dumps(m)):
            with pytest.raises(ValueError, match="make the monitor again"):
                call()
        # The limits that the model kept are gone.
        if isinstance(pca, PCA):
            with pytest.raises(ValueError, match="the model keeps no limits"):
                diagnostics.Monitor(pca)


def test_streams_keep_no_limits(wine):
    x = wine.iloc[:, :ACTIVE]
    with pytest.raises(TypeError, match="the model of IncrementalPCA changes with its rows"):
        diagnostics.Monitor(IncrementalPCA(3).fit(x), x).keep()


def test_models_of_missing_values_keep_the_limits_of_a_monitor(wine, tmp_path):
    x = wine.iloc[:, :ACTIVE]
    incomplete = x.mask(np.random.default_rng(1).random(x.shape) < 0.1)
    weights = np.random.default_rng(2).integers(1, 4, len(x))
    for weight in (None, weights):
        pca = IncompletePCA(3, method="ppca", scale=True, n_starts=1).fit(incomplete, sample_weight=weight)
        # A fit of few rows keeps the scale of their errors by leverage.
        by_leverage, monitor = diagnostics.Monitor(pca), diagnostics.Monitor(pca, incomplete, weight)
        np.testing.assert_allclose(by_leverage.limits(), monitor.limits(), rtol=0.1)
        assert by_leverage.limits() != monitor.limits()
        monitor.keep()
        pca.save(tmp_path / "wine.kh")
        new = incomplete.iloc[::5]
        for other in (pca, pickle.loads(pickle.dumps(pca)), IncompletePCA.load(tmp_path / "wine.kh")):
            kept = diagnostics.Monitor(other)
            assert kept.limits() == monitor.limits()
            found, again = monitor.check(new), kept.check(new)
            np.testing.assert_array_equal(again.t2_limit, found.t2_limit)
            np.testing.assert_array_equal(again.spe_limit, found.spe_limit)
            np.testing.assert_array_equal(again.samples.t2_limits(0.99), found.t2_limit)
            with pytest.raises(ValueError, match="fitted needs the rows of the fit"):
                kept.limits(fitted=True)


def test_limits_of_missing_values_are_of_rows_left_out():
    """Of twenty fits without a twentieth of the rows."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((43, 2)) @ rng.standard_normal((2, 9)) * 0.5 + rng.standard_normal((43, 9))
    x[rng.random(x.shape) < 0.15] = np.nan
    t2, expected, spe, degrees = [], [], [], []
    for fold in range(20):
        rest = np.arange(43) % 20 != fold
        pca = IncompletePCA(2, method="ppca", n_starts=1).fit(x[rest])
        found = diagnostics.samples(pca, x[~rest])
        n, d = rest.sum(), found.t2_degrees
        t2.append(found.t2)
        expected.append(d * (n * n - 1) / (n * (n - d)) * (n - d) / (n - d - 2))
        spe.append(found.spe)
        degrees.append(found.spe_degrees)
    t2, expected, spe, degrees = (np.concatenate(values) for values in (t2, expected, spe, degrees))
    variance = spe.sum() / degrees.sum()
    dispersion = (degrees * (spe / (degrees * variance) - 1) ** 2).mean() / 2 * 43 / 42
    pca = IncompletePCA(2, method="ppca", n_starts=1).fit(x)
    monitor = diagnostics.Monitor(pca, x, level=0.95)
    factor = t2.sum() / expected.sum()
    assert factor < 0.95
    of_f = 2 * (43 * 43 - 1) / (43 * 41) * stats.f.ppf(0.95, 2, 41)
    np.testing.assert_allclose(monitor.t2_limit, factor * of_f, rtol=1e-9)
    found = diagnostics.samples(pca, x)
    limits = found.spe_limits(0.95, (variance, dispersion, 43))
    np.testing.assert_allclose(monitor.check(x).spe_limit, limits, rtol=1e-9)


@pytest.mark.parametrize("method", ["box", "jackson-mudholkar"])
def test_limits_of_new_rows_are_of_rows_left_out(method):
    rng = np.random.default_rng(0)
    n, k = 25, 2
    x = rng.standard_normal((n, 7)) @ rng.standard_normal((7, 7)) + 3.0
    errors, t2 = [], []
    for i in range(n):
        rest = np.delete(x, i, axis=0)
        away = x[i] - rest.mean(axis=0)
        lengths, axes = np.linalg.svd(rest - rest.mean(axis=0))[1:]
        errors.append(away @ away - ((axes[:k] @ away) ** 2).sum())
        t2.append(((axes[:k] @ away / lengths[:k]) ** 2).sum() * (n - 2))
    mean, second = np.mean(errors), np.var(errors, ddof=1) / (2 * np.mean(errors) ** 2)
    deviate = stats.t.ppf(0.99, (n - 1) / (1 + 6 * second)) * np.sqrt(1 + 1 / n)
    if method == "box":
        expected = mean * second * stats.chi2.ppf(stats.norm.cdf(deviate), 1 / second)
    else:
        expected = mean * (1 + deviate * np.sqrt(2 * second) / 3 - 2 * second / 9) ** 3
    monitor = diagnostics.Monitor(PCA(k).fit(x), x, level=0.99, method=method)
    np.testing.assert_allclose(monitor.spe_limit, expected, rtol=1e-8)
    assert monitor.limits(fitted=True)[1] < monitor.spe_limit

    def of_f(n):
        return k * (n * n - 1) / (n * (n - k))

    factor = np.mean(t2) / (of_f(n - 1) * stats.f(k, n - 1 - k).mean())
    assert factor < 0.9
    np.testing.assert_allclose(monitor.t2_limit, factor * of_f(n) * stats.f.ppf(0.99, k, n - k), rtol=1e-8)


def test_leverage_is_the_diagonal_of_the_hat_matrix(wine):
    x = wine.iloc[:, :ACTIVE].to_numpy()
    pca = PCA(3, scale=True).fit(x)
    found = diagnostics.samples(pca, x)
    design = np.column_stack([np.ones(len(x)), found.scores])
    hat = design @ np.linalg.solve(design.T @ design, design.T)
    np.testing.assert_allclose(found.leverage, np.diag(hat), rtol=1e-9)


def test_models_keep_the_variances_of_their_features(wine, tmp_path):
    x = wine.iloc[:, :ACTIVE]
    pca = PCA(2).fit(x)
    expected = diagnostics.features(pca)
    pca.save(tmp_path / "wine.kh")
    for other in (pickle.loads(pickle.dumps(pca)), PCA.load(tmp_path / "wine.kh")):
        np.testing.assert_array_equal(diagnostics.features(other).correlations, expected.correlations)
    table = expected.to_frame()
    assert list(table.index) == list(x.columns)
    assert list(table.columns[:2]) == ["correlation_PC1", "correlation_PC2"]
    svd = TruncatedSVD(2).fit(x)
    assert diagnostics.features(svd).correlations.shape == (ACTIVE, 2)


def test_unsuitable_arguments_are_named(wine):
    x = wine.iloc[:, :ACTIVE]
    pca = PCA(2).fit(x)
    with pytest.raises(TypeError, match="diagnostics of a KernelPCA are not available"):
        diagnostics.features(KernelPCA(2).fit(x))
    with pytest.raises(TypeError, match="diagnostics of a KernelPCA are not available"):
        rotation.varimax(KernelPCA(2).fit(x))
    with pytest.raises(TypeError, match="pca is a PCA; pass a fitted"):
        diagnostics.samples(SklearnPCA(2).fit(x), x)
    with pytest.raises(ValueError, match="level = 95 is not allowed"):
        diagnostics.Monitor(pca, x, level=95)
    with pytest.raises(ValueError, match="method = 'x' is not known"):
        diagnostics.Monitor(pca, x, method="x")
    with pytest.raises(ValueError, match="adjust = 'bonferroni' is not known"):
        diagnostics.correlations(pca.transform(x), x, adjust="bonferroni")
    with pytest.raises(ValueError, match="labels has shape"):
        diagnostics.categories(pca.transform(x), ["a"])
    with pytest.raises(TypeError, match=r"a pandas\.DataFrame is needed"):
        diagnostics.describe(pca.transform(x), x.to_numpy())
    broken = x.copy()
    broken.iloc[3, 1] = np.nan
    with pytest.raises(ValueError, match="row 3, column 1"):
        diagnostics.samples(pca, broken)
    with pytest.raises(ValueError, match="row 3, column 1"):
        diagnostics.row_contributions(pca, broken)


def test_results_are_kept_by_pickle_and_compared_by_identity(wine):
    x = wine.iloc[:, :ACTIVE]
    pca = PCA(3, scale=True).fit(x)
    monitor = diagnostics.Monitor(pca, x, level=0.99)
    again = pickle.loads(pickle.dumps(monitor))
    assert again.limits(0.9) == monitor.limits(0.9)
    np.testing.assert_array_equal(again.fitted.cos2, monitor.fitted.cos2)
    np.testing.assert_array_equal(again.fitted.contributions(), monitor.fitted.contributions())
    assert len({monitor.fitted, again.fitted, monitor.check(x)}) == 3
    assert monitor.fitted == monitor.fitted


def test_what_has_no_value_is_nan(wine):
    x = wine.iloc[:, :ACTIVE].assign(constant=0.1)
    pca = PCA(3).fit(x)
    features = diagnostics.features(pca)
    assert np.isnan(features.communalities[-1])
    assert np.isfinite(features.communalities[:-1]).all()
    centre = pd.DataFrame([pca.mean_], columns=x.columns)
    assert np.isnan(diagnostics.samples(pca, centre).cos2).all()
    scores = pca.transform(x)
    found = diagnostics.correlations(scores, x[["constant"]])
    assert np.isnan(found.correlations).all()
    assert np.isnan(found.p_values).all()


def test_all_components_of_scikit_learn_give_the_correlations(wine):
    x = wine.iloc[:, :ACTIVE].assign(constant=0.1)
    theirs = diagnostics.features(SklearnPCA().fit(x))
    ours = diagnostics.features(PCA().fit(x))
    np.testing.assert_allclose(np.abs(theirs.correlations[:-1, :8]), np.abs(ours.correlations[:-1, :8]), atol=1e-9)
    np.testing.assert_allclose(theirs.communalities[:-1], 1.0, rtol=1e-9)
    assert np.isnan(theirs.communalities[-1])
    assert theirs.names == list(x.columns)
    with pytest.raises(ValueError, match="the 2 components of scikit-learn's PCA do not give the variance"):
        diagnostics.features(SklearnPCA(2).fit(x))


@pytest.mark.parametrize("entries", [1, 500, 10_000_000])
def test_sparse_variables_are_correlated_in_blocks(wine, entries, monkeypatch):
    monkeypatch.setattr("karhunen._diagnostics.supplementary.ENTRIES", entries)
    x = wine.iloc[:, :ACTIVE].to_numpy()
    x[x < np.median(x, axis=0)] = 0.0
    scores, weights = PCA(2).fit_transform(x), np.arange(len(x)) % 3
    dense = diagnostics.correlations(scores, x, weights, adjust="holm")
    found = diagnostics.correlations(scores, sp.csr_array(x), weights, adjust="holm")
    np.testing.assert_array_equal(found.correlations, dense.correlations)
    np.testing.assert_array_equal(found.p_values, dense.p_values)
    np.testing.assert_array_equal(found.n_observed, dense.n_observed)
    assert found.names == [f"x{j}" for j in range(ACTIVE)]


def test_a_plane_that_explains_everything_raises_no_alarm(wine):
    x = wine.iloc[:, :4]
    pca = PCA(4).fit(x)
    monitor = diagnostics.Monitor(pca, x)
    assert monitor.spe_limit == np.inf
    assert not monitor.check(x * 1.1).beyond_spe.any()


def test_units_change_no_alarm(wine):
    x = wine.iloc[:, :ACTIVE].to_numpy()
    alarms = []
    for unit in (1.0, 1e100, 1e-100):
        pca = PCA(3).fit(x * unit)
        alarms.append(diagnostics.Monitor(pca, x * unit, level=0.9).check(x * unit).beyond_spe)
    assert 5 < alarms[0].sum() < 50
    np.testing.assert_array_equal(alarms[1], alarms[0])
    np.testing.assert_array_equal(alarms[2], alarms[0])


def test_weights_count_as_their_meaning_says(wine):
    x = wine.iloc[:, :ACTIVE]
    scores = PCA(2, scale=True).fit_transform(x)
    counts = np.random.default_rng(2).integers(0, 4, len(x))
    repeated = np.repeat(np.arange(len(x)), counts)
    number, kind = wine.iloc[:, ACTIVE : ACTIVE + 1], wine["class"]
    expected = diagnostics.correlations(scores[repeated], number.iloc[repeated])
    found = diagnostics.correlations(scores, number, counts)
    np.testing.assert_allclose(found.p_values, expected.p_values, rtol=1e-9)
    expected = diagnostics.categories(scores[repeated], kind.iloc[repeated])
    found = diagnostics.categories(scores, kind, counts)
    np.testing.assert_allclose(found.v_tests, expected.v_tests, rtol=1e-9)
    np.testing.assert_allclose(found.eta2_p_values, expected.eta2_p_values, rtol=1e-9)
    # Importance weights have no unit.
    weights = np.random.default_rng(3).uniform(0.5, 2.0, len(x))
    shares = [
        diagnostics.categories(scores, kind, weights * unit, weighting="importance").p_values for unit in (1.0, 1e-6)
    ]
    np.testing.assert_allclose(shares[1], shares[0], rtol=1e-9)
    equal = diagnostics.correlations(scores, number, np.full(len(x), 1e6), weighting="importance")
    np.testing.assert_allclose(equal.p_values, diagnostics.correlations(scores, number).p_values, rtol=1e-9)
    for bad in ([-1.0] * len(x), [np.nan] * len(x), [0.0] * len(x)):
        for use in (
            lambda w: diagnostics.correlations(scores, number, w),
            lambda w: diagnostics.categories(scores, kind, w),
            lambda w: diagnostics.samples(PCA(2).fit(x), x).contributions(w),
            lambda w: diagnostics.Monitor(PCA(2).fit(x), x, sample_weight=w),
        ):
            with pytest.raises(ValueError, match="sample_weight"):
                use(bad)


def test_labels_of_every_kind():
    scores = np.random.default_rng(4).standard_normal((8, 2))
    unknown = np.array(["a", "b", pd.NA, None, np.nan, "a", "b", "a"], dtype=object)
    found = diagnostics.categories(scores, unknown)
    assert (found.names, found.sizes.tolist()) == (["a", "b"], [3.0, 2.0])
    np.testing.assert_allclose(found.barycentres[0], scores[[0, 5, 7]].mean(axis=0))
    sizes = pd.Categorical(["low", "high"] * 4, categories=["low", "middle", "high"], ordered=True)
    assert diagnostics.categories(scores, sizes).names == ["low", "high"]
    assert diagnostics.categories(scores, np.array([1, "x"] * 4, dtype=object)).names == [1, "x"]
    lists = np.empty(8, dtype=object)
    lists[:] = [[1]] * 8
    with pytest.raises(ValueError, match="labels holds lists"):
        diagnostics.categories(scores, lists)


def test_descriptions_say_which_columns_they_could_not_use(wine):
    x = wine.iloc[:, :ACTIVE]
    scores = PCA(2, scale=True).fit_transform(x)
    table = x.assign(id=[f"bottle {i}" for i in range(len(x))], kind=wine["class"].astype(str), land="Italy")
    with pytest.warns(UserWarning, match="columns without a test.*: id, land"):
        described = diagnostics.describe(scores, table)
    assert described["PC1"].loc["kind", "kind"] == "categories"
    text_of_numbers = pd.DataFrame({"number": x.iloc[:, 0].astype(object)})
    assert (diagnostics.describe(scores, text_of_numbers, level=0.99)["PC1"]["kind"] == "number").all()
    with pytest.raises(ValueError, match="column 'wave': complex numbers"):
        diagnostics.describe(scores, pd.DataFrame({"wave": np.full(len(x), 1j)}))
    lists = pd.DataFrame({"tags": [[1]] * len(x)})
    with pytest.raises(ValueError, match="column 'tags': "):
        diagnostics.describe(scores, lists)
    with pytest.raises(ValueError, match="level = 5 is not allowed"):
        diagnostics.describe(scores, table, level=5)
    frame = pd.DataFrame(scores)
    with pytest.raises(ValueError, match="the index of table differs from the index of scores"):
        diagnostics.describe(frame, table.iloc[::-1])
    with pytest.raises(ValueError, match="the index of labels differs from the index of scores"):
        diagnostics.categories(frame, wine["class"].iloc[::-1])


def test_variables_of_the_fit_have_no_p_value():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(80, 5)), columns=list("abcde"))
    pca = PCA(2, scale=True, weighting="importance").fit(x, sample_weight=rng.uniform(0.1, 1, 80))
    scores = pca.transform(x)
    other = x["a"] + rng.normal(size=80)
    weights = rng.uniform(0.1, 1, 80)
    described = diagnostics.describe(scores, x.assign(other=other), weights, model=pca, level=1)
    for component in described.values():
        assert component.loc[list("abcde"), "p_value"].isna().all()
        assert component.index[0] == "other"
    # The weights have the meaning of the model.
    by_hand = diagnostics.correlations(scores, other.to_numpy()[:, None], weights, weighting="importance").p_values[0]
    assert_allclose([described[name].loc["other", "p_value"] for name in ("PC1", "PC2")], by_hand)
    with pytest.raises(ValueError, match="fitted without column names"):
        diagnostics.describe(scores, x, model=PCA(2).fit(x.to_numpy()))


def test_a_category_of_all_rows_has_no_test():
    scores = np.random.default_rng(0).normal(size=(10, 2))
    for labels, weights in ((["a"] * 10, None), (["b"] * 3 + ["a"] * 7, np.r_[0.0, 0, 0, np.ones(7)])):
        found = diagnostics.categories(scores, labels, weights)
        assert np.isnan(found.v_tests).all()
        assert np.isnan(found.p_values).all()
        assert np.isnan(found.eta2_p_values).all()


def test_limits_know_what_dependent_rows_are_worth(wine):
    table = wine.iloc[:, :ACTIVE]
    pca = PCA(3, scale=True).fit(table)
    n, k, worth = len(table), 3, 40.0
    plain, given = diagnostics.Monitor(pca, table), diagnostics.Monitor(pca, table, n_observations=worth)
    assert diagnostics.Monitor(pca, table, n_observations=n).t2_limit == plain.t2_limit

    def of_f(n):
        return (n + 1) / (n - k) * stats.f.ppf(0.99, k, n - k)

    # The factor by rows left out is the same.
    assert_allclose(given.t2_limit / plain.t2_limit, of_f(worth) / of_f(n), rtol=1e-9)
    assert given.spe_limit == plain.spe_limit
    with pytest.raises(ValueError, match="at least 2 observations"):
        diagnostics.Monitor(pca, table, n_observations=1)
