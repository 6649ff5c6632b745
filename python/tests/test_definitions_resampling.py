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
PARTS = ["explained_variance", "explained_variance_ratio", "loadings"]

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
        variances = drawn.variances[:K]
        yield variances, variances / drawn.total, aligned(drawn.loadings(K), target, alignment)


def scales_of(case):
    """Return the scales of variances, shares and loadings: a map to each and the map back.

    Loadings are correlations of columns and components if columns are divided by their deviations and not weighted.
    """
    log = np.log, np.exp
    log_odds = (lambda x: np.log(x / (1 - x))), (lambda y: 1 / (1 + np.exp(-y)))
    fisher = np.arctanh, np.tanh
    own = (lambda x: x), (lambda y: y)
    return log, log_odds, fisher if case.scale is True and case.u is None else own


def run(case, alignment, n_draws, level):
    """Return the intervals by karhunen, with all draws."""
    pca = PCA(K, scale=case.scale, weighting="frequency" if case.weighting == "none" else case.weighting)
    return bootstrap(
        pca, case.x, case.w, case.u, n_draws=n_draws, level=level, alignment=alignment, keep=True, random_state=0
    )


def check_against_draws(found, case, level):
    """Compare errors, bias and ends with the definition, applied to the draws that were kept."""
    # The sum of frequency weights, and otherwise the effective number of rows.
    w = np.ones(len(case.plain().v)) if case.w is None else case.w
    n = w.sum() if case.weighting == "frequency" else w.sum() ** 2 / (w**2).sum()
    width = stats.t.ppf((1 + level) / 2, n - 1) * np.sqrt(n / (n - 1))
    for name, (scaled, back) in zip(PARTS, scales_of(case), strict=True):
        part, kept = getattr(found, name), getattr(found.replicates, name)
        assert_allclose(part.standard_error, kept.std(axis=0, ddof=1), rtol=1e-9)
        assert_allclose(part.bias, kept.mean(axis=0) - part.estimate, rtol=1e-9, atol=1e-12)
        middle, on_scale = scaled(part.estimate), scaled(kept)
        deviation, bias = on_scale.std(axis=0, ddof=1), on_scale.mean(axis=0) - middle
        half = width * np.sqrt(deviation**2 + bias**2)
        defined = np.abs(bias) <= width * deviation
        for end, expected in ((part.lower, back(middle - half)), (part.upper, back(middle + half))):
            np.testing.assert_array_equal(np.isnan(end), ~defined)
            assert_allclose(end[defined], expected[defined], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(("storage", "dtype", "weighting", "columns", "scale"), CASES)
def test_intervals(storage, dtype, weighting, columns, scale):
    case = case_of(storage, dtype, weighting, columns, scale)
    alignment = "procrustes" if columns == "weighted" else "signs"
    found = run(case, alignment, N_DRAWS, LEVEL)
    check_against_draws(found, case, LEVEL)
    fit = case.plain()
    expected = fit.variances[:K], fit.variances[:K] / fit.total, fit.loadings(K)
    plain = map(np.array, zip(*plain_draws(case, alignment, 7), strict=True))
    for name, value, drawn, (scaled, _) in zip(PARTS, expected, plain, scales_of(case), strict=True):
        part, kept = getattr(found, name), getattr(found.replicates, name)
        assert_allclose(part.estimate, value, rtol=10 * case.rounding, atol=10 * case.rounding * np.abs(value).max())
        assert not np.isnan(part.lower).any()
        # The draws have the distribution of plain ones. A deviation of 1500 normal draws has a relative error of 1.8%,
        # and more of long tails; means are five standard errors apart at most.
        for one, other in ((kept, drawn), (scaled(kept), scaled(drawn))):
            deviations = one.std(axis=0, ddof=1), other.std(axis=0, ddof=1)
            assert_allclose(*deviations, rtol=0.2)
            apart = np.abs(one.mean(axis=0) - other.mean(axis=0))
            assert (apart <= 5 * np.hypot(*deviations) / np.sqrt(N_DRAWS)).all()


@pytest.mark.parametrize(("weighting", "scale"), [("none", "range"), ("frequency", "std"), ("population", "pareto")])
def test_ends_are_undefined_where_bias_exceeds_the_width(weighting, scale):
    # Narrow intervals: of some values the bias is larger, of others not.
    case = case_of(weighting=weighting, scale=scale)
    found = run(case, "signs", 200, 0.2)
    check_against_draws(found, case, 0.2)
    undefined = np.isnan(np.concatenate([getattr(found, name).lower.ravel() for name in PARTS]))
    assert 0 < undefined.sum() < len(undefined)
