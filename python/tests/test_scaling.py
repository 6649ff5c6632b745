"""Given centres and scales, Pareto and range scaling: equal to fits of rows that were moved and divided beforehand."""

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from karhunen import PCA, IncompletePCA, Scatter
from karhunen.resampling import bootstrap
from karhunen.selection import parallel_analysis
from sklearn.base import clone

SOLVERS = ["svd", "covariance", "gram", "block-krylov"]
CENTERS = np.array([1.0, -2.0, 0.0, 30.0, 0.5])
SCALES = np.array([2.0, 0.25, 1.0, 3.0, 10.0])


@pytest.fixture(scope="module")
def x():
    """Rows with zeros."""
    rng = np.random.default_rng(3)
    return rng.normal(size=(40, 5)) * [1, 2, 3, 4, 5] * (rng.random((40, 5)) < 0.6) + [0, 0, 1, 0, 2]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_given_numbers_equal_moved_rows(x, solver, container, dtype):
    weights = 1.0 + np.arange(40) % 3
    data = container(x.astype(dtype))
    tol = 1e-11 if dtype is np.float64 else 1e-6
    ours = PCA(3, center=CENTERS, scale=SCALES, solver=solver, tol=tol).fit(data, sample_weight=weights)
    moved = (x.astype(dtype).astype(float) - CENTERS) / SCALES
    # R: prcomp(x, center = v, scale. = w) divides by n - 1.
    values = np.linalg.svd(np.sqrt(weights)[:, None] * moved)[1] ** 2 / (weights.sum() - 1)
    rtol = 1e-9 if dtype is np.float64 else 1e-5
    assert_allclose(ours.explained_variance_, values[:3], rtol=rtol)
    assert_allclose(ours.explained_variance_ratio_, values[:3] / values.sum(), rtol=rtol)
    assert_allclose(ours.mean_, CENTERS)
    assert_allclose(ours.scale_, SCALES)
    assert_allclose(ours.transform(data), moved @ ours.components_.T, rtol=1e-4 if rtol > 1e-6 else 1e-9, atol=1e-4)


def test_named_scalings_match_the_definition(x):
    deviation = x.std(axis=0, ddof=1)
    for scale, divisor in [
        ("std", deviation),
        (True, deviation),
        ("pareto", np.sqrt(deviation)),
        ("range", np.ptp(x, axis=0)),
        (np.False_, np.ones(5)),
    ]:
        for data in (x, sp.csr_array(x)):
            named = PCA(2, scale=scale).fit(data)
            assert_allclose(named.scale_, divisor, rtol=1e-13)
            assert_allclose(named.explained_variance_, PCA(2, scale=divisor).fit(data).explained_variance_)
            assert_allclose(named.explained_variance_, PCA(2).fit(x / divisor).explained_variance_)


def test_sums_of_rows_take_given_numbers_and_no_ranges(x):
    sums = Scatter().add(x[:10]).add(x[10:])
    of_rows = PCA(3, center=CENTERS, scale="pareto").fit(x)
    assert_allclose(PCA(3, center=CENTERS, scale="pareto").fit(sums).explained_variance_, of_rows.explained_variance_)
    with pytest.raises(ValueError, match="scale = 'range' is not allowed: moments hold no ranges"):
        PCA(3, scale="range").fit(sums)


def test_a_series_belongs_to_the_columns_of_its_labels(x):
    frame = pd.DataFrame(x, columns=list("abcde"))
    centers, scales = pd.Series(CENTERS, list("abcde")), pd.Series(SCALES, list("abcde"))
    expected = PCA(2, center=CENTERS, scale=SCALES).fit(frame)
    turned = PCA(2, center=centers[::-1], scale=scales.sample(frac=1, random_state=1)).fit(frame)
    assert_allclose(turned.mean_, CENTERS)
    assert_allclose(turned.scale_, SCALES)
    assert_allclose(turned.explained_variance_, expected.explained_variance_)
    # The data have no names, or the labels are none.
    assert_allclose(PCA(2, center=centers).fit(x).mean_, CENTERS)
    assert_allclose(PCA(2, center=pd.Series(CENTERS)).fit(frame).mean_, CENTERS)
    for other, message in [
        (centers.rename({"b": "z"}), "center has no number for column 'b'; its labels are not the columns of X"),
        (pd.concat([centers, pd.Series({"z": 1.0})]), "center has a number for 'z', which is not a column of X"),
        (pd.concat([centers[:4], centers[:1]]), "center has a label twice"),
    ]:
        with pytest.raises(ValueError, match=message):
            PCA(2, center=other).fit(frame)


def test_models_keep_what_was_given(x, tmp_path):
    for options in ({"center": CENTERS, "scale": SCALES}, {"scale": "pareto"}, {"center": False, "scale": "range"}):
        pca = clone(PCA(2, **options)).fit(x)
        pca.save(tmp_path / "m.model")
        for again in (PCA.load(tmp_path / "m.model"), pickle.loads(pickle.dumps(pca))):
            assert_allclose(again.transform(x), pca.transform(x))
            for name, value in options.items():
                found = again.get_params()[name]
                assert np.array_equal(found, value) if isinstance(value, np.ndarray) else found == value
            assert_allclose(clone(again).fit(x).mean_, pca.mean_)
    assert PCA.load(tmp_path / "m.model").get_params()["scale"] == "range"


def test_other_tools_take_the_options(x):
    pca = PCA(2, center=CENTERS, scale=SCALES)
    moved = (x - CENTERS) / SCALES
    found = bootstrap(pca, x, n_draws=50)
    expected = bootstrap(PCA(2, center=False), moved, n_draws=50)
    assert_allclose(found.explained_variance.upper, expected.explained_variance.upper, rtol=1e-8)
    given = parallel_analysis(x, scale=SCALES, n_draws=20)
    assert given.n_components == parallel_analysis(x / SCALES, n_draws=20).n_components
    assert_allclose(pca.fit(x).to_sklearn().transform(x), pca.transform(x))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"center": None}, "center = None is not allowed: give True, False, or one number for each column"),
        ({"center": "mean"}, "center = 'mean' is not allowed"),
        ({"center": 1.0}, "center = 1.0 is not allowed"),
        ({"center": [[1.0] * 5]}, r"center has shape \(1, 5\); give one number for each column"),
        ({"center": [1.0, 2.0]}, "the given centres: 2 values, but 5 are needed"),
        ({"center": [0.0, np.nan, 0, 0, 0]}, "`?center`? of column 1 is NaN: it is subtracted, so it must be finite"),
        ({"scale": "uv"}, "scale = 'uv' is not known; choose one of 'std', 'pareto', 'range', 'binomial'"),
        ({"scale": 2}, "scale = 2 is not allowed: give True, False or one of 'std', 'pareto', 'range', 'binomial'"),
        ({"scale": ["a"] * 5}, "scale cannot be read as numbers"),
        ({"scale": [1.0, 1, 1, 1, 0]}, "scale`? of column 4 is 0: the column is divided by it"),
    ],
)
def test_errors_name_the_option_and_the_column(x, options, message):
    with pytest.raises(ValueError, match=message):
        PCA(2, **options).fit(x)


@pytest.mark.parametrize("code", [-1, 3, 9])
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sp.csr_array, sp.csc_array, pd.DataFrame])
def test_codes_of_missing_genotypes_are_no_counts(code, form):
    x = np.random.default_rng(0).integers(0, 3, size=(30, 6)).astype(float)
    x[7, 2] = x[9, 1] = code
    with pytest.raises(ValueError, match=rf"row 7, column 2.* is {code}, and binomial scales need counts from 0 to 2"):
        PCA(2, scale="binomial").fit(form(x))
    # Rows of weight zero do not count.
    weights = np.ones(30)
    weights[[7, 9]] = 0
    PCA(2, scale="binomial").fit(form(x), sample_weight=weights)


def test_codes_among_observed_entries_and_sums_are_no_counts():
    x = np.random.default_rng(0).integers(0, 3, size=(30, 6)).astype(float)
    x[3, 3] = np.nan
    IncompletePCA(1, scale="binomial").fit(x)
    x[7, 2] = 9
    with pytest.raises(ValueError, match=r"row 7, column 2 is 9, and binomial scales need counts"):
        IncompletePCA(1, scale="binomial").fit(x)
    x[3, 3], x[:, 2] = 0, np.eye(30)[0] * 9
    with pytest.raises(ValueError, match="counts 0, 1, 2 deviate less"):
        PCA(1, scale="binomial").fit(Scatter().add(x))
    # Dosages are rounded.
    x[:, 2] = np.eye(30)[0] * 2.0000002
    PCA(1, scale="binomial").fit(x)
