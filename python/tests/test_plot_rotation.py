"""Pictures of rotated components."""

import matplotlib as mpl
import numpy as np
import pytest
from karhunen import PCA, diagnostics, plot, rotation
from sklearn.datasets import load_wine

mpl.use("Agg")
plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture(scope="module", params=[rotation.varimax, rotation.oblimin], ids=["varimax", "oblimin"])
def rotated(request, wine):
    return request.param(PCA(5, scale=True).fit(wine), n_components=3)


@pytest.fixture(autouse=True)
def close():
    yield
    plt.close("all")


def oblique(rotated):
    return not np.allclose(rotated.component_correlations, np.eye(3))


def test_loadings_are_the_pattern(rotated):
    ax = plot.loadings(rotated, kind="heatmap")
    # The colour bar has its label, and rows may be ordered.
    drawn = np.asarray(ax.images[0].get_array())
    assert drawn.shape == (13, 3)
    np.testing.assert_allclose(np.sort(drawn, axis=None), np.sort(rotated.pattern, axis=None), atol=1e-12)
    labels = [text.get_text().splitlines()[0] for text in ax.get_xticklabels()]
    assert labels == ["RC1", "RC2", "RC3"]
    bars = plot.loadings(rotated, kind="bars")
    assert any(text.get_text().startswith("RC1 (") for text in bars.texts)
    assert bars.get_xlabel() == ("Loading (pattern)" if oblique(rotated) else "Loading")


def test_the_circle_shows_the_structure(wine, rotated):
    ax = plot.correlation_circle(rotated)
    assert ax.get_xlabel().startswith("RC1 (")
    of_model = diagnostics.features(rotated).correlations
    np.testing.assert_allclose(of_model, rotated.structure, atol=1e-9)
    other = plot.correlation_circle(rotated, wine)
    assert [text.get_text() for text in other.texts] == [text.get_text() for text in ax.texts]


def test_shares_and_contributions_show_the_rotation(rotated):
    scree = plot.scree(rotated, cumulative=False)
    heights = [patch.get_height() for patch in scree.patches]
    np.testing.assert_allclose(heights, 100.0 * rotated.explained_variance_ratio)
    assert scree.get_xlabel() == "Rotated component"
    found = diagnostics.features(rotated)
    bars = plot.contributions(rotated, component=1, n_features=5)
    assert bars.get_xlabel() == "Contribution to RC2 (%)"
    widths = [patch.get_width() for patch in bars.patches]
    np.testing.assert_allclose(widths, np.sort(100.0 * found.contributions[:, 1])[::-1][:5])
    stacked = plot.cos2(rotated, components=(0, 2), n_features=4)
    legend = [text.get_text() for text in stacked.get_legend().get_texts()]
    assert legend == ["RC1", "RC3"]
    sums = found.cos2[:, [0, 2]].sum(axis=1)
    first = np.argsort(-sums, kind="stable")[0]
    np.testing.assert_allclose(stacked.patches[0].get_width(), found.cos2[first, 0])


def test_points_are_rotated_scores(wine, rotated):
    expected = rotated.transform(wine)
    ax = plot.scores(rotated, wine, components=(0, 2))
    np.testing.assert_allclose(ax.collections[0].get_offsets(), expected[:, [0, 2]])
    assert ax.get_ylabel().startswith("RC3 (")
    both = plot.biplot(rotated, wine)
    np.testing.assert_allclose(both.collections[0].get_offsets(), expected[:, :2])
    solid = plot.scores_3d(rotated, wine)
    assert solid.get_zlabel().startswith("RC3")
    with pytest.raises(ValueError, match="scaling = 'form'"):
        plot.biplot(rotated, wine, scaling="form")
    with pytest.raises(ValueError, match="components 0 to 2"):
        plot.scores(rotated, wine, components=(0, 3))
