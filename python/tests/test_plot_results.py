"""Plots of results: numbers of components and intervals, read back from the artists."""

import numpy as np
import pytest
from compare import assert_allclose
from karhunen import PCA, plot, resampling, selection
from sklearn.datasets import load_wine

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402
from karhunen.plot._parts.axes import GREY  # noqa: E402


@pytest.fixture(autouse=True)
def _figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


def test_selection_marks_the_number_of_each_rule(wine):
    found = [*selection.rules(PCA(scale=True).fit(wine)), selection.parallel_analysis(wine, scale=True, n_draws=20)]
    ax = plot.selection(iter(found))
    marks = [line for line in ax.lines if line.get_marker() == "o"]
    assert [int(line.get_xdata()[0]) for line in marks] == [row.n_components for row in found]
    hollow = [line.get_markerfacecolor() == "white" for line in marks]
    assert hollow == [row.at_edge for row in found]
    assert "hollow" in ax.get_xlabel()
    assert [text.get_text() for text in ax.get_yticklabels()] == [row.rule for row in found]
    (line,) = [line for line in ax.lines if line.get_linestyle() == ":" and line.get_color() == GREY]
    assert list(line.get_xdata()) == [3, 3]
    assert "Suggested: 3, by parallel-permutation" in ax.get_xlabel()


def test_selection_shows_variances_and_thresholds(wine):
    pca = PCA(scale=True).fit(wine)
    found = [*selection.rules(pca), selection.parallel_analysis(wine, scale=True, n_draws=20)]
    ax = plot.selection(found)
    (strip,) = ax.child_axes
    curve, *lines = strip.lines
    assert_allclose(curve.get_ydata(), pca.explained_variance_)
    compared = [row for row in found if row.thresholds is not None]
    assert [line.get_label() for line in lines] == [row.rule for row in compared]
    drawn = {line.get_label(): line for line in lines}
    assert_allclose(drawn["kaiser"].get_ydata(), np.ones(13))
    assert_allclose(drawn["parallel-permutation"].get_ydata(), found[-1].thresholds)
    stick = np.array([np.sum(1.0 / np.arange(k, 14)) for k in range(1, 14)])
    assert_allclose(drawn["broken-stick"].get_ydata(), stick)
    # The variances cross every threshold where its rule stops; markers have the colour of the line.
    marks = [line for line in ax.lines if line.get_marker() == "o"]
    for row, mark in zip(found, marks, strict=True):
        if row.thresholds is not None:
            above = pca.explained_variance_ > drawn[row.rule].get_ydata()
            assert above[: row.n_components].all()
            assert not above[row.n_components]
            assert mark.get_color() == drawn[row.rule].get_color()
    # Shares where no rule has variances, and no curve without thresholds.
    few = selection.rules(PCA(3, scale=True, solver="block-krylov").fit(wine))
    (strip,) = plot.selection(few).child_axes
    assert strip.get_ylabel() == "Share of variance"
    assert_allclose(strip.lines[0].get_ydata(), pca.explained_variance_ratio_[:3])
    assert not plot.selection([row for row in found if row.thresholds is None]).child_axes
    (strip,) = plot.selection([row for row in found if row.rule == "gavish-donoho"]).child_axes
    assert_allclose(strip.lines[0].get_ydata()[:3], pca.singular_values_[:3] ** 2)


def test_selection_says_which_rules_do_not_apply(wine):
    found = selection.rules(PCA(3, scale=True, solver="block-krylov").fit(wine))
    idle = [row.rule for row in found if row.n_components is None]
    assert idle
    ax = plot.selection(found)
    assert sum(text.get_text() == "does not apply" for text in ax.texts) == len(idle)
    for wrong in ([], [3], 3, "kaiser"):
        with pytest.raises(ValueError, match="found holds no results"):
            plot.selection(wrong)


def test_intervals_show_the_bootstrap(wine):
    found = resampling.bootstrap(PCA(3, scale=True).fit(wine), wine, n_draws=60)
    ax = plot.intervals(found)
    ends = np.array([segment[:, 1] for segment in ax.collections[0].get_segments()])
    shares = found.explained_variance_ratio
    assert_allclose(ends, 100.0 * np.column_stack([shares.lower, shares.upper]))
    ax = plot.intervals(found, component=2, n_features=5)
    order = np.argsort(-np.abs(found.loadings.estimate[:, 2]))[:5]
    ends = np.array([segment[:, 0] for segment in ax.collections[0].get_segments()])
    assert_allclose(ends, np.column_stack([found.loadings.lower, found.loadings.upper])[order][:, [2, 5]])
    assert [text.get_text() for text in ax.get_yticklabels()] == [found.names[j] for j in order]
    points = np.vstack([marks.get_offsets() for marks in ax.collections[1:]])
    assert_allclose(np.sort(points[:, 0]), np.sort(found.loadings.estimate[order, 2]))
    for wrong in ({"component": 3}, {"component": True}, {"n_features": 2}, {"component": 0, "n_features": 0}):
        with pytest.raises(ValueError, match=r"component|n_features"):
            plot.intervals(found, **wrong)
    with pytest.raises(ValueError, match="pass the result of"):
        plot.intervals(wine)


def ellipses_of(ax):
    """Return the outlines of the ellipses of an Axes."""
    (edges,) = [part for part in ax.collections if len(part.get_paths()) and not len(part.get_facecolor())]
    return [path.vertices[:-1] for path in edges.get_paths()]


def test_clouds_show_the_draws(wine):
    found = resampling.bootstrap(PCA(3, scale=True), wine, n_draws=80, keep=True)
    ax = plot.bootstrap(found, components=(0, 2), level=0.9)
    drawn = ellipses_of(ax)
    assert len(drawn) == 13
    tips = found.loadings.estimate[:, [0, 2]]
    order = np.argsort(-np.hypot(*tips.T), kind="stable")
    clouds = found.replicates.loadings[:, order][:, :, [0, 2]]
    for i, outline in enumerate(drawn):
        deviations = np.linalg.solve(
            np.linalg.cholesky(np.cov(clouds[:, i].T)), (outline - clouds[:, i].mean(axis=0)).T
        )
        # All corners are at the distance that holds 90% of a normal distribution.
        assert_allclose(np.hypot(*deviations), np.sqrt(-2.0 * np.log(0.1)))
    arrows = [text for text in ax.texts if text.get_text() == ""]
    assert_allclose(np.array([text.xy for text in arrows]), tips[order])
    assert len(ellipses_of(plot.bootstrap(found, n_ellipses=4))) == 4

    rows = plot.bootstrap(found, wine.iloc[:20], kind="ellipses", color_by=np.repeat([0, 1], 10))
    drawn = ellipses_of(rows)
    scores = found.replicates.scores(wine.iloc[:20])[:, :, :2]
    middles = np.array([outline.mean(axis=0) for outline in drawn])
    assert_allclose(middles, scores.mean(axis=0), atol=1e-9)
    few = plot.bootstrap(found, wine.iloc[:5], kind="points")
    clouds = [part.get_offsets() for part in few.collections if len(part.get_offsets()) == 80]
    assert_allclose(np.array(clouds), np.swapaxes(scores[:, :5], 0, 1), atol=1e-9)


def test_clouds_refuse_what_they_cannot_draw(wine):
    found = resampling.bootstrap(PCA(2), wine, n_draws=20)
    with pytest.raises(ValueError, match="keep=True"):
        plot.bootstrap(found)
    found = resampling.bootstrap(PCA(2), wine, n_draws=20, keep=True)
    for wrong in (
        {"kind": "x"},
        {"level": 2},
        {"components": (0, 2)},
        {"n_ellipses": 0},
        {"color_by": [1]},
        {"labels": True},
    ):
        with pytest.raises(ValueError, match=r"kind|level|components|n_ellipses|color_by|labels"):
            plot.bootstrap(found, **wrong)
