"""Intervals by the bootstrap and the jackknife."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from karhunen import PCA, KernelPCA, TruncatedSVD
from karhunen.resampling import bootstrap, jackknife
from scipy.stats import t


@pytest.fixture(scope="module")
def x():
    rng = np.random.default_rng(0)
    return rng.normal(size=(80, 6)) * [4.0, 2.0, 1.0, 0.7, 0.5, 0.4] + 3.0


def plain(x, k, n_draws, seed):
    """Compute the standard errors of the variances by NumPy."""
    rng = np.random.default_rng(seed)
    drawn = [np.linalg.eigvalsh(np.cov(x[rng.integers(0, len(x), len(x))].T))[::-1][:k] for _ in range(n_draws)]
    return np.std(drawn, axis=0, ddof=1)


def test_errors_match_plain_draws(x):
    found = bootstrap(PCA(3), x, n_draws=3000)
    np.testing.assert_allclose(found.explained_variance.standard_error, plain(x, 3, 3000, 1), rtol=0.08)
    pca = PCA(3).fit(x)
    np.testing.assert_allclose(found.explained_variance.estimate, pca.explained_variance_, rtol=1e-12)
    np.testing.assert_allclose(found.loadings.estimate, pca.components_.T * np.sqrt(pca.explained_variance_), rtol=1e-9)
    for part in (found.explained_variance, found.explained_variance_ratio, found.loadings):
        assert (part.lower < part.estimate).all()
        assert (part.estimate < part.upper).all()
        assert part.lower.shape == part.estimate.shape


def test_storage_threads_and_reruns_change_nothing(x):
    frame = pd.DataFrame(x, columns=list("abcdef"))
    found = bootstrap(PCA(2, scale=True), frame, n_draws=100)
    assert found.names == list("abcdef")
    assert list(found.to_frame().index) == ["PC1", "PC2"]
    for pca, rows in (
        (PCA(2, scale=True, n_threads=1), x),
        (PCA(2, scale=True), sp.csr_array(x)),
        (PCA(2, scale=True), np.asfortranarray(x)),
    ):
        again = bootstrap(pca, rows, n_draws=100)
        np.testing.assert_allclose(again.loadings.upper, found.loadings.upper, rtol=1e-7)
    other = bootstrap(PCA(2, scale=True), x, n_draws=100, random_state=1)
    assert (other.loadings.upper != found.loadings.upper).all()
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.loadings.lower, found.loadings.lower)


def test_wide_data_are_reduced_without_loss(x):
    wide = np.hstack([x, np.zeros((80, 200))])
    tall, reduced = bootstrap(PCA(2), x, n_draws=100), bootstrap(PCA(2), wide, n_draws=100)
    np.testing.assert_allclose(reduced.loadings.lower[:6], tall.loadings.lower, atol=1e-8)
    np.testing.assert_allclose(reduced.loadings.upper[6:], 0.0, atol=1e-8)
    svd = bootstrap(TruncatedSVD(2), wide, n_draws=100)
    np.testing.assert_allclose(
        svd.explained_variance.lower, bootstrap(TruncatedSVD(2), x, n_draws=100).explained_variance.lower
    )


def test_survey_weights_are_kept_and_counts_are_drawn(x):
    weights = np.random.default_rng(1).uniform(0.2, 3.0, 80)
    pca = PCA(2, weighting="importance")
    one = bootstrap(pca, x, weights, n_draws=200)
    other = bootstrap(pca, x, weights * 1e6, n_draws=200)
    np.testing.assert_allclose(other.explained_variance.lower, one.explained_variance.lower, rtol=1e-9)
    counts = np.arange(80) % 3
    found = bootstrap(PCA(2), x, counts, n_draws=3000)
    repeated = bootstrap(PCA(2), np.repeat(x, counts, axis=0), n_draws=3000)
    errors = [part.explained_variance.standard_error for part in (found, repeated)]
    np.testing.assert_allclose(errors[0], errors[1], rtol=0.1)


def test_unsuitable_arguments_are_named(x):
    with pytest.raises(TypeError, match="pca is a KernelPCA"):
        bootstrap(KernelPCA(2), x)
    with pytest.raises(ValueError, match="level = 95 is not allowed"):
        bootstrap(PCA(2), x, level=95)
    with pytest.raises(ValueError, match="n_draws"):
        bootstrap(PCA(2), x, n_draws=10)
    with pytest.raises(ValueError, match="n_draws"):
        bootstrap(PCA(2), x, n_draws=1.5)
    with pytest.raises(ValueError, match="sample_weight"):
        bootstrap(PCA(2), x, np.ones(3))
    with pytest.raises(MemoryError):
        bootstrap(PCA(2), x, n_draws=10**13)
    with pytest.raises(ValueError, match="alignment = 'x' is not known"):
        bootstrap(PCA(2), x, alignment="x")


def test_loadings_of_components_are_less_certain_than_their_plane(x):
    def plain_loadings(n_draws):
        rng = np.random.default_rng(3)
        target = PCA(3).fit(x).loadings_
        for _ in range(n_draws):
            values, vectors = np.linalg.eigh(np.cov(x[rng.integers(0, len(x), len(x))].T))
            loadings = vectors[:, ::-1][:, :3] * np.sqrt(values[::-1][:3])
            yield loadings * np.sign((loadings * target).sum(axis=0))

    signs, rotated = (bootstrap(PCA(3), x, n_draws=2000, alignment=how) for how in ("signs", "procrustes"))
    expected = np.std(list(plain_loadings(2000)), axis=0, ddof=1)
    np.testing.assert_allclose(signs.loadings.standard_error, expected, rtol=0.12)
    assert rotated.loadings.standard_error.sum() < 0.92 * signs.loadings.standard_error.sum()


def test_ends_are_undefined_where_bias_exceeds_the_sampling_error():
    # The first variance of wide noise is several times the variance of the population.
    noise = np.random.default_rng(0).standard_normal((40, 400))
    found = bootstrap(PCA(3), noise, n_draws=100).explained_variance
    assert np.isnan(found.lower).all()
    np.testing.assert_array_equal(np.isnan(found.lower), np.isnan(found.upper))
    assert (found.bias > 0).all()


def tukey(fits, estimate):
    """Compute the standard error and the bias of the jackknife from the values without each row."""
    n = len(fits)
    mean = np.mean(fits, axis=0)
    return np.sqrt((n - 1) / n * ((fits - mean) ** 2).sum(axis=0)), (n - 1) * (mean - estimate)


def test_jackknife_matches_plain_fits(x):
    found = jackknife(PCA(2), x).explained_variance
    values = [np.linalg.eigvalsh(np.cov(np.delete(x, i, axis=0).T))[::-1][:2] for i in range(len(x))]
    error, bias = tukey(np.array(values), found.estimate)
    np.testing.assert_allclose(found.standard_error, error, rtol=1e-8)
    np.testing.assert_allclose(found.bias, bias, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(found.corrected, found.estimate - bias, rtol=1e-9)
    assert ((found.lower < found.estimate) & (found.estimate < found.upper)).all()


def test_jackknife_counts_frequencies_and_leaves_out_survey_rows(x):
    counts = np.arange(80) % 3
    found = jackknife(PCA(2, scale=True), x, counts)
    repeated = jackknife(PCA(2, scale=True), np.repeat(x, counts, axis=0))
    for part in ("explained_variance", "explained_variance_ratio", "loadings"):
        for name in ("standard_error", "bias", "lower", "upper"):
            one, other = (getattr(getattr(result, part), name) for result in (found, repeated))
            np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, 80)
    pca = PCA(2, weighting="population")
    found = jackknife(pca, x, weights).explained_variance
    values = [pca.fit(x, sample_weight=weights * (np.arange(80) != i)).explained_variance_ for i in range(80)]
    np.testing.assert_allclose(found.standard_error, tukey(np.array(values), found.estimate)[0], rtol=1e-8)


def test_groups_of_a_jackknife_follow_the_seed(x):
    one = jackknife(PCA(2), x, n_groups=10).explained_variance
    again = jackknife(PCA(2), x, n_groups=10, random_state=0).explained_variance
    np.testing.assert_array_equal(one.standard_error, again.standard_error)
    other = jackknife(PCA(2), x, n_groups=10, random_state=1).explained_variance
    assert (one.standard_error != other.standard_error).all()
    counts = np.full(80, 2)
    grouped = jackknife(PCA(2), x, counts, n_groups=20).explained_variance
    np.testing.assert_allclose(
        grouped.standard_error, jackknife(PCA(2), x, counts).explained_variance.standard_error, rtol=0.6
    )
    with pytest.raises(ValueError, match="n_groups = 2"):
        jackknife(PCA(2), x, n_groups=2)
    with pytest.raises(ValueError, match="n_groups = 81"):
        jackknife(PCA(2), x, n_groups=81)
    with pytest.raises(ValueError, match="whole"):
        jackknife(PCA(2), x, counts + 0.5, n_groups=5)


def test_groups_of_dependent_rows_stay_together(x):
    labels = np.repeat([f"g{i}" for i in range(16)], 5)
    blocks = jackknife(PCA(2), x, groups=5).explained_variance
    named = jackknife(PCA(2), x, groups=labels).explained_variance
    np.testing.assert_array_equal(blocks.upper, named.upper)
    left_out = np.array([PCA(2).fit(x[labels != label]).explained_variance_ for label in np.unique(labels)])
    deviations = left_out - left_out.mean(axis=0)
    expected = np.sqrt(15 / 16 * (deviations**2).sum(axis=0))
    np.testing.assert_allclose(blocks.standard_error, expected, rtol=1e-9)
    rng = np.random.default_rng(1)
    drawn = [np.concatenate([np.arange(5 * i, 5 * i + 5) for i in rng.integers(0, 16, 16)]) for _ in range(2000)]
    errors = np.std([PCA(2).fit(x[rows]).explained_variance_ for rows in drawn], axis=0, ddof=1)
    found = bootstrap(PCA(2), x, groups=5, n_draws=2000).explained_variance
    np.testing.assert_allclose(found.standard_error, errors, rtol=0.08)
    for groups, said in [
        (labels[:-1], r"shape \(79,\)"),
        ([None, *labels[1:]], "row 0 has no group"),
        (40, "2 groups have weight"),
        (0, "groups"),
    ]:
        with pytest.raises(ValueError, match=said):
            bootstrap(PCA(2), x, groups=groups)
    with pytest.raises(ValueError, match="leave one of them out"):
        jackknife(PCA(2), x, groups=5, n_groups=5)


def test_unequal_weights_leave_fewer_degrees_of_freedom(x):
    weights = np.exp(1.2 * np.random.default_rng(3).normal(size=80))
    kish = weights.sum() ** 2 / (weights**2).sum()
    found = jackknife(PCA(2, weighting="importance"), x, weights).loadings
    half = np.sqrt(found.standard_error**2 + found.bias**2) * t.ppf(0.975, kish - 1)
    np.testing.assert_allclose(found.upper - found.estimate, half, rtol=1e-9)


def test_fractional_counts_are_said(x):
    weights = 500 * np.exp(0.8 * np.random.default_rng(1).normal(size=80))
    said = r"count as \d+ observations \(80 rows\).*weighting = 'importance', and count as"
    for make in (lambda: PCA(2).fit(x, sample_weight=weights), lambda: jackknife(PCA(2), x, weights, n_groups=None)):
        with pytest.warns(UserWarning, match=said):
            make()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PCA(2).fit(x, sample_weight=weights.round())
        PCA(2, weighting="importance").fit(x, sample_weight=weights)


def test_kept_draws_project_rows(x):
    frame = pd.DataFrame(x, columns=list("abcdef"))
    found = bootstrap(PCA(2, scale=True), frame, n_draws=60, keep=True)
    kept = found.replicates
    assert kept.loadings.shape == (60, 6, 2)
    np.testing.assert_allclose(kept.loadings.std(axis=0, ddof=1), found.loadings.standard_error, rtol=1e-9)
    np.testing.assert_allclose(
        kept.explained_variance.std(axis=0, ddof=1), found.explained_variance.standard_error, rtol=1e-9
    )
    np.testing.assert_allclose(kept.pca.loadings_, found.loadings.estimate, rtol=1e-9)
    scores = kept.scores(frame.iloc[:5])
    components = kept.loadings / np.sqrt(kept.explained_variance)[:, None]
    z = (x[:5] - x.mean(axis=0)) / x.std(axis=0, ddof=1)
    np.testing.assert_allclose(scores, np.einsum("ij,bjc->bic", z, components), atol=1e-9)
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.replicates.scores(frame.iloc[:5]), scores)
    assert bootstrap(PCA(2), x, n_draws=20).replicates is None
    with pytest.raises(ValueError, match="keep"):
        bootstrap(PCA(2), x, n_draws=20, keep="yes")


def test_large_counts_take_no_longer_and_one_row_is_refused(x):
    found = bootstrap(PCA(2), x, np.full(80, 1e12), n_draws=100)
    assert (found.explained_variance.standard_error < 1e-4 * found.explained_variance.estimate).all()
    with pytest.raises(ValueError, match="row 0 holds nearly all of the weight"):
        bootstrap(PCA(1), x[:4], [1e3, 1e-9, 1e-9, 1e-9], n_draws=100)


def test_the_weights_of_features_are_those_of_the_fit():
    x = np.random.default_rng(0).normal(size=(40, 4)) * [1.0, 2.0, 3.0, 4.0]
    weights = np.array([4.0, 1.0, 0.5, 0.1])
    pca = PCA(2).fit(x, feature_weight=weights)
    for resample, options in ((bootstrap, {"n_draws": 20}), (jackknife, {})):
        found = resample(pca, x, **options)
        assert_allclose(found.explained_variance_ratio.estimate, pca.explained_variance_ratio_, rtol=1e-10)
        given = resample(PCA(2), x, feature_weight=weights, **options)
        assert_allclose(found.loadings.standard_error, given.loadings.standard_error, rtol=1e-8)
        plain = resample(pca, x, feature_weight=np.ones(4), **options)
        assert_allclose(plain.explained_variance.estimate, PCA(2).fit(x).explained_variance_, rtol=1e-10)
