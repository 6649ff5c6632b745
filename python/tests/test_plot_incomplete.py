"""Plots of fits of incomplete data."""

import numpy as np
import pytest
from compare import assert_allclose
from karhunen import PCA, IncompletePCA, diagnostics, plot
from test_incomplete import planted

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return planted(120, 15, 2, 0.5)[0]


def test_convergence_draws_both_errors(x):
    pca = IncompletePCA(2, method="newton", early_stopping=0.1).fit(x)
    ax = plot.convergence(pca)
    fitted, aside = ax.lines
    np.testing.assert_array_equal(fitted.get_ydata(), pca.convergence_.rmses)
    np.testing.assert_array_equal(fitted.get_xdata(), pca.convergence_.iterations)
    seen = ~np.isnan(pca.convergence_.held_out_rmses)
    np.testing.assert_array_equal(aside.get_ydata(), pca.convergence_.held_out_rmses[seen])
    assert fitted.get_color() == aside.get_color()
    assert ax.get_xlabel() == "Iteration"
    other = IncompletePCA(2, method="em").fit(x)
    assert plot.convergence(other, label="EM", ax=ax) is ax
    assert ax.lines[2].get_color() != fitted.get_color()
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["newton", "newton, held out", "EM"]
    by_time = plot.convergence(other, by="seconds")
    np.testing.assert_array_equal(by_time.lines[0].get_xdata(), other.convergence_.seconds)
    assert by_time.get_xlabel() == "Seconds"


def test_ellipses_have_the_axes_of_the_covariances(x):
    pca = IncompletePCA(2).fit(x)
    ax = plot.scores(pca, x, deviations=2)
    (ellipses,) = [c for c in ax.collections if type(c).__name__ == "EllipseCollection"]
    scores, covariances = pca.transform(x, return_covariance=True)
    np.testing.assert_array_equal(ellipses.get_offsets(), scores)
    for i in (0, 50):
        # Half the widths and heights, and angles in radians; older versions of matplotlib have no other accessors.
        width, height, angle = ellipses._widths[i], ellipses._heights[i], ellipses._angles[i]
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        rebuilt = turn @ np.diag([(width / 2) ** 2, (height / 2) ** 2]) @ turn.T
        assert_allclose(rebuilt, covariances[i], rtol=1e-4)
    left, right = ax.get_xlim()
    assert left < (scores[:, 0] - 2 * np.sqrt(covariances[:, 0, 0])).min()
    assert right > (scores[:, 0] + 2 * np.sqrt(covariances[:, 0, 0])).max()


def test_other_pictures_take_incomplete_fits(x):
    pca = IncompletePCA(2).fit(x)
    assert len(plot.scree(pca).patches) == 2
    plot.loadings(pca)
    plot.biplot(pca, x)
    found = diagnostics.features(pca)
    tips = {text.get_text(): text.xy for text in plot.correlation_circle(pca).texts if text.get_text()}
    assert_allclose([tips[name] for name in found.names], found.correlations)
    order = np.argsort(-found.communalities)
    lengths = np.reshape([bar.get_width() for bar in plot.cos2(pca).patches], (2, 15)).T
    assert_allclose(lengths, found.cos2[order])
    shares = [bar.get_width() for bar in plot.contributions(pca).patches]
    assert_allclose(shares, 100.0 * np.sort(found.contributions[:, 0])[::-1])
    # Of the data the observed entries alone.
    measured = diagnostics.correlations(pca.transform(x), x).correlations
    tips = {text.get_text(): text.xy for text in plot.correlation_circle(pca, x).texts if text.get_text()}
    assert_allclose([tips[name] for name in found.names], measured)


def test_what_cannot_be_drawn(x):
    complete = np.nan_to_num(x)
    with pytest.raises(ValueError, match="only fits of IncompletePCA"):
        plot.convergence(PCA(2).fit(complete))
    with pytest.raises(ValueError, match="the scores of a PCA are not"):
        plot.scores(PCA(2).fit(complete), complete, deviations=1)
    pca = IncompletePCA(2).fit(x)
    with pytest.raises(ValueError, match="by = 'cost'"):
        plot.convergence(pca, by="cost")
    with pytest.raises(ValueError, match="deviations = 0"):
        plot.scores(pca, x, deviations=0)
    with pytest.raises(ValueError, match="partial_fit makes none"):
        plot.convergence(IncompletePCA(2).partial_fit(x))
