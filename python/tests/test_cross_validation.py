"""Cross-validation over entries."""

import pickle
from copy import copy

import numpy as np
import pandas as pd
import pytest
from compare import assert_allclose
from karhunen import (
    PCA,
    EntryCrossValidation,
    IncompletePCA,
    IncrementalPCA,
    KernelPCA,
    Observed,
    TruncatedSVD,
    cross_validate_entries,
    diagnostics,
    plot,
    selection,
)
from numpy.testing import assert_array_equal
from sklearn import decomposition
from sklearn.datasets import load_wine
from test_incomplete import planted


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return planted(150, 20, 3, 0.3)[0]


def test_the_planted_rank_is_found(x):
    found = cross_validate_entries(IncompletePCA(method="ppca"), x, n_components=range(1, 7))
    assert isinstance(found, EntryCrossValidation)
    assert found.errors.shape == (6, 5)
    assert [params["n_components"] for params in found.params] == [1, 2, 3, 4, 5, 6]
    assert found.simplest_params == {"n_components": 3}
    assert found.msep[found.best_index] == found.msep.min()
    assert 0.4 < found.mean.min() < 0.7  # the noise is 0.5
    assert_allclose(found.standard_error, found.errors.std(axis=1, ddof=1) / np.sqrt(5))


def test_a_grid_of_components_and_penalties(x):
    pca = IncompletePCA(method="als")
    penalties = [0.5, ("weighted", 0.02), 20.0]
    found = cross_validate_entries(pca, x, n_components=[2, 3], regularization=penalties, n_folds=3)
    assert found.errors.shape == (6, 3)
    expected = [{"n_components": c, "regularization": penalty} for c in (2, 3) for penalty in penalties]
    assert found.params == expected
    assert found.best_params["n_components"] == 3
    # A choice alone has the same errors.
    for place, params in enumerate(expected):
        single = cross_validate_entries(
            IncompletePCA(method="als", n_components=params["n_components"]),
            x,
            regularization=[params["regularization"]],
            n_folds=3,
        )
        assert_array_equal(single.errors[0], found.errors[place])
    assert not hasattr(pca, "n_features_in_")


def test_threads_and_containers_change_no_bit(x):
    frame = pd.DataFrame(x)
    i, j = np.nonzero(~np.isnan(x))
    first = cross_validate_entries(IncompletePCA(n_threads=1), x, n_components=[2, 3])
    for data in (frame, Observed(i, j, x[i, j], shape=x.shape)):
        again = cross_validate_entries(IncompletePCA(n_threads=3), data, n_components=[2, 3])
        assert_array_equal(again.errors, first.errors)
    other = cross_validate_entries(IncompletePCA(random_state=1), x, n_components=[2, 3])
    assert not np.array_equal(other.errors, first.errors)


def test_refusals(x):
    for options, message in [
        ({"n_folds": 1}, "two folds"),
        ({"n_components": [0]}, "n_components = 0"),
        ({"n_components": []}, "n_components is empty"),
        ({"regularization": []}, "regularization is empty"),
        ({"regularization": [None]}, "holds None"),
        ({"regularization": ["path"]}, "holds 'path'"),
        ({"regularization": ["strong"]}, "regularization = 'strong'"),
        ({"n_components": [21]}, "n_components=21"),
    ]:
        with pytest.raises(ValueError, match=message):
            cross_validate_entries(IncompletePCA(method="als"), x, **options)


def test_pictures(x):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from karhunen import plot

    found = cross_validate_entries(
        IncompletePCA(method="als"), x, n_components=[1, 2, 3], regularization=[1.0, ("weighted", 0.1)]
    )
    ax = plot.cross_validation(found)
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(labels) == ["lowest error", "penalty 0.1 (weighted)", "penalty 1", "simplest near it"]
    drawn = next(line for line in ax.lines if line.get_marker() == "o")
    assert_array_equal(drawn.get_ydata(), found.rmse[[0, 2, 4]])
    assert ax.get_xlabel() == "Components"
    penalties = cross_validate_entries(IncompletePCA(3, method="als"), x, regularization=[0.1, 1.0, 10.0])
    ax = plot.cross_validation(penalties)
    assert (ax.get_xlabel(), ax.get_xscale()) == ("Penalty", "log")
    ax = plot.cross_validation(found, kind="share")
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert {"Q², held out, penalty 0.1 (weighted)", "R², fitted, penalty 1"} < set(labels)
    held_out = [line for line in ax.lines if str(line.get_label()).startswith("Q², held out")]
    assert_array_equal(held_out[1].get_ydata(), found.q2[[1, 3, 5]])
    single = cross_validate_entries(IncompletePCA(method="em"), x, n_components=[1, 2, 3])
    ax = plot.cross_validation(single, kind="share")
    drawn = [line.get_ydata() for line in ax.lines if len(line.get_ydata()) == 3]
    assert len(drawn) == 20 + 2
    assert any(np.array_equal(line, single.features.q2[:, 7]) for line in drawn)
    with pytest.raises(ValueError, match="kind"):
        plot.cross_validation(single, kind="errors")
    with pytest.raises(ValueError, match="nothing was compared"):
        plot.cross_validation(cross_validate_entries(IncompletePCA(2), x))
    with pytest.raises(ValueError, match="found is a ndarray"):
        plot.cross_validation(x)


def test_shares_of_complete_data_by_feature():
    wine = load_wine(as_frame=True).data
    found = cross_validate_entries(IncompletePCA(method="em", scale=True), wine, n_components=range(1, 6), n_folds=7)
    shares = diagnostics.r2(PCA(5, scale=True).fit(wine))
    # The iterations stop early.
    assert_allclose(found.r2, shares.total, rtol=1e-3)
    assert found.features.names == list(wine.columns)
    assert found.features.q2.shape == (5, 13)
    # Squares of a feature in squared units of the data.
    spread = ((wine - wine.mean()) ** 2).sum().to_numpy()
    assert_allclose(1 - found.features.press / spread, found.features.q2, rtol=1e-9)
    # Scales and deviations have the divisor n - 1.
    assert_allclose(found.q2, found.features.q2.mean(axis=1), rtol=1e-9)
    assert_allclose(found.press, (1 - found.q2) * 13 * 177, rtol=1e-9)
    assert_allclose(found.msep, found.press / wine.size, rtol=1e-12)
    assert (found.q2 < found.r2).all()
    assert found.q2[4] < found.q2[2]
    table = found.to_frame()
    assert list(table.columns[:3]) == ["n_components", "mean", "standard_error"]
    assert_array_equal(table["q2"], found.q2)


def test_the_rules_read_squared_errors(x):
    found = cross_validate_entries(IncompletePCA(method="ppca"), x, n_components=[1, 2, 3, 4, 6])
    least, within = selection.cross_validation(found)
    assert (least.rule, within.rule) == ("cross-validation", "cross-validation-1se")
    assert (least.n_components, within.n_components) == (3, 3)
    assert (least.range, least.at_edge) == ((0, 6), False)
    assert least.values[0] == found.msep_of_means
    assert_array_equal(least.values[[1, 2, 3, 4, 6]], found.msep)
    assert np.isnan(least.values[5])
    assert selection.to_frame([least, within]).loc["cross-validation", "n_components"] == 3
    short = cross_validate_entries(IncompletePCA(method="ppca"), x, n_components=[1, 2])
    assert selection.cross_validation(short)[0].at_edge
    with pytest.raises(TypeError, match="found is a ndarray"):
        selection.cross_validation(x)


def test_results_of_earlier_versions_have_no_squared_errors(x):
    found = cross_validate_entries(IncompletePCA(method="em"), x, n_components=[1, 2])
    assert_array_equal(pickle.loads(pickle.dumps(found)).q2, found.q2)
    earlier = copy(found)
    state = {name: vars(found)[name] for name in ("params", "errors", "best_index", "simplest_index")}
    vars(earlier).clear()
    earlier.__setstate__(state)
    assert np.isnan(earlier.q2).all()
    assert earlier.best_params == found.best_params
    assert "n_components" in repr(earlier)
    with pytest.raises(ValueError, match="earlier version"):
        selection.cross_validation(earlier)


def test_r2_of_every_estimator():
    wine = load_wine(as_frame=True).data
    weights = np.linspace(0.5, 2.0, 13)
    pca = PCA(4, scale=True).fit(wine, feature_weight=weights)
    found = diagnostics.r2(pca)
    assert_allclose(found.total, np.cumsum(pca.explained_variance_ratio_), rtol=1e-12)
    assert_array_equal(found.features[:, -1], diagnostics.features(pca).communalities)
    # By reconstructions of fewer components.
    scores = pca.transform(wine)
    z = (wine - wine.mean()) / wine.std()
    for k in range(1, 5):
        fitted = scores[:, :k] @ pca.components_[:k] / np.sqrt(weights)
        assert_allclose(found.features[:, k - 1], 1 - ((z - fitted) ** 2).sum() / (z**2).sum(), rtol=1e-9)
    frame = found.to_frame()
    assert list(frame.index[[0, -1]]) == ["alcohol", "total"]
    assert list(frame.columns) == ["PC1", "PC2", "PC3", "PC4"]
    batches = diagnostics.r2(IncrementalPCA(4).fit(wine))
    assert_allclose(batches.total, diagnostics.r2(PCA(4).fit(wine)).total, rtol=1e-6)
    # About zero.
    about_zero = diagnostics.r2(TruncatedSVD(2).fit(wine))
    values = wine.to_numpy()
    u, s, v = np.linalg.svd(values, full_matrices=False)
    left = values - (u[:, :2] * s[:2]) @ v[:2]
    assert_allclose(about_zero.total[1], 1 - (left**2).sum() / (values**2).sum(), rtol=1e-9)
    assert_allclose(about_zero.features[:, 1], 1 - (left**2).sum(axis=0) / (values**2).sum(axis=0), rtol=1e-6)
    theirs = decomposition.PCA().fit(z)
    ours = diagnostics.r2(PCA(scale=True).fit(wine))
    assert_allclose(diagnostics.r2(theirs).features, ours.features, rtol=1e-9)
    incomplete = diagnostics.r2(IncompletePCA(4, method="em", scale=True, tol=1e-12).fit(wine))
    assert_allclose(incomplete.total, ours.total[:4], rtol=1e-6)
    with pytest.raises(TypeError, match="pass a fitted"):
        diagnostics.r2(KernelPCA(2).fit(wine))


def test_means_may_predict_best():
    x = np.random.default_rng(0).normal(size=(100, 8))
    found = cross_validate_entries(IncompletePCA(method="ppca", scale=True), x, n_components=[1, 2, 3])
    assert found.msep_of_means < found.msep.min()
    assert found.best_index is None
    assert found.simplest_index is None
    assert found.best_params == found.simplest_params == {"n_components": 0}
    labels = [text.get_text() for text in plot.cross_validation(found).get_legend().get_texts()]
    assert labels == ["means, better than all"]
