"""The likelihood of rows with missing values."""

import numpy as np
import pytest
from compare import assert_allclose
from karhunen import PCA, IncompletePCA, Observed, _core
from scipy.stats import multivariate_normal
from sklearn.model_selection import GridSearchCV


def with_missing(n=120, p=9, rank=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, rank)) * [3.0, 2.0, 1.0] @ rng.normal(size=(rank, p)) + 0.5 * rng.normal(size=(n, p)) + 4.0
    x[rng.random(x.shape) < 0.3] = np.nan
    return x


def densities(x, mean, loadings, scores, noise):
    """Compute the log-likelihood of the rows of x, with the mean and covariance of the scores, by scipy."""
    covariance = loadings @ scores[1] @ loadings.T + noise * np.eye(len(mean))
    found = []
    for row in x:
        seen = ~np.isnan(row)
        if not seen.any():
            found.append(0.0)
            continue
        normal = multivariate_normal((mean + loadings @ scores[0])[seen], covariance[np.ix_(seen, seen)])
        found.append(normal.logpdf(row[seen]))
    return np.array(found)


@pytest.mark.parametrize("method", ["ppca", "vb-full", "vb", "vb-fixed", "map", "auto"])
@pytest.mark.parametrize("row_offsets", [False, True])
def test_scores_are_log_densities_of_what_was_observed(method, row_offsets):
    x = with_missing()
    x[5] = np.nan
    pca = IncompletePCA(3, method=method, row_offsets=row_offsets, max_iter=200, tol=1e-4).fit(x)
    state = _core.to_state(pca._model_now())
    precision, prior_mean = np.asarray(state["prior_precision"]), np.asarray(state["prior_mean"])
    loadings = np.column_stack([pca.components_.T] + [np.ones(9)] * row_offsets)
    used = np.append(pca.singular_values_ > 0, [True] * row_offsets).astype(bool)
    covariance = np.zeros_like(precision)
    covariance[np.ix_(used, used)] = pca.noise_variance_ * np.linalg.inv(precision[np.ix_(used, used)])
    expected = densities(x, pca.mean_, loadings, (prior_mean, covariance), pca.noise_variance_)
    found = pca.score_samples(x)
    assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
    assert found[5] == 0.0
    assert pca.score(x) == pytest.approx(expected.mean(), rel=1e-9)
    weights = np.arange(len(x), dtype=float)
    assert pca.score(x, sample_weight=weights) == pytest.approx(np.average(expected, weights=weights), rel=1e-9)


def test_weights_of_entries_are_precisions():
    x = with_missing()
    rows, columns = np.nonzero(~np.isnan(x))
    weights = np.random.default_rng(1).uniform(0.2, 5.0, len(rows))
    pca = IncompletePCA(2, method="ppca").fit(x)
    found = pca.score_samples(Observed(rows, columns, x[rows, columns], weight=weights, shape=x.shape))
    covariance = pca.components_.T * pca.explained_variance_ @ pca.components_
    for row in range(10):
        seen = columns[rows == row]
        noise = np.diag(pca.noise_variance_ / weights[rows == row])
        normal = multivariate_normal(pca.mean_[seen], covariance[np.ix_(seen, seen)] + noise)
        # At convergence, the scores have the variance of the prior.
        assert found[row] == pytest.approx(normal.logpdf(x[row, seen]), rel=1e-3)


def test_complete_data_have_the_likelihood_of_pca():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(400, 2)) * 3.0 @ rng.normal(size=(2, 6)) + rng.normal(size=(400, 6))
    pca = IncompletePCA(2, method="ppca", tol=1e-12).fit(x)
    # These variances have the divisor n - 1.
    assert pca.score(x) == pytest.approx(PCA(2).fit(x).score(x), rel=1e-4)


def test_grid_search_finds_the_planted_rank():
    search = GridSearchCV(IncompletePCA(method="ppca"), {"n_components": [1, 2, 3, 4, 5]}, cv=4).fit(with_missing(300))
    assert search.best_params_ == {"n_components": 3}


def test_methods_without_variances_say_so():
    x = with_missing()
    assert not hasattr(IncompletePCA(method="em"), "score")
    message = (
        "method = 'em' learns no variances, so it has no likelihood; compare such fits with cross_validate_entries"
    )
    with pytest.raises(AttributeError) as raised:
        IncompletePCA(method="em").fit(x).score_samples(x)
    assert message in (str(raised.value), str(raised.value.__cause__))
    ridge = IncompletePCA(2, regularization=1.0).fit(x)
    with pytest.raises(ValueError, match="method = 'auto' is not allowed: a likelihood needs a method that learns"):
        ridge.score(x)
