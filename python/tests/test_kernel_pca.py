"""Kernel PCA: comparison with scikit-learn, and additional features."""

import pickle

import numpy as np
import polars
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from karhunen import PCA, KernelPCA, NotConvergedError
from sklearn.base import clone
from sklearn.decomposition import KernelPCA as SklearnKernelPCA
from sklearn.exceptions import ConvergenceWarning, NotFittedError, PositiveSpectrumWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import chi2_kernel, pairwise_kernels, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

#: Kernels, parameters that both packages accept, and whether the data must be nonnegative.
KERNELS = [
    ("linear", {}, False),
    ("poly", {"degree": 2, "gamma": 0.1, "coef0": 0.5}, False),
    ("rbf", {"gamma": 0.05}, False),
    ("rbf", {}, False),
    ("laplacian", {"gamma": 0.02}, False),
    ("sigmoid", {"gamma": 0.001, "coef0": 0.1}, False),
    ("cosine", {}, False),
    ("additive_chi2", {}, True),
    ("chi2", {"gamma": 0.05}, True),
]


@pytest.mark.filterwarnings("ignore:the kernel is not positive semi-definite")
@pytest.mark.parametrize("solver", ["full", "stored", "tiles"])
@pytest.mark.parametrize(("kernel", "parameters", "positive"), KERNELS)
def test_without_centring_the_matrix_stays_as_it_is(table, kernel, parameters, positive, solver):
    x = np.abs(table) if positive else table
    values, new = (
        pairwise_kernels(rows, x[:45], metric=kernel, **gamma_of(kernel, parameters)) for rows in (x[:45], x)
    )
    eigenvalues, vectors = (part[..., ::-1][..., :3] for part in np.linalg.eigh(values))
    ours = KernelPCA(3, kernel=kernel, solver=solver, center=False, tol=1e-12, **parameters).fit(x[:45])
    assert_allclose(ours.eigenvalues_, eigenvalues, rtol=0, atol=1e-10 * eigenvalues[0])
    expected = np.abs(new @ vectors / np.sqrt(eigenvalues))
    assert_allclose(np.abs(ours.transform(x)), expected, rtol=0, atol=1e-7 * np.sqrt(eigenvalues[0]))


def test_pre_images_without_centring_are_near_the_rows(table):
    x = table[:60]
    pca = KernelPCA(60, kernel="rbf", gamma=0.05, center=False, fit_inverse_transform=True).fit(x)
    assert_allclose(pca.inverse_transform(pca.transform(x)), x, rtol=0, atol=1e-4)
    with pytest.raises(ValueError, match="center = False is not allowed: an approximation subtracts the mean"):
        KernelPCA(3, kernel="rbf", solver="nystrom", center=False).fit(x)


def gamma_of(kernel, parameters):
    """Return the default gamma of scikit-learn's estimator, which differs from its function's for chi2."""
    return {"gamma": 1 / 8, **parameters} if kernel == "rbf" else parameters


@pytest.mark.parametrize("solver", ["full", "stored", "tiles"])
@pytest.mark.parametrize(("kernel", "parameters", "positive"), KERNELS)
def test_agrees_with_scikit_learn(table, kernel, parameters, positive, solver):
    x = np.abs(table) if positive else table
    # scikit-learn's estimator does not accept all of its own kernels by name.
    values, new = (
        pairwise_kernels(rows, x[:45], metric=kernel, **gamma_of(kernel, parameters)) for rows in (x[:45], x)
    )
    theirs = SklearnKernelPCA(4, kernel="precomputed", eigen_solver="dense").fit(values)
    ours = KernelPCA(4, kernel=kernel, solver=solver, tol=1e-12, **parameters).fit(x[:45])
    scale = theirs.eigenvalues_[0]
    assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=0, atol=1e-10 * scale)
    assert_allclose(ours.transform(x), theirs.transform(new), rtol=0, atol=1e-7 * np.sqrt(scale))
    assert_allclose(ours.eigenvectors_, theirs.eigenvectors_, rtol=0, atol=1e-7)
    np.testing.assert_array_equal(ours.X_fit_, x[:45])
    assert ours.solver_ == ours.convergence_.solver == solver
    assert ours.n_features_in_ == 8
    assert ours.n_components_ == 4
    if kernel in ("rbf", "poly", "laplacian", "sigmoid", "chi2"):
        assert ours.gamma_ == parameters.get("gamma", 1 / 8)
    else:
        assert ours.gamma_ is None


def test_all_components_match_scikit_learn(table):
    # Not n_components=None: `eigh` of scipy 1.9 corrupts memory if the range of all eigenpairs is requested.
    theirs = SklearnKernelPCA(20, kernel="linear", remove_zero_eig=True).fit(table)
    ours = KernelPCA(kernel="linear").fit(table)
    assert len(ours.eigenvalues_) == len(theirs.eigenvalues_) == 8
    assert_allclose(ours.explained_variance_ratio_, PCA().fit(table).explained_variance_ratio_, rtol=1e-9)


def test_eigenvalues_of_zero_are_kept_unless_they_are_not_wanted(table):
    kept = KernelPCA(10, kernel="linear", fit_inverse_transform=True).fit(table)
    removed = clone(kept).set_params(remove_zero_eig=True).fit(table)
    assert (kept.eigenvalues_[8:] == 0).all()
    assert len(kept.eigenvalues_) == 10
    assert removed.n_components_ == 8
    np.testing.assert_array_equal(removed.eigenvectors_, kept.eigenvectors_[:, :8])
    np.testing.assert_array_equal(removed.transform(table), kept.transform(table)[:, :8])
    scores = kept.transform(table)
    assert_allclose(removed.inverse_transform(scores[:, :8]), kept.inverse_transform(scores), rtol=0, atol=1e-9)
    assert list(removed.get_feature_names_out()) == [f"kernelpca{i}" for i in range(8)]


@pytest.mark.parametrize("solver", ["full", "stored", "tiles", "nystrom"])
def test_weights_are_repetitions(table, solver):
    counts = np.arange(60) % 4
    pca = KernelPCA(3, kernel="rbf", gamma=0.01, solver=solver, tol=1e-12)
    weighted = clone(pca).fit(table, sample_weight=counts)
    repeated = clone(pca).fit(np.repeat(table, counts, axis=0))
    assert_allclose(weighted.eigenvalues_, repeated.eigenvalues_, rtol=1e-7)
    assert_allclose(weighted.transform(table), repeated.transform(table), rtol=0, atol=1e-5)
    assert_allclose(
        clone(pca).fit_transform(table, sample_weight=counts), weighted.transform(table), rtol=0, atol=1e-10
    )


def test_fit_transform_is_transform(table):
    for solver in ("full", "tiles", "nystrom", "fourier"):
        pca = KernelPCA(3, kernel="rbf", gamma=0.01, solver=solver, tol=1e-10)
        assert_allclose(pca.fit_transform(table), pca.transform(table), rtol=0, atol=1e-8)


def test_sparse_rows_stay_sparse(table):
    x = sp.random(200, 30, density=0.1, random_state=0, format="csr")
    for kernel in ("linear", "poly", "rbf", "laplacian", "sigmoid", "cosine", "additive_chi2", "chi2"):
        dense = KernelPCA(3, kernel=kernel, tol=1e-12).fit(x.toarray())
        for container in (sp.csr_array(x), sp.csc_matrix(x), sp.coo_array(x)):
            ours = KernelPCA(3, kernel=kernel, tol=1e-12).fit(container)
            assert_allclose(ours.eigenvalues_, dense.eigenvalues_, rtol=1e-9)
            assert_allclose(np.abs(ours.transform(container)), np.abs(dense.transform(x.toarray())), atol=1e-7)
            assert sp.issparse(ours.X_fit_)
            np.testing.assert_array_equal(ours.X_fit_.toarray(), x.toarray())


def test_single_precision_comes_back(table):
    single = table.astype(np.float32)
    for solver in ("full", "tiles", "nystrom"):
        ours = KernelPCA(2, kernel="rbf", gamma=0.01, solver=solver, fit_inverse_transform=True).fit(single)
        exact = KernelPCA(2, kernel="rbf", gamma=0.01, solver=solver).fit(table)
        scores = ours.transform(single)
        assert scores.dtype == ours.fit_transform(single).dtype == ours.inverse_transform(scores).dtype == np.float32
        for name in ("eigenvalues_", "explained_variance_ratio_", "residuals_"):
            assert getattr(ours, name).dtype == getattr(pickle.loads(pickle.dumps(ours)), name).dtype == np.float32
        if solver != "nystrom":
            assert ours.eigenvectors_.dtype == ours.X_fit_.dtype == np.float32
            assert ours.X_fit_ is ours.X_fit_
            np.testing.assert_array_equal(ours.X_fit_, single)
        assert_allclose(ours.eigenvalues_, exact.eigenvalues_, rtol=1e-5)


def test_precomputed_is_computed(table):
    computed = KernelPCA(3, kernel="rbf", gamma=0.01, tol=1e-12).fit(table[:40])
    ours = KernelPCA(3, kernel="precomputed", tol=1e-12).fit(rbf_kernel(table[:40], gamma=0.01))
    assert_allclose(ours.eigenvalues_, computed.eigenvalues_, rtol=1e-9)
    new = rbf_kernel(table, table[:40], gamma=0.01)
    assert_allclose(ours.transform(new), computed.transform(table), atol=1e-8)
    assert not hasattr(ours, "X_fit_")
    assert ours.__sklearn_tags__().input_tags.pairwise
    with pytest.raises(ValueError, match=r"row 1, column 0 is 0.5.*row 0, column 1 is 0.25"):
        KernelPCA(1, kernel="precomputed").fit([[1.0, 0.25], [0.5, 1.0]])


def inner_of_rows(x, y):
    """Return the inner product of two rows; for two blocks of three rows of three features, a wrong product."""
    return x @ y


def test_a_function_gets_blocks(table):
    for solver in ("full", "stored", "tiles", "nystrom"):
        shapes = []

        def kernel(X, Y, width, shapes=shapes):
            shapes.append((X.shape, Y.shape))
            return rbf_kernel(X, Y, gamma=1 / width)

        pca = KernelPCA(3, kernel=kernel, kernel_params={"width": 100.0}, solver=solver, tol=1e-12).fit(table)
        named = KernelPCA(3, kernel="rbf", gamma=0.01, solver=solver, tol=1e-12).fit(table)
        assert_allclose(pca.eigenvalues_, named.eigenvalues_, rtol=1e-9)
        assert_allclose(pca.transform(table), named.transform(table), atol=1e-8)
        assert max(x[0] for x, _ in shapes) > 1
        assert pca.gamma_ is None


def test_a_function_of_scikit_learns_blocks_works(table):
    x = np.abs(table)
    ours = KernelPCA(2, kernel=chi2_kernel, kernel_params={"gamma": 0.05}, tol=1e-12).fit(x)
    named = KernelPCA(2, kernel="chi2", gamma=0.05, tol=1e-12).fit(x)
    assert_allclose(ours.eigenvalues_, named.eigenvalues_, rtol=1e-9)


def test_a_function_of_pairs_is_told_from_one_of_blocks(table):
    pairs = {
        "inner products": lambda x, y: x @ y,
        "a number of Python": lambda x, y: float(np.sum(x) * np.sum(y)),
        "an array of one number": lambda x, y: np.exp(-0.01 * np.square(x - y).sum(keepdims=True)),
        "a function that refuses blocks": lambda x, y: sum(a * b for a, b in zip(x, y, strict=True) if a < 1e9),
    }
    for name, kernel in pairs.items():
        # Blocks of three rows of three features multiply like matrices: the right shape, but wrong values.
        for n, p in [(60, 8), (60, 3), (60, 2), (60, 1), (2, 3), (3, 3)]:
            x = table[:n, :p]
            ours = KernelPCA(1, kernel=kernel).fit(x)
            matrix = np.array([[np.squeeze(kernel(a, b)) for b in x] for a in x])
            expected = KernelPCA(1, kernel="precomputed").fit(matrix)
            assert_allclose(ours.eigenvalues_, expected.eigenvalues_, rtol=1e-9, err_msg=name)
            assert_allclose(ours.transform(x), expected.transform(matrix), rtol=1e-7, atol=1e-7)


def test_a_function_of_neither_form_is_refused(table):
    def whole_block(X, Y):
        return X @ Y.T / np.abs(X).max()

    with pytest.raises(ValueError, match=r"another value in a block than alone; for two rows .* \(8,\) it raised"):
        KernelPCA(2, kernel=lambda X, Y: np.atleast_2d(whole_block(X, Y) if X.ndim == 2 else [1.0, 2.0])).fit(table)
    with pytest.raises(
        ValueError, match=r"shapes \(2, 8\) and \(3, 8\) the kernel function raised KeyError: 'gamma'"
    ) as caught:
        KernelPCA(2, kernel=lambda X, Y: {}["gamma"]).fit(table)
    assert isinstance(caught.value.__cause__, KeyError)
    with pytest.raises(ValueError, match=r"returned an array of shape \(2,\); for two rows"):
        KernelPCA(2, kernel=lambda X, Y: np.ones(2)).fit(table)
    with pytest.raises(ValueError, match="values of dtype <U1"):
        KernelPCA(2, kernel=lambda x, y: np.full((len(x), len(y)), "a")).fit(table)
    with pytest.raises(ValueError, match="masked values"):
        KernelPCA(2, kernel=lambda X, Y: np.ma.masked_less(np.ones((len(X), len(Y))), 2)).fit(table)
    with pytest.raises(ValueError, match="not symmetric: of rows "):
        KernelPCA(2, kernel=lambda x, y: float(x[0] - y[0])).fit(table)


def test_a_function_of_pairs_is_known_again_after_a_pickle_and_a_file(table, tmp_path):
    x = table[:, :3]
    pca = KernelPCA(2, kernel=np.inner).fit(x)
    of_pairs = KernelPCA(2, kernel=inner_of_rows).fit(x)
    scores = of_pairs.transform(x)
    assert_allclose(scores, pca.transform(x), atol=1e-9)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(of_pairs)).transform(x), scores)
    of_pairs.save(tmp_path / "pairs.model")
    again = KernelPCA.load(tmp_path / "pairs.model", kernel=inner_of_rows)
    np.testing.assert_array_equal(again.transform(x[:1]), scores[:1])


class Interesting(Exception):
    """Raised by this test only."""


def test_what_a_function_raises_is_raised(table):
    def kernel(X, Y):
        if len(X) > 3:
            raise Interesting("later")
        return X @ Y.T

    with pytest.raises(Interesting, match="later"):
        KernelPCA(2, kernel=kernel).fit(table)

    calm = True

    def moody(X, Y):
        if not calm:
            raise Interesting("new rows")
        return X @ Y.T

    pca = KernelPCA(2, kernel=moody).fit(table)
    calm = False
    with pytest.raises(Interesting, match="new rows"):
        pca.transform(table)


def dot(X, Y):
    return X @ Y.T


@pytest.mark.parametrize(
    "pca",
    [
        KernelPCA(3, kernel="rbf", gamma=0.01, fit_inverse_transform=True),
        KernelPCA(3, kernel="rbf", gamma="median", fit_inverse_transform=True, pre_image="fixed-point"),
        KernelPCA(3, kernel="linear", fit_inverse_transform=True),
        KernelPCA(3, kernel="poly", solver="nystrom", n_features=20),
        KernelPCA(3, kernel="laplacian", gamma="scale", solver="fourier", n_features=64),
        KernelPCA(3, kernel=dot),
        KernelPCA(3, kernel=dot, solver="nystrom"),
    ],
)
def test_pickles(table, pca):
    fitted = clone(pca).fit(table)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(table), fitted.transform(table))
    np.testing.assert_array_equal(again.eigenvalues_, fitted.eigenvalues_)
    assert again.convergence_ == fitted.convergence_
    assert again.gamma_ == fitted.gamma_
    if pca.fit_inverse_transform:
        scores = fitted.transform(table)
        np.testing.assert_array_equal(again.inverse_transform(scores), fitted.inverse_transform(scores))
    unfitted = pickle.loads(pickle.dumps(pca))
    assert not hasattr(unfitted, "eigenvalues_")


def test_pickles_of_sparse_rows(table):
    x = sp.random(100, 20, density=0.2, random_state=0, format="csr")
    fitted = KernelPCA(2, kernel="cosine").fit(x)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(x), fitted.transform(x))


def test_ridge_pre_images_match_scikit_learn(table):
    for kernel, parameters in (("rbf", {"gamma": 0.01}), ("poly", {"gamma": 0.01, "degree": 2})):
        theirs = SklearnKernelPCA(4, kernel=kernel, fit_inverse_transform=True, alpha=0.1, **parameters).fit(table)
        ours = KernelPCA(4, kernel=kernel, fit_inverse_transform=True, alpha=0.1, tol=1e-12, **parameters).fit(table)
        scores = ours.transform(table)
        assert_allclose(ours.inverse_transform(scores), theirs.inverse_transform(scores), atol=1e-6)
        assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5)
        assert_allclose(ours.X_transformed_fit_, theirs.X_transformed_fit_, atol=1e-7)
    with pytest.raises(NotFittedError, match="fit_inverse_transform=True"):
        KernelPCA(2).fit(table).inverse_transform(np.zeros((1, 2)))


def test_the_fixed_point_is_the_default_where_it_is_defined(table):
    pca = KernelPCA(4, kernel="rbf", gamma=0.005, fit_inverse_transform=True)
    scores = pca.fit_transform(table)
    rows = pca.inverse_transform(scores)
    fixed, ridge = (clone(pca).set_params(pre_image=way).fit(table) for way in ("fixed-point", "ridge"))
    np.testing.assert_array_equal(rows, fixed.inverse_transform(scores))
    given = clone(pca).set_params(alpha=1.0).fit(table)
    np.testing.assert_array_equal(given.inverse_transform(scores), ridge.inverse_transform(scores))
    for other in ({"kernel": "laplacian"}, {"solver": "nystrom"}):
        assert clone(pca).set_params(**other).fit(table).dual_coef_.shape == (60, 8)
    with pytest.raises(ValueError, match="the fixed point has none"):
        clone(fixed).set_params(alpha=1.0).fit(table)


def test_fixed_points_are_near_the_rows(table):
    pca = KernelPCA(30, kernel="rbf", gamma=0.005, fit_inverse_transform=True, pre_image="fixed-point").fit(table)
    rows = pca.inverse_transform(pca.transform(table))
    assert np.square(rows - table).mean() < 0.02 * table.var()
    assert not hasattr(pca, "dual_coef_")


def test_approximations_say_how_far_they_are_off(table):
    exact = KernelPCA(3, kernel="rbf", gamma=0.01, tol=1e-12).fit(table)
    for landmarks in ("uniform", "kmeans++", "leverage"):
        ours = KernelPCA(3, kernel="rbf", gamma=0.01, solver="nystrom", landmarks=landmarks, n_features=20).fit(table)
        off = np.abs(ours.eigenvalues_ - exact.eigenvalues_).max() / exact.eigenvalues_[0]
        assert 0 < off <= min(ours.convergence_.error_bound, ours.convergence_.error_estimate)
        assert ours.convergence_.n_features == 20
        assert {tuple(row) for row in ours.landmarks_} < {tuple(row) for row in table}
        assert not hasattr(ours, "eigenvectors_")
        assert not hasattr(ours, "X_fit_")
    waves = KernelPCA(3, kernel="rbf", gamma=0.01, solver="fourier").fit(table)
    assert waves.convergence_.error_bound is None
    assert waves.convergence_.error_estimate < 0.3
    assert exact.convergence_.error_estimate is None


def test_a_limit_of_memory_chooses_the_route():
    x = np.random.default_rng(0).normal(size=(1500, 3))
    pca = KernelPCA(2, kernel="rbf", tol=1e-10)
    stored = clone(pca).fit(x)
    tiles = clone(pca).set_params(memory_limit=8e6).fit(x)
    assert (stored.solver_, tiles.solver_) == ("stored", "tiles")
    assert "over the limit of 8.0 MB" in tiles.convergence_.reason
    np.testing.assert_array_equal(stored.eigenvalues_, tiles.eigenvalues_)
    with pytest.raises(ValueError, match=r"needs \d+\.\d MB"):
        clone(pca).set_params(memory_limit=1e6, solver="full").fit(x)


def test_names_of_scikit_learn_for_solvers(table):
    for eigen_solver, solver in (("dense", "full"), ("arpack", "stored"), ("randomized", "stored"), ("auto", "full")):
        assert KernelPCA(2, eigen_solver=eigen_solver).fit(table).solver_ == solver
    with pytest.raises(ValueError, match="say the same"):
        KernelPCA(2, eigen_solver="dense", solver="full").fit(table)
    with pytest.raises(ValueError, match="say the same"):
        KernelPCA(2, n_threads=1, n_jobs=1).fit(table)
    one = KernelPCA(2, kernel="rbf", n_jobs=1).fit(table)
    np.testing.assert_array_equal(one.eigenvalues_, KernelPCA(2, kernel="rbf", n_jobs=-1).fit(table).eigenvalues_)


def test_negative_eigenvalues_are_told(table):
    flat = table / 10
    calm = KernelPCA(1, kernel="sigmoid", gamma=0.5).fit(flat)
    assert -calm.eigenvalues_[0] < calm.convergence_.smallest_eigenvalue < 0
    with pytest.warns(PositiveSpectrumWarning, match=r"smallest eigenvalue .* is -"):
        KernelPCA(25, kernel="sigmoid", gamma=0.5).fit(flat)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        KernelPCA(58, kernel="sigmoid", gamma=0.5).fit(flat)
    with pytest.warns(PositiveSpectrumWarning):
        every = KernelPCA(kernel="sigmoid", gamma=0.5).fit(flat)
    assert (every.eigenvalues_ > 0).all()
    assert every.n_components_ < 58


def test_missed_tolerances_are_told():
    x = np.random.default_rng(0).normal(size=(800, 20))
    with pytest.warns(ConvergenceWarning, match="solver tiles: .* of 20 components converged"):
        KernelPCA(20, kernel="rbf", solver="tiles", max_iter=2).fit(x)
    # Of fewer than 600 features all residuals are rounding errors.
    for solver, n_features in (("tiles", None), ("stored", None), ("nystrom", 700)):
        options = {"max_iter": 2, "tol": 1e-14, "strict": True, "n_features": n_features}
        with pytest.raises(NotConvergedError, match=f"solver {solver}"):
            KernelPCA(20, kernel="rbf", solver=solver, **options).fit(x)


REFUSED = [
    ({"kernel": "radial"}, "kernel = 'radial' is not known"),
    ({"kernel": "custom"}, "must be a string or a function"),
    ({"kernel": 3}, "must be a string or a function"),
    ({"kernel": "rbf", "gamma": 0.0}, "finite and positive"),
    ({"kernel": "rbf", "gamma": "half"}, "gamma = 'half' is not known"),
    ({"kernel": "rbf", "gamma": [1.0]}, "must be a number"),
    ({"kernel": "poly", "gamma": "median"}, "median of distances"),
    ({"kernel": "poly", "degree": "3"}, "degree = '3' is not allowed"),
    ({"kernel": "poly", "degree": 0}, "finite and positive"),
    ({"kernel": "rbf", "kernel_params": {"gamma": 1.0}}, "for kernel functions"),
    ({"kernel_params": 3}, "must be a dict or None"),
    ({"n_components": 61}, r"n_components=61 must be between 1 and n_samples=60"),
    ({"n_components": 0}, r"n_components=0 must be between 1 and n_samples=60"),
    ({"n_components": 1.5}, "a share of the variance as a fraction"),
    ({"n_components": "mle"}, "or None for all"),
    ({"n_components": 0.5, "solver": "nystrom"}, "n_components = 0.5 is not allowed: an approximation"),
    ({"n_components": 0.5, "solver": "stored", "kernel": "sigmoid"}, "use solver = 'full'"),
    ({"n_components": 2, "n_features": 10}, "only the solvers nystrom and fourier"),
    ({"n_components": 2, "landmarks": "leverage"}, "only the solver nystrom"),
    ({"n_components": 2, "landmarks": "all", "solver": "nystrom"}, "'uniform', 'kmeans\\+\\+', 'leverage'"),
    ({"solver": "nystrom"}, "give their number"),
    ({"n_components": 2, "solver": "fourier"}, "rbf and laplacian"),
    ({"n_components": 2, "solver": "nystrom", "kernel": "sigmoid"}, "positive semi-definite"),
    ({"solver": "nystrom"}, "n_components = None is not allowed"),
    ({"kernel": "additive_chi2"}, "but the kernel additive_chi2 is defined"),
    ({"kernel": "poly", "degree": 1.5}, "a whole one where"),
    ({"kernel": "rbf", "gamma": "half", "pre_image": "ridge"}, "gamma = 'half'"),
    ({"kernel": "poly", "gamma": "median"}, "gamma = 'median' is not allowed"),
    ({"kernel": "rbf", "n_components": 2, "landmarks": "kmeans++"}, "landmarks = 'kmeans\\+\\+' is not allowed"),
    ({"kernel": "precomputed", "fit_inverse_transform": True}, "Cannot fit_inverse_transform with a precomputed"),
    (
        {"kernel": "rbf", "solver": "fourier", "n_components": 2, "fit_inverse_transform": True},
        "^fit_inverse_tr.* = True",
    ),
    ({"pre_image": "nearest"}, "pre_image = 'nearest' is not known"),
    (
        {"kernel": lambda X, Y: X.sum(1)[:, None] + 2 * Y.sum(1)},
        "symmetric: of rows [01] and [12], k\\(x, y\\) is -?[0-9]",
    ),
    ({"kernel": lambda X, Y: np.ma.masked_less(X @ Y.T, 0.0)}, "masked values"),
    ({"solver": "svd"}, "'auto', 'full', 'stored', 'tiles', 'nystrom', 'fourier'"),
    ({"eigen_solver": "lobpcg"}, "eigen_solver = 'lobpcg' is not known"),
    ({"memory_limit": "1 GB"}, "number of bytes"),
    ({"memory_limit": 0}, "number of bytes"),
    ({"n_jobs": 0}, "other than 0"),
    ({"fit_inverse_transform": True, "alpha": 0.0}, "alpha"),
    ({"fit_inverse_transform": True, "pre_image": "nearest"}, "'ridge', 'fixed-point'"),
    ({"fit_inverse_transform": True, "pre_image": "fixed-point"}, "kernel rbf on the exact routes"),
    ({"fit_inverse_transform": 1}, "True or False"),
    ({"remove_zero_eig": 1}, "True or False"),
    ({"tol": 2.0}, "between 0 and 1"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refuses(table, options, message):
    with pytest.raises(ValueError, match=message):
        KernelPCA(**options).fit(table)


def test_refusals_speak_of_arguments(table):
    gram = table @ table.T
    with pytest.raises(ValueError, match="Cannot fit_inverse_transform with a precomputed kernel: it holds no"):
        KernelPCA(kernel="precomputed", fit_inverse_transform=True).fit(gram)
    with pytest.raises(ValueError, match="solver = 'tiles' is not allowed"):
        KernelPCA(2, kernel="precomputed", solver="tiles").fit(gram)
    with pytest.raises(ValueError, match="gamma = 'scale' is not allowed: the rule finds no spread"):
        KernelPCA(2, kernel="rbf", gamma="scale").fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match=r"the kernel matrix of the landmarks is .*; choose another kernel"):
        KernelPCA(2, kernel=lambda X, Y: -X @ Y.T, solver="nystrom").fit(table)
    with pytest.warns(ConvergenceWarning, match=r"in 1 pass over the data .*; raise tol, or"):
        KernelPCA(20, kernel="rbf", solver="fourier", tol=1e-15).fit(np.random.default_rng(0).normal(size=(100, 5)))
    with pytest.warns(ConvergenceWarning, match=r"in 1 pass over the kernel matrix .*; raise max_iter or tol, or"):
        KernelPCA(2, kernel="rbf", solver="tiles", max_iter=1).fit(table)


def test_rows_beyond_the_range_are_refused(table):
    twice = np.repeat(table[:5], 2, axis=0)
    with pytest.raises(ValueError, match=r"alpha = 1e-300 is not allowed: .* larger ridge"):
        KernelPCA(2, kernel="rbf", fit_inverse_transform=True, alpha=1e-300).fit(twice)
    pca = KernelPCA(2, kernel="poly", degree=5, fit_inverse_transform=True).fit(table / 20)
    with pytest.raises(ValueError, match="a kernel value of row 1 is not a finite number"):
        pca.inverse_transform([[1.0, 1.0], [1e108, 1e108]])


def test_values_without_a_meaning_are_named(table):
    x = polars.DataFrame(np.abs(table), schema=[f"m{j}" for j in range(8)])
    x[4, "m2"] = -1.0
    with pytest.raises(ValueError, match=r"row 4, column 2 \('m2'\) is -1"):
        KernelPCA(2, kernel="chi2").fit(x)
    x[4, "m2"] = None
    with pytest.raises(ValueError, match=r"row 4, column 2 \('m2'\) is NaN"):
        KernelPCA(2, kernel="rbf").fit(x)


def test_attributes_cannot_be_assigned(table):
    pca = KernelPCA(2).fit(table)
    with pytest.raises(AttributeError):
        pca.eigenvalues_ = pca.eigenvalues_ * 2
    with pytest.raises(ValueError, match="read-only"):
        pca.eigenvectors_[0, 0] = 1.0
    with pytest.raises(AttributeError, match="before it is fitted"):
        _ = KernelPCA().eigenvalues_


def test_works_in_pipelines_and_searches(table):
    y = table[:, 0] > np.median(table[:, 0])
    pipeline = make_pipeline(KernelPCA(3), LogisticRegression())
    search = GridSearchCV(pipeline, {"kernelpca__kernel": ["linear", "rbf"], "kernelpca__gamma": [0.001, 0.01]}, cv=3)
    assert search.fit(table, y).best_score_ > 0.7
    gram = table @ table.T
    search = GridSearchCV(
        make_pipeline(KernelPCA(kernel="precomputed"), LogisticRegression()), {"kernelpca__n_components": [2, 3]}, cv=3
    )
    assert search.fit(gram, y).best_score_ > 0.7


def test_data_frames_come_back(table):
    pca = KernelPCA(2, kernel="rbf").set_output(transform="pandas")
    scores = pca.fit_transform(table)
    assert list(scores.columns) == ["kernelpca0", "kernelpca1"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.PositiveSpectrumWarning")
def test_shares_are_of_the_positive_eigenvalues(tmp_path):
    x = np.random.default_rng(0).normal(size=(80, 3))
    options = {"kernel": "sigmoid", "gamma": 0.5, "coef0": 0.0}
    kernel = pairwise_kernels(x, metric="sigmoid", gamma=0.5, coef0=0.0)
    middle = np.eye(80) - 1 / 80
    values = np.linalg.eigvalsh(middle @ kernel @ middle)[::-1]
    positive = values[values > 0]
    shares = positive / positive.sum()
    assert positive.sum() > 1.2 * values.sum()
    full = KernelPCA(3, solver="full", **options).fit(x)
    assert_allclose(full.explained_variance_ratio_, shares[:3], rtol=1e-10)
    for share in (0.5, 0.9, 0.95):
        kept = KernelPCA(share, solver="full", **options).fit(x).n_components_
        assert kept == np.searchsorted(np.cumsum(shares), share) + 1
    page = full.report(tmp_path / "full.html").read_text(encoding="utf-8")
    assert "of the sum of positive eigenvalues" in page
    stored = KernelPCA(3, solver="stored", **options).fit(x)
    assert np.isnan(stored.explained_variance_ratio_).all()
    assert "% of the variance" in repr(full) + full._outcome()
    assert "% of the variance" not in stored._outcome()
    page = stored.report(tmp_path / "stored.html").read_text(encoding="utf-8")
    assert "Their shares are unknown" in page
    assert 'id="scree"' not in page
    stored.save(tmp_path / "stored.model")
    assert np.isnan(KernelPCA.load(tmp_path / "stored.model").explained_variance_ratio_).all()
    assert_allclose(pickle.loads(pickle.dumps(full)).explained_variance_ratio_, shares[:3], rtol=1e-10)


def test_a_kernel_function_may_fit_with_karhunen():
    x = np.random.default_rng(0).normal(size=(900, 300))

    def kernel(a, b):
        PCA(2).fit(x)
        return a @ b.T

    found = KernelPCA(2, kernel=kernel).fit(x[:300])
    expected = KernelPCA(2, kernel="linear").fit(x[:300])
    assert_allclose(found.eigenvalues_, expected.eigenvalues_, rtol=1e-8)
