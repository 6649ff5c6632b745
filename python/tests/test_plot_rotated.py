"""Plots of rotated components, read back from the artists."""

import numpy as np
import pytest
from compare import assert_allclose
from karhunen import PCA, diagnostics, plot, rotation
from sklearn.datasets import load_wine

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402


@pytest.fixture(autouse=True)
def _figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture(scope="module", params=[rotation.varimax, rotation.oblimin], ids=lambda rotate: rotate.__name__)
def rotated(request, wine):
    return request.param(PCA(6).fit((wine - wine.mean()) / wine.std()), n_components=4)


def tips(ax):
    return {text.get_text(): text.xy for text in ax.texts if text.get_text()}


def labels(axis):
    return [label.get_text() for label in axis]


def is_oblique(rotated):
    return np.abs(np.triu(rotated.component_correlations, 1)).max() > 0.01


def test_loadings_are_the_pattern(rotated):
    ax = plot.loadings(rotated)
    assert_allclose(np.asarray(ax.images[0].get_array()), rotated.pattern)
    shares = 100.0 * rotated.explained_variance_ratio
    assert labels(ax.get_xticklabels()) == [f"RC{k + 1}\n{share:.1f} %" for k, share in enumerate(shares)]
    assert ax.figure.axes[1].get_ylabel() == ("Loading (pattern)" if is_oblique(rotated) else "Loading")
    bars = plot.loadings(rotated, kind="bars", n_components=2, n_features=3)
    order = np.argsort(-np.abs(rotated.pattern[:, 0]))[:3]
    assert_allclose([bar.get_width() for bar in bars.patches[:3]], rotated.pattern[order, 0])
    assert bars.texts[0].get_text() == f"RC1 ({shares[0]:.1f} %)"


def test_the_circle_shows_the_structure(rotated, wine):
    ax = plot.correlation_circle(rotated, components=(0, 2))
    found = tips(ax)
    assert_allclose([found[name] for name in wine.columns], rotated.structure[:, [0, 2]], atol=1e-9)
    assert ax.get_ylabel().startswith("RC3 (")
    data = (wine - wine.mean()) / wine.std()
    measured = tips(plot.correlation_circle(rotated, data, components=(0, 2)))
    assert_allclose([measured[name] for name in wine.columns], rotated.structure[:, [0, 2]], atol=1e-9)


def test_bars_show_the_diagnostics(rotated, wine):
    found = diagnostics.features(rotated)
    ax = plot.contributions(rotated, component=1)
    assert_allclose([bar.get_width() for bar in ax.patches], 100.0 * np.sort(found.contributions[:, 1])[::-1])
    assert ax.get_xlabel() == "Contribution to RC2 (%)"
    left, right = ax.get_xlim()
    assert left <= 100.0 * found.contributions[:, 1].min() < 100.0 * found.contributions[:, 1].max() < right
    ax = plot.cos2(rotated, components=(0, 1, 3))
    shown = [0, 1, 3]
    order = np.argsort(-found.cos2[:, shown].sum(axis=1), kind="stable")
    assert_allclose(np.reshape([bar.get_width() for bar in ax.patches], (3, 13)).T, found.cos2[order][:, shown])
    assert labels(ax.get_legend().get_texts()) == ["RC1", "RC2", "RC4"]
    starts = np.array([bar.get_x() for bar in ax.patches[26:]])
    if not is_oblique(rotated):
        assert_allclose(starts, found.cos2[order][:, :2].sum(axis=1))
    else:
        # Shares of correlated components do not add up: bars are below one another.
        assert not starts.any()
        ends = [(bar.get_y(), bar.get_y() + bar.get_height()) for bar in ax.patches[::13]]
        assert_allclose([low for low, _ in ends[1:]], [high for _, high in ends[:-1]])


def test_rows_are_rotated_scores(rotated, wine):
    data = (wine - wine.mean()) / wine.std()
    expected = rotated.transform(data)
    ax = plot.scores(rotated, data, components=(1, 3))
    assert_allclose(ax.collections[0].get_offsets(), expected[:, [1, 3]])
    share = 100.0 * rotated.explained_variance_ratio[1]
    assert ax.get_xlabel() == f"RC2 ({share:.1f} % of the variance)"
    ax = plot.scores_3d(rotated, data)
    assert_allclose(np.column_stack(ax.collections[0]._offsets3d), expected[:, :3])
    assert ax.get_zlabel().startswith("RC3 (")
    with pytest.raises(ValueError, match="the scores of a Rotation are not"):
        plot.scores(rotated, data, deviations=1)


def test_projections_of_a_biplot_are_values(rotated, wine):
    data = (wine - wine.mean()) / wine.std()
    ax = plot.biplot(rotated, data)
    points = ax.collections[0].get_offsets()
    assert_allclose(points, rotated.transform(data)[:, :2])
    found = tips(ax)
    factor = np.array([found[name] for name in wine.columns]) / rotated.pattern[:, :2]
    assert_allclose(factor, factor[0, 0])
    assert tips(plot.biplot(rotated, data, scaling="covariance")).keys() == found.keys()
    with pytest.raises(ValueError, match="scaling = 'form' needs components of length one"):
        plot.biplot(rotated, data, scaling="form")


def test_scree_shows_the_rotated_variances(rotated):
    ax = plot.scree(rotated)
    assert_allclose([bar.get_height() for bar in ax.patches], 100.0 * rotated.explained_variance_ratio)
    assert ax.get_xlabel() == "Rotated component"


def test_negative_variances_of_an_oblique_rotation_are_drawn(wine):
    class Odd(rotation.Rotation):
        explained_variance_ratio = np.array([0.5, -0.1])

    found = rotation.oblimin(PCA(2, scale=True).fit(wine))
    ax = plot.scree(Odd(found._rotated, found._pca))
    assert_allclose([bar.get_height() for bar in ax.patches], 100.0 * Odd.explained_variance_ratio)
    assert ax.get_ylim()[0] <= -10.0


def test_sparse_fits_are_rotated_and_drawn(wine):
    from scipy.sparse import csr_array

    x = np.where(wine > wine.median(), wine, 0.0)
    for rotated in (rotation.varimax(PCA(3, scale=True).fit(csr_array(x))), PCA(3, scale=True).fit(csr_array(x))):
        found = diagnostics.features(rotated)
        ax = plot.correlation_circle(rotated, feature_names=wine.columns)
        assert_allclose([tips(ax)[name] for name in wine.columns], found.correlations[:, :2])
        assert_allclose(found.correlations, np.corrcoef(x.T, rotated.transform(x).T)[:13, 13:], atol=1e-9)
        points = plot.biplot(rotated, csr_array(x)).collections[0].get_offsets()
        assert_allclose(points, rotated.transform(x)[:, :2], atol=1e-9)
