"""Rows without entries, rows with few, and weights that leave few rows."""

import numpy as np
import pytest
from karhunen import IncompletePCA
from numpy.testing import assert_allclose, assert_array_equal


@pytest.fixture
def x():
    """Rows of two components with missing entries, some without any."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(40, 2)) @ rng.normal(size=(2, 6)) + rng.normal(size=6) + 0.2 * rng.normal(size=(40, 6))
    x[rng.random(x.shape) < 0.3] = np.nan
    x[[4, 17, 39]] = np.nan
    return x


@pytest.mark.parametrize("method", ["em", "als", "newton", "natural", "online", "ppca", "vb-full"])
def test_rows_without_entries_change_nothing_and_are_predicted_by_the_means(x, method):
    seen = ~np.isnan(x).all(axis=1)
    pca = IncompletePCA(2, method=method, max_iter=50, tol=1e-3).fit(x)
    alone = IncompletePCA(2, method=method, max_iter=50, tol=1e-3).fit(x[seen])
    assert_array_equal(pca.components_, alone.components_)
    assert_array_equal(pca.explained_variance_, alone.explained_variance_)
    assert_array_equal(pca.scores_[seen], alone.scores_)
    assert_array_equal(pca.scores_[~seen], 0.0)
    assert_allclose(pca.impute(x)[~seen], np.tile(pca.mean_, (3, 1)))


@pytest.mark.parametrize("method", ["em", "newton"])
def test_new_rows_with_few_entries_have_the_deviations_of_fitted_ones(x, method):
    x[3, 1:] = x[8, 2:] = np.nan
    pca = IncompletePCA(2, method=method, tol=1e-4).fit(x)
    rows = [3, 4, 8, 20]
    _, std = pca.predict(x[rows], return_std=True)
    _, expected = pca.predict(np.reshape(rows, (-1, 1)), np.arange(6), return_std=True)
    # Fitted scores that the entries determine are short of the optimum; the others equal scores of new rows.
    assert_allclose(pca.transform(x[[3]]), pca.scores_[[3]], rtol=1e-9)
    assert_allclose(std, expected, rtol=2e-2)
    assert (std[:2].max(axis=1) > 2 * np.sqrt(pca.noise_variance_)).all()


def test_partial_fit_takes_rows_without_entries(x):
    empty = np.full((3, 6), np.nan)
    with pytest.raises(ValueError, match=r"^none of the 3 x 6 entries is observed; at least one is needed$"):
        IncompletePCA(2).partial_fit(empty)
    pca = IncompletePCA(2).partial_fit(x)
    components = pca.components_
    pca.partial_fit(empty)
    assert pca.n_samples_seen_ == 43
    assert_array_equal(pca.scores_, np.zeros((3, 2)))
    assert_allclose(np.abs(np.sum(pca.components_ * components, axis=1)), 1.0, atol=1e-2)
    fitted = IncompletePCA(2).fit(x).partial_fit(empty)
    assert_allclose(fitted.impute(empty), np.tile(fitted.mean_, (3, 1)))


def test_weights_that_leave_too_few_rows_are_named(x):
    weights = np.zeros(40)
    with pytest.raises(ValueError, match=r"^sample_weight: all 40 entries are zero; at least one must be positive$"):
        IncompletePCA(2).fit(x, sample_weight=weights)
    weights[0] = 3.0
    message = "^sample_weight is not allowed: they are positive for 1 of the 40 rows, and 2 components need at least 2$"
    with pytest.raises(ValueError, match=message):
        IncompletePCA(2).fit(x, sample_weight=weights)
