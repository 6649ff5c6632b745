"""Behaviour of ours that differs deliberately from scikit-learn: see sklearn_suite/differences.py."""

import numpy as np
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from karhunen import PCA, KernelPCA, Nystroem, TruncatedSVD

NAMES = ["full", "covariance_eigh", "arpack", "randomized", "auto"]


@pytest.fixture
def spectrum() -> np.ndarray:
    """Return 60 x 9 numbers with well separated variances."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(60, 9)) * np.geomspace(9, 0.5, 9) + rng.normal(size=9)


@pytest.mark.parametrize("svd_solver", NAMES)
def test_every_solver_takes_sparse_data(spectrum, svd_solver):
    x = spectrum * (np.random.default_rng(4).random(spectrum.shape) < 0.3)
    expected = PCA(4, svd_solver="full").fit(x)
    for kind in (sp.csr_array, sp.csc_array, sp.coo_array):
        found = PCA(4, svd_solver=svd_solver, tol=1e-13).fit(kind(x))
        assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-10)
        assert_allclose(found.components_, expected.components_, atol=1e-8)


@pytest.mark.parametrize("svd_solver", NAMES)
def test_every_solver_finds_all_components(spectrum, svd_solver):
    for x in (spectrum, spectrum[:, :4].T):
        expected = PCA(svd_solver="full").fit(x)
        for n_components in (None, min(x.shape)):
            found = PCA(n_components, svd_solver=svd_solver, tol=1e-13).fit(x)
            assert found.n_components_ == min(x.shape)
            assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-8, atol=1e-20)
    for algorithm in ("arpack", "randomized"):
        svd = TruncatedSVD(9, algorithm=algorithm, tol=1e-13).fit(spectrum)
        assert_allclose(svd.singular_values_, np.linalg.svd(spectrum, compute_uv=False), rtol=1e-10)


@pytest.mark.parametrize("svd_solver", NAMES)
def test_every_solver_estimates_the_dimension(svd_solver):
    x = np.random.default_rng(0).normal(size=(600, 10))
    x[:, :3] *= 10
    assert PCA("mle", svd_solver=svd_solver).fit(x).n_components_ == 3


def test_the_route_taken_is_told():
    for shape, n_components, solver in [
        ((10, 50), 5, "svd"),
        ((20000, 40), 5, "covariance"),
        ((60, 20000), 3, "gram"),
        ((2000, 1500), 1, "block-krylov"),
    ]:
        x = np.random.default_rng(0).uniform(size=shape).astype(np.float32)
        pca = PCA(n_components, tol=0.5).fit(x)
        assert pca.solver_ == pca.convergence_.solver == solver, shape


@pytest.mark.parametrize("svd_solver", NAMES)
def test_the_range_of_n_components_follows_the_data(svd_solver):
    least = 1 if svd_solver in ("arpack", "randomized") else 0
    for x in (np.array([[0, 1, 0], [1, 0, 0]]), np.array([[0, 1, 0], [1, 0, 0]]).T):
        words = rf"n_components=3 must be between {least} and min\(n_samples, n_features\)=2 for X of shape"
        with pytest.raises(ValueError, match=words):
            PCA(3, svd_solver=svd_solver).fit(x)
        assert PCA(2, svd_solver=svd_solver).fit(x).n_components_ == 2
        if least:
            with pytest.raises(
                ValueError, match=r"n_components=0 must be between 1 and min\(n_samples, n_features\)=2"
            ):
                PCA(0, svd_solver=svd_solver).fit(x)
        else:
            assert PCA(0, svd_solver=svd_solver).fit(x).n_components_ == 0


def test_a_kernel_matrix_that_is_not_symmetric_is_refused():
    with pytest.raises(ValueError, match=r"not symmetric: row 1, column 0 is 3.*, but row 0, column 1 is 2"):
        KernelPCA(1, kernel="precomputed").fit([[1, 2], [3, 40]])


@pytest.mark.parametrize("eigen_solver", ["auto", "dense", "arpack", "randomized"])
def test_positive_eigenvalues_are_found_among_larger_negative_ones(eigen_solver):
    basis = np.linalg.qr(np.random.default_rng(5).normal(size=(8, 8)))[0]
    basis[:, 0] = 1
    basis = np.linalg.qr(basis)[0]
    matrix = basis @ np.diag([0, 5.0, 3.0, 1.0, 0, 0, -2.0, -9.0]) @ basis.T
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        pca = KernelPCA(2, kernel="precomputed", eigen_solver=eigen_solver).fit(matrix)
    assert_allclose(pca.eigenvalues_, [5, 3])
    with pytest.raises(ValueError, match="There are significant negative eigenvalues"):
        KernelPCA(8, kernel="precomputed", eigen_solver=eigen_solver).fit(matrix)


@pytest.mark.parametrize("svd_solver", NAMES)
def test_the_density_does_not_depend_on_whitening(spectrum, svd_solver):
    plain, white = (PCA(3, whiten=whiten, svd_solver=svd_solver).fit(spectrum) for whiten in (False, True))
    assert_allclose(white.get_covariance(), plain.get_covariance(), rtol=1e-12)
    assert white.score(spectrum) == pytest.approx(plain.score(spectrum))
    # The density of the scores and of the residual: two independent Gaussians.
    scores, noise = plain.transform(spectrum), plain.noise_variance_
    rest = np.square(spectrum - plain.inverse_transform(scores)).sum(axis=1)
    variances = [*plain.explained_variance_, *[noise] * 6]
    exponent = (np.square(scores) / plain.explained_variance_).sum(axis=1) + rest / noise
    assert_allclose(plain.score_samples(spectrum), -0.5 * (np.log(2 * np.pi * np.array(variances)).sum() + exponent))


@pytest.mark.parametrize("svd_solver", ["arpack", "randomized"])
def test_digits_are_a_matter_of_tol(svd_solver):
    x = np.random.RandomState(0).randn(1000, 100)
    expected = PCA(1, svd_solver="full").fit(x).components_
    for tol, atol in ((None, 1e-6), (1e-13, 1e-11)):
        found = PCA(1, svd_solver=svd_solver, n_oversamples=100, tol=tol).fit(x)
        assert_allclose(found.components_, expected, atol=atol)
        assert found.residuals_[0] <= found.convergence_.tol == (tol or 1e-8)


def test_landmarks_need_a_positive_semi_definite_kernel():
    x = np.random.default_rng(0).uniform(size=(10, 4))
    for options in (
        {"kernel": "sigmoid"},
        {"kernel": "additive_chi2"},
        {"kernel": "poly", "degree": 3.1},
        {"kernel": "precomputed"},
    ):
        with pytest.raises(
            ValueError, match="landmarks need a kernel that is positive semi-definite and not precomputed"
        ):
            Nystroem(n_components=2, **options).fit(x)
    features = Nystroem("poly", degree=3, coef0=0.1, n_components=10).fit_transform(x)
    assert_allclose(features @ features.T, (x @ x.T / 4 + 0.1) ** 3, atol=1e-6)


def test_a_kernel_function_of_rows_is_called_for_every_pair_and_a_few_times_more():
    x = np.random.default_rng(0).uniform(size=(40, 4))
    calls = []

    def histogram(x, y, log):
        log.append(x.shape)
        return np.minimum(x, y).sum()

    features = Nystroem(histogram, n_components=40, kernel_params={"log": calls}).fit_transform(x)
    assert_allclose(features @ features.T, np.minimum(x[:, None], x[None]).sum(axis=2), atol=1e-6)
    blocks = [shape for shape in calls if len(shape) == 2]
    assert len(blocks) == 1
    # Kernel values between landmarks, in the fit and in the transform of the same rows.
    assert 2 * 40 * 41 / 2 < len(calls) <= 2 * 40 * 41 / 2 + 20
