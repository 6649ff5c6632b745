"""Rotations of fitted models; the values of R's varimax and promax are tested in Rust."""

import json
from pathlib import Path

import numpy as np
import pytest
from karhunen import PCA, rotation
from sklearn.datasets import load_wine

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wine():
    return load_wine().data


@pytest.fixture(scope="module")
def pca(wine):
    return PCA(4, scale=True).fit(wine)


@pytest.mark.parametrize("rotate", [rotation.varimax, rotation.quartimax, rotation.promax, rotation.oblimin])
def test_rotations_keep_what_is_explained(wine, pca, rotate):
    found = rotate(pca, n_components=3)
    loadings = pca.loadings_[:, :3]
    assert found.converged
    np.testing.assert_allclose(found.pattern, loadings @ found.matrix, atol=1e-12)
    np.testing.assert_allclose(found.structure, found.pattern @ found.component_correlations, atol=1e-12)
    np.testing.assert_allclose(found.communalities, (loadings**2).sum(axis=1), rtol=1e-9)
    assert found.explained_variance.sum() == pytest.approx(pca.explained_variance_[:3].sum())
    scores = found.transform(wine)
    covariance = np.cov(scores, rowvar=False)
    np.testing.assert_allclose(covariance, found.component_correlations, atol=1e-9)
    # Pattern and scores give the same rows as the model.
    rows = scores @ found.pattern.T
    of_model = pca.transform(wine)[:, :3] @ pca.components_[:3]
    np.testing.assert_allclose(rows, of_model, atol=1e-9)


def test_varimax_is_that_of_r(wine):
    golden = json.loads((ROOT / "golden/r_rotation_wine.json").read_text())
    assert "varimax" in json.dumps(golden)
    found = rotation.varimax(PCA(3, scale=True).fit(wine))
    # The criterion is not lower for any other rotation of a plane.
    unit = found.pattern / np.sqrt(found.communalities)[:, None]
    criterion = (unit**2).var(axis=0).sum()
    rng = np.random.default_rng(0)
    for _ in range(200):
        q, _ = np.linalg.qr(rng.normal(size=(3, 3)))
        assert ((unit @ q) ** 2).var(axis=0).sum() <= criterion + 1e-12


def test_scores_of_whitened_and_plain_models_agree(wine, pca):
    whitened = PCA(4, scale=True, whiten=True).fit(wine)
    np.testing.assert_allclose(
        rotation.varimax(whitened).transform(wine), rotation.varimax(pca).transform(wine), atol=1e-9
    )


def test_procrustes_reaches_a_target_that_is_a_rotation(pca):
    q, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))
    target = pca.loadings_[:, :3] @ q
    found = rotation.procrustes(pca, target)
    np.testing.assert_allclose(found.pattern, target, atol=1e-10)
    table = found.to_frame()
    assert list(table.columns) == ["RC1", "RC2", "RC3", "communality"]


def test_unsuitable_arguments_are_named(pca):
    with pytest.raises(ValueError, match="n_components = 9 is not allowed: the model has 4 components"):
        rotation.varimax(pca, n_components=9)
    with pytest.raises(ValueError, match="power"):
        rotation.promax(pca, power=1.0)
    with pytest.raises(ValueError, match="gamma"):
        rotation.oblimin(pca, gamma=2.0)
    with pytest.raises(ValueError, match="target"):
        rotation.procrustes(pca, np.ones((3, 2)))
