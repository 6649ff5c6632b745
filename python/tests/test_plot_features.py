"""Plots of features, of three components and of control limits, read back from their artists."""

import itertools

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from karhunen import PCA, diagnostics, plot
from sklearn.datasets import load_wine

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from matplotlib.text import Text  # noqa: E402


@pytest.fixture(autouse=True)
def _figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True)


@pytest.fixture(scope="module")
def pca(wine):
    return PCA(4, scale=True).fit(wine.data)


def names(ax):
    """Return the names of the rows of bars, after a check that none covers another."""
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    for a, b in itertools.pairwise(boxes):
        assert not a.overlaps(b)
    return [label.get_text() for label in ax.get_yticklabels()]


def test_contributions_are_ranked_squares_with_their_mean(pca, wine):
    ax = plot.contributions(pca, component=1, n_features=5)
    squares = 100.0 * pca.components_[1] ** 2
    order = np.argsort(-squares)[:5]
    assert_allclose([bar.get_width() for bar in ax.patches], squares[order])
    assert names(ax) == [wine.data.columns[j] for j in order]
    assert_allclose(ax.lines[0].get_xdata(), 100.0 / 13)
    assert ax.get_xlabel() == "Contribution to PC2 (%)"
    assert len(plot.contributions(pca, n_features=None).patches) == 13
    shares = [bar.get_width() for bar in plot.contributions(pca, n_features=None).patches]
    assert_allclose(shares, 100.0 * np.sort(diagnostics.features(pca).contributions[:, 0])[::-1])


def test_bars_of_many_features_fit_small_axes():
    pca = PCA(2, scale=True).fit(np.random.default_rng(0).normal(size=(40, 1000)))
    assert len(names(plot.contributions(pca))) == 20
    _, ax = plt.subplots(figsize=(3, 2), layout="constrained")
    assert 5 <= len(names(plot.contributions(pca, ax=ax))) < 20
    _, ax = plt.subplots(figsize=(3, 2), layout="constrained")
    assert 5 <= len(names(plot.cos2(pca, ax=ax))) < 20


def test_cos2_are_squared_correlations(pca, wine):
    expected = np.corrcoef(wine.data.T, pca.transform(wine.data).T)[:13, [13, 15]] ** 2
    order = np.argsort(-expected.sum(axis=1))
    for x in (None, wine.data):
        ax = plot.cos2(pca, x, components=(0, 2))
        assert names(ax) == [wine.data.columns[j] for j in order]
        lengths = np.array([bar.get_width() for bar in ax.patches]).reshape(2, 13).T
        assert_allclose(lengths, expected[order], atol=1e-9)
        assert_allclose([bar.get_x() for bar in ax.patches[13:]], expected[order, 0], atol=1e-9)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["PC1", "PC3"]
    unscaled = PCA(3).fit(wine.data)
    expected = diagnostics.features(unscaled).cos2
    order = np.argsort(-expected[:, :2].sum(axis=1))
    lengths = [bar.get_width() for bar in plot.cos2(unscaled).patches]
    assert_allclose(np.reshape(lengths, (2, 13)).T, expected[order, :2])


def test_a_control_chart_names_the_samples_beyond_the_limits():
    values = pd.Series(np.full(60, 2.0), index=[f"batch {i}" for i in range(60)])
    values.iloc[[7, 20, 40]] = [30.0, 6.5, 12.0]
    ax = plot.monitor(values, limits={"99 %": 9.0, "95 %": 6.0}, name="T²")
    assert [text.get_text() for text in ax.texts] == ["95 %", "99 %", "batch 7", "batch 40"]
    assert [line.get_ydata()[0] for line in ax.lines[1:]] == [9.0, 6.0]
    within, beyond = ax.collections
    assert len(within.get_offsets()) == 57
    assert_allclose(beyond.get_offsets(), [[7, 30], [20, 6.5], [40, 12]])
    assert ax.get_ylabel() == "T²"
    # Limits that are nearly equal have names that do not cover each other.
    ax = plot.monitor(values.to_numpy(), limits={"95 %": 8.99, "99 %": 9.0}, log=True)
    ax.figure.draw_without_rendering()
    a, b = (Text.get_window_extent(text) for text in ax.texts[:2])
    assert not a.overlaps(b)
    assert [text.get_text() for text in ax.texts[2:]] == ["7", "40"]
    assert ax.get_yscale() == "log"
    assert len(plot.monitor(values, limits={"99 %": 9.0}, labels=False).texts) == 1
    assert not plot.monitor([1.0, np.nan, 2.0]).texts


def test_the_map_shows_every_missing_entry():
    x = np.random.default_rng(0).normal(size=(30, 5))
    x[::3, 1] = np.nan
    x[4, :] = np.nan
    expected = np.isnan(x)
    frame = pd.DataFrame(x, columns=list("abcde"))
    for table in (x, frame, frame.astype(object), np.ma.masked_invalid(x), np.where(expected, None, x), x.tolist()):
        ax = plot.missing(table)
        np.testing.assert_array_equal(ax.images[0].get_array(), expected)
    ax = plot.missing(frame)
    assert [label.get_text() for label in ax.get_xticklabels()] == list("abcde")
    (strip,) = ax.child_axes
    assert_allclose(strip.patches[0].get_data().values, 100.0 * expected.mean(axis=0))


def test_the_map_of_a_large_table_shows_shares():
    x = np.zeros((5001, 1300), dtype=np.float32)
    x[:2500, 7] = np.nan
    x[5000] = np.nan
    ax = plot.missing(x, feature_names=[f"a column with a long name {j}" for j in range(1300)])
    shares = ax.images[0].get_array()
    assert shares.shape == (400, 600)
    assert 0.05 < shares[-1].min() < 0.1
    assert_allclose(shares[:199].sum(axis=0).nonzero()[0], [3])
    ax.figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels()]
    assert len(boxes) > 10
    assert all(a.x1 <= b.x0 for a, b in itertools.pairwise(boxes))
    assert 7 in ax.get_xticks()


@pytest.mark.parametrize(("color_by", "entries"), [(None, None), ("target", ["0", "1", "2"])])
def test_scores_in_space(pca, wine, color_by, entries):
    ax = plot.scores_3d(pca, wine.data, components=(0, 3, 1), color_by=color_by and wine.target)
    drawn = np.column_stack(
        [np.concatenate(each) for each in zip(*(c._offsets3d for c in ax.collections), strict=True)]
    )
    expected = pca.transform(wine.data)[:, [0, 3, 1]]
    assert_allclose(drawn[np.argsort(drawn[:, 0])], expected[np.argsort(expected[:, 0])])
    assert ax.get_ylabel() == "PC4 (7.1 %)"
    legend = ax.get_legend()
    assert (legend and [text.get_text() for text in legend.get_texts()]) == entries
    given = plt.figure().add_subplot(projection="3d")
    assert plot.scores_3d(pca, wine.data, ax=given) is given


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, x: plot.contributions(p, component=4), "component = 4; the model has components 0 to 3"),
        (lambda p, x: plot.contributions(p, component=0.5), "component = 0.5; the model has"),
        (lambda p, x: plot.contributions(p, n_features=0), "n_features = 0"),
        (lambda p, x: plot.cos2(p, components=()), "give the indices of one or more components"),
        (lambda p, x: plot.cos2(p, components=(0, 0)), "are the same"),
        (lambda p, x: plot.cos2(p, sample_weight=np.ones(178)), "pass X as well"),
        (lambda p, x: plot.monitor(np.ones((2, 2))), r"values has shape \(2, 2\)"),
        (lambda p, x: plot.monitor([1.0, np.inf]), "give one finite number for each sample"),
        (lambda p, x: plot.monitor([1.0, 0.0], log=True), "values has 0.0 at 1; with log=True"),
        (lambda p, x: plot.monitor([1.0], limits={"99 %": np.nan}), "limits has '99 %' = nan"),
        (lambda p, x: plot.monitor([1.0], labels=["a", "b"]), "labels has 2 names"),
        (lambda p, x: plot.missing(np.ones(3)), r"X has shape \(3,\)"),
        (lambda p, x: plot.missing(sp.eye(3)), "X is sparse"),
        (lambda p, x: plot.missing(x, feature_names=["a"]), "feature_names has 1 names, but X has 13 columns"),
        (lambda p, x: plot.scores_3d(p, x, components=(0, 1)), "give the indices of three components"),
        (lambda p, x: plot.scores_3d(p, x, ax=plt.figure().subplots()), "made with projection='3d'"),
    ],
)
def test_mistakes_are_told(pca, wine, call, message):
    with pytest.raises(ValueError, match=message):
        call(pca, wine.data)


def test_nothing_is_cut_off_or_covered(wine):
    rng = np.random.default_rng(0)
    x = np.where(rng.random((200, 10)) < 0.2, np.nan, 1.0)
    ax = plot.missing(pd.DataFrame(x, columns=[f"quantity number {j}" for j in range(10)]))
    ax.figure.draw_without_rendering()
    title = ax.child_axes[0]._left_title.get_window_extent()
    assert title.y1 <= ax.figure.bbox.y1
    # Forty groups have a legend of two columns, next to the vertical axis of three components.
    rows = rng.normal(size=(400, 5))
    group = np.array([f"hospital {i % 40}" for i in range(400)])
    ax = plot.scores_3d(PCA(3).fit(rows), rows, color_by=group, max_groups=40)
    ax.figure.draw_without_rendering()
    legend, label = ax.get_legend().get_window_extent(), ax.zaxis.label.get_window_extent()
    assert legend.x1 <= ax.figure.bbox.x1
    assert label.x1 <= legend.x0


def test_a_short_logarithmic_axis_has_plain_numbers():
    ax = plot.monitor([550.0, 580.0, 620.0], limits={"99 %": 612.0}, log=True)
    ax.figure.draw_without_rendering()
    labels = [label.get_text() for label in ax.get_yticklabels(which="both")]
    assert "600" in labels
    assert not [text for text in labels if "$" in text]
