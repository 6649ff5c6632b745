"""Plots: their content, read back from the artists."""

import builtins
import itertools
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn.decomposition
from compare import assert_allclose
from karhunen import PCA, TruncatedSVD, diagnostics, plot
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
    return PCA(scale=True).fit(wine.data)


def texts(ax):
    return [text for text in ax.texts if text.get_text()]


def boxes(ax):
    ax.figure.canvas.figure.draw_without_rendering()
    # The extent of the text alone: the extent of an annotation includes its line.
    return [Text.get_window_extent(text) for text in texts(ax)]


def offsets(ax):
    return np.vstack([c.get_offsets() for c in ax.collections if np.any(c.get_sizes() > 0.0)])


def twin(ax):
    """Return the Axes of the curve of a scree plot."""
    (found,) = [other for other in ax.figure.axes if other is not ax]
    return found


def test_scree_shows_shares_and_their_running_sum(pca):
    ax = plot.scree(pca)
    heights = [bar.get_height() for bar in ax.patches]
    assert_allclose(heights, 100.0 * pca.explained_variance_ratio_)
    x, total = twin(ax).lines[0].get_data()
    assert_allclose(x, np.arange(1, 14))
    assert_allclose(total, np.cumsum(heights))
    assert [t.get_text() for t in ax.texts][:2] == ["36.2", "19.2"]


@pytest.mark.parametrize("size", [None, (3.0, 2.2), (9.0, 3.0)])
@pytest.mark.parametrize("k", [2, 10, 13])
def test_a_scree_plot_fits_small_shares_and_nothing_collides(k, size):
    # Every component explains a few percent.
    pca = PCA(k).fit(np.random.default_rng(0).normal(size=(80, 300)))
    ax = plot.scree(pca, ax=None if size is None else plt.subplots(figsize=size, layout="constrained")[1])
    found = boxes(ax)
    assert len(found) == k or (size == (3.0, 2.2) and k > 2)
    for a, b in itertools.combinations(found, 2):
        assert not a.overlaps(b)
    shares = 100.0 * pca.explained_variance_ratio_
    assert 0.5 < shares[0] / ax.get_ylim()[1] < 0.65
    other = twin(ax)
    curve = other.transData.transform(other.lines[0].get_xydata())
    assert all(curve[:, 1].min() > box.y1 for box in found)
    assert curve[:, 1].min() > max(bar.get_window_extent().y1 for bar in ax.patches)
    labels = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    assert all(a.x1 < b.x0 for a, b in itertools.pairwise(labels))


def test_scree_draws_thousands_of_components_as_one_area():
    model = sklearn.decomposition.PCA(2).fit(np.eye(3))
    model.components_ = np.zeros((3000, 3000))
    model.explained_variance_ratio_ = np.full(3000, 1 / 3000)
    ax = plot.scree(model)
    assert len(ax.patches) == 1
    assert_allclose(ax.patches[0].get_data().values, 1 / 30)


def test_scree_shows_as_many_as_asked_for(pca):
    ax = plot.scree(pca, n_components=4, cumulative=False)
    assert len(ax.patches) == 4
    assert ax.figure.axes == [ax]
    assert len(plot.scree(PCA(n_components=40).fit(np.random.default_rng(0).normal(size=(60, 50)))).texts) == 0


def test_everything_is_drawn_into_the_given_axes(pca, wine):
    figure, axes = plt.subplots(1, 5, figsize=(25, 5), layout="constrained")
    assert plot.scree(pca, ax=axes[0]) is axes[0]
    assert plot.scores(pca, wine.data, ax=axes[1]) is axes[1]
    assert plot.biplot(pca, wine.data, ax=axes[2]) is axes[2]
    assert plot.correlation_circle(pca, ax=axes[3]) is axes[3]
    assert plot.loadings(pca, ax=axes[4]) is axes[4]
    assert plt.get_fignums() == [figure.number]


def test_subfigures_are_drawn_into(pca, wine):
    parts = plt.figure(layout="constrained").subfigures(1, 2)
    plot.scores(pca, wine.data, color_by=wine.data["ash"], ax=parts[0].subplots())
    ax = plot.correlation_circle(pca, ax=parts[1].subplots())
    assert sum(not text.get_text() for text in ax.texts) == 13
    assert names_collide_with_nothing(ax) >= 9


def test_scores_match_transform(pca, wine):
    ax = plot.scores(pca, wine.data, components=(2, 0))
    assert_allclose(offsets(ax), pca.transform(wine.data)[:, [2, 0]])
    assert ax.get_xlabel() == "PC3 (11.1 % of the variance)"
    assert ax.get_ylabel() == "PC1 (36.2 % of the variance)"
    assert ax.get_aspect() == 1.0


def test_groups_get_a_legend_and_numbers_a_colour_bar(pca, wine):
    ax = plot.scores(pca, wine.data, color_by=wine.target_names[wine.target])
    legend = ax.get_legend()
    assert [t.get_text() for t in legend.get_texts()] == ["class_0", "class_1", "class_2"]
    colours = {tuple(c.get_facecolor()[0]) for c in ax.collections}
    assert len(colours) == 3
    ax = plot.scores(pca, wine.data, color_by=wine.target)
    assert ax.get_legend().get_title().get_text() == "target"
    ax = plot.scores(pca, wine.data, color_by=wine.data["alcohol"])
    assert ax.get_legend() is None
    assert ax.figure.axes[1].get_ylabel() == "alcohol"
    assert_allclose(ax.collections[0].get_array(), wine.data["alcohol"])


@pytest.mark.parametrize("nothing", [None, np.nan, pd.NA], ids=str)
def test_rows_with_a_missing_colour_are_grey(pca, wine, nothing):
    group = pd.Series(["first" if i == 0 else nothing for i in wine.target], dtype=object)
    ax = plot.scores(pca, wine.data, color_by=group)
    assert [len(c.get_offsets()) for c in ax.collections] == [119, 59]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["first", "missing"]
    number = wine.data["ash"].where(wine.target == 0)
    ax = plot.scores(pca, wine.data, color_by=number)
    assert [len(c.get_offsets()) for c in ax.collections] == [119, 59]


def test_every_row_of_a_group_is_drawn(pca, wine):
    group = np.where(wine.target == 0, "first", "other")
    ax = plot.scores(pca, wine.data, color_by=group)
    assert [len(c.get_offsets()) for c in ax.collections] == [59, 119]


def planted_groups(k, n=900):
    """Return rows in `k` groups of decreasing size, and the number of the group of each."""
    rng = np.random.default_rng(k)
    group = np.minimum(rng.integers(0, k, n), rng.integers(0, k, n))
    return rng.normal(size=(k, 6))[group] * 3.0 + rng.normal(size=(n, 6)), group


def test_any_number_of_groups_is_drawn():
    x, group = planted_groups(45)
    names = np.array([f"population {i} of the world" for i in range(45)])[group]
    pca = PCA(3).fit(x)
    ax = plot.scores(pca, x, color_by=names)
    entries = [text.get_text() for text in ax.get_legend().get_texts()]
    assert len(entries) == len(set(entries)) == 31
    counts = np.sort(np.unique(group, return_counts=True)[1])
    assert entries[0].strip("…") == "0"
    assert entries[-1] == f"other ({len(counts) - 30} groups, {counts[:-30].sum()} rows)"
    assert sum(len(c.get_offsets()) for c in ax.collections) == 900
    looks = {(tuple(c.get_facecolor()[0]), c.get_paths()[0].vertices.tobytes()) for c in ax.collections}
    assert len(looks) == 31
    ax.figure.draw_without_rendering()
    legend, frame = ax.get_legend().get_window_extent(), ax.get_window_extent()
    assert legend.x0 >= frame.x1
    assert legend.x1 <= ax.figure.bbox.x1
    assert legend.y0 >= 0.0
    assert frame.width > 300
    assert len(plot.scores(pca, x, color_by=names, max_groups=None).get_legend().get_texts()) == len(counts)
    assert len(plot.biplot(pca, x, color_by=names, max_groups=4).get_legend().get_texts()) == 5


def test_groups_are_in_the_order_of_their_numbers_or_categories(pca, wine):
    group = [f"lot {i % 12}" for i in range(178)]
    entries = [t.get_text() for t in plot.scores(pca, wine.data, color_by=group).get_legend().get_texts()]
    assert entries == [f"lot {i}" for i in range(12)]
    category = pd.Series(np.arange(178) % 12).astype(pd.CategoricalDtype(range(11, -1, -1)))
    entries = [t.get_text() for t in plot.scores(pca, wine.data, color_by=category).get_legend().get_texts()]
    assert entries == [str(i) for i in range(11, -1, -1)]


def test_a_column_of_the_data_colours_the_rows(pca, wine):
    ax = plot.scores(pca, wine.data, color_by="alcohol")
    assert_allclose(ax.collections[0].get_array(), wine.data["alcohol"])


def test_new_rows_lie_over_the_old_ones(pca, wine):
    old, new = wine.data[:150], wine.data[150:]
    ax = plot.scores(pca, old, new=new, color_by=["a", "b"] * 14, labels=[f"row {i}" for i in range(28)])
    below, a, b = ax.collections
    assert_allclose(below.get_offsets(), pca.transform(old)[:, :2])
    assert_allclose(a.get_offsets(), pca.transform(new)[::2, :2])
    assert_allclose(b.get_offsets(), pca.transform(new)[1::2, :2])
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a", "b"]
    assert all(t.get_text().startswith("row ") for t in texts(ax))


def test_many_points_are_a_density():
    x, group = planted_groups(3, 60_000)
    pca = PCA(2).fit(x)
    ax = plot.scores(pca, x)
    assert not ax.collections
    assert ax.images[0].get_array().sum() == 60_000
    named = plot.scores(pca, x, color_by=group)
    assert named.images[0].get_array().shape[2] == 4
    assert [t.get_text() for t in named.get_legend().get_texts()] == ["0", "1", "2"]
    value = plot.scores(pca, x, color_by=x[:, 0])
    assert x[:, 0].min() <= value.images[0].get_array().min() < value.images[0].get_array().max() <= x[:, 0].max()
    low, high = ax.get_xlim()
    assert low < pca.transform(x)[:, 0].min() < pca.transform(x)[:, 0].max() < high
    assert not plot.scores(pca, x, density=False).images
    assert plot.scores(pca, x[:100], density=True).images
    assert plot.biplot(pca, x).images


def test_outlines_hold_their_groups():
    x, group = planted_groups(3)
    pca = PCA(2).fit(x)
    at = pca.transform(x)
    ax = plot.scores(pca, x, color_by=group, hulls=True)
    for code, patch in enumerate(ax.patches):
        path = matplotlib.path.Path(patch.get_xy())
        assert path.contains_points(at[group == code], radius=1e-9).mean() > 0.95
        corners = {tuple(corner) for corner in patch.get_xy()}
        assert corners <= {tuple(point) for point in at[group == code]}
    ax = plot.scores(pca, x, color_by=group, ellipses=0.95)
    for code, patch in enumerate(ax.patches):
        inside = matplotlib.path.Path(patch.get_xy()).contains_points(at[group == code]).mean()
        assert 0.9 < inside < 0.99
    assert len(plot.scores(pca, x, ellipses=0.5, hulls=True).patches) == 2
    # Two rows have a line as hull, and no ellipse.
    few = plot.scores(pca, x[:2], ellipses=0.5, hulls=True)
    assert len(few.patches) == 1


def test_rows_are_labelled_by_the_names_of_a_data_frame(wine):
    frame = wine.data.head(20).set_axis([f"wine {i}" for i in range(20)])
    pca = PCA(2, scale=True).fit(frame)
    found = [t.get_text() for t in texts(plot.scores(pca, frame))]
    assert len(found) > 10
    assert set(found) <= set(frame.index)
    assert texts(plot.scores(pca, frame, labels=False)) == []
    assert texts(plot.scores(pca, frame.reset_index(drop=True))) == []
    numbered = frame.reset_index(drop=True)
    assert {t.get_text() for t in texts(plot.scores(pca, numbered, labels=True))} <= set(map(str, range(20)))
    given = [f"given {i}" for i in range(20)]
    assert {t.get_text() for t in texts(plot.scores(pca, frame, labels=given))} <= set(given)
    with pytest.raises(ValueError, match="labels has 2 names, but X has 20 rows"):
        plot.scores(pca, frame, labels=["a", "b"])


@pytest.mark.parametrize("n", [30, 300])
def test_labels_cover_neither_one_another_nor_points(n):
    x = np.random.default_rng(n).normal(size=(n, 4))
    names = [f"a long label {i}" for i in range(n)]
    ax = plot.scores(PCA().fit(x), x, labels=names)
    found = boxes(ax)
    assert len(found) >= 12
    for a, b in itertools.combinations(found, 2):
        assert not a.overlaps(b)
    points = ax.transData.transform(offsets(ax))
    for box in found:
        assert not np.any(np.all((points > box.min) & (points < box.max), axis=1))
        assert ax.get_window_extent().contains(*box.min)


def heads(ax):
    """Return the tips of the arrows, and points a quarter of the head behind them, in pixels."""
    tips = np.array([text.xy for text in ax.texts if not text.get_text()])
    at, centre = ax.transData.transform(tips), ax.transData.transform((0.0, 0.0))
    back = (centre - at) / np.hypot(*(centre - at).T)[:, None]
    return np.vstack([at, at + 2.25 * ax.figure.canvas.figure.dpi / 72.0 * back])


def names_collide_with_nothing(ax):
    """Fail if a name of an arrow covers another, the head of an arrow or the edge of the Axes; return their number."""
    found, points, frame = boxes(ax), heads(ax), ax.get_window_extent()
    for a, b in itertools.combinations(found, 2):
        assert not a.overlaps(b)
    for box in found:
        assert not np.any(np.all((points > box.min) & (points < box.max), axis=1))
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1
    return len(found)


@pytest.mark.parametrize("load", [sklearn.datasets.load_wine, sklearn.datasets.load_breast_cancer])
def test_names_of_arrows_do_not_cover_one_another(load):
    data = load(as_frame=True).data
    fitted = PCA(2, scale=True).fit(data)
    # Thirty features of the cancer have the same directions: not all names fit.
    many = data.shape[1] == 30
    assert names_collide_with_nothing(plot.biplot(fitted, data, n_arrows=30)) >= (20 if many else 13)
    assert names_collide_with_nothing(plot.correlation_circle(fitted, n_arrows=20)) >= (15 if many else 13)


@pytest.mark.parametrize("width", [390, 800, 1600])
@pytest.mark.parametrize("long", [False, True])
@pytest.mark.parametrize(("p", "least"), [(4, 4), (10, 10), (100, 10), (1000, 10), (10_000, 10)])
def test_names_of_any_number_of_arrows_have_space_or_are_left_out(p, least, long, width):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(60, 3)) @ rng.normal(size=(3, p)) + 0.4 * rng.normal(size=(60, p))
    names = [f"concentration of metabolite number {j} in plasma" if long else f"gene{j}" for j in range(p)]
    fitted = PCA(2, scale=True).fit(x)
    size = (width / 100, max(3.3, 0.007 * width))
    for draw in (lambda **to: plot.biplot(fitted, x, **to), lambda **to: plot.correlation_circle(fitted, **to)):
        ax = draw(ax=plt.subplots(figsize=size, layout="constrained")[1], feature_names=names)
        assert names_collide_with_nothing(ax) >= least


def test_arrows_without_a_name_are_pale_and_the_weakest():
    # Forty features that are nearly one: few names have space.
    rng = np.random.default_rng(0)
    x = rng.normal(size=(50, 1)) + 0.1 * np.arange(1, 41) * rng.normal(size=(50, 40))
    ax = plot.correlation_circle(PCA(2, scale=True).fit(x), ax=plt.subplots(figsize=(3, 3), layout="constrained")[1])
    arrows = [text for text in ax.texts if not text.get_text()]
    assert len(arrows) == 30
    named = {tuple(text.xy) for text in texts(ax)}
    assert 0 < len(named) < 30
    for arrow in arrows:
        assert (arrow.arrow_patch.get_alpha() is None) == (tuple(arrow.xy) in named)
    longest = max(arrows, key=lambda arrow: np.hypot(*arrow.xy))
    assert tuple(longest.xy) in named


def test_long_names_are_shortened_and_stay_different(pca, wine):
    frame = wine.data.rename(columns=lambda name: f"the long name of {name} in milligrams per litre")
    fitted = PCA(2, scale=True).fit(frame)
    pictures = [plot.biplot(fitted, frame), plot.correlation_circle(fitted), plot.loadings(fitted)]
    for ax, longest in zip(pictures, (30, 30, 45), strict=True):
        found = [t.get_text() for t in (texts(ax) if longest == 30 else ax.get_yticklabels())]
        assert len(set(found)) == 13
        assert max(map(len, found)) <= longest
        assert "…alcohol…" in found or longest == 45
    rows = wine.data.head(5).set_axis([f"{i}{'x' * 40}{i}" for i in range(5)])
    found = [t.get_text() for t in texts(plot.scores(pca, rows))]
    assert set(found) <= {f"{i}{'x' * 18}…{'x' * 9}{i}" for i in range(5)}
    assert found


def test_arrows_of_a_biplot_are_components_up_to_one_factor(pca, wine):
    ax = plot.biplot(pca, wine.data)
    tips = {t.get_text(): t.xy for t in texts(ax)}
    assert set(tips) == set(wine.data.columns)
    found = np.array([tips[name] for name in wine.data.columns])
    factor = found / pca.components_[:2].T
    assert_allclose(factor, factor[0, 0])
    assert factor[0, 0] > 0.0
    assert len(texts(plot.biplot(pca, wine.data, n_arrows=5))) == 5


def test_a_covariance_biplot_has_scores_of_unit_variance_and_loadings(pca, wine):
    ax = plot.biplot(pca, wine.data, scaling="covariance")
    assert_allclose(offsets(ax).std(axis=0), 1.0)
    tips = {t.get_text(): t.xy for t in texts(ax)}
    factor = np.array([tips[name] for name in wine.data.columns]) / pca.loadings_[:, :2]
    assert_allclose(factor, factor[0, 0])


def circle_tips(ax, names):
    tips = {t.get_text(): t.xy for t in texts(ax)}
    return np.array([tips[name] for name in names])


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_circle_shows_correlations(wine, scale, sparse, weighted):
    x = wine.data.to_numpy()
    weight = np.arange(len(x)) % 3 if weighted else np.ones(len(x), dtype=int)
    pca = PCA(2, scale=scale).fit(x, sample_weight=weight)
    data = sp.csr_array(x) if sparse else x
    ax = plot.correlation_circle(pca, data, sample_weight=weight, feature_names=wine.feature_names)
    repeated = np.repeat(x, weight, axis=0)
    expected = np.corrcoef(repeated.T, pca.transform(repeated).T)[:13, 13:]
    assert_allclose(circle_tips(ax, wine.feature_names), expected, atol=1e-9)
    if scale:
        ax = plot.correlation_circle(pca, feature_names=wine.feature_names)
        assert_allclose(circle_tips(ax, wine.feature_names), expected, atol=1e-9)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("scale", [False, True])
def test_the_circle_needs_no_data_where_the_model_keeps_variances(wine, scale, weighted):
    weight = np.linspace(0.5, 2.0, 13) if weighted else None
    pca = PCA(3, scale=scale).fit(wine.data, feature_weight=weight)
    expected = np.corrcoef(wine.data.T, pca.transform(wine.data).T)[:13, 13:15]
    tips = circle_tips(plot.correlation_circle(pca), wine.feature_names)
    assert_allclose(tips, expected, atol=1e-9)
    assert_allclose(tips, diagnostics.features(pca).correlations[:, :2])


def test_the_circle_asks_for_the_data_where_the_model_cannot_tell(wine):
    with pytest.raises(ValueError, match=r"do not give the variance of each feature; .*; or pass the data as X"):
        plot.correlation_circle(sklearn.decomposition.PCA(2).fit(wine.data))
    whole = sklearn.decomposition.PCA().fit(wine.data)
    expected = np.corrcoef(wine.data.T, whole.transform(wine.data).T)[:13, 13:15]
    tips = circle_tips(plot.correlation_circle(whole), wine.feature_names)
    assert_allclose(tips, expected, atol=1e-9)
    with pytest.raises(ValueError, match="pass X as well"):
        plot.correlation_circle(whole, sample_weight=np.ones(178))


def test_constant_features_have_no_correlation():
    x = np.random.default_rng(0).normal(size=(40, 3))
    x[:, 1] = 5.0
    whole = sklearn.decomposition.PCA().fit(x)
    for pca, data in [(PCA(2, scale=True).fit(x), None), (PCA(2).fit(x), x), (PCA(2).fit(x), None), (whole, None)]:
        tips = circle_tips(plot.correlation_circle(pca, data), ["x0", "x1", "x2"])
        assert_allclose(tips[1], 0.0, atol=1e-7)
        assert_allclose(np.hypot(*tips[[0, 2]].T), 1.0, atol=1e-7)


def test_the_heat_map_shows_the_largest_loadings(pca, wine):
    ax = plot.loadings(pca, n_components=3, n_features=4)
    chosen = [label.get_text() for label in ax.get_yticklabels()]
    rows = [list(wine.data.columns).index(name) for name in chosen]
    shown = np.asarray(ax.images[0].get_array())
    assert_allclose(shown, pca.loadings_[rows, :3])
    lengths = np.linalg.norm(pca.loadings_[:, :3], axis=1)
    assert sorted(rows) == sorted(np.argsort(-lengths)[:4])
    low, high = ax.images[0].get_clim()
    assert low == -high
    assert [t.get_text() for t in ax.texts] == [f"{v:.2f}".replace("-0.00", "0.00") for v in shown.ravel()]


def test_the_heat_map_of_many_features_names_those_with_the_largest_loadings():
    for p, rows in [(130, 130), (3000, 1000)]:
        pca = PCA(20).fit(np.random.default_rng(0).normal(size=(90, p)))
        ax = plot.loadings(pca, kind="heatmap")
        shown = ax.images[0].get_array()
        assert shown.shape == (rows, 20)
        assert_allclose(np.abs(shown).max(axis=0), np.abs(pca.loadings_).max(axis=0))
        names = [label.get_text() for label in ax.get_yticklabels()]
        assert f"x{np.argmax(np.linalg.norm(pca.loadings_, axis=1))}" in names
        assert len(names) < p
        do_not_overlap(ax.get_yticklabels())
        assert not ax.texts


def do_not_overlap(labels):
    """Fail if two of the labels, in order from top to bottom or from left to right, share pixels."""
    labels[0].figure.draw_without_rendering()
    found = [label.get_window_extent() for label in labels]
    for a, b in itertools.pairwise(found):
        assert not a.overlaps(b)


@pytest.mark.parametrize("size", [None, (3.5, 2.5), (12, 12)])
def test_many_features_are_ranked_bars(size):
    x = np.random.default_rng(0).normal(size=(50, 2000))
    x[:, 7] *= 30.0
    names = [f"gene {j}{' of a long name' * (j % 3)} {j}" for j in range(2000)]
    pca = PCA(5).fit(x)
    ax = None if size is None else plt.subplots(figsize=size, layout="constrained")[1]
    ax = plot.loadings(pca, ax=ax, feature_names=names)
    n = len(ax.patches) // 3
    assert len(ax.patches) == 3 * n == len(ax.get_yticklabels())
    assert n == 12 or (size == (3.5, 2.5) and 3 <= n < 12)
    for component in range(3):
        sizes = np.array([bar.get_width() for bar in ax.patches[component * n : (component + 1) * n]])
        order = np.argsort(-np.abs(pca.loadings_[:, component]))[:n]
        assert_allclose(sizes, pca.loadings_[order, component])
    assert ax.get_yticklabels()[0].get_text() == "gene 7 of a long name 7" or size == (3.5, 2.5)
    assert [text.get_text()[:5] for text in ax.texts] == ["PC1 (", "PC2 (", "PC3 ("]
    do_not_overlap(sorted([*ax.get_yticklabels(), *ax.texts], key=lambda text: text.get_position()[1]))


def test_the_numbers_of_bars_are_those_asked_for():
    pca = PCA(4).fit(np.random.default_rng(0).normal(size=(30, 40)))
    assert len(plot.loadings(pca, n_components=4, n_features=5).patches) == 20
    assert len(plot.loadings(pca, n_components=1).patches) == 15
    few = PCA(2).fit(np.random.default_rng(0).normal(size=(30, 4)))
    assert len(plot.loadings(few, kind="bars").patches) == 8
    with pytest.raises(ValueError, match="kind = 'table' is not known"):
        plot.loadings(few, kind="table")


@pytest.mark.parametrize(
    "estimator",
    [sklearn.decomposition.PCA(), sklearn.decomposition.TruncatedSVD(5), TruncatedSVD(5), PCA(whiten=True)],
    ids=["sklearn-PCA", "sklearn-SVD", "SVD", "whitened"],
)
def test_other_estimators_are_drawn(estimator, wine):
    x = (wine.data - wine.data.mean()) / wine.data.std()
    estimator.fit(x)
    assert len(plot.scree(estimator, n_components=5).patches) == 5
    assert_allclose(offsets(plot.scores(estimator, x)), estimator.transform(x)[:, :2])
    assert len(texts(plot.biplot(estimator, x))) == 13
    expected = np.corrcoef(x.T, estimator.transform(x)[:, :2].T)[:13, 13:]
    tips = circle_tips(plot.correlation_circle(estimator, x), x.columns)
    assert_allclose(tips, expected, atol=1e-9)
    assert plot.loadings(estimator).images


def test_scores_in_a_data_frame_and_sparse_rows():
    x = sp.random(80, 12, density=0.3, random_state=0, format="csr")
    pca = PCA(3).fit(x)
    expected = np.asarray(pca.transform(x))[:, :2]
    assert_allclose(offsets(plot.scores(pca, x)), expected)
    frame = pd.DataFrame(x.toarray(), columns=[f"c{j}" for j in range(12)])
    pca = PCA(3).set_output(transform="pandas").fit(frame)
    assert_allclose(offsets(plot.scores(pca, frame)), expected, atol=1e-12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, x: plot.scree("model"), "pca is a str; pass a fitted"),
        (lambda p, x: plot.scores(p, x, components=(0, 13)), "has 13, but the model has components 0 to 12"),
        (lambda p, x: plot.scores(p, x, components=(1, 1)), "are the same"),
        (lambda p, x: plot.biplot(PCA(1).fit(x), x), "the model has one component, and a plane needs two"),
        (lambda p, x: plot.scores(p, x, components=3), "give the indices of two components"),
        (lambda p, x: plot.scores(p, x, color_by=[1, 2]), "color_by has 2 entries; X has 178 rows"),
        (lambda p, x: plot.scores(p, x, color_by=np.ones((178, 1))), r"color_by has shape \(178, 1\)"),
        (
            lambda p, x: plot.scores(p, x, color_by="class"),
            r"color_by is 'class'; X has no such column, it has 'alcohol'",
        ),
        (lambda p, x: plot.biplot(p, x, color_by=3), "color_by is 3; give one value for each of the 178 rows of X$"),
        (lambda p, x: plot.scores(p, x, max_groups=0), "max_groups = 0"),
        (lambda p, x: plot.scores(p, x, density="hexbin"), "density = 'hexbin' is not known"),
        (lambda p, x: plot.scores(p, x, ellipses=True), "ellipses = True; give the share"),
        (lambda p, x: plot.scores(p, x, ellipses=95), "ellipses = 95; give the share"),
        (lambda p, x: plot.scores(p, x, hulls="yes"), "hulls = 'yes'"),
        (lambda p, x: plot.scores(p, x, new=x[:3], color_by=[1]), "color_by has 1 entries; new has 3 rows"),
        (lambda p, x: plot.scores(p.fit(x.to_numpy()), x.to_numpy(), labels=True), "takes the index of a data frame"),
        (lambda p, x: plot.biplot(p, x, scaling="both"), "scaling = 'both'"),
        (lambda p, x: plot.biplot(p, x, feature_names=["a"]), "feature_names has 1 names"),
        (lambda p, x: plot.biplot(p, x, n_arrows=0), "n_arrows = 0"),
        (lambda p, x: plot.scree(p, n_components=True), "n_components = True"),
        (
            lambda p, x: plot.correlation_circle(p, x, sample_weight=[1.0]),
            "sample_weight has 1 entries; X has 178 rows",
        ),
    ],
)
def test_mistakes_are_told(wine, call, message):
    with pytest.raises(ValueError, match=message):
        call(PCA().fit(wine.data), wine.data)


def test_an_unfitted_model_is_refused():
    with pytest.raises(ValueError, match="not fitted"):
        plot.scree(PCA())


def test_a_pipeline_is_told_to_pass_its_step(wine):
    from sklearn.pipeline import make_pipeline

    with pytest.raises(ValueError, match="of a pipeline, pass the step that is a PCA"):
        plot.scree(make_pipeline(PCA()).fit(wine.data))


def test_without_matplotlib_the_error_says_what_to_install(pca, monkeypatch):
    importing = builtins.__import__

    def refuse(name, *rest, **more):
        if name.startswith("matplotlib"):
            raise ModuleNotFoundError(f"No module named {name!r}")
        return importing(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", refuse)
    with pytest.raises(ImportError, match=r"pip install 'karhunen\[plot\]'"):
        plot.scree(pca)


def test_importing_the_pictures_does_not_import_matplotlib():
    source = "import sys; from karhunen import plot; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
