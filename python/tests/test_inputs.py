"""Accepted input types, their conversion, and refusals."""

import io
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from hypothesis import given, settings
from hypothesis import strategies as st
from karhunen import PCA, IncompletePCA, IncrementalPCA, KernelPCA, Nystroem, Observed, RowBlocks, TruncatedSVD, plot
from karhunen._inputs import matrix as inputs
from karhunen.diagnostics import samples
from karhunen.resampling import bootstrap
from numpy.testing import assert_array_equal
from scipy.sparse.linalg import LinearOperator
from sklearn.exceptions import DataConversionWarning

DTYPES = [np.float32, np.float64, np.int8, np.int32, np.uint16, np.int64, np.bool_]


@st.composite
def views(draw) -> np.ndarray:
    """Draw a strided view, in any order and direction, of a larger matrix of some dtype."""
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_arrays_at_any_byte_are_read(table, dtype):
    def moved(values):
        values = np.ascontiguousarray(values)
        memory = np.frombuffer(bytearray(values.nbytes + 1), np.uint8)
        found = memory[1:].view(values.dtype).reshape(values.shape)
        found[...] = values
        assert not found.flags.aligned
        return found

    x, weights = table.astype(dtype), np.arange(1.0, len(table) + 1)
    expected = PCA(3).fit(x, sample_weight=weights)
    found = PCA(3).fit(moved(x), sample_weight=moved(weights))
    assert_array_equal(found.components_, expected.components_)
    assert_array_equal(found.transform(moved(x)), expected.transform(x))
    sparse = sp.csr_array(np.where(x > 0, x, 0))
    parts = [moved(part) for part in (sparse.data, sparse.indices, sparse.indptr)]
    assert_array_equal(PCA(3).fit(sp.csr_array(tuple(parts), shape=x.shape)).mean_, PCA(3).fit(sparse).mean_)


def test_foreign_float32_stays_float32(table):
    foreign = table.astype(">f4")
    pca = PCA(3).fit(foreign)
    assert pca.transform(foreign).dtype == np.float32
    assert_array_equal(pca.transform(foreign), PCA(3).fit_transform(table.astype(np.float32)))


def test_half_precision_is_read_as_single(table):
    half = table.astype(np.float16)
    frame = pd.DataFrame(half).add_prefix("x")
    foreign = half.astype(">f2")
    arrow = pa.table({name: pa.array(half[:, j]) for j, name in enumerate(frame.columns)})
    expected = PCA(2).fit(half.astype(np.float32))
    for x in (half, np.asfortranarray(half), half[::1, ::-1][:, ::-1], foreign, frame, arrow):
        found = PCA(2).fit(x)
        assert found.components_.dtype == np.float32
        assert_array_equal(found.components_, expected.components_)
        assert_array_equal(found.transform(x), expected.transform(half.astype(np.float32)))
        assert_array_equal(
            IncompletePCA(2).fit(x).components_, IncompletePCA(2).fit(half.astype(np.float32)).components_
        )
    scores = expected.transform(half)
    assert_array_equal(expected.inverse_transform(scores.astype(np.float16)).dtype, np.float32)
    n, p = half.shape
    rows, columns = np.divmod(np.arange(n * p), p)
    entries = Observed(rows, columns, half.ravel())
    assert entries.dtype == np.float32


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


@pytest.mark.parametrize("column", [[1, None, 3], [1.5, None, 3.5], [True, None, False]])
def test_nulls_of_polars_and_pyarrow_are_missing_values(column):
    for x in (pl.DataFrame({"a": column, "b": [1, 2, 5]}), pa.table({"a": column, "b": [1, 2, 5]})):
        with pytest.raises(ValueError, match=r"row 1, column 0 \('a'\) is NaN"):
            PCA(1).fit(x)


def test_columns_without_any_value_are_missing_values():
    for x in (pl.DataFrame({"a": [None, None], "b": [1, 2]}), pa.table({"a": pa.nulls(2), "b": [1, 2]})):
        with pytest.raises(ValueError, match=r"row 0, column 0 \('a'\) is NaN"):
            PCA(1).fit(x)


def test_tables_of_several_types_and_chunks_are_read(table):
    numbers = table[:, :3].round()
    expected = PCA(2).fit_transform(numbers)
    parts = {"a": numbers[:, 0].astype(int), "b": numbers[:, 1].astype(np.float32), "c": numbers[:, 2]}
    chunked = [{name: column[rows] for name, column in parts.items()} for rows in (slice(20), slice(20, None))]
    frames = pl.concat([pl.DataFrame(chunk) for chunk in chunked], rechunk=False)
    for x in (frames, pa.concat_tables([pa.table(chunk) for chunk in chunked])):
        assert_allclose(PCA(2).fit_transform(x), expected, atol=1e-12)
    x = {"yes": [True, False, True], "no": [1, 0, 0]}
    for kind in (pl.DataFrame, pa.table):
        assert_allclose(PCA(1).fit(kind(x)).mean_, [2 / 3, 1 / 3])
        single = kind({"a": np.arange(3, dtype=np.float32)})
        assert PCA(1).fit_transform(single).dtype == np.float32


def test_sparse_columns_of_pandas_are_read_as_sparse():
    x = sp.random(40, 6, density=0.3, random_state=0, format="csr")
    frame = pd.DataFrame.sparse.from_spmatrix(x, columns=list("abcdef"))
    pca = PCA(2).fit(frame)
    assert_allclose(pca.explained_variance_, PCA(2).fit(x).explained_variance_)
    assert pca.feature_names_in_.tolist() == list("abcdef")


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
        (np.zeros((3, 2), np.longdouble), "X has dtype float128; float32 and float64 are analysed as they are"),
        (np.zeros((3, 2), complex), "Complex data not supported: X has dtype complex128"),
        (np.full((3, 2), "a"), "X has dtype <U1"),
        (np.full((3, 2), "a", object), "row 0, column 0: could not convert string to float: 'a'"),
        (
            np.array([[1, 2], [3, "x"]], object),
            "row 1, column 1: could not convert string to float: 'x'; rows and columns count from 0",
        ),
        (np.zeros((3, 2), "M8[s]"), r"X has dtype datetime64\[s\]"),
        (pd.DataFrame({"a": [1.0, 2], "b": [1j, 2]}), "column 'b' has dtype complex128"),
        (pd.DataFrame({"a": [1.0, 2], "b": ["1", "y"]}), r"row 1, column 1 \('b'\): could not convert string"),
        (pd.DataFrame({"a": pd.Categorical(["u", "v"])}), r"row 0, column 0 \('a'\): could not convert string"),
        (
            pd.DataFrame({"a": pd.period_range("2020", periods=2)}),
            r"row 0, column 0 \('a'\): float\(\) argument must be",
        ),
        (pd.DataFrame(), r"Found array with 0 sample"),
        (pd.DataFrame(index=range(3)), r"0 feature\(s\)"),
        (pl.DataFrame({"a": [1.0, 2], "b": ["x", "y"]}), "column 'b' has dtype String; float32 and float64 are"),
        (pl.DataFrame({"a": [1, 2]}).with_columns(b=pl.date(2020, 1, "a")), "column 'b' has dtype Date;"),
        (pa.table({"a": [1.0, 2], "b": ["x", "y"]}), "column 'b' has dtype string;"),
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


class AnnData:
    """A class with the name of AnnData, which is not installed."""


class CSRDataset(AnnData):
    """A sparse matrix in a file."""


AnnData.__module__ = "anndata._core.anndata"
CSRDataset.__module__ = "anndata._core.sparse_dataset"


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (AnnData(), "X is an AnnData; pass its matrix, X.X, or one of its layers"),
        (CSRDataset(), r"X is a sparse matrix that AnnData left in its file; pass X\.to_memory\(\)"),
        (
            ([i, 2.0] for i in range(3)),
            r"X is an iterator, which gives its rows only once \(generator\); pass list\(X\)",
        ),
        (zip([1.0, 2.0], [3.0, 5.0], strict=True), r"\(zip\); pass list\(X\)"),
        (io.StringIO("1,2"), r"X is an open file \(StringIO\)"),
        ({"a": [1.0, 2.0], "b": [3.0, 5.0]}, r"X is a mapping \(dict\); pass .* pandas\.DataFrame\(X\)"),
        (LinearOperator((3, 3), matvec=lambda v: v), "X is a LinearOperator"),
    ],
)
@pytest.mark.parametrize(
    "call", [PCA(1).fit, TruncatedSVD(1).fit, KernelPCA(1).fit, Nystroem().fit, IncompletePCA(1).fit]
)
def test_what_is_not_data_yet_is_named(call, x, message):
    with pytest.raises(ValueError, match=message):
        call(x)


@pytest.mark.parametrize("call", [TruncatedSVD(1).fit, KernelPCA(1).fit, Nystroem().fit])
def test_paths_are_named_where_data_are_held_in_memory(call):
    message = r"X is a text or path \(str\); pass what the file holds: np\.load\(X\), pandas\.read_csv\(X\)"
    with pytest.raises(ValueError, match=message):
        call("data.csv")
    with pytest.raises(ValueError, match=r"X is a text or path \(PosixPath\)"):
        call(Path("data.npy"))


def test_data_that_look_like_something_else_are_read(table):
    for same in (
        sp.dok_array(table),
        list(table),
        [list(row) for row in table],
        table.view(type("Dataset", (np.ndarray,), {})),
    ):
        assert_allclose(PCA(1).fit(same).components_, PCA(1).fit(table).components_)


def test_large_conversions_are_told_and_only_those(table, monkeypatch):
    monkeypatch.setattr(inputs, "LARGE_COPY", 100)
    for x in (table.astype(np.int64), sp.coo_array(table), sp.csr_array(table.astype(np.int64))):
        for call in (PCA(1).fit, PCA(1).fit_transform, TruncatedSVD(1).fit):
            with pytest.warns(DataConversionWarning, match="was copied to .*float64, which took 0 MB") as told:
                call(x)
            assert [warning.filename for warning in told] == [__file__]
    repeated = sp.csr_array((np.ones(60), np.tile([1, 0], 30), np.arange(0, 61, 2)), shape=(30, 2))
    for call in (PCA(1).fit, PCA(1).fit(table[:, :2]).transform):
        with pytest.warns(DataConversionWarning, match=r"not in order, or repeated.*call X.sum_duplicates\(\) once"):
            call(repeated)
    repeated.sum_duplicates()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PCA(1).fit(repeated)
        for x in (
            table,
            table[::2, ::-1],
            table.astype(np.float32),
            sp.csr_array(table),
            sp.csc_matrix(table),
        ):
            PCA(1).fit(x).transform(x)


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (np.array([[0, 1], [np.nan, 2]]), "row 1, column 0 of the scores is nan; they must be finite"),
        (np.array([[0, -np.inf]]), "row 0, column 1 of the scores is -inf"),
        (np.zeros((2, 3)), "scores: 3 columns, but 2 are needed"),
        (np.zeros((2, 2), np.longdouble), "X has dtype float128"),
        (np.ma.masked_less(np.zeros((2, 2)), 1), "masked values"),
        (np.zeros(2), "Expected 2D array"),
    ],
)
def test_scores_that_have_no_rows_are_refused(scores, message, table):
    with pytest.raises(ValueError, match=message):
        PCA(2).fit(table).inverse_transform(scores)


def test_scores_of_any_layout_give_rows(table):
    pca = PCA(2).fit(table)
    scores = pca.transform(table)
    expected = pca.inverse_transform(scores)
    packed = np.zeros(60, dtype=np.dtype([("tag", "i1"), ("x", "f8", (2,))]))
    packed["x"] = scores
    for same in (np.asfortranarray(scores), scores.tolist(), pd.DataFrame(scores), scores.astype(">f8"), packed["x"]):
        assert_array_equal(pca.inverse_transform(same), expected)
    assert_array_equal(pca.inverse_transform(scores[::-2]), expected[::-2])


def corrupt(kind, part, at, value):
    """Return a matrix that scipy's constructor accepts, with one wrong index or pointer."""
    matrix = kind(np.random.default_rng(0).integers(0, 3, size=(40, 6)).astype(float))
    parts = [matrix.data.copy(), matrix.indices.copy(), matrix.indptr.copy()]
    parts[part][at] = value
    return kind(tuple(parts), shape=matrix.shape)


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
@pytest.mark.parametrize(("part", "at", "value"), [(1, 5, 600_000_000), (1, 5, -1), (2, 3, 125), (2, 3, 10**9)])
def test_corrupt_sparse_matrices_are_refused(kind, part, at, value):
    for fit in (PCA(2).fit, IncompletePCA(1).fit, lambda x: PCA(2).fit(RowBlocks(lambda: iter([x])))):
        with pytest.raises(ValueError, match=r"ind|pointer"):
            fit(corrupt(kind, part, at, value))


@pytest.mark.parametrize("kind", [sp.csr_array, sp.csc_array])
def test_room_after_the_entries_is_not_read(kind):
    matrix = kind(sp.random(60, 5, 0.5, random_state=0))
    expected = IncompletePCA(1, n_starts=1).fit(matrix)
    roomy = kind(matrix)
    roomy.data = np.concatenate([matrix.data, np.full(7, 1e9)])
    roomy.indices = np.concatenate([matrix.indices, np.full(7, 3, matrix.indices.dtype)])
    found = IncompletePCA(1, n_starts=1).fit(roomy)
    assert_array_equal(found.mean_, expected.mean_)
    assert len(roomy.data) == matrix.nnz + 7


@pytest.mark.parametrize("fill", [0.0, np.nan, 2.0])
def test_frames_of_sparse_columns_are_their_dense_frames(table, fill):
    dense = pd.DataFrame(np.where(table > 0.5, table, fill)).add_prefix("x")
    sparse = dense.astype(pd.SparseDtype(float, fill))
    expected = IncompletePCA(1, n_starts=1).fit(dense)
    assert_array_equal(IncompletePCA(1, n_starts=1).fit(sparse).mean_, expected.mean_)
    if fill == fill:
        assert_allclose(PCA(2).fit(sparse).mean_, PCA(2).fit(dense).mean_)
    else:
        with pytest.raises(ValueError, match="NaN"):
            PCA(2).fit(sparse)


@pytest.mark.parametrize("estimator", [PCA(2), IncompletePCA(2, method="ppca", n_starts=1)])
def test_weights_of_a_score_are_those_of_a_fit(table, estimator):
    fitted, n = estimator.fit(table), len(table)
    for at, value, message in [(0, -5.0, "is -5;"), (3, np.nan, "is NaN;"), (1, np.inf, "is inf;")]:
        weights = np.ones(n)
        weights[at] = value
        with pytest.raises(ValueError, match=rf"sample_weight\[{at}\] {message}"):
            fitted.score(table, sample_weight=weights)
    with pytest.raises(ValueError, match=f"all {n} entries are zero"):
        fitted.score(table, sample_weight=np.zeros(n))
    weights = np.arange(float(n))
    expected = np.average(fitted.score_samples(table), weights=weights)
    np.testing.assert_allclose(fitted.score(table, sample_weight=weights), expected)


@pytest.mark.parametrize(
    ("give", "said"),
    [
        (lambda x: PCA(1).fit(Observed(list("aabb"), list("xyxy"), [1.0, 2, 3, 4])), "X is an Observed, whose entries"),
        (lambda x: PCA(1).fit(TruncatedSVD(1).fit(x)), r"X is an estimator \(TruncatedSVD\); pass rows"),
        (
            lambda x: PCA(1).fit(pd.DataFrame({"a": [1.0, 2], "b": [[1], [2]]})),
            r"row 0, column 1 \('b'\): .*list",
        ),
        (lambda x: PCA(1).fit(pd.DataFrame({"b": [1, pd.NA, 2]}, dtype=object)), r"row 1, column 0 \('b'\): .*Float64"),
        (lambda x: Nystroem(kernel_params=1).fit(x), "kernel_params = 1 is not allowed: it must be a dict"),
        (lambda x: PCA(1, random_state=-1).fit(x), "random_state = -1 is not allowed"),
        (lambda x: IncrementalPCA("95%", method="sketch").fit(x), "n_components = '95%' is not allowed: a sketch"),
        (lambda x: bootstrap(IncompletePCA(1), x), "pca is an IncompletePCA"),
        (lambda x: plot.scree(PCA(0).fit(x)), "the model has no components"),
        (lambda x: plot.missing(Observed(list("ab"), list("xy"), [1.0, 2])), "X is an Observed"),
        (lambda x: plot.monitor(samples(PCA(2).fit(x), x)), "values is of the type Samples; give one number"),
    ],
)
def test_errors_name_what_was_given(give, said):
    with pytest.raises((ValueError, TypeError), match=said):
        give(np.random.default_rng(0).normal(size=(40, 5)))


def test_arrays_of_recent_versions_are_named():
    x = np.random.default_rng(0).normal(size=(40, 5))
    text = getattr(getattr(np, "dtypes", None), "StringDType", None)
    if text is not None:
        with pytest.raises(ValueError, match="X has dtype StringDType"):
            PCA(1).fit(x.astype(str).astype(text()))
    line = sp.coo_array(x[:, 0])
    if line.ndim == 1:
        with pytest.raises(ValueError, match=r"X is a sparse array of shape \(40,\)"):
            IncompletePCA(1).fit(line)


def test_one_row_of_an_incremental_fit_is_shown():
    one = IncrementalPCA(2).partial_fit([[1.0, 2.0]])
    assert "IncrementalPCA" in one._repr_html_()
    assert "IncrementalPCA" in one._repr_mimebundle_()["text/html"]
    assert not hasattr(one, "mean_")
    with pytest.raises(ValueError, match="the data have one row"):
        one.components_  # noqa: B018


def test_sparse_indices_of_any_integers_are_read():
    x = sp.random(30, 5, density=0.5, random_state=0, format="csr")
    expected = PCA(2).fit(x).explained_variance_
    for dtype in (np.uint32, np.int16, np.uint64):
        other = x.copy()
        other.indices, other.indptr = other.indices.astype(dtype), other.indptr.astype(dtype)
        assert_array_equal(PCA(2).fit(other).explained_variance_, expected)


def test_whole_numbers_that_are_rounded_are_said_and_variances_that_vanish_refused():
    small = np.random.default_rng(0).integers(0, 4, size=(50, 3)).astype(np.int64)
    large = small + 2**60
    for form in (np.asarray, pd.DataFrame, pl.from_numpy, sp.csr_array, np.ndarray.tolist):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            PCA(1).fit(form(large))
        assert any("whole numbers of 2**53 and more" in str(warning.message) for warning in told)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        PCA(1).fit(small + 2**40)
        PCA(1).fit(small * 1e20)
    for estimator in (PCA(1), PCA(1, solver="svd"), TruncatedSVD(1)):
        with pytest.raises(ValueError, match="variance of every column is below the range of f64"):
            estimator.fit(small * 1e-200)
    assert PCA(1, scale=True).fit(small * 1e-200).explained_variance_[0] > 1
