"""Accepted forms of incomplete data, and messages for others."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from karhunen import PCA, IncompletePCA, Observed
from numpy.testing import assert_array_equal
from problem_q import problem
from sklearn.exceptions import ConvergenceWarning

NAMES = [f"q{j}" for j in range(12)]


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return problem()[0]


def components(data, **options) -> np.ndarray:
    return IncompletePCA(2, method="als", tol=0.99).fit(data, **options).components_


def stored(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    i, j = np.nonzero(~np.isnan(x))
    return i, j, x[i, j]


FORMS = {
    "fortran": np.asfortranarray,
    "strides": lambda x: np.repeat(np.repeat(x, 2, 0), 3, 1)[::2, ::3],
    "reversed": lambda x: x[::-1][::-1],
    "list": lambda x: x.tolist(),
    "object with None": lambda x: np.where(np.isnan(x), None, x.astype(object)),
    "masked": lambda x: np.ma.array(np.nan_to_num(x, nan=7.0), mask=np.isnan(x)),
    "pandas": lambda x: pd.DataFrame(x, columns=NAMES),
    "pandas nullable": lambda x: pd.DataFrame(x, columns=NAMES).convert_dtypes(),
    "polars null": lambda x: pl.DataFrame(x, schema=NAMES).fill_nan(None),
    "polars nan": lambda x: pl.DataFrame(x, schema=NAMES),
    "pyarrow": lambda x: pa.Table.from_pandas(pd.DataFrame(x, columns=NAMES)),
    "csr": lambda x: sp.csr_array((stored(x)[2], stored(x)[:2]), shape=x.shape),
    "csc matrix": lambda x: sp.csc_matrix((stored(x)[2], stored(x)[:2]), shape=x.shape),
    "coo": lambda x: sp.coo_array((stored(x)[2], stored(x)[:2]), shape=x.shape),
    "coo of int64": lambda x: sp.coo_array((stored(x)[2], tuple(np.int64(i) for i in stored(x)[:2])), shape=x.shape),
    "lil": lambda x: sp.lil_array(sp.coo_array((stored(x)[2], stored(x)[:2]), shape=x.shape)),
    "dok": lambda x: sp.dok_array(sp.coo_array((stored(x)[2], stored(x)[:2]), shape=x.shape)),
    "csr not sorted": lambda x: _shuffled(x),
    "csr with NaN": lambda x: sp.csr_array((x.ravel(), np.indices(x.shape).reshape(2, -1)), shape=x.shape),
    "triples": lambda x: Observed(*stored(x), shape=x.shape),
    "triples backwards": lambda x: Observed(*(array[::-1] for array in stored(x)), shape=x.shape),
    "triples of ids": lambda x: Observed(*stored(x)),
}
if pd.__version__ >= "2":
    FORMS["pandas pyarrow"] = lambda x: pd.DataFrame(x, columns=NAMES).astype(pd.ArrowDtype(pa.float64()))


def _shuffled(x: np.ndarray) -> sp.csr_array:
    i, j, values = stored(x)
    order = np.lexsort((-j, i))
    pointers = np.searchsorted(i, np.arange(len(x) + 1))
    return sp.csr_array((values[order], j[order], pointers), shape=x.shape)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_components(x, form):
    data = FORMS[form](x)
    before = repr(data)
    assert_array_equal(components(data), components(x))
    assert repr(data) == before


def test_float32_stays_float32(x):
    single = x.astype(np.float32)
    pca = IncompletePCA(2).fit(single)
    assert pca.transform(single).dtype == np.float32
    assert pca.impute(single).dtype == np.float32
    assert pca.fit_transform(single).dtype == np.float32
    assert pca.transform(x).dtype == np.float64
    assert pca.components_.dtype == np.float64
    i, j, values = stored(single)
    assert_array_equal(components(sp.coo_array((values, (i, j)), shape=x.shape)), components(single))
    assert Observed([0, 1], [0, 1], np.float32([1, 2])).dtype == np.float32


def test_integers_and_their_missing_values():
    frame = pd.DataFrame({"a": pd.array([1, 2, None, 4], "Int64"), "b": [2, 4, 6, 9], "c": [True, False, True, True]})
    expected = np.array([[1, 2, 1], [2, 4, 0], [np.nan, 6, 1], [4, 9, 1.0]])
    assert_array_equal(components(frame), components(expected))
    assert_array_equal(
        components(sp.csr_array(np.array([[1, 2], [3, 4], [5, 7]]))), components(np.array([[1, 2], [3, 4], [5, 7.0]]))
    )


def test_explicit_zeros_are_observed():
    dense = np.array([[0.0, 1.0, np.nan], [2.0, 0.0, 3.0], [np.nan, 4.0, 0.0], [1.0, 1.0, 1.0]])
    data = sp.csr_array((stored(dense)[2], stored(dense)[:2]), shape=dense.shape)
    assert data.nnz == 10
    assert_array_equal(components(data), components(dense))
    without = data.copy()
    without.eliminate_zeros()
    assert not np.allclose(components(without), components(dense))


def test_what_comes_back_is_what_was_given(x):
    frame = pd.DataFrame(x, columns=NAMES, index=[f"r{i}" for i in range(40)]).assign(whole=range(40, 0, -1))
    pca = IncompletePCA(2).fit(frame)
    filled = pca.impute(frame)
    assert isinstance(filled, pd.DataFrame)
    assert_array_equal(filled.index, frame.index)
    assert_array_equal(filled.columns, frame.columns)
    assert filled["whole"].dtype == frame["whole"].dtype
    assert not filled.isna().any().any()
    array = frame.to_numpy()
    unnamed = IncompletePCA(2).fit(array)
    expected = unnamed.impute(array)
    assert_array_equal(filled.to_numpy(), expected)
    assert frame.isna().sum().sum() == 166
    polars = pca.impute(pl.from_pandas(frame))
    assert isinstance(polars, pl.DataFrame)
    assert polars.columns == [*NAMES, "whole"]
    assert polars["whole"].dtype == pl.Int64
    assert_array_equal(polars.to_numpy(), expected)
    table = pca.impute(pa.Table.from_pandas(frame, preserve_index=False))
    assert isinstance(table, pa.Table)
    assert_array_equal(table.to_pandas().to_numpy(), expected)
    batch = pa.RecordBatch.from_pandas(frame, preserve_index=False)
    assert isinstance(pca.impute(batch), pa.RecordBatch)
    assert_array_equal(pca.impute(batch).to_pandas().to_numpy(), expected)
    i, j, values = stored(array)
    assert_array_equal(unnamed.impute(sp.csr_array((values, (i, j)), shape=(40, 13))), expected)


def test_set_output_and_names(x):
    frame = pd.DataFrame(x, columns=NAMES, index=range(5, 45))
    pca = IncompletePCA(2).set_output(transform="pandas").fit(frame)
    scores = pca.transform(frame)
    assert scores.columns.tolist() == ["incompletepca0", "incompletepca1"]
    assert scores.index.tolist() == list(range(5, 45))
    with_covariance, covariances = pca.transform(frame, return_covariance=True)
    assert isinstance(with_covariance, pd.DataFrame)
    assert covariances.shape == (40, 2, 2)
    assert pca.feature_names_in_.tolist() == NAMES
    assert isinstance(pca.set_output(transform="polars").transform(frame), pl.DataFrame)
    assert_array_equal(pca.predict([8, 9], ["q5", "q1"]), IncompletePCA(2).fit(x).predict([3, 4], [5, 1]))
    with pytest.raises(ValueError, match="columns: 'q12' was not among the columns of the fit"):
        pca.predict([8], ["q12"])
    numbered = IncompletePCA(2).fit(pd.DataFrame(x, columns=NAMES))
    assert_array_equal(numbered.predict([3, 4], ["q5", "q1"]), numbered.predict([3, 4], [5, 1]))


@settings(max_examples=60, deadline=None)
@given(
    hnp.arrays(
        st.sampled_from([np.float32, np.float64]),
        hnp.array_shapes(min_dims=2, max_dims=2, min_side=3, max_side=8),
        elements=st.one_of(st.just(np.nan), st.integers(-9, 9).map(float)),
    ),
    st.sampled_from(["C", "F", "reversed", "sparse", "triples"]),
)
def test_impute_leaves_observed_values_alone(data, form):
    if np.isnan(data).all():
        with pytest.raises(ValueError, match="none of the"):
            IncompletePCA(1).fit(data)
        return
    given_as = {
        "C": np.ascontiguousarray,
        "F": np.asfortranarray,
        "reversed": lambda x: np.ascontiguousarray(x[::-1, ::-1])[::-1, ::-1],
        "sparse": lambda x: sp.coo_array((stored(x)[2], stored(x)[:2]), shape=x.shape),
        "triples": lambda x: Observed(*stored(x), shape=x.shape),
    }[form](data)
    with warnings.catch_warnings():
        # Some of these tables fall into parts.
        warnings.simplefilter("ignore", ConvergenceWarning)
        pca = IncompletePCA(1, method="als", tol=0.99).fit(given_as)
    filled = pca.impute(given_as)
    assert filled.dtype == data.dtype
    assert np.isfinite(filled).all()
    seen = ~np.isnan(data)
    assert filled[seen].tobytes() == data[seen].tobytes()


def test_ratings_by_their_ids():
    users = np.array(["u9", "u2", "u2", "u5", "u9", "u5"])
    films = [(1, "a"), (1, "a"), (2, "b"), (2, "b"), (0, "c"), (0, "c")]
    ratings = Observed(users, films, [5, 4, 3, 2, 1, 2])
    assert ratings.shape == (3, 3)
    assert ratings.row_ids.tolist() == ["u2", "u5", "u9"]
    assert ratings.column_ids.tolist() == [(0, "c"), (1, "a"), (2, "b")]
    assert ratings.row_counts().tolist() == [2, 2, 2]
    assert ratings.column_counts().tolist() == [2, 2, 2]
    pca = IncompletePCA(1).fit(ratings)
    rows, columns, values = ratings.triples()
    assert sorted(zip(rows, columns, values, strict=True)) == sorted(zip(users, films, [5, 4, 3, 2, 1, 2], strict=True))
    assert pca.predict(users, films).shape == (6,)
    assert pca.predict(["u2"], [(1, "a")]) == pca.inverse_transform(pca.scores_)[0, 1]
    with pytest.raises(ValueError, match="rows: 'u1' was not among the rows of the fit"):
        pca.predict(["u1"], [(1, "a")])
    # New users rate some of the items, in any order.
    new = Observed(["n1", "n2", "n1"], [(2, "b"), (1, "a"), (1, "a")], [3, 5, 4])
    same = Observed(["x1", "x2", "x1", "x3"], [(1, "a"), (1, "a"), (2, "b"), (0, "c")], [4, 5, 3, np.nan])
    assert same.column_ids.tolist() == ratings.column_ids.tolist()
    assert_array_equal(pca.transform(new), pca.transform(same)[:2])
    assert_array_equal(pca.impute(new)[0, 1:], [4, 3])
    with pytest.raises(ValueError, match=r"columns: \(9, 'z'\) was not among"):
        pca.transform(Observed(["n1"], [(9, "z")], [3]))


def test_integer_ids_far_apart_and_mixed():
    far = Observed([10**15, 7, 7], np.array([3, 3, 10**12], dtype=np.uint64), [1, 2, 3])
    assert far.row_ids.tolist() == [7, 10**15]
    assert far.column_ids.tolist() == [3, 10**12]
    near = Observed([12, -3, 12], [5, 5, 6], [1.0, 2.0, 3.0])
    assert near.row_ids.tolist() == [-3, 12]
    assert near.triples()[0].tolist() == [-3, 12, 12]
    small = Observed(np.array([-128, 127, 0], np.int8), [0, 1, 2], [1, 2, 3])
    assert small.row_ids.tolist() == [-128, 0, 127]
    assert Observed(np.array([2**64 - 1, 5], np.uint64), [0, 1], [1, 2]).row_ids.tolist() == [5, 2**64 - 1]
    fitted = IncompletePCA(1).fit(near)
    assert fitted.predict(12, 5).shape == ()
    with pytest.raises(ValueError, match="rows: 'twelve' was not among"):
        fitted.predict(["twelve"], [5])
    mixed = Observed([1, "one", 1], ["a", "a", "b"], [1, 2, 3])
    assert mixed.row_ids.tolist() == [1, "one"]


def test_duplicates_are_refused_by_name_or_averaged():
    with pytest.raises(ValueError, match="row 'ann', column 'Alien' is given more than once"):
        Observed(["ann", "ann", "bob"], ["Alien", "Alien", "Alien"], [5, 3, 1])
    averaged = Observed(["ann", "ann", "bob"], ["Alien"] * 3, [5, 3, 1], duplicates="average")
    assert averaged.triples()[2].tolist() == [4, 1]
    weighted = Observed([0, 0, 1], [0, 0, 0], [5, 3, 1], weight=[3, 1, 1], duplicates="average")
    assert weighted.triples()[2].tolist() == [4.5, 1]
    twice = sp.coo_array(([1.0, 2.0, 3.0], ([0, 0, 1], [1, 1, 0])), shape=(2, 2))
    with pytest.raises(ValueError, match="row 0, column 1 of the sparse matrix is stored more than once"):
        IncompletePCA(1).fit(twice)
    compressed = sp.csr_array((np.array([1.0, 2, 3]), np.array([1, 1, 0]), np.array([0, 2, 3])), shape=(2, 2))
    with pytest.raises(ValueError, match="row 0, column 1 of the sparse matrix is stored more than once"):
        IncompletePCA(1).fit(compressed)


def test_weights_in_every_form_agree(x):
    rng = np.random.default_rng(0)
    weights = rng.integers(0, 4, x.shape).astype(float)
    expected = components(x, entry_weight=weights)
    i, j, values = stored(x)
    sparse = sp.coo_array((values, (i, j)), shape=x.shape)
    assert_array_equal(components(sparse, entry_weight=weights), expected)
    assert_array_equal(components(sparse.tocsc(), entry_weight=weights), expected)
    assert_array_equal(components(sparse, entry_weight=sp.csr_array(weights)), expected)
    assert_array_equal(components(Observed(i, j, values, weights[i, j], shape=x.shape)), expected)
    assert_array_equal(components(pd.DataFrame(x), entry_weight=pd.DataFrame(weights)), expected)
    assert not np.allclose(components(x), expected)
    split = Observed(i, j, values, weights[i, j], shape=x.shape).split(0.2)
    assert sum(part.n_observed for part in split) == (weights[i, j] > 0).sum()


REFUSED = {
    "infinity": (lambda x: np.where(np.isnan(x), np.inf, x), {}, "row 0, column 0 is inf"),
    "infinity in a frame": (lambda x: pd.DataFrame(np.where(x == x[1, 3], -np.inf, x), columns=NAMES), {}, r"\('q"),
    "strings": (lambda x: x.astype(str), {}, "dtype"),
    "complex": (lambda x: x + 1j, {}, "Complex"),
    "dia": (lambda x: sp.dia_array(np.nan_to_num(x)), {}, "sparse matrix of the format dia"),
    "bsr": (lambda x: sp.bsr_array(np.nan_to_num(x)), {}, "sparse matrix of the format bsr"),
    "nothing": (lambda x: x * np.nan, {}, "none of the 40 x 12 entries is observed"),
    "negative weight": (
        lambda x: x,
        {"entry_weight": np.where(np.arange(12) == 5, -1.0, 1.0)},
        "row 0, column 5 is -1",
    ),
    "weights of another shape": (
        lambda x: x,
        {"entry_weight": np.ones(40)},
        r"shape \(40,\), but X has shape \(40, 12\)",
    ),
    "weights with Observed": (lambda x: Observed(*stored(x)), {"entry_weight": 1}, "pass them there"),
    "one row": (lambda x: x[:1], {}, "1 sample"),
    "one row of Observed": (lambda x: Observed([0, 0], [0, 1], [1, 2]), {}, "1 sample"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_data_are_refused_by_name(x, case):
    make, options, message = REFUSED[case]
    with pytest.raises(ValueError, match=message):
        IncompletePCA(2).fit(make(x), **options)


def test_bad_triples_are_refused_by_name():
    for arguments, message in [
        (([0, 1], [0], [1.0, 2.0]), "columns has shape"),
        (([0.5, np.nan], [0, 1], [1.0, 2.0]), "rows: entry 1 is NaN"),
        ((["a", None], [0, 1], [1.0, 2.0]), "rows: entry 1 is None"),
        (([0, 1], [0, 1], ["a", "b"]), "values has dtype"),
        (([0, 1], [0, 1], [[1.0, 2.0]]), "values has shape"),
        (([0, 1], [0, 1], [1.0, np.inf]), "row 1, column 1 is inf"),
        (([0, 1], [0, 1], [1.0, 2.0], [1.0]), "weight has shape"),
        (([0, 1], [0, 1], [1.0, 2.0], [1.0, -1.0]), r"entry_weight\[1\] is -1"),
    ]:
        with pytest.raises(ValueError, match=message):
            Observed(*arguments)
    with pytest.raises(ValueError, match="rows must be whole numbers"):
        Observed(["a"], [0], [1.0], shape=(1, 1))
    with pytest.raises(ValueError, match="row"):
        Observed([3], [0], [1.0], shape=(3, 1))
    with pytest.raises(ValueError, match="duplicates = 'sum'"):
        Observed([0], [0], [1.0], duplicates="sum")
    with pytest.raises(ValueError, match="share = 1"):
        Observed([0], [0], [1.0]).split(1)


def test_places_outside_are_refused_by_name(x):
    pca = IncompletePCA(2).fit(x)
    with pytest.raises(ValueError, match=r"rows: 40 is outside 0\.\.39"):
        pca.predict([0, 40], [0, 0])
    with pytest.raises(ValueError, match=r"columns: -1 is outside 0\.\.11"):
        pca.predict([0], [-1])
    with pytest.raises(ValueError, match="rows must be whole numbers"):
        pca.predict([0.5], [0])
    with pytest.raises(ValueError, match="11 features"):
        pca.transform(x[:, :11])


def test_pca_names_this_estimator(x):
    with pytest.raises(ValueError, match=r"row 0, column 0 is NaN.*karhunen\.IncompletePCA"):
        PCA(2).fit(x)
