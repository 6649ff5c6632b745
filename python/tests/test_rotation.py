"""Rotations of fitted models; the values of R's varimax and promax are tested in Rust."""

import json
import pickle
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from karhunen import PCA, IncompletePCA, IncrementalPCA, diagnostics, rotation
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


@pytest.mark.parametrize(
    ("rotate", "rule"),
    [(rotation.varimax, "varimax"), (rotation.quartimax, "quartimax_raw"), (rotation.oblimin, "oblimin_raw")],
)
def test_defaults_match_r(rotate, rule):
    golden = json.loads((ROOT / "golden/r_rotation_wine.json").read_text())
    columns = pd.read_csv(ROOT / golden["file"])[golden["columns"]]
    loadings = np.array(golden["loadings"])
    found = rotate(PCA(loadings.shape[1], scale=True).fit(columns))
    expected = np.array(golden[rule]["pattern"])
    # Columns match up to order and sign.
    similarity = np.abs(found.pattern.T @ expected) / np.outer(
        np.linalg.norm(found.pattern, axis=0), np.linalg.norm(expected, axis=0)
    )
    order = similarity.argmax(axis=1)
    assert sorted(order) == list(range(len(order)))
    signs = np.sign((found.pattern * expected[:, order]).sum(axis=0))
    np.testing.assert_allclose(found.pattern, expected[:, order] * signs, atol=2e-6)


def test_constant_columns_change_nothing(wine):
    with_constant = np.insert(wine, 5, 7.0, axis=1)
    for rotate in (rotation.varimax, rotation.quartimax, rotation.promax, rotation.oblimin):
        for kaiser in (True, False):
            plain = rotate(PCA(4, scale=True).fit(wine), kaiser=kaiser)
            found = rotate(PCA(4, scale=True).fit(with_constant), kaiser=kaiser)
            np.testing.assert_allclose(np.delete(found.pattern, 5, axis=0), plain.pattern, atol=1e-6)


def test_feature_weights_keep_correlations(wine):
    weights = np.linspace(0.25, 4.0, wine.shape[1])
    pca = PCA(3, scale=True).fit(wine, feature_weight=weights)
    found = rotation.varimax(pca)
    np.testing.assert_allclose(found.communalities, diagnostics.features(pca).communalities, rtol=1e-9)
    assert np.abs(found.structure).max() <= 1.0
    scores, columns = found.transform(wine), (wine - wine.mean(axis=0)) / wine.std(axis=0)
    np.testing.assert_allclose(
        found.structure, columns.T @ scores / (len(wine) - 1) * np.sqrt((len(wine) - 1) / len(wine)), atol=1e-9
    )
    again = rotation.procrustes(pca, found)
    np.testing.assert_allclose(again.pattern, found.pattern, atol=1e-9)


def test_a_rotation_is_of_the_model_that_was_rotated(wine):
    pca = PCA(3, scale=True).fit(wine)
    found = rotation.varimax(pca)
    before = found.transform(wine)
    copied = pickle.loads(pickle.dumps(found))
    pca.fit(wine[:60])
    np.testing.assert_array_equal(found.transform(wine), before)
    np.testing.assert_array_equal(copied.transform(wine), before)
    assert len({found, copied}) == 2
    frames = PCA(3, scale=True).set_output(transform="pandas").fit(wine)
    np.testing.assert_allclose(rotation.varimax(frames).transform(wine), before, atol=1e-12)
    growing = IncrementalPCA(2).fit(wine)
    found = rotation.varimax(growing)
    before = found.transform(wine)
    growing.partial_fit(wine[:50] * 2.0)
    np.testing.assert_array_equal(found.transform(wine), before)


def test_files_hold_rotations(wine, pca, tmp_path):
    columns = pd.DataFrame(wine, columns=[f"c{j}" for j in range(wine.shape[1])])
    named = PCA(4, scale=True).fit(columns, feature_weight=np.linspace(0.5, 2.0, 13))
    target = pd.DataFrame(rotation.quartimax(named, n_components=3).pattern, index=columns.columns)
    for found in (
        rotation.varimax(named, n_components=3),
        rotation.oblimin(named, gamma=-0.5),
        rotation.promax(named, kaiser=False),
        rotation.procrustes(named, target),
    ):
        found.save(tmp_path / "r.model")
        again = rotation.Rotation.load(tmp_path / "r.model")
        np.testing.assert_array_equal(again.transform(columns), found.transform(columns))
        np.testing.assert_array_equal(again.structure, found.structure)
        assert (again.names, again.criterion) == (list(columns.columns), found.criterion)
        assert repr(again) == repr(found)
        assert again.n_iter == found.n_iter
    with pytest.raises(ValueError, match="rotated-pca"):
        PCA.load(tmp_path / "r.model")
    pca.save(tmp_path / "p.model")
    kinds = "holds a model of the kind `pca`; `rotated-pca` and `rotated-incomplete-pca` are what can be read"
    with pytest.raises(ValueError, match=kinds):
        rotation.Rotation.load(tmp_path / "p.model")
    with pytest.raises(ValueError, match="c3"):
        again.transform(columns.drop(columns="c3"))


def test_scores_map_back_to_rows(wine, pca):
    found = rotation.oblimin(pca, n_components=3)
    scores = found.transform(wine)
    expected = PCA(3, scale=True).fit(wine)
    rows = expected.inverse_transform(expected.transform(wine))
    np.testing.assert_allclose(found.inverse_transform(scores), rows, rtol=1e-9)
    alone = np.zeros_like(scores)
    alone[:, 1] = scores[:, 1]
    of_one = pca.mean_ + pca.scale_ * np.outer(scores[:, 1], found.pattern[:, 1])
    np.testing.assert_allclose(found.inverse_transform(alone), of_one, rtol=1e-9)
    single = found.transform(wine.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, scores, atol=1e-3)
    with pytest.raises(ValueError, match="scores"):
        found.inverse_transform(np.ones((2, 4)))


def test_features_of_rotated_components(wine, pca):
    found = rotation.varimax(pca, n_components=3)
    features = diagnostics.features(found)
    scores = found.transform(wine)
    expected = [[np.corrcoef(wine[:, j], scores[:, c])[0, 1] for c in range(3)] for j in range(13)]
    np.testing.assert_allclose(features.correlations, expected, atol=1e-9)
    np.testing.assert_allclose(features.contributions.sum(axis=0), 1.0)
    np.testing.assert_allclose(features.cos2.sum(axis=1), features.communalities)
    assert features.to_frame().columns[0] == "correlation_RC1"


def test_reports_show_rotated_components(wine, pca, tmp_path):
    found = rotation.promax(pca, n_components=2, kaiser=False)
    page = found.report(tmp_path / "r.html", wine, level=0.99).read_text(encoding="utf-8")
    for said in (
        "rotated by promax with power 4",
        "karhunen.rotation.promax(pca, n_components=2, power=4.0, kaiser=False)",
        "RC2 rises with",
    ):
        assert said in page
    assert found.report(tmp_path / "m.html").exists()


def test_components_without_variance_are_left_out(wine):
    few = PCA(scale=True).fit(wine[:8])
    for rotate in (rotation.varimax, rotation.promax, rotation.oblimin):
        assert rotate(few).pattern.shape == (13, 7)
        with pytest.raises(ValueError, match="component 8 has no variance"):
            rotate(few, n_components=8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        constant = rotation.varimax(PCA(2).fit(np.ones((5, 3))))
    np.testing.assert_array_equal(constant.explained_variance_ratio, 0.0)


def test_units_change_no_promax(wine):
    x = wine / wine.std(axis=0)
    expected = rotation.promax(PCA(3).fit(x))
    for unit in (1e-100, 1e100):
        found = rotation.promax(PCA(3).fit(x * unit))
        np.testing.assert_allclose(found.component_correlations, expected.component_correlations, atol=1e-8)


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
    with pytest.raises(ValueError, match="n_components = 0"):
        rotation.varimax(pca, n_components=0)
    with pytest.raises(ValueError, match="power"):
        rotation.promax(pca, power=1.0)
    with pytest.raises(ValueError, match="gamma"):
        rotation.oblimin(pca, gamma=2.0)
    with pytest.raises(ValueError, match="target"):
        rotation.procrustes(pca, np.ones((3, 2)))
    with pytest.raises(ValueError, match="the index of target does not hold the names"):
        rotation.procrustes(pca, pd.DataFrame(pca.loadings_[::-1]))


@pytest.mark.parametrize("rotate", [rotation.varimax, rotation.promax, rotation.oblimin])
@pytest.mark.parametrize(("scale", "weighted"), [(True, False), (False, True)])
def test_features_of_a_rotation_match_its_scores(wine, rotate, scale, weighted):
    # Without scaling, weights make the features alike.
    weights = 1.0 / wine.var(axis=0) if weighted else None
    pca = PCA(5, scale=scale).fit(wine, feature_weight=weights)
    rotated = rotate(pca, n_components=3)
    found = diagnostics.features(rotated)
    expected = np.corrcoef(wine.T, rotated.transform(wine).T)[:13, 13:]
    np.testing.assert_allclose(found.correlations, expected, atol=1e-9)
    np.testing.assert_allclose(found.cos2, expected**2, atol=1e-9)
    centred = wine - wine.mean(axis=0)
    predicted = np.linalg.lstsq(rotated.transform(wine), centred, rcond=None)[0]
    residual = centred - rotated.transform(wine) @ predicted
    np.testing.assert_allclose(found.communalities, 1.0 - residual.var(axis=0) / wine.var(axis=0), atol=1e-9)
    np.testing.assert_allclose(found.contributions.sum(axis=0), 1.0, rtol=1e-9)
    if rotate is rotation.varimax:
        # Arrows of an orthogonal rotation: squares of weighted loadings.
        squares = rotated.pattern**2 * (1.0 if weights is None else weights[:, None])
        np.testing.assert_allclose(found.contributions, squares / squares.sum(axis=0), atol=1e-12)
        np.testing.assert_allclose(found.cos2.sum(axis=1), found.communalities, rtol=1e-9)
    assert list(found.to_frame().columns[:3]) == ["correlation_RC1", "correlation_RC2", "correlation_RC3"]
    assert found.component_names == rotated.component_names == ["RC1", "RC2", "RC3"]


@pytest.fixture(scope="module")
def incomplete(wine):
    x = wine.copy()
    x[np.random.default_rng(3).random(x.shape) < 0.1] = np.nan
    return pd.DataFrame(x, columns=load_wine().feature_names)


@pytest.mark.parametrize("rotate", [rotation.varimax, rotation.promax, rotation.oblimin])
@pytest.mark.parametrize("method", ["ppca", "em"])
def test_rotations_of_rows_with_missing_values(incomplete, rotate, method):
    pca = IncompletePCA(3, method=method, scale=True).fit(incomplete)
    found = rotate(pca)
    assert found.converged
    np.testing.assert_allclose(found.pattern, pca.loadings_ @ found.matrix, atol=1e-12)
    scores = found.transform(incomplete)
    np.testing.assert_allclose(
        found.inverse_transform(scores), pca.inverse_transform(pca.transform(incomplete)), atol=1e-8
    )
    rows = pca.mean_ + pca.scale_ * (scores @ found.pattern.T)
    np.testing.assert_allclose(found.inverse_transform(scores), rows, atol=1e-8)
    related = diagnostics.features(found)
    np.testing.assert_allclose(related.communalities, diagnostics.features(pca).communalities, atol=1e-9)
    assert found.transform(incomplete.astype(np.float32)).dtype == np.float32
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.transform(incomplete), scores)


def test_rotations_of_rows_with_missing_values_in_files_pages_and_pictures(incomplete, tmp_path):
    found = rotation.varimax(IncompletePCA(3, method="ppca", scale=True).fit(incomplete))
    found.save(tmp_path / "m")
    again = rotation.Rotation.load(tmp_path / "m")
    assert again.names == list(incomplete.columns)
    np.testing.assert_array_equal(again.transform(incomplete), found.transform(incomplete))
    assert "rotated by varimax" in str(found.summary())
    page = found.report(tmp_path / "r.html", incomplete).read_text(encoding="utf-8")
    assert "karhunen.rotation.varimax(pca, n_components=3)" in page
    with pytest.raises(ValueError, match="rotated-incomplete-pca"):
        IncompletePCA.load(tmp_path / "m")
