"""Columns of DataFrames that are unusual, and settings of Spark, in fits and in `transform`."""

from spark_rows import MARKS, close, frame

# The module above skips the tests without pyspark or Java.
# isort: split

import karhunen
import numpy as np
import pytest
from karhunen._shared.errors import name_column
from karhunen._spark import worker
from karhunen._spark.texts import in_spark_terms
from karhunen.spark import PCA
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.linalg import Vectors

pytestmark = MARKS

X = np.random.default_rng(0).normal(size=(60, 3)) * [3, 2, 1] + 5


@pytest.fixture(scope="module")
def source(spark):
    rows = [(i, Vectors.dense(row), *row.tolist()) for i, row in enumerate(X)]
    return spark.createDataFrame(rows, ["id", "f", "a", "b", "c"]).repartition(2).persist()


@pytest.fixture(scope="module")
def model(source):
    return PCA(k=2, inputCol="f", outputCol="s").fit(source)


@pytest.fixture(scope="module")
def named(source):
    return PCA(k=2, inputCols=["a", "b", "c"], outputCol="s").fit(source)


def scores(rows):
    return np.array([row.s.toArray() for row in rows.orderBy("id").collect()])


def test_errors_of_scores_name_the_row_of_the_partition(spark, named):
    # Batches have 40 rows.
    rows = spark.range(0, 100, 1, 1).selectExpr("1D as a", "if(id = 70, double('nan'), 2D) as b", "3D as c")
    message = r"part 0: row 70, column 1 \('b'\) is NaN; fill it, or drop such rows; rows and columns count from 0"
    with pytest.raises(Exception, match=message) as caught:
        named.transform(rows).collect()
    assert "IncompletePCA" not in str(caught.value)
    model = named.copy().setInputCol("f")
    with pytest.raises(Exception, match="part 0: row 70, column 1 is NaN; fill it, or drop such rows"):
        model.transform(rows.selectExpr("array(a, b, c) as f")).collect()


def test_a_model_demands_the_columns_of_the_fit_in_their_order(source, named):
    expected = scores(named.transform(source))
    with pytest.raises(ValueError, match=r"inputCols\[0\] is 'c', and the model was fitted to 'a' there"):
        named.copy().setInputCols(["c", "b", "a"]).transform(source)
    with pytest.raises(ValueError, match=r"inputCols\[2\] is 'd', and the model was fitted to 'c' there"):
        named.copy().setInputCols(["a", "b", "d"]).transform(source.withColumnRenamed("c", "d"))
    np.testing.assert_array_equal(scores(named.transform(source.select("c", "id", "b", "a"))), expected)
    np.testing.assert_allclose(scores(named.copy().setInputCol("f").transform(source)), expected, atol=1e-12)


def test_names_that_are_repeated(source, model):
    expected = scores(model.transform(source))
    repeated = source.selectExpr("id", "f", "a", "b as a", "cast(id as string) as `t.t`")
    found = model.transform(repeated)
    assert found.columns == ["id", "f", "a", "a", "t.t", "s"]
    np.testing.assert_array_equal(scores(found), expected)
    row = found.orderBy("id").first()
    assert row[2:5] == (X[0, 0], X[0, 1], "0")
    close(PCA(k=2, inputCol="f").fit(repeated), model.toKarhunen())
    for options, name in (({"inputCol": "f"}, "f"), ({"inputCols": ["id", "f"]}, "f"), ({"weightCol": "a"}, "a")):
        option = next(iter(options))
        twice = source.selectExpr("id", "f", "a", "c as f") if name == "f" else repeated
        with pytest.raises(ValueError, match=rf"^{option}: the DataFrame has 2 columns named '{name}'"):
            PCA(**{"k": 1, **({} if name == "f" else {"inputCol": "f"}), **options}).fit(twice)
    with pytest.raises(ValueError, match="inputCol: the DataFrame has 2 columns named 'f'"):
        model.transform(source.selectExpr("id", "a as f", "f"))


def test_large_types_of_arrow(spark, source, model):
    expected = scores(model.transform(source))
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    try:
        again = PCA(k=2, inputCol="f", outputCol="s").fit(source)
        assert again.pc == model.pc
        found = again.transform(source.selectExpr("*", "cast(id as string) as text", "binary('x') as bytes"))
        np.testing.assert_array_equal(scores(found), expected)
    finally:
        spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")


def test_columns_that_spark_does_not_pass_to_python(source, model):
    months, repeated = "Spark passes no intervals with months", "Spark passes no structs with two fields of one name"
    for expression, kind, problem in (
        ("interval '1' month", "interval month", months),
        ("make_interval(1, 2, 3)", "interval", months),
        ("array(interval '1' month)", "array<interval month>", months),
        ("map('k', make_interval(1))", "map<string,interval>", months),
        ("named_struct('a', 1, 'a', 2)", "struct<a:int,a:int>", repeated),
        ("array(named_struct('n', named_struct('a', 1, 'a', 2)))", "array<struct<n:struct<a:int,a:int>>>", repeated),
    ):
        rows = source.selectExpr("f", f"{expression} as z")
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            model.transform(rows)
        text = f"column 'z' is {kind}, and {problem} to Python; drop or convert it before transform"
        assert str(caught.value) == text
        assert PCA(k=1, inputCol="f").fit(rows).numFeatures == 3
    for expression in ("interval '1' day", "named_struct('a', 1, 'b', f)", "map('k', array(1))"):
        assert model.transform(source.selectExpr("f", f"{expression} as z").limit(1)).count() == 1


def test_the_scores_have_a_length(source, model):
    found = model.transform(source)
    assert found.schema["s"].metadata == {"ml_attr": {"num_attrs": 2}}
    assembler = VectorAssembler(inputCols=["s", "a"], outputCol="v", handleInvalid="keep")
    assert assembler.transform(found).first().v.size == 3


def test_vectors_without_numbers(spark):
    for rows in (
        spark.createDataFrame([([],), ([],)], "f array<double>"),
        spark.createDataFrame([(Vectors.dense([]),)], ["f"]),
        spark.createDataFrame([(Vectors.sparse(0, [], []),)], ["f"]),
    ):
        with pytest.raises(ValueError, match=r"^part 0: row 0 of 'f' has length 0; a row needs at least one number$"):
            PCA(k=1, inputCol="f").fit(rows.coalesce(1))


def test_booleans_are_numbers(spark):
    rows = spark.range(0, 30, 1, 2).selectExpr(
        "id % 2 = 0 as a", "id % 3 = 0 as b", "array(id % 2 = 0, id % 3 = 0) as f", "id < 20 as w"
    )
    x = np.array([[i % 2 == 0, i % 3 == 0] for i in range(30)], dtype=float)
    expected = karhunen.PCA(2).fit(x, sample_weight=np.arange(30) < 20)
    for options in ({"inputCol": "f"}, {"inputCols": ["a", "b"]}):
        model = PCA(k=2, weightCol="w", outputCol="s", **options).fit(rows)
        close(model, expected)
        found = np.sort([row.s[0] for row in model.transform(rows).collect()])
        np.testing.assert_allclose(found, np.sort(expected.transform(x)[:, 0]), atol=1e-12)


def test_errors_of_weights_name_their_column(spark):
    rows = frame(spark, X)
    for weights, message in (
        ("if(id = 7, double('nan'), 1D)", r"^part \d: row \d+ of 'my w' is NaN; a weight must be finite"),
        ("0D", "^weightCol 'my w': all 60 entries are zero"),
        ("1e-2", "^weightCol 'my w' sums to 0.6"),
    ):
        weighted = rows.selectExpr("f", f"{weights} as `my w`")
        with pytest.raises(ValueError, match=message):
            PCA(k=1, inputCol="f", weightCol="my w").fit(weighted)


def test_names_in_quotes_stay():
    assert in_spark_terms("max_iter of 'max_iter', sample_weight", "n") == "maxIter of 'max_iter', weightCol 'n'"


def test_errors_without_names_stay():
    error = ValueError("row 1, column 2 is NaN")
    error.column = 2
    assert name_column(error, None) is error


def test_many_columns_are_read_by_one_selection(spark, monkeypatch):
    names = [f"c.{j}" for j in range(30)]
    x = np.random.default_rng(2).normal(size=(40, 30))
    rows = spark.createDataFrame(x.tolist(), names)
    kind, calls = type(rows), []
    find = kind.__getitem__
    monkeypatch.setattr(kind, "__getitem__", lambda self, name: calls.append(name) or find(self, name))
    read = PCA(k=2, inputCols=names)._columns(rows).select(rows)
    assert calls == []
    assert read.columns == [f"x{j}" for j in range(30)]
    monkeypatch.undo()
    np.testing.assert_array_equal([list(row) for row in read.collect()], x)


def test_executors_with_another_version(source, monkeypatch):
    monkeypatch.setattr(worker, "BUILD", "0.0.1, task format 0")
    message = r"the executors have another version of karhunen \(.*\) than the driver \(0\.0\.1, task format 0\)"
    with pytest.raises(Exception, match=message):
        PCA(k=1, inputCol="f").fit(source)


def test_the_check_of_versions_needs_nothing_of_karhunen(monkeypatch):
    # As on an executor with a version that lacks what the content refers to.
    call = worker.on_worker(abs)
    assert call(-3) == 3
    monkeypatch.delattr("karhunen._cluster.part.BUILD")
    with pytest.raises(RuntimeError, match=r"another version of karhunen \(an older version\)"):
        call(-3)


def test_threads_of_scores_are_checked_by_the_driver(source, model):
    for number in (0, 10**6):
        with pytest.raises(ValueError, match=f"numThreads = {number} is not allowed"):
            model.copy().setNumThreads(number).transform(source)
