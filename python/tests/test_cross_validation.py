"""Cross-validation over entries."""

import numpy as np
import pandas as pd
import pytest
from compare import assert_allclose
from karhunen import EntryCrossValidation, IncompletePCA, Observed, cross_validate_entries
from numpy.testing import assert_array_equal
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
    assert found.mean[found.best_index] == found.mean.min()
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
    assert sorted(labels) == ["lowest", "penalty 0.1 (weighted)", "penalty 1", "simplest near it"]
    drawn = next(line for line in ax.lines if line.get_marker() == "o")
    assert_array_equal(drawn.get_ydata(), found.mean[[0, 2, 4]])
    assert ax.get_xlabel() == "Components"
    penalties = cross_validate_entries(IncompletePCA(3, method="als"), x, regularization=[0.1, 1.0, 10.0])
    ax = plot.cross_validation(penalties)
    assert (ax.get_xlabel(), ax.get_xscale()) == ("Penalty", "log")
    with pytest.raises(ValueError, match="nothing was compared"):
        plot.cross_validation(cross_validate_entries(IncompletePCA(2), x))
    with pytest.raises(ValueError, match="found is a ndarray"):
        plot.cross_validation(x)
