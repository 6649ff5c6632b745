"""Rules for the number of components against their definitions, computed plainly for weighted and sparse rows."""

import numpy as np
import pytest
from compare import assert_allclose
from definitions import SCALES, STORAGES, WEIGHTINGS, case_of, plain_fit
from karhunen import selection
from scipy.special import gammaln


@pytest.fixture(params=[(dtype, weighting) for dtype in ("float64", "float32") for weighting in WEIGHTINGS])
def case(request, storage, columns, scale):
    dtype, weighting = request.param
    return case_of(storage, dtype, weighting, columns, scale)


@pytest.fixture(params=STORAGES)
def storage(request):
    return request.param


@pytest.fixture(params=["alike", "weighted"])
def columns(request):
    return request.param


@pytest.fixture(params=SCALES)
def scale(request):
    return request.param


def median_of_law(beta):
    """Return the median of the law of Marchenko and Pastur, by quadrature of its density and bisection."""
    low, high = (1 - np.sqrt(beta)) ** 2, (1 + np.sqrt(beta)) ** 2
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def share(end):
        # t = low + (high - low) sin(s)^2 leaves a smooth integrand.
        s = end * (nodes + 1) / 2
        t = low + (high - low) * np.sin(s) ** 2
        density = np.sqrt((high - t) * (t - low)) / (2 * np.pi * beta * t)
        return (weights * density * (high - low) * np.sin(2 * s)).sum() * end / 2

    first, last = 0.0, np.pi / 2
    for _ in range(60):
        middle = (first + last) / 2
        first, last = (middle, last) if share(middle) < 0.5 else (first, middle)
    return low + (high - low) * np.sin(first) ** 2


def minka(values, n):
    """Return the logarithm of the evidence of 1 to p - 1 components of all p variances (Minka 2000, equation 77)."""
    p, found = len(values), []
    for k in range(1, p):
        noise = values[k:].mean()
        smoothed = np.r_[values[:k], np.full(p - k, noise)]
        evidence = -k * np.log(2.0)
        evidence += sum(gammaln((p - i) / 2) - np.log(np.pi) * (p - i) / 2 for i in range(k))
        evidence -= n / 2 * np.log(values[:k]).sum() + n * (p - k) / 2 * np.log(noise)
        evidence += (p * k - k * (k + 1) / 2 + k) / 2 * np.log(2 * np.pi) - k / 2 * np.log(n)
        for i in range(k):
            gaps = (1 / smoothed[i + 1 :] - 1 / smoothed[i]) * (values[i] - values[i + 1 :]) * n
            evidence -= np.log(gaps).sum() / 2
        found.append(evidence)
    return np.array(found)


def leading(values, thresholds):
    """Return the values, the thresholds of each, and the number of leading values above theirs."""
    thresholds = np.broadcast_to(thresholds, values.shape)
    below = np.flatnonzero(values <= thresholds)
    return values, thresholds, int(below[0]) if len(below) else len(values)


def plain_rules(fit, standardised):
    """Return values, thresholds and number of each rule."""
    values, p, n = fit.variances, fit.m.shape[1], fit.n
    assert len(values) == p <= n
    found = {}
    average = 1.0 if standardised else fit.total / p
    found["kaiser"] = leading(values, average)
    found["jolliffe"] = leading(values, 0.7 * average)
    found["broken-stick"] = leading(values / fit.total, np.cumsum((1 / np.arange(1, p + 1))[::-1])[::-1] / p)
    free = n - 1
    beta = p / free
    median = median_of_law(beta)
    found["marchenko-pastur"] = leading(values, (1 + np.sqrt(beta)) ** 2 * np.median(values) / median)
    singular = np.sqrt(free * values)
    ratio = 8 * beta / (beta + 1 + np.sqrt(beta**2 + 14 * beta + 1))
    omega = np.sqrt((2 * (beta + 1) + ratio) / median)
    found["gavish-donoho"] = leading(singular, omega * np.median(singular))
    evidence = minka(values, n)
    found["minka"] = evidence, None, int(evidence.argmax()) + 1
    rest = np.array([values[k:].sum() / p for k in range(p + 1)])
    most = max(1, int(8 * (min(n, p) / 100) ** 0.25))
    each, smaller, k = (n + p) / (n * p), min(n, p), np.arange(most + 1)
    penalties = -each * np.log(each), each * np.log(smaller), np.log(smaller) / smaller
    for at, penalty in enumerate(penalties, start=1):
        logarithms = np.log(rest[: most + 1]) + k * penalty
        plain = rest[: most + 1] + k * rest[most] * penalty
        found[f"bai-ng-ic{at}"] = logarithms, None, int(logarithms.argmin())
        found[f"bai-ng-pc{at}"] = plain, None, int(plain.argmin())
    k = np.arange(p)
    errors = rest[:p] * (n * p / ((n - 1) * p - k * (n + p - k - 1))) ** 2
    rises = np.flatnonzero(np.diff(errors) > 0)
    found["gcv"] = errors, None, int(rises[0]) if len(rises) else p - 1
    return found


def test_rules(case):
    fit = case.plain()
    standardised = case.scale is True and case.u is None
    expected = plain_rules(fit, standardised)
    found = {row.rule: row for row in selection.rules(case.pca())}
    assert found.keys() == expected.keys()
    # Criteria are differences of larger numbers.
    for rule, (values, thresholds, number) in expected.items():
        row = found[rule]
        assert_allclose(row.values, values, rtol=100 * case.rounding, atol=100 * case.rounding, err_msg=rule)
        if thresholds is not None:
            assert_allclose(row.thresholds, thresholds, rtol=case.rounding, err_msg=rule)
        assert row.n_components == number, rule
        assert row.range[0] <= number <= row.range[1]
        assert row.at_edge == (number in row.range)


def test_rules_of_a_given_number_of_observations(case):
    fit = case.plain()
    fit.n = 60.5
    found = {row.rule: row for row in selection.rules(case.pca(), n_observations=60.5)}
    for rule, (values, thresholds, number) in plain_rules(fit, case.scale is True and case.u is None).items():
        assert_allclose(found[rule].values, values, rtol=100 * case.rounding, atol=100 * case.rounding, err_msg=rule)
        if thresholds is not None:
            assert_allclose(found[rule].thresholds, thresholds, rtol=case.rounding, err_msg=rule)
        assert found[rule].n_components == number, rule


def test_north(case):
    fit, pca = case.plain(), case.pca()
    for n in (None, 35.5):
        found = selection.north(pca, n)
        errors = fit.variances * np.sqrt(2 / (fit.n if n is None else n))
        assert_allclose(found.standard_errors, errors, rtol=case.rounding)
        low, high = fit.variances - errors, fit.variances + errors
        overlaps = list(low[:-1] <= high[1:])
        assert found.overlaps == overlaps
        ends = [c + 1 for c, mixed in enumerate([*overlaps, False]) if not mixed]
        assert found.groups == [range(first, last) for first, last in zip([0, *ends], ends, strict=False)]


def plain_draws(case, null, n_draws, seed):
    """Return variances of tables of independent columns with the weighted distributions of the data."""
    fit, rng = case.plain(), np.random.default_rng(seed)
    meaning = case.weighting
    rows = round(fit.n)
    scale = fit.scale if isinstance(case.scale, str) and case.scale == "range" else case.scale
    for _ in range(n_draws):
        if meaning in ("importance", "population"):
            # The rows keep their weights.
            kept = case.w > 0
            table = rng.standard_normal((kept.sum(), fit.x.shape[1])) * fit.x[kept].std(axis=0, ddof=1)
            if null == "permutation":
                table = rng.permuted(fit.x[kept], axis=0)
            yield plain_fit(table, meaning, case.w[kept], case.u, scale).variances
            continue
        if null == "normal":
            spread = np.sqrt(fit.divisor * (fit.v @ (fit.x - fit.mean) ** 2))
            table = rng.standard_normal((rows, len(spread))) * spread
        else:
            # Systematic sampling: whole parts of the weights are sure, the rest is drawn in proportion.
            table = np.empty((rows, fit.x.shape[1]))
            for j in range(table.shape[1]):
                positions = (np.arange(rows) + rng.random()) / rows
                chosen = np.searchsorted(np.cumsum(fit.v), positions).clip(max=len(fit.v) - 1)
                table[:, j] = fit.x[rng.permutation(chosen), j]
        yield plain_variances(table, case.u, scale)


def plain_variances(table, u, scale):
    """Return the variances of a table."""
    deviation = table.std(axis=0, ddof=1)
    divisor = {False: 1.0, True: deviation}[scale] if isinstance(scale, bool) else scale
    if isinstance(divisor, str):
        divisor = np.sqrt(deviation)
    m = (table - table.mean(axis=0)) / divisor * np.sqrt(np.ones(table.shape[1]) if u is None else u)
    return np.linalg.svd(m, compute_uv=False) ** 2 / (len(table) - 1)


@pytest.mark.parametrize("null", ["permutation", "normal"])
@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("level", [0.9, None])
def test_parallel_analysis(null, weighting, storage, columns, scale, level):
    if (storage in ("csr", "fortran")) != (level is None) or (columns == "alike") == (scale in ("std", "given")):
        pytest.skip("a part of all combinations, in which every pair occurs")
    case = case_of(storage, "float64", weighting, columns, scale)
    found = selection.parallel_analysis(
        case.x,
        scale=case.scale,
        sample_weight=case.w,
        feature_weight=case.u,
        weighting="frequency" if weighting == "none" else weighting,
        null=null,
        level=level,
        n_draws=300,
    )
    fit = case.plain()
    assert_allclose(found.values, fit.variances, rtol=1e-9)
    drawn = np.array(list(plain_draws(case, null, 300, 1)))
    # Both are of 300 tables: five standard errors of the difference, of quantiles by their share of the tables.
    if level is None:
        away = np.abs(found.thresholds - drawn.mean(axis=0))
        assert (away <= 5 * drawn.std(axis=0) * np.sqrt(2 / 300) + 1e-9 * found.thresholds).all()
    else:
        share = 5 * np.sqrt(2 * level * (1 - level) / 300)
        low, high = np.quantile(drawn, [level - share, min(1.0, level + share)], axis=0)
        assert (low * (1 - 1e-9) <= found.thresholds).all()
        assert (found.thresholds <= high * (1 + 1e-9)).all()
    assert found.n_components == leading(found.values, found.thresholds)[2]
