"""Diagnostics of complete rows against their definitions, computed plainly: every storage, type, weight and scale."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from definitions import SCALES, STORAGES, WEIGHTINGS, case_of, observations, plain_correlation, plain_fit
from karhunen import TruncatedSVD, diagnostics
from scipy import stats

K = 4


@pytest.fixture(params=STORAGES)
def storage(request):
    return request.param


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return request.param


@pytest.fixture(params=WEIGHTINGS)
def weighting(request):
    return request.param


@pytest.fixture(params=["alike", "weighted"])
def columns(request):
    return request.param


@pytest.fixture(params=SCALES)
def scale(request):
    return request.param


@pytest.fixture
def case(storage, dtype, weighting, columns, scale):
    return case_of(storage, dtype, weighting, columns, scale)


def weights_of(case, n):
    return np.ones(n) if case.w is None else case.w


def check_samples(found, fit, case, k=K):
    """Compare all that is known of rows."""
    components, variances, scores = fit.first(k)
    norms = (fit.m**2).sum(axis=1)
    residuals = fit.m - scores @ components
    size = np.abs(fit.m).max()
    assert_allclose(found.scores, scores, atol=case.rounding * size)
    assert_allclose(found.t2, (scores**2 / variances).sum(axis=1), rtol=10 * case.rounding, atol=case.rounding)
    assert_allclose(found.spe, (residuals**2).sum(axis=1), rtol=case.rounding, atol=case.rounding * norms.max())
    assert_allclose(found.distance2, norms, rtol=case.rounding)
    there = norms > 0
    assert np.isnan(found.cos2[~there]).all()
    assert_allclose(found.cos2[there], scores[there] ** 2 / norms[there, None], atol=10 * case.rounding)
    v = fit.v[:, None]
    assert_allclose(
        found.contributions(case.w),
        v * scores**2 / (v * scores**2).sum(axis=0),
        rtol=1e3 * case.rounding,
        atol=case.rounding,
    )


def test_features(case):
    fit = case.plain()
    found = diagnostics.features(case.pca(K))
    components, _, scores = fit.first(K)
    assert_allclose(found.contributions, components.T**2, atol=case.rounding)
    w = weights_of(case, len(fit.x))
    r = [[plain_correlation(fit.x[:, j], scores[:, c], w) for c in range(K)] for j in range(fit.x.shape[1])]
    r = np.array(r)
    assert_allclose(found.correlations, r, atol=case.rounding)
    assert_allclose(found.cos2, r**2, atol=case.rounding)
    # R² of the regression of a column on the scores.
    root = np.sqrt(w)[:, None]
    design = root * np.column_stack([np.ones(len(w)), scores])
    left = root * fit.x - design @ np.linalg.lstsq(design, root * fit.x, rcond=None)[0]
    away = root * (fit.x - np.average(fit.x, axis=0, weights=w))
    assert_allclose(found.communalities, 1 - (left**2).sum(axis=0) / (away**2).sum(axis=0), atol=case.rounding)


def test_samples(case):
    fit = case.plain()
    found = diagnostics.samples(case.pca(K), case.x)
    check_samples(found, fit, case)
    # The hat matrix of the weighted regression on the scores; a row counts as one of the observations.
    scores = np.column_stack([np.ones(len(fit.v)), fit.first(K)[2]])
    inverse = np.linalg.inv((scores.T * fit.v) @ scores)
    hat = np.einsum("ia,ab,ib->i", scores, inverse, scores) / fit.n
    assert_allclose(found.leverage, hat, rtol=100 * case.rounding)


def test_row_contributions(case):
    fit = case.plain()
    components, variances, scores = fit.first(K)
    found = diagnostics.row_contributions(case.pca(K), case.x)
    size = np.abs(fit.m).max()
    assert_allclose(found.residuals, fit.m - scores @ components, atol=case.rounding * size)
    assert_allclose(found.spe, (fit.m - scores @ components) ** 2, atol=case.rounding * size**2)
    assert_allclose(found.t2, fit.m * (scores / variances @ components), atol=case.rounding * 100)


def test_limits(case):
    """Box's limit of fitted rows has the mean and the variance of their weighted errors."""
    fit = case.plain()
    monitor = diagnostics.Monitor(case.pca(K), case.x, case.w, level=0.9)
    components, _, scores = fit.first(K)
    spe = ((fit.m - scores @ components) ** 2).sum(axis=1)
    mean = fit.v @ spe
    variance = fit.v @ (spe - mean) ** 2
    limit = variance / (2 * mean) * stats.chi2.ppf(0.9, 2 * mean**2 / variance)
    of_fitted, spe_of_fitted = monitor.limits(fitted=True)
    assert_allclose(spe_of_fitted, limit, rtol=10 * case.rounding)
    n = fit.n
    # Variances with the divisor n make T2 larger than in the theory.
    larger = n / (n - 1) if case.weighting == "population" else 1.0
    of_new = [larger * K * (n**2 - 1) / (n * (n - K)) * stats.f.ppf(level, K, n - K) for level in (0.9, 0.99)]
    # Of rows left out T2 is smaller, by one factor for all levels.
    factor = monitor.t2_limit / of_new[0]
    assert 0.5 < factor < 1.0 + 1e-9
    assert_allclose(monitor.limits(0.99)[0], factor * of_new[1], rtol=1e-9)
    expected = larger * (n - 1) ** 2 / n * stats.beta.ppf(0.9, K / 2, (n - K - 1) / 2)
    assert_allclose(of_fitted, expected, rtol=1e-9)


@pytest.mark.parametrize("center", ["zero", "given"])
def test_rows_about_other_centres(storage, dtype, weighting, columns, center):
    case = case_of(storage, dtype, weighting, columns, "pareto")
    centre = False if center == "zero" else np.linspace(0.5, 3.0, case.x.shape[1])
    fit = plain_fit(case.x, case.weighting, case.w, case.u, "pareto", center=centre)
    pca = case.pca(K, center=centre)
    check_samples(diagnostics.samples(pca, case.x), fit, case)
    found = diagnostics.features(pca)
    components, _, scores = fit.first(K)
    assert_allclose(found.contributions, components.T**2, atol=case.rounding)
    # Cosines about the centre.
    w, away = weights_of(case, len(fit.x))[:, None], fit.x - fit.mean
    cosines = (w * away).T @ scores / np.sqrt(np.outer((w * away**2).sum(axis=0), (w * scores**2).sum(axis=0)))
    assert_allclose(found.correlations, cosines, atol=case.rounding)
    if center == "zero" and (columns, weighting) == ("alike", "none"):
        # Variances of TruncatedSVD are mean squares.
        svd = TruncatedSVD(K).fit(case.x)
        of_svd = plain_fit(case.x, "population", center=False)
        check_samples(diagnostics.samples(svd, case.x), of_svd, case)


def plain_tests(scores, values, w, weighting):
    """Return correlations, p-values and numbers of observations of one variable; NaN leaves rows out."""
    kept = np.flatnonzero(~np.isnan(values) & (w > 0))
    n = observations(weighting, w, kept)
    r = np.array([plain_correlation(values[kept], s[kept], w[kept]) for s in scores.T])
    t = r * np.sqrt((n - 2) / (1 - r**2))
    return r, 2 * stats.t.sf(np.abs(t), n - 2), n


@pytest.mark.parametrize("adjust", ["none", "holm", "fdr"])
def test_correlations(weighting, adjust):
    case = case_of(weighting=weighting)
    scores, w = case.plain().first(K)[2], weights_of(case, case.x.shape[0])
    variables = np.sqrt(case.x) + np.arange(case.x.shape[0])[:, None] % 3
    variables[np.add.outer(np.arange(150), 3 * np.arange(12)) % 7 == 0] = np.nan
    found = diagnostics.correlations(
        scores, variables, case.w, weighting="frequency" if weighting == "none" else weighting, adjust=adjust
    )
    expected = [plain_tests(scores, column, w, weighting) for column in variables.T]
    assert_allclose(found.correlations, [row[0] for row in expected], atol=1e-12)
    p = np.array([row[1] for row in expected])
    corrected = np.column_stack([adjusted(column, adjust) for column in p.T])
    assert_allclose(found.p_values, corrected, rtol=1e-8)
    assert_allclose(found.n_observed, [row[2] for row in expected], rtol=1e-12)
    filled = np.nan_to_num(variables, nan=0.0)
    dense = diagnostics.correlations(scores, filled, case.w, adjust=adjust)
    for store in (sp.csr_array, sp.csc_array):
        again = diagnostics.correlations(scores, store(filled), case.w, adjust=adjust)
        np.testing.assert_array_equal(again.correlations, dense.correlations)


def adjusted(p, how):
    """Return p-values corrected by their definitions: Holm (1979), Benjamini & Hochberg (1995)."""
    order, m = np.argsort(p), len(p)
    ranked = p[order]
    corrected = {
        "none": ranked,
        "holm": [min(1.0, max((m - r) * ranked[r] for r in range(rank + 1))) for rank in range(m)],
        "fdr": [min(1.0, *(ranked[r] * m / (r + 1) for r in range(rank, m))) for rank in range(m)],
    }[how]
    out = np.empty(m)
    out[order] = corrected
    return out


def plain_categories(scores, labels, w, weighting):
    """Return barycentres, tests, sizes and correlation ratios of the categories of rows whose label is known.

    A barycentre less the mean is a sum of scores times contrasts, whose variance is the sum of their squares; scores
    have the variance of the rows over one less the sum of the squared shares.
    """
    kept = np.flatnonzero([label is not None for label in labels] & (w > 0))
    labels, part, z = labels[kept], w[kept], scores[kept]
    n = observations(weighting, w, kept)
    names = sorted(set(labels))
    mean = np.average(z, axis=0, weights=part)
    variance = np.average((z - mean) ** 2, axis=0, weights=part)
    barycentres = np.array([np.average(z[labels == name], axis=0, weights=part[labels == name]) for name in names])
    shares = np.array([part[labels == name].sum() / part.sum() for name in names])
    sizes = np.array([observations(weighting, w, kept[labels == name]) for name in names])
    share = part / part.sum()
    # Each of the rows that a count repeats has the share 1 / n.
    square = share / n if weighting in ("none", "frequency") else share**2
    contrasts = [np.where(labels == name, 1 / s - 1, -1) for name, s in zip(names, shares, strict=True)]
    chance = np.array([(square * contrast**2).sum() for contrast in contrasts]) / (1 - square.sum())
    v = (barycentres - mean) / np.sqrt(variance * chance[:, None])
    eta2 = (shares[:, None] * (barycentres - mean) ** 2).sum(axis=0) / variance
    expected = shares @ chance
    f = eta2 / expected / ((1 - eta2) / (1 - expected))
    # Eta2 is a sum of squares with these covariances: as many degrees of freedom as its mean and its variance have.
    covariances = np.array([[(square * a * b).sum() for b in contrasts] for a in contrasts]) / (1 - square.sum())
    b = np.sqrt(np.outer(shares, shares)) * covariances
    degrees = np.trace(b) ** 2 / np.trace(b @ b)
    return names, barycentres, v, sizes, eta2, stats.f.sf(f, degrees, n - len(names))


def labels_of(n):
    labels = np.array(["plain", "rare", "other", None, "plain"], dtype=object)[np.arange(n) * 3 % 5]
    labels[::31] = "rare"
    return labels


def test_categories(weighting):
    case = case_of(weighting=weighting)
    scores, w = case.plain().first(K)[2], weights_of(case, case.x.shape[0])
    labels = labels_of(len(w))
    meaning = "frequency" if weighting == "none" else weighting
    found = diagnostics.categories(scores, labels, case.w, weighting=meaning)
    names, barycentres, v, sizes, eta2, p = plain_categories(scores, labels, w, weighting)
    assert found.names == names
    assert_allclose(found.barycentres, barycentres, atol=1e-10)
    assert_allclose(found.v_tests, v, atol=1e-9)
    assert_allclose(found.p_values, 2 * stats.norm.sf(np.abs(v)), rtol=1e-8)
    assert_allclose(found.sizes, sizes, rtol=1e-12)
    assert_allclose(found.eta2, eta2, atol=1e-12)
    assert_allclose(found.eta2_p_values, p, rtol=1e-8)


@pytest.mark.parametrize("adjust", ["none", "holm", "fdr"])
def test_describe(weighting, adjust):
    case = case_of(weighting=weighting)
    scores, w = case.plain().first(K)[2], weights_of(case, case.x.shape[0])
    table = pd.DataFrame(case.x, columns=[f"word{j}" for j in range(12)])
    table.iloc[::9, 3] = np.nan
    labels = labels_of(len(w))
    table["kind"] = labels
    meaning = "frequency" if weighting == "none" else weighting
    found = diagnostics.describe(scores, table, case.w, weighting=meaning, adjust=adjust, level=1.0)
    statistics, p = [], []
    for name in table.columns[:-1]:
        r, tests, _ = plain_tests(scores, table[name].to_numpy(), w, weighting)
        statistics.append(r)
        p.append(tests)
    *_, eta2, of_kind = plain_categories(scores, labels, w, weighting)
    statistics, p = np.array([*statistics, eta2]), np.array([*p, of_kind])
    for c, described in enumerate(found.values()):
        rows = described.loc[list(table.columns)]
        assert_allclose(rows["statistic"], statistics[:, c], atol=1e-10)
        assert_allclose(rows["p_value"], adjusted(p[:, c], adjust), rtol=1e-7)
        assert described["p_value"].is_monotonic_increasing


def test_rows_that_were_not_fitted(storage, dtype, weighting, columns):
    """New rows are mapped by the means and scales of the fit."""
    case = case_of(storage, dtype, weighting, columns, "std")
    fit, pca = case.plain(), case.pca(K)
    new = (fit.x[::5] * 2.0 + 1.0).astype(dtype)
    m = (new.astype(np.float64) - fit.mean) / fit.scale * np.sqrt(fit.u)
    components, variances, _ = fit.first(K)
    scores = m @ components.T
    found = diagnostics.samples(pca, STORAGES[storage](new))
    tolerance = 10 * case.rounding * np.abs(scores).max()
    assert_allclose(found.scores, scores, atol=tolerance)
    assert_allclose(found.t2, (scores**2 / variances).sum(axis=1), rtol=100 * case.rounding)
    assert_allclose(found.spe, (m**2).sum(axis=1) - (scores**2).sum(axis=1), rtol=1e4 * case.rounding)
