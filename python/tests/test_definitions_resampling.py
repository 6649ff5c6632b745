"""The bootstrap against plain draws and fits of weighted and sparse rows."""

from itertools import product

import numpy as np
import pytest
from compare import assert_allclose
from definitions import SCALES, WEIGHTINGS, case_of, plain_fit
from karhunen import PCA
from karhunen.resampling import bootstrap
from scipy import stats

K, N_DRAWS, LEVEL = 2, 1500, 0.9

#: Every pair of a storage, a type, weights of rows and columns, and a scale occurs.
STORED = ["dense", "csr", "csc", "fortran"]
CASES = [
    (STORED[(at + at // 5) % 4], ["float64", "float32"][at // 4 % 2], weighting, ["alike", "weighted"][at % 2], scale)
    for at, (weighting, scale) in enumerate(product(WEIGHTINGS, SCALES))
]


def aligned(loadings, target, alignment):
    """Give columns the signs of the target, or rotate them to it."""
    if alignment == "signs":
        return loadings * np.sign((loadings * target).sum(axis=0))
    u, _, vt = np.linalg.svd(loadings.T @ target)
    return loadings @ u @ vt


def plain_draws(case, alignment, seed):
    """Yield variances, shares and loadings of rows drawn with replacement.

    Frequency weights are numbers of equal rows, which are drawn one by one; rows of other weights are drawn alike.
    """
    fit, rng = case.plain(), np.random.default_rng(seed)
    n, target = len(fit.v), fit.loadings(K)
    for _ in range(N_DRAWS):
        if case.weighting in ("none", "frequency"):
            w, meaning = rng.multinomial(round(fit.n), fit.v).astype(float), "frequency"
        else:
            w, meaning = rng.multinomial(n, np.full(n, 1 / n)) * case.w, case.weighting
        drawn = plain_fit(fit.x, meaning, w, case.u, case.scale)
        yield np.r_[
            drawn.variances[:K],
            drawn.variances[:K] / drawn.total,
            aligned(drawn.loadings(K), target, alignment).ravel(),
        ]


def brackets(draws, estimate):
    """Return values below and above each end of the interval of plain draws, five standard errors away.

    The ends are quantiles at ``Phi(2 z0 -+ z)`` (Efron & Tibshirani 1993, section 14.3), where ``Phi(z0)`` is the share
    of draws below the estimate: errors of this share and of the quantiles add.
    """
    z0, z = stats.norm.ppf((draws < estimate).mean()), stats.norm.ppf((1 + LEVEL) / 2)
    ends = 2 * z0 + np.array([-z, z])
    at = stats.norm.cdf(ends)
    error_of_z0 = np.sqrt(stats.norm.cdf(z0) * stats.norm.cdf(-z0) / N_DRAWS) / stats.norm.pdf(z0)
    error = np.sqrt(2 * ((2 * error_of_z0 * stats.norm.pdf(ends)) ** 2 + at * (1 - at) / N_DRAWS))
    low, high = at - 5 * error, at + 5 * error
    below = np.where(low > 0, np.quantile(draws, low.clip(0, 1)), -np.inf)
    return below, np.where(high < 1, np.quantile(draws, high.clip(0, 1)), np.inf)


@pytest.mark.parametrize(("storage", "dtype", "weighting", "columns", "scale"), CASES)
def test_intervals(storage, dtype, weighting, columns, scale):
    case = case_of(storage, dtype, weighting, columns, scale)
    alignment = "procrustes" if columns == "weighted" else "signs"
    fit = case.plain()
    meaning = "frequency" if weighting == "none" else weighting
    found = bootstrap(
        PCA(K, scale=case.scale, weighting=meaning),
        case.x,
        case.w,
        case.u,
        n_draws=N_DRAWS,
        level=LEVEL,
        alignment=alignment,
    )
    parts = [found.explained_variance, found.explained_variance_ratio, found.loadings]
    estimate, error, lower, upper = (
        np.concatenate([getattr(part, name).ravel() for part in parts])
        for name in ("estimate", "standard_error", "lower", "upper")
    )
    expected = np.r_[fit.variances[:K], fit.variances[:K] / fit.total, fit.loadings(K).ravel()]
    assert_allclose(estimate, expected, rtol=10 * case.rounding, atol=10 * case.rounding * np.abs(expected).max())
    drawn = np.array(list(plain_draws(case, alignment, 7)))
    plain_error = drawn.std(axis=0, ddof=1)
    # A standard error of 1500 normal draws has a relative error of 1.8%, and more of long tails.
    assert_allclose(error, plain_error, rtol=0.2)
    for at in np.flatnonzero(~np.isnan(lower)):
        below, above = brackets(drawn[:, at], expected[at])
        assert (below <= [lower[at], upper[at]]).all(), at
        assert ([lower[at], upper[at]] <= above).all(), at
    assert np.isnan(lower).sum() < 0.2 * len(lower)
