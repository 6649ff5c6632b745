"""Rotations against their definitions, computed plainly for weighted and sparse rows."""

import numpy as np
import pytest
from compare import assert_allclose
from definitions import SCALES, WEIGHTINGS, case_of
from karhunen import diagnostics, rotation

K = 3


@pytest.fixture(params=[(dtype, weighting) for dtype in ("float64", "float32") for weighting in WEIGHTINGS])
def case(request, storage, columns, scale):
    dtype, weighting = request.param
    return case_of(storage, dtype, weighting, columns, scale)


@pytest.fixture(params=["dense", "csr", "csc"])
def storage(request):
    return request.param


@pytest.fixture(params=["alike", "weighted"])
def columns(request):
    return request.param


@pytest.fixture(params=SCALES)
def scale(request):
    return request.param


def rows_of_length_one(loadings, kaiser):
    return loadings / np.linalg.norm(loadings, axis=1, keepdims=True) if kaiser else loadings


def turned(a, angle_of):
    """Turn pairs of columns by the angles of a criterion until none moves (Kaiser 1958)."""
    a, rotation_of = a.copy(), np.eye(a.shape[1])
    for _ in range(1000):
        angles = []
        for c in range(a.shape[1]):
            for d in range(c + 1, a.shape[1]):
                x, y = a[:, c], a[:, d]
                angle = angle_of(x**2 - y**2, 2 * x * y) / 4
                turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
                for matrix in (a, rotation_of):
                    matrix[:, [c, d]] = matrix[:, [c, d]] @ turn
                angles.append(abs(angle))
        if max(angles) < 1e-13:
            break
    return rotation_of


def varimax_angle(s, t):
    p = len(s)
    return np.arctan2(
        2 * (s * t).sum() - 2 * s.sum() * t.sum() / p, (s**2 - t**2).sum() - (s.sum() ** 2 - t.sum() ** 2) / p
    )


def quartimax_angle(s, t):
    return np.arctan2(2 * (s * t).sum(), (s**2 - t**2).sum())


def check(case, found, matrix, tolerance):
    """Compare a rotation with plain loadings rotated by `matrix`, up to order and signs."""
    fit = case.plain()
    loadings, u = fit.loadings(K), np.sqrt(fit.u)[:, None]
    pattern = loadings @ matrix
    ours = found.pattern * u
    order = np.abs(ours.T @ pattern / np.linalg.norm(ours, axis=0)[:, None] / np.linalg.norm(pattern, axis=0)).argmax(
        axis=1
    )
    assert sorted(order) == list(range(K))
    signs = np.sign((ours * pattern[:, order]).sum(axis=0))
    matrix = matrix[:, order] * signs
    pattern, size = loadings @ matrix, np.abs(loadings).max()
    assert_allclose(ours, pattern, atol=tolerance * size)
    assert_allclose(found.matrix, matrix, atol=tolerance)
    phi = np.linalg.inv(matrix.T @ matrix)
    assert_allclose(found.component_correlations, phi, atol=tolerance)
    assert_allclose(found.structure * u, pattern @ phi, atol=tolerance * size)
    assert_allclose(found.score_rotation, np.linalg.inv(matrix).T, atol=tolerance)
    assert_allclose(found.communalities, ((loadings / u) ** 2).sum(axis=1), rtol=case.rounding, atol=case.rounding)
    variances = (pattern * (pattern @ phi)).sum(axis=0)
    assert_allclose(found.explained_variance, variances, atol=tolerance * variances.max())
    assert_allclose(found.explained_variance_ratio, variances / fit.total, atol=tolerance)
    assert (np.diff(found.explained_variance) <= 1e-9).all()
    check_scores(case, found, fit, tolerance)


def check_scores(case, found, fit, tolerance):
    """Scores have the correlations and covariances that the rotation states, and map back to rows."""
    _, variances, plain = fit.first(K)
    scores = found.transform(case.x)
    expected = plain / np.sqrt(variances) @ found.score_rotation
    assert_allclose(scores, expected, atol=10 * case.rounding * np.abs(expected).max())
    scores = scores.astype(np.float64)
    covariance = fit.divisor * (scores.T * fit.v) @ scores
    assert_allclose(covariance, found.component_correlations, atol=max(tolerance, 10 * case.rounding))
    columns = (fit.x - fit.mean) / fit.scale
    structure = fit.divisor * (columns.T * fit.v) @ scores
    assert_allclose(found.structure, structure, atol=10 * case.rounding * max(1.0, np.abs(structure).max()))
    back = found.inverse_transform(scores)
    rows = fit.mean + fit.scale * (plain @ fit.components[:K]) / np.sqrt(fit.u)
    assert_allclose(back, rows, atol=100 * case.rounding * np.abs(fit.x).max())
    w = np.ones(len(fit.v)) if case.w is None else case.w
    away = fit.x - np.average(fit.x, axis=0, weights=w)
    lengths = np.sqrt(np.outer((w[:, None] * away**2).sum(axis=0), (w[:, None] * scores**2).sum(axis=0)))
    features = diagnostics.features(found)
    assert_allclose(features.correlations, (away.T * w) @ scores / lengths, atol=10 * case.rounding)


@pytest.mark.parametrize("kaiser", [True, False])
def test_varimax_and_quartimax(case, kaiser):
    loadings = case.plain().loadings(K)
    pca = case.pca(5)
    for rotate, angle in ((rotation.varimax, varimax_angle), (rotation.quartimax, quartimax_angle)):
        matrix = turned(rows_of_length_one(loadings, kaiser), angle)
        # Where the criterion is flat the matrix is less certain than the criterion.
        check(case, rotate(pca, n_components=K, kaiser=kaiser), matrix, max(1e-6, 10 * case.rounding))


@pytest.mark.parametrize("kaiser", [True, False])
def test_promax(case, kaiser):
    loadings = case.plain().loadings(K)
    varimax = turned(rows_of_length_one(loadings, kaiser), varimax_angle)
    for power in (3.0, 4.0):
        found = rotation.promax(case.pca(5), n_components=K, power=power, kaiser=kaiser)
        a = loadings @ varimax
        fitted = np.linalg.lstsq(a, a * np.abs(a) ** (power - 1), rcond=None)[0]
        # Columns have the length that gives components of variance one.
        fitted *= np.sqrt(np.diag(np.linalg.inv(fitted.T @ fitted)))
        check(case, found, varimax @ fitted, max(2e-6, 100 * case.rounding))


@pytest.mark.parametrize("kaiser", [True, False])
def test_oblimin(case, kaiser):
    """The gradient of the criterion vanishes along all matrices of components of variance one (Jennrich 2002)."""
    fit = case.plain()
    loadings = rows_of_length_one(fit.loadings(K), kaiser)
    p = len(loadings)
    for gamma in (0.0, -0.5):
        found = rotation.oblimin(case.pca(5), n_components=K, gamma=gamma, kaiser=kaiser)
        t = np.linalg.inv(found.matrix).T
        pattern = loadings @ found.matrix
        centring = np.eye(p) - gamma / p
        gradient = pattern * (centring @ pattern**2 @ (1.0 - np.eye(K)))
        of_t = -(pattern.T @ gradient @ np.linalg.inv(t)).T
        free = of_t - t * (t * of_t).sum(axis=0)
        assert_allclose((t**2).sum(axis=0), 1.0, rtol=1e-9)
        size = np.abs(pattern).max() ** 4 * p
        assert np.abs(free).max() < max(1e-5, 100 * case.rounding) * size
        # No pair of components does better for small turns.
        assert found.converged
        check(case, found, found.matrix, 1e-9 if case.rounding < 1e-6 else 1e-4)


def test_procrustes(case):
    fit = case.plain()
    u = np.sqrt(fit.u)[:, None]
    target = np.round(fit.loadings(K) / u) + np.eye(len(u), K)
    u_, _, vt = np.linalg.svd(fit.loadings(K).T @ (target * u))
    found = rotation.procrustes(case.pca(5), target)
    assert_allclose(found.matrix, u_ @ vt, atol=100 * case.rounding)
    assert_allclose(
        found.pattern * u, fit.loadings(K) @ u_ @ vt, atol=100 * case.rounding * np.abs(fit.loadings(K)).max()
    )
    check_scores(case, found, fit, 100 * case.rounding)
