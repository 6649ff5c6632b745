"""Rows with multiplicities above one, or of zero."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
import sklearn
from compare import assert_allclose
from karhunen import IncompletePCA, Observed, cross_validate_entries
from numpy.testing import assert_array_equal
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

#: Gradient methods with a learning rate: rounding may change which step is rejected.
METHODS = [
    "vb-full",
    "vb",
    "vb-fixed",
    "ppca",
    "map",
    "ridge",
    "cg",
    "em",
    "als",
    "ccd",
    "soft",
    "imputation",
    "newton",
]


@pytest.fixture
def x():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(30, 2)) @ rng.normal(size=(2, 8)) * 2 + 0.3 * rng.normal(size=(30, 8))
    x[rng.random(x.shape) < 0.25] = np.nan
    return x


@pytest.fixture
def weights():
    return np.random.default_rng(6).integers(0, 4, 30)


@pytest.mark.parametrize("method", METHODS)
def test_a_weight_is_a_number_of_repetitions(x, weights, method):
    weighted = IncompletePCA(2, method=method).fit(x, sample_weight=weights)
    repeated = IncompletePCA(2, method=method).fit(np.repeat(x, weights, axis=0))
    assert weighted.n_iter_ == repeated.n_iter_
    for name in ("mean_", "components_", "explained_variance_", "explained_variance_ratio_", "noise_variance_"):
        assert_allclose(getattr(weighted, name), getattr(repeated, name), rtol=1e-7, atol=1e-9, err_msg=name)
    assert_allclose(weighted.scores_[np.repeat(np.arange(30), weights)], repeated.scores_, rtol=1e-7, atol=1e-8)
    assert_allclose(weighted.predict(x), repeated.predict(x), rtol=1e-7, atol=1e-8)


def test_it_is_where_a_component_fades():
    # The data of scikit-learn's check, fitted to convergence.
    rng = np.random.RandomState(42)
    x = rng.rand(15, 30)
    weights = rng.randint(0, 5, size=15)
    options = {"method": "vb", "tol": 1e-13, "max_iter": 5000}
    weighted = IncompletePCA(2, **options).fit(x, sample_weight=weights)
    repeated = IncompletePCA(2, **options).fit(np.repeat(x, weights, axis=0))
    assert_allclose(weighted.predict(x), repeated.predict(x), atol=1e-6)


def test_rows_of_weight_zero_are_scored(x, weights):
    pca = IncompletePCA(2)
    scores = pca.fit_transform(x, sample_weight=weights)
    assert pca.n_samples_ == 30
    without = IncompletePCA(2).fit(x[weights > 0], sample_weight=weights[weights > 0])
    assert_allclose(scores, without.transform(x), atol=1e-9)
    value, std = pca.predict(np.flatnonzero(weights == 0), 3, return_std=True)
    assert np.isfinite(value).all()
    assert (std > 0).all()


def test_every_form_of_data_and_weights(x, weights):
    expected = IncompletePCA(2).fit(x, sample_weight=weights).components_
    rows, columns = np.nonzero(~np.isnan(x))
    stored = sp.coo_array((x[rows, columns], (rows, columns)), shape=x.shape)
    for data in (
        x.tolist(),
        pd.DataFrame(x),
        stored,
        stored.tocsc(),
        Observed(rows, columns, x[rows, columns], shape=x.shape),
    ):
        assert_allclose(IncompletePCA(2).fit(data, sample_weight=weights).components_, expected, atol=1e-9)
    for given in (weights.tolist(), pd.Series(weights), weights.astype(np.float32)):
        assert_array_equal(IncompletePCA(2).fit(x, sample_weight=given).components_, expected)
    single = IncompletePCA(2).fit(x.astype(np.float32), sample_weight=weights)
    assert_allclose(single.components_, expected, atol=1e-3)
    assert_allclose(
        IncompletePCA(2).fit(x, sample_weight=3).components_,
        IncompletePCA(2).fit(np.tile(x, (3, 1))).components_,
        atol=1e-9,
    )


def test_they_combine_with_weights_of_entries(x, weights):
    entry_weight = np.random.default_rng(7).uniform(0.5, 2, x.shape)
    both = IncompletePCA(2).fit(x, sample_weight=weights, entry_weight=entry_weight)
    repeated = IncompletePCA(2).fit(
        np.repeat(x, weights, axis=0), entry_weight=np.repeat(entry_weight, weights, axis=0)
    )
    assert_allclose(both.components_, repeated.components_, atol=1e-9)


def test_data_are_used_again_without_weights(x, weights):
    rows, columns = np.nonzero(~np.isnan(x))
    data = Observed(rows, columns, x[rows, columns], shape=x.shape)
    expected = IncompletePCA(2).fit(data).components_
    IncompletePCA(2).fit(data, sample_weight=weights)
    assert_array_equal(IncompletePCA(2).fit(data).components_, expected)


def test_cross_validation_counts_rows(x, weights):
    kept = weights > 0
    found = cross_validate_entries(IncompletePCA(), x, n_components=[1, 2, 3], sample_weight=weights)
    same = cross_validate_entries(IncompletePCA(), x[kept], n_components=[1, 2, 3], sample_weight=weights[kept])
    assert_array_equal(found.errors, same.errors)
    plain = cross_validate_entries(IncompletePCA(), x[kept], n_components=[1, 2, 3])
    assert np.abs(found.errors - plain.errors).max() > 1e-6


def test_they_are_routed(x, weights):
    with sklearn.config_context(enable_metadata_routing=True):
        pca = IncompletePCA(1).set_fit_request(sample_weight=True)
        regression = LinearRegression().set_fit_request(sample_weight=False)
        pipeline = make_pipeline(pca, regression).fit(x, np.ones(30), sample_weight=weights)
    expected = IncompletePCA(1).fit(x, sample_weight=weights)
    assert_array_equal(pipeline[0].components_, expected.components_)


def test_refusals(x):
    for weights, message in [
        (np.ones(5), "sample_weight has 5 entries; X has 30 rows"),
        (np.full(30, -1.0), r"sample_weight\[0\] is -1"),
        (np.zeros(30), "all 30 entries are zero"),
        (["a"] * 30, "sample_weight cannot be read as numbers"),
    ]:
        with pytest.raises(ValueError, match=message):
            IncompletePCA(2).fit(x, sample_weight=weights)
    with pytest.raises(ValueError, match="rows that are learned one after the other have no weights; repeat them"):
        IncompletePCA(2, method="online").fit(x, sample_weight=np.ones(30))
    with pytest.raises(TypeError, match="sample_weight"):
        IncompletePCA(2).partial_fit(x, sample_weight=np.ones(30))


def labelled():
    """Return rows with labels and gaps, and weights of the same labels."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(12, 2)) @ rng.normal(size=(2, 5)) + 0.1 * rng.normal(size=(12, 5))
    x[rng.random(x.shape) < 0.2] = np.nan
    index, columns = [f"r{i}" for i in range(12)], list("abcde")
    return pd.DataFrame(x, index, columns), pd.DataFrame(rng.uniform(0.5, 2, x.shape), index, columns)


def weighted(x, weights):
    return IncompletePCA(1, tol=1e-3).fit(x, entry_weight=weights).components_


def test_weights_of_entries_are_matched_by_label():
    x, weights = labelled()
    expected = weighted(x, weights.to_numpy())
    for permuted in (weights[list("edcba")], weights[::-1], weights.sample(frac=1, axis=1, random_state=0)[::-1]):
        assert_array_equal(weighted(x, permuted), expected)
    frames = pl.DataFrame(x.to_dict("list")), pl.DataFrame(weights[list("badce")].to_dict("list"))
    assert_array_equal(weighted(*frames), expected)
    numbered = [frame.set_axis([10, 20, 30, 40, 50], axis=1) for frame in (x, weights)]
    assert_array_equal(weighted(numbered[0], numbered[1][[50, 10, 20, 40, 30]]), expected)
    # Rows that were sorted or drawn keep the numbers of a default index.
    assert_array_equal(weighted(x.reset_index(drop=True), weights.reset_index(drop=True)[::-1]), expected)
    first, pca = weights[list("edcba")][:6][::-1], IncompletePCA(1)
    by_order = IncompletePCA(1).partial_fit(x[:6], entry_weight=weights[:6].to_numpy())
    assert_array_equal(pca.partial_fit(x[:6], entry_weight=first).components_, by_order.components_)


def test_weights_of_rows_or_columns_are_matched_by_label():
    x, weights = labelled()
    assert_array_equal(weighted(x, weights[["c"]][::-1]), weighted(x, weights[["c"]].to_numpy()))
    assert_array_equal(weighted(x, weights.loc["r3", ::-1]), weighted(x, weights.loc["r3"].to_numpy()))
    assert_array_equal(weighted(x, weights.loc[["r3"], ::-1]), weighted(x, weights.loc["r3"].to_numpy()))


def test_weights_without_labels_are_in_order():
    x, weights = labelled()
    expected = weighted(x, weights.to_numpy())
    plain = pd.DataFrame(weights.to_numpy())
    for data, given in [(x, plain), (x.to_numpy(), weights[::-1])]:
        assert_array_equal(weighted(data, given), weighted(x, given.to_numpy()))
    assert_array_equal(weighted(pd.DataFrame(x.to_numpy()), weights), expected)
    repeated = ["r"] * 12
    assert_array_equal(weighted(x.set_axis(repeated), weights.set_axis(repeated)), expected)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda w: w.rename(columns={"b": "z"}),
            "entry_weight has no column 'b', which X has; give it the labels",
        ),
        (lambda w: w.rename({"r7": "other"}), "entry_weight has no row 'r7', which X has"),
        (lambda w: w["a"].rename(None), "entry_weight has no number for column 'a'; its labels are not the columns"),
    ],
)
def test_other_labels_of_weights_are_refused(change, message):
    x, weights = labelled()
    with pytest.raises(ValueError, match=message):
        IncompletePCA(1).fit(x, entry_weight=change(weights))


def test_labels_of_weights_in_doubt_are_refused():
    x, weights = labelled()
    with pytest.raises(ValueError, match=r"entry_weight has rows 0, 1, 2 ..., of which X has another order"):
        IncompletePCA(1).fit(x.reset_index(drop=True)[::-1], entry_weight=weights.reset_index(drop=True))
    repeated = [*x.index[:-1], "r0"]
    with pytest.raises(ValueError, match="entry_weight has labels of rows that are repeated"):
        IncompletePCA(1).fit(x.set_axis(repeated), entry_weight=weights.set_axis(repeated)[::-1])
