"""What is read, in which form, and what is refused."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from karhunen import PCA, TruncatedSVD, _inputs
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import DataConversionWarning

DTYPES = [np.float32, np.float64, np.int8, np.int32, np.uint16, np.int64, np.bool_]


@st.composite
def views(draw) -> np.ndarray:
    """Draw a matrix of some type that looks into a larger one: any order, steps forwards and backwards."""
    n, p = draw(st.integers(2, 20)), draw(st.integers(1, 12))
    steps = [draw(st.sampled_from([-3, -2, -1, 1, 2])) for _ in range(2)]
    shape = (n * abs(steps[0]), p * abs(steps[1]))
    seed = draw(st.integers(0, 1000))
    base = np.random.default_rng(seed).normal(size=shape) * 4
    base = np.asarray(base.astype(draw(st.sampled_from(DTYPES))), order=draw(st.sampled_from("CF")))
    base.flags.writeable = draw(st.booleans())
    return base[:: steps[0], :: steps[1]]


@given(views(), st.sampled_from(["auto", "svd", "covariance", "gram"]), st.booleans())
@settings(max_examples=150, deadline=None)
def test_every_view_gives_what_its_copy_gives(x, solver, scale):
    pca = PCA(1, solver=solver, scale=scale).fit(x)
    plain = np.array(x, dtype=np.float64)
    same = PCA(1, solver=solver, scale=scale).fit(plain)
    single = x.dtype == np.float32
    size = max(np.abs(plain).max(), 1)
    assert_allclose(pca.mean_, same.mean_, atol=1e-6 * size)
    assert_allclose(pca.explained_variance_, same.explained_variance_, rtol=1e-5, atol=1e-9 * size**2)
    scores = pca.transform(x)
    assert scores.dtype == (np.float32 if single else np.float64)
    assert_allclose(scores, (plain - pca.mean_) / pca.scale_ @ pca.components_.T, atol=1e-5 * size)
    back = pca.inverse_transform(scores)
    assert back.dtype == scores.dtype
    assert back.shape == x.shape


def test_packed_records_and_foreign_byte_orders_are_copied_right(table):
    packed = np.zeros(60, dtype=np.dtype([("tag", "i1"), ("x", "f8", (8,))]))
    packed["x"] = table
    expected = PCA(3).fit(table).explained_variance_
    assert not packed["x"].flags.aligned
    for x in (packed["x"], table.astype(">f8"), table.tolist(), table.astype(object)):
        assert_allclose(PCA(3).fit(x).explained_variance_, expected)


def test_memory_maps_are_read(table, tmp_path):
    np.save(tmp_path / "x.npy", table)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    assert_array_equal(PCA(3).fit_transform(mapped), PCA(3).fit_transform(table))


@pytest.mark.parametrize("index", [np.int32, np.int64])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "lil", "dok", "dia", "bsr"])
@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_every_sparse_format_is_read(form, dtype, index, container):
    x = container(sp.random(50, 20, density=0.3, random_state=0) * 10).astype(dtype).asformat(form)
    if form in ("csr", "csc"):
        x.indices, x.indptr = x.indices.astype(index), x.indptr.astype(index)
    dense = x.toarray()
    ours, same = PCA(4, scale=True).fit(x), PCA(4, scale=True).fit(dense)
    assert_allclose(ours.components_, same.components_, atol=1e-5 if dtype == np.float32 else 1e-10)
    assert_allclose(ours.transform(x), same.transform(dense), atol=1e-4 if dtype == np.float32 else 1e-9)
    assert_allclose(ours.score_samples(x), same.score_samples(dense), rtol=1e-4)


def test_unsorted_and_repeated_sparse_entries_are_put_in_order():
    parts = (np.array([1.0, 2.0, 3.0, 4.0, 5.0]), np.array([2, 0, 1, 1, 0]), np.array([0, 2, 4, 5]))
    x = sp.csr_array(parts, shape=(3, 3))
    before = [part.copy() for part in (x.data, x.indices, x.indptr)]
    assert_allclose(PCA(2).fit(x).explained_variance_, PCA(2).fit(x.toarray()).explained_variance_)
    for part, was in zip((x.data, x.indices, x.indptr), before, strict=True):
        assert_array_equal(part, was)


def tables(x: np.ndarray) -> list:
    names = [f"f{j}" for j in range(x.shape[1])]
    frame = pd.DataFrame(x, columns=names)
    columns = {name: x[:, j] for j, name in enumerate(names)}
    return [
        frame,
        frame.astype("Float64"),
        pl.DataFrame(columns),
        pa.table(columns),
        pa.RecordBatch.from_pydict(columns),
    ]


@pytest.mark.parametrize("kind", range(5))
def test_tables_keep_their_names(kind, table):
    x = tables(table)[kind]
    pca = PCA(3).fit(x)
    assert pca.feature_names_in_.tolist() == [f"f{j}" for j in range(8)]
    assert_allclose(pca.transform(x), PCA(3).fit_transform(table), atol=1e-12)
    other = tables(table[:, ::-1])[kind]
    other = other.rename(columns=dict(zip(other.columns, other.columns[::-1], strict=True))) if kind < 2 else None
    if other is not None:
        with pytest.raises(ValueError, match="feature names"):
            pca.transform(other)


@pytest.mark.parametrize("kind", range(5))
def test_a_missing_value_of_a_table_is_named(kind, table):
    table[7, 2] = np.nan
    with pytest.raises(ValueError, match=r"row 7, column 2 \('f2'\) is NaN; .*missing values"):
        PCA(3).fit(tables(table)[kind])


def test_nullable_and_mixed_columns_of_pandas(table):
    frame = pd.DataFrame(table).rename(columns=str)
    frame["1"] = (frame["1"] > 3).astype("boolean")
    frame["2"] = frame["2"].round().astype("Int64")
    dense = frame.astype("float64").to_numpy()
    assert_allclose(PCA(3).fit_transform(frame), PCA(3).fit_transform(dense), atol=1e-12)
    frame.loc[4, "2"] = pd.NA
    with pytest.raises(ValueError, match=r"row 4, column 2 \('2'\) is NaN"):
        PCA(3).fit(frame)


def test_nulls_of_polars_and_pyarrow_are_missing_values():
    for x in (
        pl.DataFrame({"a": [1, None, 3], "b": [1, 2, 5]}),
        pa.table({"a": [1, None, 3], "b": [1, 2, 5]}),
    ):
        with pytest.raises(ValueError, match=r"row 1, column 0 \('a'\) is NaN"):
            PCA(1).fit(x)


@pytest.mark.parametrize("estimator", [PCA(1), TruncatedSVD(1)])
def test_what_is_not_finite_is_named_wherever_it_is(estimator, table):
    for x in (table, np.asfortranarray(table), sp.csr_array(table), sp.csc_array(table)):
        fitted = estimator.fit(x)
        broken = x.copy()
        broken[5, 3] = np.inf
        for call in (fitted.transform, estimator.fit):
            with pytest.raises(ValueError, match="row 5, column 3 is inf"):
                call(broken)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (np.zeros((3, 2), np.float16), "X has dtype float16; float32 and float64 are analysed as they are"),
        (np.zeros((3, 2), np.longdouble), "X has dtype float128"),
        (np.zeros((3, 2), complex), "Complex data not supported: X has dtype complex128"),
        (np.full((3, 2), "a"), "X has dtype <U1"),
        (np.full((3, 2), "a", object), "could not convert string to float: 'a'"),
        (np.zeros((3, 2), "M8[s]"), r"X has dtype datetime64\[s\]"),
        (pd.DataFrame({"a": [1.0, 2], "b": [1j, 2]}), "column 'b' has dtype complex128"),
        (pl.DataFrame({"a": [1.0, 2], "b": ["x", "y"]}), "column 'b' has dtype"),
        (pa.table({"a": [1.0, 2], "b": ["x", "y"]}), "column 'b' has dtype"),
        (np.ma.masked_less(np.arange(6.0).reshape(3, 2), 2), "X is a masked array with masked values"),
        (np.zeros(3), "Expected 2D array, got 1D array instead"),
        (np.zeros((0, 3)), "Found array with 0 sample"),
        (np.zeros((1, 3)), "Found array with 1 sample"),
        (np.zeros((3, 0)), r"0 feature\(s\)"),
    ],
)
def test_what_cannot_be_analysed_is_refused(x, message):
    with pytest.raises(ValueError, match=message):
        PCA(1).fit(x)


def test_large_conversions_are_told_and_only_those(table, monkeypatch):
    monkeypatch.setattr(_inputs, "LARGE_COPY", 100)
    for x in (table.astype(np.int64), sp.coo_array(table), sp.csr_array(table.astype(np.int64))):
        with pytest.warns(DataConversionWarning, match="was copied to .*float64, which took 0 MB"):
            PCA(1).fit(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for x in (
            table,
            table[::2, ::-1],
            table.astype(np.float32),
            sp.csr_array(table),
            sp.csc_matrix(table),
        ):
            PCA(1).fit(x).transform(x)
