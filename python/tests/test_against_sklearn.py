"""Equality with scikit-learn on complete dense data, for every solver."""

import itertools

import numpy as np
import pytest
import sklearn.decomposition as peer
from compare import assert_allclose
from karhunen import PCA, TruncatedSVD
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import StandardScaler

SOLVERS = ["auto", "svd", "covariance", "gram", "block-krylov"]
ATTRIBUTES = [
    "components_",
    "explained_variance_",
    "explained_variance_ratio_",
    "singular_values_",
    "mean_",
    "noise_variance_",
    "n_components_",
    "n_samples_",
    "n_features_in_",
]


def shapes() -> list[np.ndarray]:
    rng = np.random.default_rng(1)
    tall = rng.normal(size=(80, 12)) * np.geomspace(9, 0.3, 12) + 5
    wide = (rng.normal(size=(15, 40)) * np.geomspace(9, 0.3, 15)[:, None]) @ np.diag(np.geomspace(3, 1, 40))
    return [tall, wide]


@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("x", shapes(), ids=["tall", "wide"])
def test_pca_has_the_values_and_signs_of_scikit_learn(x, solver, whiten):
    ours = PCA(5, solver=solver, whiten=whiten, tol=1e-13).fit(x)
    theirs = peer.PCA(5, svd_solver="full", whiten=whiten).fit(x)
    for name in ATTRIBUTES:
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, atol=1e-10, err_msg=name)
    assert_allclose(ours.transform(x), theirs.transform(x), atol=1e-9)
    assert_allclose(ours.fit_transform(x), theirs.fit_transform(x), atol=1e-9)
    scores = theirs.transform(x)
    assert_allclose(ours.inverse_transform(scores), theirs.inverse_transform(scores), atol=1e-9)
    # With `whiten`, scikit-learn scales the components twice in its density, which should not depend on `whiten`.
    theirs.whiten = False
    assert_allclose(ours.get_covariance(), theirs.get_covariance(), atol=1e-9)
    assert_allclose(ours.get_precision(), theirs.get_precision(), rtol=1e-7, atol=1e-7)
    assert_allclose(ours.score_samples(x), theirs.score_samples(x), rtol=1e-8)
    assert ours.score(x) == pytest.approx(theirs.score(x), rel=1e-9)
    assert ours.solver_ == solver or solver == "auto"


@pytest.mark.parametrize("n_components", [None, 1, 3, 0.5, 0.9, 0.999])
def test_numbers_of_components_agree(n_components):
    x = shapes()[0]
    ours, theirs = PCA(n_components).fit(x), peer.PCA(n_components, svd_solver="full").fit(x)
    assert ours.n_components_ == theirs.n_components_
    assert_allclose(ours.explained_variance_, theirs.explained_variance_)
    assert_allclose(ours.noise_variance_, theirs.noise_variance_, rtol=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_estimate_of_the_dimension_matches_scikit_learn(seed):
    rng = np.random.default_rng(seed)
    n, p, k = rng.integers(60, 400), rng.integers(4, 30), rng.integers(1, 4)
    x = rng.normal(size=(n, k)) @ rng.normal(size=(k, p)) * 2 + rng.normal(size=(n, p))
    ours, theirs = PCA("mle").fit(x), peer.PCA("mle", svd_solver="full").fit(x)
    assert ours.n_components_ == theirs.n_components_
    assert ours.noise_variance_ == pytest.approx(theirs.noise_variance_, rel=1e-9)
    assert_allclose(ours.components_, theirs.components_, atol=1e-9)
    with pytest.raises(
        ValueError,
        match="n_components='mle' is only supported if n_samples >= n_features: it needs at least as many rows",
    ):
        PCA("mle").fit(x[:3])


@pytest.mark.parametrize("svd_solver", ["auto", "full", "covariance_eigh", "arpack", "randomized"])
def test_scikit_learns_solver_names_are_taken(svd_solver):
    x = load_wine().data
    options = {"copy": False, "iterated_power": 4, "n_oversamples": 20, "power_iteration_normalizer": "QR"}
    ours = PCA(n_components=3, svd_solver=svd_solver, tol=0.0, random_state=0, **options).fit(x)
    theirs = peer.PCA(n_components=3, svd_solver=svd_solver, tol=0.0, random_state=0, **options).fit(x.copy())
    assert_allclose(ours.components_, theirs.components_, atol=1e-7)
    assert_allclose(ours.singular_values_, theirs.singular_values_, rtol=1e-9)


def test_scale_is_a_standard_scaler_with_divisor_n_minus_one():
    x = load_breast_cancer().data
    n = len(x)
    ours = PCA(4, scale=True).fit(x)
    scaled = StandardScaler().fit_transform(x) * np.sqrt((n - 1) / n)
    theirs = peer.PCA(4, svd_solver="full").fit(scaled)
    assert_allclose(ours.scale_, x.std(axis=0, ddof=1), rtol=1e-12)
    assert_allclose(ours.components_, theirs.components_, atol=1e-10)
    assert_allclose(ours.explained_variance_, theirs.explained_variance_)
    assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_)
    assert_allclose(ours.inverse_transform(ours.transform(x)).mean(axis=0), x.mean(axis=0))
    assert_allclose(ours.loadings_, ours.components_.T * np.sqrt(ours.explained_variance_))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("algorithm", ["auto", "svd", "covariance", "gram", "block-krylov", "arpack", "randomized"])
def test_truncated_svd_has_the_values_and_signs_of_scikit_learn(algorithm, dtype):
    x = np.abs(shapes()[0]).astype(dtype)
    ours = TruncatedSVD(4, algorithm=algorithm)
    theirs = peer.TruncatedSVD(4, algorithm="arpack", random_state=0)
    scores, expected = ours.fit_transform(x), theirs.fit_transform(x.astype(np.float64))
    tol = 1e-8 if dtype == np.float64 else 1e-3
    assert scores.dtype == dtype
    assert_allclose(scores, expected, atol=tol)
    assert_allclose(ours.fit(x).transform(x), expected, atol=tol)
    for name in ["components_", "explained_variance_", "explained_variance_ratio_", "singular_values_"]:
        assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=tol, atol=tol, err_msg=name)


@pytest.mark.parametrize("whiten", [False, True])
def test_to_sklearn_scores_alike(whiten, table):
    ours = PCA(3, whiten=whiten).fit(table)
    theirs = ours.to_sklearn()
    assert isinstance(theirs, peer.PCA)
    assert_allclose(theirs.transform(table), ours.transform(table), atol=1e-12)
    assert_allclose(theirs.inverse_transform(ours.transform(table)), ours.inverse_transform(ours.transform(table)))


def test_to_sklearn_with_scales_and_weights_is_a_pipeline(table):
    ours = PCA(3, scale=True).fit(table, feature_weight=np.arange(1, 9))
    theirs = ours.to_sklearn()
    assert_allclose(theirs.transform(table), ours.transform(table), atol=1e-12)
    with pytest.raises(ValueError, match="column 2 has feature weight 0"):
        PCA(3).fit(table, feature_weight=[1, 1, 0, 1, 1, 1, 1, 1]).to_sklearn()


@pytest.mark.parametrize("weighting", ["frequency", "importance", "population"])
@pytest.mark.parametrize("n_components", [3, None, 0.8])
def test_to_sklearn_keeps_every_option(n_components, weighting, table):
    for center, scale, whiten, weights in itertools.product(*[(True, False)] * 3, (None, np.arange(1.0, 9))):
        options = {"center": center, "scale": scale, "whiten": whiten, "weighting": weighting}
        ours = PCA(n_components, **options).fit(table, sample_weight=np.arange(1, 61), feature_weight=weights)
        theirs = ours.to_sklearn()
        scores = ours.transform(table)
        assert_allclose(theirs.transform(table), scores, atol=1e-9, err_msg=str(options))
        assert_allclose(theirs.inverse_transform(scores), ours.inverse_transform(scores), atol=1e-9)
