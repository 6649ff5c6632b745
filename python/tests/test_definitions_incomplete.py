"""Diagnostics of rows with missing values against their definitions: weights of rows, entries and features."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from karhunen import IncompletePCA, Observed, diagnostics
from scipy import stats

K = 2
ROOT = Path(__file__).parents[2]


def stored(x, storage):
    """Return a table with NaN as it is, or as a sparse matrix whose stored entries are observed, zeros included."""
    if storage == "dense":
        return x
    rows, columns = np.nonzero(~np.isnan(x))
    matrix = sp.coo_array((x[rows, columns], (rows, columns)), shape=x.shape)
    return {"coo": matrix, "csr": matrix.tocsr(), "csc": matrix.tocsc()}[storage]


@pytest.fixture(params=["dense", "coo", "csr", "csc"])
def storage(request):
    return request.param


@pytest.fixture(params=["float64", "float32"])
def dtype(request):
    return request.param


@pytest.fixture(params=[False, True], ids=["rows-alike", "rows-weighted"])
def rows(request):
    return (np.arange(150) * 7 % 4 + 1.0) if request.param else None


@pytest.fixture(params=[False, True], ids=["entries-alike", "entries-weighted"])
def entries(request):
    return 0.5 + np.add.outer(np.arange(150), 2 * np.arange(16)) % 5 / 2.0 if request.param else None


@pytest.fixture(params=[False, True], ids=["features-alike", "features-weighted"])
def features(request):
    return 0.25 + np.arange(16) * 5 % 7 / 3.0 if request.param else None


@pytest.fixture(params=[False, True], ids=["units-kept", "scaled"])
def scale(request):
    return request.param


def table_with_missing(dtype="float64"):
    """Return votes of 150 members of the US house, (150, 16); missing where they did not vote, and elsewhere."""
    votes = pd.read_csv(ROOT / "examples/data/house_votes_84.csv").iloc[:, 1:].to_numpy(dtype=dtype)
    votes = votes[np.isnan(votes).sum(axis=1) < 3][:150]
    votes[np.add.outer(5 * np.arange(150), 3 * np.arange(16)) % 13 == 0] = np.nan
    return votes


def scores_prior(pca, x, rows):
    """Return the variances of scores that T² takes: without the noise of a row with the mean share of entries."""
    counts = np.ones(len(x)) if rows is None else rows
    share = (counts @ ~np.isnan(x)).sum() / (counts.sum() * x.shape[1])
    return np.maximum(pca.explained_variance_ - pca.noise_variance_ / share, 1e-9 * pca.explained_variance_)


class PlainRow:
    """The least-squares scores of a row, its T² and squared error."""

    def __init__(self, away, weights, loadings, covariance, noise):
        seen = ~np.isnan(away) & (weights > 0)
        x, w, v = away[seen], weights[seen], loadings[seen]
        gram = (v.T * w) @ v
        self.scores = np.linalg.solve(gram, v.T @ (w * x))
        left = x - v @ self.scores
        self.seen, self.residuals = seen, np.sqrt(w) * left
        self.spe, self.distance2 = (w * left**2).sum(), (w * x**2).sum()
        spread = covariance + noise * np.linalg.inv(gram)
        self.t2 = self.scores @ np.linalg.solve(spread, self.scores)
        # The squared distance by the density of the entries, and the part of each entry in T².
        whole = v @ covariance @ v.T + noise * np.diag(1 / w)
        self.density = x @ np.linalg.solve(whole, x)
        self.terms = w * x * (v @ np.linalg.solve(gram, np.linalg.solve(spread, self.scores)))


def mapped(pca, x, features):
    """Return entries less their means, in units of the fit."""
    return (x.astype(np.float64) - pca.mean_) / pca.scale_ * (1.0 if features is None else np.sqrt(features))


def triples(x, entries):
    """Return the observed entries with weights."""
    rows, columns = np.nonzero(~np.isnan(x))
    weights = None if entries is None else entries[rows, columns]
    return Observed(rows, columns, x[rows, columns], weight=weights, shape=x.shape)


def weights_in(storage, x, entries):
    """Return weights of entries in the form of the table."""
    if entries is None or storage == "dense":
        return entries
    return stored(np.where(np.isnan(x), np.nan, entries).astype(x.dtype), storage)


def fitted(x, storage="dense", rows=None, entries=None, features=None, scale=False, **options):
    """Fit by a method that does not learn variances, to a moderate number of iterations: any model will do."""
    pca = IncompletePCA(K, scale=scale, **{"method": "em", "tol": 1e-6, **options})
    weights = weights_in(storage, x, entries)
    return pca.fit(stored(x, storage), sample_weight=rows, entry_weight=weights, feature_weight=features)


def test_samples_and_terms(storage, dtype, rows, entries, features, scale):
    x = table_with_missing(dtype)
    pca = fitted(x, storage, rows, entries, features, scale)
    covariance = np.diag(scores_prior(pca, x, rows))
    loadings = pca.components_.T.astype(np.float64)
    away = mapped(pca, x, features)
    tolerance = 1e-8 if dtype == "float64" else 2e-3
    for weights in (None, entries) if entries is not None else (None,):
        data = stored(x, storage) if weights is None else triples(x, weights)
        found, terms = diagnostics.samples(pca, data), diagnostics.row_contributions(pca, data)
        for i in range(0, 150, 7):
            of_row = np.ones(16) if weights is None else weights[i]
            row = PlainRow(away[i], of_row, loadings, covariance, pca.noise_variance_)
            assert_allclose(found.scores[i], row.scores, rtol=tolerance, atol=tolerance)
            assert_allclose(found.spe[i], row.spe, rtol=tolerance)
            assert_allclose(found.distance2[i], row.distance2, rtol=tolerance)
            assert_allclose(found.t2[i], row.t2, rtol=tolerance, atol=tolerance)
            assert (found.t2_degrees[i], found.spe_degrees[i]) == (K, row.seen.sum() - K)
            assert_allclose(found.t2[i] + found.spe[i] / pca.noise_variance_, row.density, rtol=tolerance)
            np.testing.assert_array_equal(np.isnan(terms.residuals[i]), ~row.seen)
            assert_allclose(terms.residuals[i][row.seen], row.residuals, atol=10 * tolerance)
            assert_allclose(terms.spe[i][row.seen], row.residuals**2, atol=10 * tolerance)
            assert_allclose(terms.t2[i][row.seen], row.terms, atol=10 * tolerance * np.abs(row.terms).max())


def test_features(storage, dtype, rows, entries, features, scale):
    """A feature has its variance along the components, plus the variance of its entries less the one of their fit."""
    x = table_with_missing(dtype)
    pca = fitted(x, storage, rows, entries, features, scale)
    found = diagnostics.features(pca)
    loadings = pca.components_.T.astype(np.float64)
    n = np.ones((150, 1)) if rows is None else rows[:, None]
    w = np.where(np.isnan(x), 0.0, 1.0 if entries is None else entries)
    values = np.nan_to_num(mapped(pca, x, features)), pca.scores_.astype(np.float64) @ loadings.T
    total = (n * w).sum(axis=0)
    of_entries, of_fit = ((n * w * y**2).sum(axis=0) - (n * w * y).sum(axis=0) ** 2 / total for y in values)
    # The divisor of weights whose common factor has no meaning; of repeated rows it counts every repetition.
    left = (of_entries - of_fit) / (total - (n * w**2).sum(axis=0) / total)
    variance = (loadings**2 * pca.explained_variance_).sum(axis=1) + left
    tolerance = 1e-8 if dtype == "float64" else 1e-4
    assert_allclose(found.contributions, loadings**2, atol=tolerance)
    expected = loadings * np.sqrt(pca.explained_variance_ / variance[:, None])
    assert_allclose(found.correlations, expected, atol=tolerance)
    assert_allclose(found.cos2, expected**2, atol=tolerance)
    assert_allclose(found.communalities, (expected**2).sum(axis=1), atol=2 * tolerance)


@pytest.mark.parametrize("offsets", [False, True])
@pytest.mark.parametrize("method", ["em", "ppca", "vb-full"])
def test_multiplicities_are_repeated_rows(method, offsets, scale):
    x = table_with_missing()
    counts = np.arange(150) % 3 + 1
    options = {"method": method, "row_offsets": offsets, "scale": scale, "tol": 1e-11, "max_iter": 20_000}
    weighted = IncompletePCA(K, **options).fit(x, sample_weight=counts)
    repeated = IncompletePCA(K, **options).fit(np.repeat(x, counts, axis=0))
    assert_allclose(weighted.explained_variance_, repeated.explained_variance_, rtol=1e-5)
    ours, theirs = diagnostics.samples(weighted, x), diagnostics.samples(repeated, x)
    assert_allclose(ours.spe, theirs.spe, rtol=1e-4)
    assert_allclose(ours.t2, theirs.t2, rtol=1e-4)
    assert_allclose(ours.spe_limits(), theirs.spe_limits(), rtol=1e-5)
    for of_fit in (False, True):
        assert_allclose(ours.t2_limits(0.9, fitted=of_fit), theirs.t2_limits(0.9, fitted=of_fit), rtol=1e-9)
        assert_allclose(ours.t2_p_values(fitted=of_fit), theirs.t2_p_values(fitted=of_fit), rtol=1e-3)
    of_features = [diagnostics.features(model) for model in (weighted, repeated)]
    assert_allclose(of_features[0].correlations, of_features[1].correlations, atol=1e-5)
    assert_allclose(of_features[0].communalities, of_features[1].communalities, atol=1e-5)
    assert_allclose(
        diagnostics.samples(weighted, x).spe_scale(counts),
        diagnostics.samples(repeated, np.repeat(x, counts, axis=0)).spe_scale(),
        rtol=1e-4,
    )
    assert_allclose(
        diagnostics.samples(weighted, x).spe_scale(counts, new_rows=True),
        diagnostics.samples(repeated, np.repeat(x, counts, axis=0)).spe_scale(new_rows=True),
        rtol=1e-3,
    )


def test_limits_and_p_values(rows, entries):
    x = table_with_missing()
    pca = fitted(x, rows=rows, entries=entries)
    found = diagnostics.samples(pca, x)
    n, k, d = 150.0 if rows is None else rows.sum(), found.t2_degrees.astype(float), found.spe_degrees.astype(float)
    of_new = k * (n * n - 1) / (n * (n - k))
    assert_allclose(found.t2_limits(0.9), of_new * stats.f.ppf(0.9, k, n - k), rtol=1e-9)
    assert_allclose(found.t2_p_values(), stats.f.sf(found.t2 / of_new, k, n - k), rtol=1e-7)
    of_fit, shapes = (n - 1) ** 2 / n, (k / 2, (n - k - 1) / 2)
    assert_allclose(found.t2_limits(0.9, fitted=True), of_fit * stats.beta.ppf(0.9, *shapes), rtol=1e-9)
    assert_allclose(found.t2_p_values(fitted=True), stats.beta.sf(found.t2 / of_fit, *shapes), rtol=1e-7)
    w = np.ones(150) if rows is None else rows
    variance = (w * found.spe).sum() / (w * d).sum()
    dispersion = (w * d * (found.spe / (d * variance) - 1) ** 2).sum() / (2 * w.sum())
    assert_allclose(found.spe_scale(rows), (variance, dispersion), rtol=1e-10)
    # New rows: errors over (1 - h)^2, and deviates of t.
    w_of_columns = (w[:, None] * ~np.isnan(x)).sum(axis=0).mean()
    h = (1 + found.t2 / ((w * found.t2).sum() / (w * k).sum())) / w_of_columns
    left_out = np.minimum(found.spe / (1 - h) ** 2, found.distance2 / (1 - 1 / w_of_columns) ** 2)
    v, s, of_n = found.spe_scale(rows, new_rows=True)
    assert of_n == n
    assert_allclose(v, (w * left_out).sum() / (w * d).sum(), rtol=1e-10)
    unlike = (w * d * (left_out / (d * v) - 1) ** 2).sum() / (2 * w.sum())
    assert_allclose(s, unlike * n / (n - 1), rtol=1e-10)

    def limit(scale, d):
        deviate = stats.t.ppf(0.9, (n - 1) / (1 + 6 * scale[1] / d)) * np.sqrt(1 + 1 / n)
        return scale[0] * scale[1] * stats.chi2.ppf(stats.norm.cdf(deviate), d / scale[1])

    assert_allclose(found.spe_limits(0.9, (v, s, n)), limit((v, s), d), rtol=1e-8)
    p = found.spe_p_values((v, s, n))
    np.testing.assert_array_equal(p < 0.1, found.spe > limit((v, s), d))
    # The model keeps the scale of new rows, by the weights of their entries, which samples do not have.
    if entries is None:
        assert_allclose(found.spe_limits(0.9), limit((v, s), d), rtol=1e-7)
    plain = diagnostics.samples(fitted(x, rows=rows, entries=entries, error_bars=False), x)
    of_noise = (pca.noise_variance_ * (1 + (K + 1) / w_of_columns), 1.0)
    for of_samples, scale, (v, s) in (
        (plain, None, of_noise),
        (found, (variance, dispersion), (variance, dispersion)),
    ):
        assert_allclose(of_samples.spe_limits(0.9, scale), v * s * stats.chi2.ppf(0.9, d / s), rtol=1e-9)
        p = stats.chi2.sf(of_samples.spe / (v * s), d / s)
        assert_allclose(of_samples.spe_p_values(scale), p, rtol=1e-6, atol=1e-300)
    monitor = diagnostics.Monitor(pca, x, rows, level=0.9)
    whole = variance * dispersion * stats.chi2.ppf(0.9, (16 - K) / dispersion)
    assert_allclose(monitor.limits(fitted=True)[1], whole, rtol=1e-9)
    of_f = K * (n * n - 1) / (n * (n - K)) * stats.f.ppf(0.9, K, n - K)
    assert 0.8 * of_f < monitor.t2_limit <= of_f * (1 + 1e-12)


@pytest.mark.parametrize("method", ["ppca", "vb-full"])
def test_learned_variances(method, dtype, entries, scale):
    """The posterior covariance of a fitted row, ``(V' W V / v + S^-1)^-1``, gives the covariance S of T²."""
    x = table_with_missing(dtype)
    pca = fitted(x, entries=entries, scale=scale, method=method)
    loadings, noise = pca.components_.T.astype(np.float64), pca.noise_variance_
    found = diagnostics.samples(pca, triples(x, entries))
    away = mapped(pca, x, None)
    for i in range(0, 150, 11):
        w = np.ones(16) if entries is None else entries[i]
        seen = ~np.isnan(x[i])
        gram = (loadings[seen].T * w[seen]) @ loadings[seen]
        row = PlainRow(away[i], w, loadings, np.diag(pca.explained_variance_), noise)
        assert_allclose(found.spe[i], row.spe, rtol=1e-8 if dtype == "float64" else 2e-3)
        if method == "ppca":
            # The posterior is kept in single precision.
            posterior = pca.score_covariances_[i].astype(np.float64)
            row = PlainRow(away[i], w, loadings, np.linalg.inv(np.linalg.inv(posterior) - gram / noise), noise)
            assert_allclose(found.t2[i], row.t2, rtol=1e-3)
        # Of many rows it is near their variances.
        assert_allclose(found.t2[i], row.t2, rtol=0.05, atol=0.05)
