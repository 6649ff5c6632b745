"""Values of process-improve on wine, whole and with entries missing.

`golden/make_process_improve.py` made the file. Squared prediction errors of process-improve are square roots of ours.
"""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from karhunen import PCA, IncompletePCA, diagnostics, selection
from peers import ROOT, close, golden, signs_of
from scipy.stats import chi2, t

ACTIVE, HEAD = 11, slice(None, None, 17)


@pytest.fixture(scope="module")
def expected():
    return golden("process_improve")


@pytest.fixture(scope="module")
def wine():
    return pd.read_csv(ROOT / "examples/data/wine.csv").iloc[:, :ACTIVE].to_numpy(dtype=float)


@pytest.fixture(scope="module")
def missing(wine):
    i, j = np.indices(wine.shape)
    return (7 * i + 3 * j) % 19 == 0


@pytest.mark.parametrize("store", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
def test_complete_rows(expected, wine, store):
    expected = expected["complete"]
    pca = PCA(3, scale=True).fit(store(wine))
    signs = signs_of(pca.components_.T, expected["loadings"])
    close(pca.explained_variance_, expected["explained_variance"])
    close(pca.components_.T, expected["loadings"], signs)
    close(pca.explained_variance_ratio_, expected["r2_per_component"])
    found = diagnostics.samples(pca, store(wine))
    head = HEAD
    close(found.scores[head], expected["scores"], signs)
    close(found.t2[head], np.array(expected["t2"])[:, -1])
    close(np.sqrt(found.spe[head]), np.array(expected["root_spe"])[:, -1])
    close(found.cos2[head], expected["cos2"])
    close(found.contributions()[head], expected["observation_contributions"])
    # Of fewer components: what the others explain adds to the error.
    for k in (1, 2):
        spe = found.spe + (found.scores[:, k:] ** 2).sum(axis=1)
        close(np.sqrt(spe[head]), np.array(expected["root_spe"])[:, k - 1])
    terms = diagnostics.row_contributions(pca, store(wine)[head])
    close(terms.t2, expected["t2_contributions"])
    close(terms.residuals, expected["spe_contributions"])
    features = diagnostics.features(pca)
    close(features.communalities, np.array(expected["r2_per_variable"])[:, -1])
    close(features.cos2.cumsum(axis=1), expected["r2_per_variable"])
    # VIP of a PCA: the mean of the contributions, weighted by the variances, as a share of the equal one.
    share = features.contributions @ pca.explained_variance_ratio_ / pca.explained_variance_ratio_.sum()
    close(np.sqrt(ACTIVE * share), expected["vip"])


def test_limits(expected, wine):
    levels, expected = expected["levels"], expected["complete"]
    monitor = diagnostics.Monitor(PCA(3, scale=True).fit(wine), wine)
    t2 = np.array([monitor.limits(level)[0] for level in levels])
    # Its limits follow from the errors of fitted rows.
    spe = np.array([monitor.limits(level, fitted=True)[1] for level in levels])
    # karhunen multiplies them by the mean of T² of rows left out over the mean of the F distribution, at most one.
    factor = t2[0] / expected["t2_limits"][0]
    assert 0.95 < factor < 1.0
    close(t2, factor * np.array(expected["t2_limits"]))
    # process-improve takes the variance of the errors with divisor n - 1, karhunen with n, as for the rows.
    errors = monitor.fitted.spe
    n = len(errors)
    for divisor, limits in ((n, spe), (n - 1, np.square(expected["root_spe_limits"]))):
        mean, variance = errors.mean(), ((errors - errors.mean()) ** 2).sum() / divisor
        close(variance / (2 * mean) * chi2.ppf(levels, 2 * mean**2 / variance), limits)
    assert_allclose(spe, np.square(expected["root_spe_limits"]), rtol=1e-2)
    # Limits of single scores follow from the variances.
    deviations = np.sqrt(expected["explained_variance"])
    close(np.outer(t.ppf((1 + np.array(levels)) / 2, n - 1), deviations), expected["score_limits"])


def test_parallel_analysis(expected, wine):
    expected = expected["complete"]
    found = selection.parallel_analysis(wine, scale=True, null="normal", n_draws=200)
    close(found.values, expected["parallel_eigenvalues"])
    assert found.n_components == expected["parallel_n_components"]


def test_rows_with_missing_entries(expected, wine, missing):
    """The error is from the projection to the model plane; T² takes the noise of the scores into account."""
    projected = expected["projected"]["pmp"]
    pca = PCA(3, scale=True).fit(wine)
    incomplete = IncompletePCA(3, method="em", scale=True, tol=1e-15, max_iter=20_000).fit(wine)
    signs = signs_of(incomplete.components_.T, expected["complete"]["loadings"])
    close(incomplete.components_.T, expected["complete"]["loadings"], signs, atol=1e-6)
    broken = np.where(missing, np.nan, wine)[HEAD]
    found = diagnostics.samples(incomplete, broken)
    close(found.spe, np.square(projected["root_spe"]), rtol=1e-6)
    terms = diagnostics.row_contributions(incomplete, broken)
    residuals = np.array(projected["spe_contributions"], dtype=float)
    np.testing.assert_array_equal(np.isnan(terms.residuals), np.isnan(residuals))
    close(np.nan_to_num(terms.residuals), np.nan_to_num(residuals), atol=1e-6)
    # Of their scores s, T² is s' (S + v G^-1)^-1 s; without missing entries the usual one.
    noise, variances = incomplete.noise_variance_, incomplete.explained_variance_
    for i, scores in enumerate(np.array(projected["scores"])):
        v = pca.components_.T[~np.isnan(broken[i])] * signs_of(pca.components_.T, expected["complete"]["loadings"])
        spread = np.diag(variances - noise) + noise * np.linalg.inv(v.T @ v)
        close(found.t2[i], scores @ np.linalg.solve(spread, scores), rtol=1e-5)


def test_one_component_of_a_table_with_missing_entries(expected, wine, missing):
    """NIPALS with missing entries solves the least squares problem of one component, about given means."""
    expected = expected["nipals"]
    x = np.where(missing, np.nan, wine)
    close(np.nanmean(x, axis=0), expected["center"])
    pca = IncompletePCA(1, method="em", scale=True, mean="fixed", tol=1e-16, max_iter=50_000).fit(x)
    close(pca.mean_, expected["center"])
    close(pca.scale_, expected["scale"])
    signs = signs_of(pca.components_.T, expected["loadings"])
    close(pca.components_.T, expected["loadings"], signs, rtol=1e-7, atol=1e-7)
    found = diagnostics.samples(pca, x)
    close(np.sqrt(found.spe[HEAD]), np.array(expected["root_spe"])[:, 0], rtol=1e-7)
    explained = 1.0 - found.spe.sum() / found.distance2.sum()
    close(explained, expected["r2_per_component"][0], rtol=1e-7)
