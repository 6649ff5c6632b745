"""Ids of rows and columns: the index of a frame, the ids of triples."""

import pickle

import numpy as np
import pandas as pd
import pytest
from compare import assert_allclose
from karhunen import IncompletePCA, Observed, cross_validate_entries


def frame(index, columns=("a", "b", "c")):
    rng = np.random.default_rng(0)
    x = np.array([5.0, 0.0, 1.0]) + np.outer(rng.normal(size=8), [1.0, 2.0, -1.0])
    x[2, 1] = x[5, 2] = x[6, 0] = np.nan
    return pd.DataFrame(x, index=index, columns=list(columns))


INDICES = {
    "text": list("stuvwxyz"),
    "numbers": [11, 3, 7, 5, 2, 13, 17, 19],
    "dates": pd.date_range("2026-01-01", periods=8)[::-1],
    "zones": pd.date_range("2026-01-01", periods=8, tz="Europe/Helsinki"),
    "periods": pd.period_range("2026-01", periods=8, freq="M"),
    "levels": pd.MultiIndex.from_product([["u", "v"], [1, 2, 3, 4]]),
    "categories": pd.CategoricalIndex(list("stuvwxyz")),
}


@pytest.mark.parametrize("kind", INDICES)
def test_rows_of_frames_are_asked_for_by_label(kind):
    x = frame(INDICES[kind])
    pca = IncompletePCA(1, method="em").fit(x)
    by_number = IncompletePCA(1, method="em").fit(x.to_numpy())
    expected = by_number.predict([2, 5, 6], [1, 2, 0])
    wanted = [x.index[2], x.index[5], x.index[6]]
    np.testing.assert_array_equal(pca.predict(wanted, ["b", "c", "a"]), expected)
    np.testing.assert_array_equal(pca.predict(x.index[[2, 5, 6]], ["b", "c", "a"]), expected)
    again = pickle.loads(pickle.dumps(pca))
    np.testing.assert_array_equal(again.predict(wanted, ["b", "c", "a"]), expected)
    pd.testing.assert_index_equal(pca.impute(x).index, x.index)
    pd.testing.assert_index_equal(pca.set_output(transform="pandas").transform(x).index, x.index)
    with pytest.raises(ValueError, match="rows: 'nobody' was not among the rows of the fit"):
        pca.predict(["nobody"], ["a"])


def test_dates_are_told_as_text_too(tmp_path):
    pca = IncompletePCA(1, method="em").fit(frame(INDICES["dates"]))
    expected = pca.predict([INDICES["dates"][3]], ["a"])
    assert pca.predict(["2026-01-05"], ["a"]) == expected
    assert pca.predict(np.array(["2026-01-05"], dtype="datetime64[D]"), ["a"]) == expected
    pca.save(tmp_path / "m")
    loaded = IncompletePCA.load(tmp_path / "m")
    assert loaded.row_ids_[3].startswith("2026-01-05")
    assert loaded.predict(loaded.row_ids_[3:4], ["a"]) == expected
    date = INDICES["dates"][3]
    for asked in ([date], [date.to_pydatetime()], [date.to_datetime64()], INDICES["dates"][3:4]):
        assert loaded.predict(asked, ["a"]) == expected


@pytest.mark.parametrize("index", [None, range(8), np.arange(8), list("sssstttt"), [1.0, np.nan, *range(6)]])
def test_rows_without_names_of_their_own_are_numbered(index):
    x = frame(index)
    pca = IncompletePCA(1, method="em").fit(x)
    assert pca.row_ids_ is None
    np.testing.assert_array_equal(pca.predict([2], ["b"]), pca.predict([2], [1]))


def test_labels_are_not_places():
    x = frame(INDICES["numbers"])
    pca = IncompletePCA(1, method="em").fit(x)
    assert pca.predict([3], ["a"]) == pca.predict([11, 3], ["a"])[1] != pca.predict([5], ["a"])
    with pytest.raises(ValueError, match="rows: 0 was not among the rows of the fit"):
        pca.predict([0], ["a"])


def test_columns_that_are_numbers(tmp_path):
    x = frame(None, [2019, 2021, 2020])
    pca = IncompletePCA(1, method="em").fit(x)
    expected = IncompletePCA(1, method="em").fit(x.to_numpy()).predict([2, 5], [1, 2])
    np.testing.assert_array_equal(pca.predict([2, 5], [2021, 2020]), expected)
    pca.save(tmp_path / "m")
    np.testing.assert_array_equal(IncompletePCA.load(tmp_path / "m").predict([2, 5], [2021, 2020]), expected)
    with pytest.raises(ValueError, match="columns: 1 was not among the columns of the fit"):
        pca.predict([2], [1])


def test_frames_and_triples_have_the_same_columns():
    x = frame(INDICES["text"])
    pca = IncompletePCA(1, method="em").fit(x)
    seen = x.stack().dropna()
    triples = Observed(*(seen.index.get_level_values(level) for level in (0, 1)), seen.to_numpy())
    assert_allclose(pca.transform(triples), pca.transform(x), rtol=1e-12)


def test_ids_of_partial_fits_belong_to_the_last_rows():
    rng = np.random.default_rng(0)
    x = pd.DataFrame(np.outer(rng.normal(size=60), [1.0, 2.0, -1.0]), index=[f"r{i}" for i in range(60)])
    pca = IncompletePCA(1)
    for rows in (x[:30], x[30:]):
        pca.partial_fit(rows)
    assert pca.row_ids_.tolist() == x.index[30:].tolist()
    assert pca.predict(["r31"], [0]) == pytest.approx(pca.mean_[0] + pca.scores_[1] @ pca.components_[:, 0])
    with pytest.raises(ValueError, match="rows: 'r1' was not among the rows"):
        pca.predict(["r1"], [0])


def test_cross_validation_takes_labels():
    found = cross_validate_entries(IncompletePCA(1, method="em"), frame(INDICES["text"]), n_folds=2)
    assert found.errors.shape == (1, 2)


LARGE = np.array([76561197960287930, 76561197960287931, 76561197960287933, 76561197960287935])


def of_large_ids(dtype):
    ids = np.repeat(LARGE.astype(dtype), 3)
    return IncompletePCA(1, method="em", n_starts=1).fit(Observed(ids, np.tile(["a", "b", "c"], 4), np.arange(12.0)))


@pytest.mark.parametrize("fitted", ["int64", "uint64", "object"])
@pytest.mark.parametrize("asked", ["int64", "uint64", "object"])
def test_large_ids_are_found_in_every_type(fitted, asked):
    expected = of_large_ids("int64").predict(LARGE, ["a"] * 4)
    pca = of_large_ids(fitted)
    np.testing.assert_array_equal(pca.predict(LARGE.astype(asked), ["a"] * 4), expected)
    with pytest.raises(ValueError, match="rows: 76561197960287932 was not among the rows of the fit"):
        pca.predict(np.array([76561197960287932]).astype(asked), ["a"])


def test_ids_beyond_a_type_are_unknown():
    pca = of_large_ids("int64")
    with pytest.raises(ValueError, match="rows: 18446744073709551615 was not among"):
        pca.predict(np.array([2**64 - 1], dtype=np.uint64), ["a"])
    with pytest.raises(ValueError, match="rows: -1 was not among"):
        of_large_ids("uint64").predict(np.array([-1]), ["a"])
    small = IncompletePCA(1, method="em", n_starts=1).fit(
        Observed(np.repeat(np.arange(4, dtype=np.int8), 3), np.tile([0, 1, 2], 4), np.arange(12.0))
    )
    with pytest.raises(ValueError, match="rows: 257 was not among"):
        small.predict(np.array([257]), [0])
    with pytest.raises(ValueError, match="rows: -255 was not among"):
        small.predict(np.array([-255]), [0])


def test_large_ids_as_floats_are_refused():
    message = r"rows: 76561197960287936 is a float of 2\*\*53 or more"
    with pytest.raises(ValueError, match=message):
        of_large_ids("int64").predict(LARGE.astype(float), ["a"] * 4)
    with pytest.raises(ValueError, match=message):
        of_large_ids(float)


def test_unknown_pairs_may_be_nan():
    ids = np.repeat(["u", "v", "w", "t"], 3)
    entries = Observed(ids, np.tile(["a", "b", "c"], 4), np.arange(12.0))
    pca = IncompletePCA(1, method="em", n_starts=1).fit(entries)
    rows, columns = ["u", "new", "v", "w"], ["a", "a", "z", "c"]
    values, std = pca.predict(rows, columns, unknown="nan", return_std=True)
    lower, upper = pca.predict_interval(rows, columns, unknown="nan")
    for found in (values, std, lower, upper):
        assert list(np.isnan(found)) == [False, True, True, False]
    np.testing.assert_array_equal(values[[0, 3]], pca.predict(["u", "w"], ["a", "c"]))
    with pytest.raises(ValueError, match="rows: 'new' was not among"):
        pca.predict(rows, columns)
    with pytest.raises(ValueError, match="unknown = 'nan' needs pairs of rows and columns"):
        pca.predict(np.ones((2, 2)), unknown="nan")
    plain = IncompletePCA(1, method="em", n_starts=1).fit(np.arange(12.0).reshape(4, 3))
    assert list(np.isnan(plain.predict([0, -1, 4, 3], [0, 0, 0, 9], unknown="nan"))) == [False, True, True, True]
