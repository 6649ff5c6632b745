"""PCA of Spark DataFrames, in one classic session, and through Connect in a process of its own."""

from spark_rows import FORMS, MARKS, WEIGHTS, close, frame, inputs

# The module above skips the tests without pyspark or Java.
# isort: split

import doctest
import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import karhunen
import numpy as np
import pyarrow as pa
import pytest
from karhunen import cluster
from karhunen._spark import batches, passes, pieces, rows, scores, sums
from karhunen._spark.arrow import arrow_schema
from karhunen._spark.columns import Columns
from karhunen.spark import PCA, PCAModel
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import PCA as SparkPCA
from pyspark.ml.feature import VectorAssembler
from pyspark.ml.linalg import SparseVector, Vectors, VectorUDT

ROOT = Path(__file__).parents[2]

pytestmark = MARKS

REREAD = "every pass of block Krylov iteration"


@pytest.fixture(scope="module")
def x():
    """Return 300 x 6 numbers with a mean, of which many are zero."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(300, 6)) @ np.diag([6, 5, 4, 3, 2, 1]) @ rng.normal(size=(6, 6)) + 2
    values[rng.random(values.shape) < 0.6] = 0
    return values


@pytest.mark.parametrize("form", [*FORMS, "numbers"])
def test_the_model_equals_the_rows_in_memory(spark, x, form):
    given = {"array<int>": x.astype(int), "array<float>": x.astype(np.float32)}.get(form, x)
    for options in ({}, {"scale": True, "weighting": "importance"}):
        weighted = bool(options)
        pca = PCA(k=3, outputCol="s", **inputs(form, x), **options)
        if weighted:
            pca.setWeightCol("w")
        model = pca.fit(frame(spark, x, form))
        expected = karhunen.PCA(3, **options).fit(given, sample_weight=WEIGHTS if weighted else None)
        close(model, expected)
        if form == "numbers":
            assert model.toKarhunen().feature_names_in_.tolist() == [f"c.{j}" for j in range(6)]
    found = model.transform(frame(spark, x, form)).orderBy("id").select("s").collect()
    tolerance = 1e-4 if form == "array<float>" else 1e-11
    np.testing.assert_allclose([row.s.toArray() for row in found], expected.transform(given), atol=tolerance)


def frame_of_waves(spark, n_parts, flag=None):
    """Return 1,000 rows in partitions that are known; partition 1 fails as long as there is no file `flag`."""

    def waves(ids):
        return np.sin(np.outer(ids + 1, np.arange(1, 6)) ** 1.5)

    def generate(batches):
        from pyspark import TaskContext

        for batch in batches:
            yield pa.RecordBatch.from_pydict({"f": waves(batch.column("id").to_numpy()).tolist()})
        if TaskContext.get().partitionId() == 1 and flag is not None and not flag.exists():
            flag.touch()
            raise OSError("this worker is lost")

    bounds = [1000 * i // n_parts for i in range(n_parts + 1)]
    parts = [waves(np.arange(a, b)) for a, b in itertools.pairwise(bounds)]
    return spark.range(0, 1000, numPartitions=n_parts).mapInArrow(generate, "f array<double>"), parts


@pytest.mark.parametrize("driver_bytes", [0, 2**20])
def test_the_bits_equal_the_same_parts_in_any_engine(spark, monkeypatch, driver_bytes):
    # The driver merges what the first pass leaves; then the number of levels is known.
    monkeypatch.setattr(passes, "_FIRST_LEVELS", 0)
    monkeypatch.setattr(passes, "_DRIVER_BYTES", driver_bytes)
    source, parts = frame_of_waves(spark, 10)
    for options in ({}, {"solver": "block-krylov"}):
        model = PCA(k=2, inputCol="f", persist=True, **options).fit(source).toKarhunen()
        expected = cluster.fit(karhunen.PCA(2, **options), parts)
        assert model.components_.tobytes() == expected.components_.tobytes()
        assert model.explained_variance_.tobytes() == expected.explained_variance_.tobytes()
        assert model.n_iter_ == expected.n_iter_


@pytest.mark.parametrize("form", ["dense", "mixed", "array<int>", "numbers"])
def test_the_bits_do_not_depend_on_the_size_of_the_batches(spark, x, form):
    pca, source = PCA(k=3, weightCol="w", **inputs(form, x)), frame(spark, x, form).persist()
    option, found = "spark.sql.execution.arrow.maxRecordsPerBatch", []
    before = spark.conf.get(option)
    for n_records in ("7", "64", "0", before):
        spark.conf.set(option, n_records)
        found.append(pca.fit(source).toKarhunen().components_.tobytes())
        assert spark.conf.get(option) == n_records
    assert len(set(found)) == 1
    source.unpersist()


def test_batches_are_small_while_a_fit_runs():
    option = "spark.sql.execution.arrow.maxRecordsPerBatch"
    values = {option: "10000"}
    session = SimpleNamespace(conf=SimpleNamespace(get=values.get, set=values.__setitem__))
    first, second = batches.small_batches(session), batches.small_batches(session)
    with pytest.raises(OSError, match="lost"), first, second:  # noqa: PT012
        assert values[option] == "1000"
        raise OSError("lost")
    assert values[option] == "10000"
    for given, used in (("50", "50"), ("0", "1000"), ("-1", "1000")):
        values[option] = given
        with batches.small_batches(session):
            assert values[option] == used
        assert values[option] == given


def test_a_dense_row_before_many_sparse_ones(spark, x, tmp_path):
    rows = [Vectors.dense(x[0])] * 20 + [SparseVector(6, [i % 6], [1.0 + i]) for i in range(200)]
    source = spark.createDataFrame([(row,) for row in rows], ["f"]).coalesce(1).persist()
    expected = karhunen.PCA(2).fit(np.array([row.toArray() for row in rows]))
    option = "spark.sql.execution.arrow.maxRecordsPerBatch"
    before, log = spark.conf.get(option), str(tmp_path / "fit.passes")
    for solver, tolerance in (("covariance", 1e-12), ("block-krylov", 1e-7)):
        found = []
        for n_records in ("10", before):
            spark.conf.set(option, n_records)
            pca = PCA(k=2, inputCol="f", solver=solver, persist=True, checkpoint=f"{log}.{solver}.{n_records}")
            found.append(pca.fit(source).toKarhunen())
            close(PCAModel(found[-1]), expected, tolerance)
        # The log holds all passes, and the rows are compared with it in another size of batches.
        again = pca.copy({pca.resume: True, pca.checkpoint: f"{log}.{solver}.10"}).fit(source).toKarhunen()
        assert len({one.components_.tobytes() for one in (*found, again)}) == 1
    source.unpersist()


def test_iteration_says_once_that_it_reads_again(spark, x):
    source = frame(spark, x)
    pca = PCA(k=2, inputCol="f", solver="block-krylov")
    with pytest.warns(UserWarning, match=REREAD) as told:
        model = pca.fit(source)
    told = [one for one in told if REREAD in str(one.message)]
    assert len(told) == 1
    assert "some ten times, unless what it is computed from is persisted; persist it" in str(told[0].message)
    assert told[0].filename == __file__
    assert model.toKarhunen().n_iter_ > 1
    expected = karhunen.PCA(2).fit(x)
    close(model, expected, 1e-7)
    close(pca.copy({pca.persist: True}).fit(source), expected, 1e-7)
    source.persist()
    close(pca.fit(source), expected, 1e-7)
    source.unpersist()


def test_tasks_of_more_than_a_megabyte(spark):
    wide = np.random.default_rng(0).normal(size=(40, 4000)) * (np.arange(4000) < 30)
    pca = PCA(k=20, inputCol="f", solver="block-krylov", persist=True)
    model = pca.fit(frame(spark, wide, "sparse", parts=2))
    expected = karhunen.PCA(20, solver="block-krylov").fit(wide)
    np.testing.assert_allclose(model.explainedVariance.toArray(), expected.explained_variance_ratio_, rtol=1e-10)


def test_spark_and_its_own_pca_agree(spark, x):
    source = frame(spark, x, "mixed")
    theirs = SparkPCA(k=3, inputCol="f", outputCol="s").fit(source)
    ours = PCA(k=3, inputCol="f", outputCol="s").fit(source).setSubtractMean(False)
    signs = np.sign((theirs.pc.toArray() * ours.pc.toArray()).sum(0))
    np.testing.assert_allclose(ours.pc.toArray() * signs, theirs.pc.toArray(), atol=1e-12)
    np.testing.assert_allclose(ours.explainedVariance.toArray(), theirs.explainedVariance.toArray(), rtol=1e-12)
    np.testing.assert_allclose(ours.mean.toArray(), x.mean(0), atol=1e-13)
    assert ours.numFeatures == 6
    found, expected = (
        np.array([row.s.toArray() for row in model.transform(source).orderBy("id").collect()])
        for model in (ours, theirs)
    )
    np.testing.assert_allclose(found * signs, expected, atol=1e-11)


def test_pipelines_and_param_maps(spark, x, tmp_path):
    source = frame(spark, x, "numbers")
    assembler = VectorAssembler(inputCols=[f"`c.{j}`" for j in range(6)], outputCol="f")
    # VectorAssembler does not find names with dots.
    source = source.toDF("id", "w", *(f"c{j}" for j in range(6)))
    assembler.setInputCols([f"c{j}" for j in range(6)])
    pca = PCA(k=4, inputCol="f", outputCol="s")
    model = Pipeline(stages=[assembler, pca]).fit(source)
    close(model.stages[1], karhunen.PCA(4).fit(x))
    expected = model.transform(source).orderBy("id").collect()
    model.write().overwrite().save(str(tmp_path / "model"))
    again = PipelineModel.load(str(tmp_path / "model"))
    assert again.transform(source).orderBy("id").collect() == expected

    prepared = assembler.transform(source)
    maps = [{pca.k: 2}, {pca.k: 3, pca.scale: True}]
    few, scaled = pca.fit(prepared, maps)
    assert (few.pc.numCols, scaled.pc.numCols, pca.getK(), few.getK()) == (2, 3, 4, 2)
    close(scaled, karhunen.PCA(3, scale=True).fit(x))
    close(pca.fit(prepared, maps[1]), scaled.toKarhunen())
    other = few.copy({few.outputCol: "t"})
    assert (few.getOutputCol(), other.getOutputCol(), other.pc) == ("s", "t", few.pc)
    assert few.transform(prepared, {few.outputCol: "t"}).columns[-1] == "t"


def test_estimators_and_models_are_saved(spark, x, tmp_path):
    source = frame(spark, x)
    pca = PCA(k=2, inputCol="f", outputCol="s", whiten=True, tol=1e-5, seed=7)
    model = pca.fit(source)
    for instance in (pca, model):
        path = str(tmp_path / type(instance).__name__)
        instance.save(path)
        again = type(instance).load(path)
        assert again.uid == instance.uid
        values = {param.name: value for param, value in instance.extractParamMap().items()}
        assert {param.name: value for param, value in again.extractParamMap().items()} == values
        with pytest.raises(FileExistsError, match=r"already exists; write\(\)\.overwrite\(\)\.save"):
            instance.save(path)
        instance.write().overwrite().save(path)
    loaded = PCAModel.load(path)
    assert loaded.pc == model.pc
    assert loaded.transform(source).orderBy("id").collect() == model.transform(source).orderBy("id").collect()
    with pytest.raises(ValueError, match=r"holds a karhunen\.spark\.PCAModel, not a karhunen\.spark\.PCA"):
        PCA.load(path)
    with pytest.raises(ValueError, match="has no components"):
        PCAModel().write()


@pytest.mark.parametrize("form", ["dense", "sparse", "array<float>", "numbers"])
def test_empty_partitions(spark, x, form):
    few = frame(spark, x, form, parts=7).filter("id < 4")
    given = x[:4].astype(np.float32) if form == "array<float>" else x[:4]
    options = {"solver": "block-krylov", "persist": True} if form == "array<float>" else {}
    model = PCA(k=2, weightCol="w", **inputs(form, x), **options).fit(few)
    expected = karhunen.PCA(2, solver="covariance").fit(given, sample_weight=WEIGHTS[:4])
    close(model, expected, 1e-4 if options else 1e-12)
    assert model.setOutputCol("s").transform(few.filter("id > 3")).count() == 0


def test_no_rows_at_all(spark, x):
    for parts in (1, 9):
        with pytest.raises(ValueError, match="the DataFrame has no rows"):
            PCA(k=2, inputCol="f").fit(frame(spark, x, parts=parts).filter("id < 0"))


ONE = [1.0, 2.0, 3.0]


@pytest.mark.parametrize(
    ("schema", "bad", "message"),
    [
        ("f array<double>", [None], r"row 50 of 'f' is null; drop such rows by df\.dropna\(subset=\['f'\]\)"),
        ("f array<double>", [[1.0, None, 3.0]], "row 50, column 1 of 'f' is null"),
        ("f array<double>", [[1.0, 2.0]], "row 50 of 'f' has length 2, expected 3; give all rows the same length"),
        ("f array<double>", [[1.0, float("nan"), 2.0]], "row 50, column 1 is NaN"),
        ("f array<float>", [[1.0, 2.0, float("inf")]], "row 50, column 2 is inf"),
        ("f vector", [None], "row 50 of 'f' is null"),
        ("f vector", [Vectors.dense(1.0, 2.0)], "row 50 of 'f' has length 2, expected 3"),
        ("f vector", [Vectors.sparse(4, [1], [2.0])], "row 50 of 'f' has length 4, expected 3"),
        ("f vector", [Vectors.sparse(3, [1], [float("nan")])], "row 50, column 1 is NaN"),
        ("a double, b double, c int", [1.0, None, 2], "row 50 of 'b' is null"),
        (
            "a double, b double, c int",
            [1.0, float("nan"), 2],
            r"row 50, column 1 \('b'\) is NaN; fill it, or drop such rows;",
        ),
        ("f array<double>, w double", [ONE, None], "row 50 of 'w' is null"),
        ("f array<double>, w double", [ONE, -1.0], "row 50 of 'w' is -1; a weight must be finite"),
    ],
)
def test_errors_name_the_partition_and_the_row(spark, schema, bad, message):
    good = {"f array<double>": [ONE], "f array<float>": [ONE], "f vector": [Vectors.dense(ONE)]}
    good |= {"f array<double>, w double": [ONE, 1.0], "a double, b double, c int": [1.0, 2.0, 3]}
    table = [good[schema]] * 50 + [bad] + [good[schema]] * 9
    if schema == "f vector":
        from pyspark.sql.types import StructField, StructType

        source = spark.createDataFrame(table, StructType([StructField("f", VectorUDT())]))
    else:
        source = spark.createDataFrame(table, schema)
    columns = {"inputCols": ["a", "b", "c"]} if schema.startswith("a") else {"inputCol": "f"}
    weight = {"weightCol": "w"} if "w" in source.columns else {}
    with pytest.raises(ValueError, match=message) as caught:
        PCA(k=1, **columns, **weight).fit(source.coalesce(1))
    assert str(caught.value).startswith("part 0: ")
    assert "\n" not in str(caught.value)


def test_vectors_of_different_lengths_in_different_partitions(spark):
    def generate(batches):
        for batch in batches:
            ids = batch.column("id").to_pylist()
            yield pa.RecordBatch.from_pydict({"f": [[1.0] * (2 if i < 5 else 3) for i in ids]})

    source = spark.range(0, 10, numPartitions=2).mapInArrow(generate, "f array<double>")
    with pytest.raises(ValueError, match=r"^part 1 has 3 columns.* part 0 has 2"):
        PCA(k=1, inputCol="f").fit(source)


def test_a_repeated_task_gives_the_same_bits(spark, tmp_path):
    flag = tmp_path / "failed"
    source, parts = frame_of_waves(spark, 3, flag)
    found = PCA(k=3, inputCol="f").fit(source).toKarhunen()
    assert flag.exists()
    assert found.components_.tobytes() == cluster.fit(karhunen.PCA(3), parts).components_.tobytes()


def test_rows_that_change_between_passes(spark):
    def draw(batches):
        rng = np.random.default_rng()
        for batch in batches:
            yield pa.RecordBatch.from_pydict({"f": rng.normal(size=(batch.num_rows, 4)).tolist()})

    source = spark.range(0, 100, numPartitions=3).mapInArrow(draw, "f array<double>")
    pca = PCA(k=2, inputCol="f", solver="block-krylov")
    with (
        pytest.warns(UserWarning, match=REREAD),
        pytest.raises(ValueError, match=r"values of part 0 differ between passes over the data; persist"),
    ):
        pca.fit(source)
    assert pca.setPersist(True).fit(source).pc.numRows == 4


def test_a_fit_continues_from_its_checkpoint(spark, x, tmp_path):
    path = tmp_path / "passes"
    source = frame(spark, x).orderBy("id").persist()
    pca = PCA(k=2, inputCol="f", solver="block-krylov", checkpoint=str(path))
    first = pca.fit(source)
    with pytest.raises(FileExistsError):
        pca.fit(source)
    assert pca.setResume(True).fit(source).pc == first.pc
    # The file holds all passes, and is compared with the rows.
    with pytest.raises(ValueError, match="the DataFrame has no rows"):
        pca.fit(source.limit(0))
    with pytest.raises(ValueError, match=r"differ between passes|in the first pass"):
        pca.fit(frame(spark, x + 1).orderBy("id"))
    source.unpersist()


def test_transform_is_lazy_and_keeps_other_columns(spark, x, tmp_path):
    flag = tmp_path / "read"

    def mark(batches):
        for batch in batches:
            flag.touch()
            yield batch

    source = frame(spark, x, "array<double>")
    model = PCA(k=2, inputCol="f", outputCol="s.1", whiten=True).fit(source)
    extra = source.selectExpr("*", "struct(id, 'a' as t) as nested", "date'2024-02-29' as day", "map('k', w) as m")
    marked = extra.mapInArrow(mark, extra.schema)
    found = model.transform(marked)
    assert not flag.exists()
    assert found.schema[:-1] == marked.schema
    assert found.schema[-1].dataType == VectorUDT()
    collected = found.orderBy("id").collect()
    assert flag.exists()
    assert [row[:-1] for row in collected] == [tuple(row) for row in extra.orderBy("id").collect()]
    expected = karhunen.PCA(2, whiten=True).fit(x).transform(x)
    np.testing.assert_allclose([row[-1].toArray() for row in collected], expected, atol=1e-11)
    with pytest.raises(ValueError, match=r"has a column 's\.1'; set another outputCol"):
        model.transform(found)
    bad = spark.createDataFrame([([1.0, 2.0],)], "f array<double>")
    with pytest.raises(Exception, match="row 0 of 'f' has length 2, expected 6"):
        model.transform(bad).collect()


def test_vectors_in_parquet(spark, x, tmp_path):
    frame(spark, x, "mixed").write.parquet(str(tmp_path / "x"))
    source = spark.read.parquet(str(tmp_path / "x"))
    model = PCA(k=2, inputCol="f", outputCol="s").fit(source)
    close(model, karhunen.PCA(2).fit(x))
    model.transform(source).write.parquet(str(tmp_path / "scores"))
    found = spark.read.parquet(str(tmp_path / "scores")).orderBy("id").collect()
    np.testing.assert_allclose([row.s.toArray() for row in found], karhunen.PCA(2).fit_transform(x), atol=1e-11)


def test_columns_that_cannot_be_used(spark, x):
    source = frame(spark, x).selectExpr("*", "cast(id as string) as text")
    for options, message in (
        ({}, "^set inputCol, a column of vectors or arrays, or inputCols"),
        ({"inputCol": "f", "inputCols": ["w"]}, r"both inputCol and inputCols are set; clear one .*pca\.clear"),
        ({"inputCol": "g"}, "inputCol names 'g', which the DataFrame does not have; its columns are id, w, f, text"),
        ({"inputCol": "w"}, "is double; .*; give numeric columns as inputCols"),
        ({"inputCol": "text"}, "'text' is string; a column of vectors"),
        ({"inputCols": []}, "inputCols is empty"),
        ({"inputCols": ["w", "f"]}, "'f' of inputCols is vector; numeric columns"),
        ({"inputCol": "f", "weightCol": "text"}, "weightCol = 'text' is string"),
    ):
        with pytest.raises(ValueError, match=message):
            PCA(k=1, **options).fit(source)
    with pytest.raises(ValueError, match="k is not set"):
        PCA(inputCol="f").fit(source)
    with pytest.raises(ValueError, match=r"^k=7 must be between 0 and .*=6"):
        PCA(k=7, inputCol="f").fit(source)
    with pytest.raises(ValueError, match="solver"):
        PCA(k=1, inputCol="f", solver="svd").fit(source)
    with pytest.raises(ValueError, match="maxIter"):
        PCA(k=1, inputCol="f", maxIter=0).fit(source)
    with pytest.raises(TypeError, match="k"):
        PCA(k="two")
    model = PCA(k=1, inputCols=["w", "id"]).fit(source)
    with pytest.raises(ValueError, match="inputCols names 1 columns; the model was fitted to 2"):
        model.setInputCols(["w"]).transform(source)


def test_every_parameter_has_a_setter():
    pca, model = PCA(), PCAModel()
    for param in pca.params:
        setter = f"set{param.name[0].upper()}{param.name[1:]}"
        value = {"k": 3, "maxIter": 9, "seed": 4, "numThreads": 2, "tol": 1e-3, "inputCols": ["a"]}.get(param.name)
        default = pca.getOrDefault(param) if pca.hasDefault(param) else None
        value = value if value is not None else not default if isinstance(default, bool) else "text"
        assert getattr(pca, setter)(value) is pca
        assert pca.getOrDefault(param) == value
        assert f"`{param.name}`" in PCA.__doc__ or f" {param.name}" in PCA.__doc__
    for name in ("InputCol", "InputCols", "OutputCol", "Whiten", "SubtractMean", "NumThreads"):
        assert hasattr(model, f"set{name}")
    assert pca.setInputCol("b").isSet(pca.inputCol)
    assert not pca.isSet(pca.inputCols)


def serialized(table):
    keys = ("type", "size", "indices", "values")
    return pa.array([dict(zip(keys, VectorUDT().serialize(row), strict=True)) for row in table], scores._VECTOR)


def test_sparse_rows_stay_sparse():
    def read(tables):
        reader = rows.RowReader(Columns("vector", ("f",), "float64", None), 0, None)
        return rows.joined([(reader.block([serialized(table)]), None) for table in tables], reader)[0]

    def dense(matrix):
        return matrix.toarray() if hasattr(matrix, "toarray") else matrix

    wide = [SparseVector(1000, [j], [1.0 + j]) for j in range(8)]
    full = SparseVector(3, [0, 1, 2], [1.0, 2.0, 3.0])
    for tables, is_sparse in (
        ([wide], True),
        ([wide[:3], wide[3:]], True),
        ([[full], [full, full]], True),
        ([wide, [Vectors.dense(np.arange(1000.0))]], True),
        ([[full, Vectors.dense(4.0, 5.0, 6.0)], [full]], False),
        ([[Vectors.dense(4.0, 5.0, 6.0)], [full]], False),
        ([[Vectors.dense(4.0, 5.0, 6.0)]], False),
    ):
        found = read(tables)
        assert hasattr(found, "toarray") == is_sparse
        np.testing.assert_array_equal(dense(found), [row.toArray() for table in tables for row in table])
    # Slices of a batch begin at an offset.
    reader = rows.RowReader(Columns("vector", ("f",), "float64", None), 0, None)
    table = [full, Vectors.dense(4.0, 5.0, 6.0), SparseVector(3, [1], [7.0]), Vectors.dense(0.0, 8.0, 0.0)]
    for begin, end in ((1, 3), (2, 4), (3, 4)):
        found = reader.block([serialized(table).slice(begin, end - begin)])
        np.testing.assert_array_equal(dense(found), [row.toArray() for row in table[begin:end]])
    lists = pa.array([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    reader = rows.RowReader(Columns("array", ("f",), "float64", None), 0, None)
    block = reader.block([lists.slice(1)])
    np.testing.assert_array_equal(block, [[3, 4], [5, 6]])
    assert block.__array_interface__["data"][0] == lists.values.to_numpy().__array_interface__["data"][0] + 16


def test_sums_travel_in_several_rows(monkeypatch):
    monkeypatch.setattr(pieces, "ROW_BYTES", 10)
    found = [
        sums.Sums(3, 2, 7, None, bytes(range(25))),
        sums.Sums(0, 3, None),
        sums.Sums(5, 1, 4, "part 5: row 1"),
    ]
    for large in ("false", "true"):
        conf = SimpleNamespace(get=lambda *_, large=large: large)
        schema = arrow_schema(SimpleNamespace(sparkSession=SimpleNamespace(conf=conf)), sums.SCHEMA)
        assert pa.types.is_large_binary(schema.field("data").type) == (large == "true")
        batches = [batch for one in found for batch in one.to_batches(0, schema)]
        assert len(batches) == 5
        again = sums.sums_of_table(pa.Table.from_batches(batches[::-1]))
        assert again == [found[1], found[0], found[2]]
    assert sums.merged(again, b"".join, None) == sums.Sums(0, 6, 4, "part 5: row 1")
    of_empty = sums.merged(again[:2], b"".join, lambda part, width: bytes([part, width]))
    assert of_empty == sums.Sums(0, 5, 7, None, bytes([0, 7, 1, 7, 2, 7, *range(25)]))
    assert [passes._levels_for(n, 2**30) for n in (1, 2, 4, 5, 16, 17, 64, 65)] == [0, 1, 1, 2, 2, 3, 3, 4]
    # Up to 16 sums of 4 MiB reach the driver.
    assert [passes._levels_for(n, 2**22) for n in (16, 17, 100, 1000)] == [0, 1, 2, 3]


CONNECT = """
import json, sys, tempfile, warnings
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas")
import numpy as np
from karhunen.spark import PCA, PCAModel
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.linalg import Vectors
from pyspark.sql import SparkSession

spark = SparkSession.builder.remote("local[2]").getOrCreate()
assert "connect" in type(spark).__module__
x = np.array(json.load(sys.stdin))
source = spark.createDataFrame([(i, Vectors.dense(row)) for i, row in enumerate(x)], ["id", "f"]).repartition(3)
pca = PCA(k=2, inputCol="f", outputCol="s")
model = Pipeline(stages=[pca]).fit(source)
folder = tempfile.mkdtemp()
model.write().overwrite().save(folder)
model.stages[0].write().overwrite().save(folder + "/one")
model = PipelineModel.load(folder)
krylov = PCA(k=2, inputCol="f", solver="block-krylov", persist=True).fit(source)
try:
    pca.fit(source.selectExpr("if(id = 4, null, f) as f"))
except ValueError as error:
    message = str(error)
rows = model.transform(source).orderBy("id").collect()
print(json.dumps({
    "components": model.stages[0].pc.toArray().T.tolist(),
    "krylov": krylov.pc.toArray().T.tolist(),
    "scores": [row.s.toArray().tolist() for row in rows],
    "message": message,
}))
spark.stop()
"""


def test_connect(x, tmp_path):
    pytest.importorskip("grpc", reason="Spark Connect needs grpcio")
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    for name in ("PYSPARK_GATEWAY_PORT", "PYSPARK_GATEWAY_SECRET", "SPARK_CONNECT_MODE_ENABLED"):
        environment.pop(name, None)
    command = [sys.executable, "-c", CONNECT]
    done = subprocess.run(
        command,
        input=json.dumps(x.tolist()),
        capture_output=True,
        text=True,
        env=environment,
        cwd=tmp_path,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr[-5000:]
    found = json.loads(done.stdout.splitlines()[-1])
    expected = karhunen.PCA(2).fit(x)
    np.testing.assert_allclose(found["components"], expected.components_, atol=1e-12)
    np.testing.assert_allclose(found["krylov"], expected.components_, atol=1e-7)
    np.testing.assert_allclose(found["scores"], expected.transform(x), atol=1e-11)
    assert " of 'f' is null; drop such rows" in found["message"]


def test_the_page_for_users_of_spark_runs(spark, temporary_files, monkeypatch):
    monkeypatch.chdir(temporary_files)
    result = doctest.testfile(str(ROOT / "python/docs/spark.rst"), module_relative=False)
    assert (result.failed, result.attempted > 5) == (0, True)
