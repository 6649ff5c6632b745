"""A noise variance of each feature against scikit-learn's factor analysis, and through files."""

import pickle

import numpy as np
import pytest
from karhunen import IncompletePCA, cross_validate_entries
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.decomposition import FactorAnalysis


@pytest.fixture(scope="module")
def x():
    rng = np.random.default_rng(3)
    low = rng.normal(size=(400, 2)) @ rng.normal(size=(2, 8))
    return low + np.geomspace(0.2, 1.5, 8) * rng.normal(size=low.shape)


def with_missing(x):
    out = np.random.default_rng(4).random(x.shape) < 0.2
    return np.where(out, np.nan, x), out


def test_complete_data_have_the_factors_of_scikit_learn(x):
    peer = FactorAnalysis(2, tol=1e-10, max_iter=10000).fit(x)
    pca = IncompletePCA(2, method="ppca", noise="feature", tol=1e-9).fit(x)
    # The prior of the noise is worth two of 400 entries, and the likelihood is flat in the smallest ones.
    assert_allclose(pca.noise_variance_ * pca.scale_**2, peer.noise_variance_, rtol=0.2)
    assert abs(pca.score(x) - peer.score(x)) < 0.01
    bases = (np.linalg.svd(axes, full_matrices=False)[2] for axes in (peer.components_, pca.components_ * pca.scale_))
    span, other = bases
    assert np.linalg.svd(span @ other.T)[1].min() > 0.999


def test_models_come_back_with_their_noise(x):
    missing, out = with_missing(x)
    pca = IncompletePCA(2, noise="feature").fit(missing)
    again = pickle.loads(pickle.dumps(pca))
    assert again.noise == "feature"
    assert_array_equal(again.transform(missing), pca.transform(missing))
    assert_array_equal(again.scale_, pca.scale_)
    values = pca.predict(*np.nonzero(out))
    assert_allclose(pca.impute(missing)[out], values)


def test_cross_validation_learns_the_noise(x):
    missing, _ = with_missing(x)
    shared, feature = (
        cross_validate_entries(IncompletePCA(2, noise=noise), missing, n_folds=3) for noise in ("shared", "feature")
    )
    assert_array_equal(feature.n_apart, 0)
    assert (feature.mean < 1.05 * shared.mean).all()


def test_fits_that_have_one_noise_refuse(x):
    with pytest.raises(ValueError, match="noise = 'feature' is not allowed: rows that are learned one after the other"):
        IncompletePCA(2, noise="feature").partial_fit(x)
    with pytest.raises(ValueError, match="leave scale out"):
        IncompletePCA(2, noise="feature", scale=True).fit(x)
