"""Tables, queries and streams of other libraries as data."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from compare import assert_allclose
from karhunen import PCA, IncompletePCA, IncrementalPCA, KernelPCA, Nystroem, RowBlocks, Scatter, TruncatedSVD
from karhunen._inputs import tables
from karhunen.categorical import FAMD, MCA
from karhunen.completion import iterative_pca
from numpy.testing import assert_array_equal

duckdb = pytest.importorskip("duckdb")

CONNECTION = duckdb.connect()
NAMES = [f"f{j}" for j in range(8)]
#: Readers of streams came with pyarrow 15.
READS_STREAMS = hasattr(pa.RecordBatchReader, "from_stream")
needs_streams = pytest.mark.skipif(not READS_STREAMS, reason="this pyarrow reads no streams of other libraries")


class Stream:
    """An object of a library that karhunen does not know."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        return self._table.__arrow_c_stream__(requested_schema)


class Interchanged:
    """An object with the dataframe interchange protocol alone."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __dataframe__(self, nan_as_null: bool = False, allow_copy: bool = True) -> Any:
        return self._table.__dataframe__(nan_as_null=nan_as_null, allow_copy=allow_copy)


def relation(table: pa.Table) -> Any:
    """Return a query of DuckDB."""
    return CONNECTION.from_arrow(table)


def reader(table: pa.Table) -> pa.RecordBatchReader:
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=7))


FORMS: dict[str, Callable[[pa.Table], Any]] = {
    "duckdb": relation,
    "polars": pl.from_arrow,
    "lazy": lambda table: pl.from_arrow(table).lazy(),
    "pyarrow": lambda table: table,
    "chunks": lambda table: pa.concat_tables([table.slice(0, 11), table.slice(11)]),
    "batch": lambda table: table.combine_chunks().to_batches()[0],
    "reader": reader,
    "interchange": Interchanged,
}
if READS_STREAMS:
    FORMS["stream"] = Stream
STREAMS = [form for form in FORMS if form in ("duckdb", "lazy", "reader", "stream")]


def arrow(table: np.ndarray) -> pa.Table:
    return pa.table(dict(zip(NAMES, table.T, strict=True)))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "estimator", [PCA(2), IncrementalPCA(2), IncompletePCA(2), KernelPCA(2), TruncatedSVD(2), Nystroem(n_components=5)]
)
def test_tables_of_every_library_are_read(estimator, form, table):
    make = FORMS[form]
    fitted = estimator.fit(make(arrow(table)))
    assert fitted.feature_names_in_.tolist() == NAMES
    scores = fitted.transform(make(arrow(table)))
    expected = type(estimator)(**estimator.get_params()).fit(pd.DataFrame(table, columns=NAMES))
    assert_allclose(scores, expected.transform(pd.DataFrame(table, columns=NAMES)), atol=1e-10)
    if not (isinstance(estimator, Nystroem) and form == "reader"):  # scikit-learn's fit_transform reads it twice.
        both = type(estimator)(**estimator.get_params()).fit_transform(make(arrow(table)))
        assert_allclose(both, scores, atol=1e-8)
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(make(arrow(table).rename_columns(NAMES[::-1])))


@pytest.mark.parametrize("form", FORMS)
def test_nulls_are_missing_values(form, table):
    table[7, 2] = table[9, 4] = np.nan
    x = FORMS[form](
        pa.table({name: pa.array(column, from_pandas=True) for name, column in zip(NAMES, table.T, strict=True)})
    )
    if form in STREAMS:
        x = tables.as_table(x)
    with pytest.raises(ValueError, match=r"row 7, column 2 \('f2'\) is NaN"):
        PCA(2).fit(x)
    fitted = IncompletePCA(2, random_state=0).fit(x)
    expected = IncompletePCA(2, random_state=0).fit(pd.DataFrame(table, columns=NAMES))
    assert_array_equal(fitted.components_, expected.components_)
    filled = fitted.impute(x)
    assert np.isfinite(tables.to_array(tables.as_table(filled))).all()
    assert list(tables.names_of(tables.as_table(filled))) == NAMES


@pytest.mark.parametrize("form", ["duckdb", "lazy", "reader", "stream"])
def test_streams_without_some_values_are_filled(form, table):
    if form not in FORMS:
        pytest.skip("this pyarrow reads no streams of other libraries")
    table[7, 2] = np.nan
    x = arrow(table)
    fitted = IncompletePCA(2).fit(x)
    filled = fitted.impute(FORMS[form](x))
    expected = fitted.impute(pd.DataFrame(table, columns=NAMES))
    assert_allclose(tables.to_array(filled), expected.to_numpy(), atol=1e-12)


@pytest.mark.parametrize("form", FORMS)
def test_texts_and_dates_are_named_with_the_analysis_of_categories(form):
    make = FORMS[form]
    texts = pa.table({"a": [1.0, 2.0, 3.0], "b": ["x", "y", "x"]})
    for call in (PCA(1).fit, IncompletePCA(1).fit, IncrementalPCA(1).fit):
        with pytest.raises(ValueError, match=r"column 'b' has dtype .*; karhunen.categorical.MCA and FAMD analyse"):
            call(make(texts))
    days = pa.table({"a": [1.0, 2.0, 3.0], "day": pa.array(np.array(["2020", "2021", "2022"], "M8[D]"))})
    with pytest.raises(ValueError, match=r"column 'day' has dtype .*; karhunen.categorical"):
        PCA(1).fit(make(days.cast(pa.schema([("a", pa.float64()), ("day", pa.timestamp("us"))]))))
    frame = pd.DataFrame({"a": [1.0, 2], "day": pd.to_datetime(["2020-01-01", "2021-01-01"])})
    with pytest.raises(ValueError, match=r"column 'day' has dtype datetime64.*; karhunen.categorical"):
        PCA(1).fit(frame)


@pytest.mark.parametrize("form", FORMS)
def test_categories_are_read(form):
    make = FORMS[form]
    answers = pa.table({"sex": list("mffmmfmf"), "answer": list("ynnyynnn"), "age": [31, 45, 22, 60, 58, 39, 41, 27]})
    frame = answers.to_pandas()
    assert_allclose(FAMD(2).fit_transform(make(answers)), FAMD(2).fit_transform(frame), atol=1e-12)
    two = answers.select(["sex", "answer"])
    mca = MCA(1).fit(make(two))
    assert mca.feature_names_in_.tolist() == ["sex", "answer"]
    assert_allclose(mca.transform(make(two)), MCA(1).fit_transform(frame[["sex", "answer"]]), atol=1e-12)


def test_numbers_of_queries_are_read():
    query = duckdb.sql(
        "select i::decimal(9, 2) / 4 as d, sum(i) over (order by i) as total, i % 3 = 0 as third, "
        "(i * i % 7)::float as f from range(20) t(i)"
    )
    x = np.array(query.fetchall(), dtype=float)
    assert_allclose(PCA(2).fit(query).mean_, x.mean(axis=0))
    cents = pl.DataFrame({"a": [1.25, 2.5, 0.5], "b": [3, 1, 2]}).with_columns(pl.col("a").cast(pl.Decimal(9, 2)))
    assert_allclose(PCA(1).fit(cents).mean_, [17 / 12, 2.0])


@pytest.mark.parametrize("form", STREAMS)
@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_streams_are_fitted_batch_by_batch(form, method, table, monkeypatch):
    monkeypatch.setattr(tables, "BATCH_BYTES", 64 * 10)
    monkeypatch.setattr(tables, "_with_rows", lambda *given: pytest.fail("the stream was collected"))
    x = arrow(np.tile(table, (100, 1)))
    pca = getattr(IncrementalPCA(3), method)(FORMS[form](x))
    expected = PCA(3).fit(np.tile(table, (100, 1)))
    assert pca.n_samples_seen_ == 6000
    assert pca.feature_names_in_.tolist() == NAMES
    assert_allclose(pca.explained_variance_, expected.explained_variance_, rtol=1e-8)
    pca.partial_fit(FORMS[form](x))
    assert pca.n_samples_seen_ == 12000


def test_errors_of_streams_name_the_batch(table):
    table[30, 2] = np.nan
    with pytest.raises(ValueError, match=r"batch 4: row 2, column 2 \('f2'\) is NaN"):
        IncrementalPCA(2).fit(reader(arrow(table)))
    weights = np.ones(60)
    table[30, 2] = 0.0
    pca = IncrementalPCA(2, weighting="importance").fit(reader(arrow(table)), sample_weight=weights)
    assert pca.n_samples_seen_ == 60


@pytest.mark.parametrize("call", [PCA(1).fit, IncrementalPCA(1).fit, IncrementalPCA(1).partial_fit, Scatter().add])
def test_a_stream_that_was_read_is_named(call, table):
    stream = reader(arrow(table))
    PCA(1).fit(stream)
    with pytest.raises(ValueError, match="RecordBatchReader without rows; a stream gives its rows only once"):
        call(stream)


@pytest.mark.parametrize("form", STREAMS)
def test_blocks_of_rows_come_from_queries(form, table):
    make = FORMS[form]
    blocks = RowBlocks(lambda: make(arrow(table)))
    pca = PCA(3).fit(blocks)
    assert pca.feature_names_in_.tolist() == NAMES
    assert pca.n_samples_ == 60
    assert_allclose(pca.transform(blocks), PCA(3).fit_transform(table), atol=1e-10)
    if form == "reader":
        same = make(arrow(table))
        with pytest.raises(ValueError, match="returned the same iterator again"):
            PCA(3).fit(RowBlocks(lambda: same))
    if form in ("duckdb", "lazy"):
        same = make(arrow(table))
        assert_allclose(PCA(3).fit(RowBlocks(lambda: same)).components_, pca.components_, atol=1e-10)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("output", ["pandas", "polars", "default"])
def test_outputs_of_scikit_learn_are_made(form, output, table):
    make = FORMS[form]
    pca = PCA(2).set_output(transform=output)
    scores = pca.fit_transform(make(arrow(table)))
    kind = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "default": np.ndarray}[output]
    assert isinstance(scores, kind)
    if output != "default":
        assert list(scores.columns) == ["pca0", "pca1"]


def test_values_are_copied_once(table):
    x = arrow(np.tile(table, (2000, 1)))
    column = x.column(0).chunk(0)
    assert np.shares_memory(column.to_numpy(), x.column(0).chunk(0).to_numpy())
    import tracemalloc

    pieces = pa.concat_tables([x, x])
    tracemalloc.start()
    array = tables.to_array(pieces)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # A copy of one column would be an eighth of the array.
    assert peak < 1.05 * array.nbytes
    assert_array_equal(array, np.tile(table, (4000, 1)))


def test_other_functions_take_queries(table, tmp_path):
    query = relation(arrow(table))
    pca = PCA(2).fit(query)
    assert pca.score(query) == pytest.approx(pca.score(table_frame(table)))
    page = tmp_path / "page.html"
    pca.report(page, query)
    assert page.exists()
    scatter = Scatter().add(query).add(reader(arrow(table)))
    assert PCA(2).fit(scatter).n_samples_ == 120
    back = pca.inverse_transform(relation(pa.table({"pca0": [0.0, 1.0], "pca1": [1.0, 0.0]})))
    assert_allclose(back, pca.mean_ + pca.components_[::-1], atol=1e-12)
    table[3, 1] = np.nan
    completed = iterative_pca(relation(arrow(table)), 2).completed
    assert np.isfinite(np.asarray(completed)).all()


def table_frame(table: np.ndarray) -> pd.DataFrame:
    return pd.DataFrame(table, columns=NAMES)


@needs_streams
def test_streams_that_are_no_tables_are_named():
    class Column:
        def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
            return pa.chunked_array([[1.0, 2.0]]).__arrow_c_stream__(requested_schema)

    with pytest.raises(ValueError, match="X is a Column, whose stream of Arrow is not a table"):
        PCA(1).fit(Column())


def test_a_library_that_reads_streams_is_named(monkeypatch, table):
    monkeypatch.setattr(tables, "_library", lambda name: None)
    with pytest.raises(ImportError, match="X is a Stream; install pyarrow 15 or newer, or polars, to read it"):
        PCA(1).fit(Stream(arrow(table)))
    with pytest.raises(ImportError, match="X is a Interchanged; install pyarrow to read it"):
        PCA(1).fit(Interchanged(arrow(table)))


@needs_streams
def test_polars_alone_reads_streams(monkeypatch, table):
    monkeypatch.setattr(tables, "_library", lambda name: None if name == "pyarrow" else pl)
    assert_allclose(PCA(2).fit_transform(Stream(arrow(table))), PCA(2).fit_transform(table), atol=1e-12)
    assert IncrementalPCA(2).partial_fit(Stream(arrow(table))).n_samples_seen_ == 60
