"""PCA of entries (row, column, value) in Spark DataFrames."""

from spark_rows import MARKS

# The module above skips the tests without pyspark or Java.
# isort: split

import functools
import warnings

import karhunen
import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from karhunen._spark import bundles, incomplete_pca
from karhunen._spark.bundles import _divide, keys_of_parts
from karhunen._spark.entries import EntriesOfPart, EntryColumns, _prepare
from karhunen.spark import IncompletePCA, IncompletePCAModel
from pyspark.sql import functions
from sklearn.exceptions import ConvergenceWarning

pytestmark = MARKS

N, P = 120, 15


@pytest.fixture(scope="module")
def entries():
    """Return rows, columns and values: two components and noise, 60% observed; row 7 has no entries."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(N, 2)) @ rng.normal(size=(2, P)) + 0.2 * rng.normal(size=(N, P)) + 3
    rows, columns = np.nonzero(rng.random((N, P)) < 0.6)
    kept = rows != 7
    rows, columns = rows[kept], columns[kept]
    return rows, columns, x[rows, columns]


def frame(spark, entries, schema="row long, column long, value double", label=lambda j: j):
    rows, columns, values = entries
    order = np.random.default_rng(0).permutation(len(rows))
    table = [(int(rows[e]), label(int(columns[e])), float(values[e])) for e in order]
    return spark.createDataFrame(table, schema).repartition(3)


def in_memory(entries, k=2, **options):
    rows, columns, values = entries
    used, numbers = np.unique(rows, return_inverse=True)
    matrix = sp.csr_array((values, (numbers, columns)), shape=(len(used), P))
    return karhunen.IncompletePCA(k, n_starts=1, **options).fit(matrix), used


def bits(model):
    return model.toKarhunen().components_.tobytes()


def test_entries_fit_one_task_or_partitions_of_a_few_million(spark, entries, monkeypatch):
    source, found = frame(spark, entries), {}
    for n_parts in (None, 1, 3, 4):
        model = IncompletePCA(k=2, persist=True, tol=1e-2, numPartitions=n_parts).fit(source)
        found[n_parts] = bits(model)
        assert model.rowScores().count() == N - 1
    assert found[None] == found[1] != found[3] != found[4]
    monkeypatch.setattr(incomplete_pca, "ENTRIES_OF_TASK", len(entries[0]) - 1)
    monkeypatch.setattr(incomplete_pca, "ENTRIES_OF_PART", -(-len(entries[0]) // 3))
    assert bits(IncompletePCA(k=2, persist=True, tol=1e-2).fit(source)) == found[3]


@pytest.mark.parametrize("options", [{"method": "vb-full"}, {"regParam": 0.5}, {"scale": True}])
def test_one_task_makes_the_passes_of_one_partition(spark, entries, tmp_path, options):
    source = frame(spark, entries, "row int, column string, value float", lambda j: f"c{j:02}")
    estimator = IncompletePCA(k=2, numPartitions=1, persist=True, maxIter=4, tol=0.0, **options)
    models = []
    for checkpoint in (None, str(tmp_path / "passes")):
        if checkpoint is not None:
            estimator.setCheckpoint(checkpoint)
        with pytest.warns(ConvergenceWarning, match="maxIter was reached after 4 iterations") as told:
            models.append(estimator.fit(source))
        assert [one.filename for one in told if one.category is ConvergenceWarning] == [__file__]
    one, passes = (model.toKarhunen() for model in models)
    assert one.feature_names_in_.tolist() == passes.feature_names_in_.tolist() == [f"c{j:02}" for j in range(P)]
    assert bits(models[0]) == bits(models[1])
    assert (one.mean_.tolist(), one.noise_variance_) == (passes.mean_.tolist(), passes.noise_variance_)
    assert one.get_params() == passes.get_params()


@pytest.mark.parametrize("n_parts", [1, 2, 7, 200])
def test_keys_lead_to_their_partitions(spark, n_parts):
    keys = keys_of_parts(spark, n_parts)
    rows = spark.createDataFrame([(part, key) for part, key in enumerate(keys)], "part int, key int")
    found = rows.repartition(n_parts, "key").select("part", functions.spark_partition_id().alias("found")).collect()
    assert sorted(row["part"] for row in found if row["part"] == row["found"]) == list(range(n_parts))


def bundles_of_parts(entries, labels, order, n_parts, as_text):
    """Bundle entries in a given order; return the batches of each part."""
    rows, columns, values = (pa.array(array).take(pa.array(order)) for array in entries)
    table = pa.table([rows.cast("string") if as_text else rows, columns, values], names=["i", "j", "x"])
    prepare = functools.partial(_prepare, EntryColumns("i", "j", "x", "float64"), labels, True)
    schema = pa.schema([("key", pa.int32()), ("problem", pa.string()), ("data", pa.binary())])
    bundles = list(_divide(prepare, list(range(n_parts)), schema, table.to_batches(100)))
    return [[one for one in bundles if one["key"][0].as_py() == part] for part in range(n_parts)]


@pytest.mark.parametrize("as_text", [False, True])
@pytest.mark.parametrize("n_parts", [1, 4])
def test_partitions_do_not_depend_on_the_order_of_their_entries(entries, n_parts, as_text, monkeypatch):
    monkeypatch.setattr(bundles, "_ENTRIES", 250)
    rows, columns, values = entries
    labels, expected = pa.array(np.arange(P)), sp.csr_array((values, (rows, columns)), shape=(N, P)).toarray()
    form, found = EntryColumns("i", "j", "x", "float64"), []
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(rows))
        parts = bundles_of_parts(entries, labels, order, n_parts, as_text)
        found.append([EntriesOfPart.of(part, form, labels) for part in parts])
    for parts in found:
        for part, first in zip(parts, found[0], strict=True):
            assert part.rows == first.rows == part.rows.sort()
            matrix = part.matrix()
            assert matrix.has_canonical_format
            np.testing.assert_array_equal(matrix.toarray(), expected[part.rows.cast("int64").to_numpy()])
            *places, held, _ = part.observed(1).triples()
            np.testing.assert_array_equal(sp.csr_array((held, places), shape=part.shape).toarray(), matrix.toarray())
        of_rows = np.concatenate([part.rows.cast("int64").to_numpy() for part in parts])
        assert sorted(of_rows) == np.unique(rows).tolist()
        # Every part has its share.
        assert min(len(part.rows) for part in parts) > N / n_parts / 2


@pytest.mark.parametrize("n_parts", [1, 3])
def test_nan_is_missing_on_every_route(spark, entries, n_parts):
    rows, columns, values = entries
    others = np.setdiff1d(np.arange(N * P), rows * P + columns)[::4]
    # A row whose entries are all missing would count.
    others = others[np.isin(others // P, rows)]
    more = (
        np.append(rows, others // P),
        np.append(columns, others % P),
        np.append(values, np.full(len(others), np.nan)),
    )
    estimator = IncompletePCA(k=2, persist=True, tol=1e-2, numPartitions=n_parts, regParam=0.1)
    expected = in_memory(entries, method="als", regularization=0.1, tol=1e-2)[0]
    found = estimator.fit(frame(spark, more)).toKarhunen()
    np.testing.assert_allclose(found.components_, expected.components_, rtol=0, atol=1e-7)


def test_labels_of_rows_are_any_bytes():
    labels = pa.array([b"a", b"\xff\xfe", b"a", b"b"]).cast(pa.binary()).view(pa.string())
    parts = bundles._part_of_rows(labels, 1000)
    assert parts[0] == parts[2]
    assert len(set(parts.tolist())) == 3


def test_the_number_of_partitions_of_a_shuffle_may_be_no_number(spark, entries):
    class Conf:
        def get(self, _):
            return "auto"

    class Session:
        conf = Conf()

    assert bundles._usual_number(Session()) == 200
    assert bundles._usual_number(spark) == 4


OPTIONS = [
    ({"method": "em"}, {"method": "em"}),
    ({"method": "vb-full"}, {"method": "vb-full"}),
    ({}, {"method": "als"}),
    ({"regParam": 0.5}, {"method": "als", "regularization": 0.5}),
    ({"regParam": 0.02, "weightedReg": True}, {"method": "als", "regularization": ("weighted", 0.02)}),
]


@pytest.mark.parametrize(("options", "theirs"), OPTIONS)
def test_the_model_equals_the_entries_in_memory(spark, entries, options, theirs):
    model = IncompletePCA(k=2, persist=True, tol=1e-3, **options).fit(frame(spark, entries))
    expected, used = in_memory(entries, tol=1e-3, **theirs)
    found = model.toKarhunen()
    np.testing.assert_allclose(found.components_, expected.components_, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.mean_, expected.mean_, rtol=1e-8)
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-7)
    assert (found.n_samples_, found.column_ids_.tolist()) == (len(used), list(range(P)))
    scores = {row["row"]: row["scores"] for row in model.rowScores().collect()}
    assert sorted(scores) == used.tolist()
    rows, columns, values = entries
    matrix = sp.csr_array((values, (np.searchsorted(used, rows), columns)), shape=(len(used), P))
    np.testing.assert_allclose([scores[i] for i in used], expected.transform(matrix), rtol=0, atol=1e-6)


def test_predictions_of_pairs(spark, entries):
    model = IncompletePCA(k=2, regParam=0.5, persist=True, predictionCol="p", tol=1e-3).fit(frame(spark, entries))
    expected, used = in_memory(entries, method="als", regularization=0.5, tol=1e-3)
    pairs = [(i, j) for i in (0, 7, 50, 119, 400, None) for j in (0, 3, 14, 99)]
    given = spark.createDataFrame([(i, j, f"{i}-{j}") for i, j in pairs], "row long, column int, note string")
    found = {(row["row"], row["column"]): row for row in model.transform(given).collect()}
    assert model.transform(given).columns == ["row", "column", "note", "p"]
    assert len(found) == len(pairs)
    # A row without entries has the scores of an empty row; a column that was not fitted has no prediction.
    of_none = expected.inverse_transform(expected.transform(sp.csr_array((1, P))))[0]
    for (i, j), row in found.items():
        assert row["note"] == f"{i}-{j}"
        if j == 99 or i is None:
            assert row["p"] is None
            continue
        # In memory the scores are those before the last half of an iteration.
        want = expected.predict(np.searchsorted(used, i), j) if i in used else of_none[j]
        assert row["p"] == pytest.approx(float(want), abs=1e-2)


def test_labels_of_strings_and_saved_models(spark, entries, tmp_path):
    source = frame(spark, entries, "row int, column string, value float", lambda j: f"c{j:02}")
    estimator = IncompletePCA(k=2, persist=True, seed=3, numPartitions=5, tol=1e-2)
    model = estimator.fit(source)
    assert model.toKarhunen()._model_now().dtype == "f32"
    for instance in (estimator, model):
        path = str(tmp_path / type(instance).__name__)
        instance.save(path)
        again = type(instance).load(path)
        assert again.uid == instance.uid
        values = {param.name: value for param, value in instance.extractParamMap().items()}
        assert {param.name: value for param, value in again.extractParamMap().items()} == values
    assert repr(again) == f"IncompletePCAModel: uid={model.uid}, k=2, numColumns=15"
    with pytest.raises(ValueError, match="set them with setEntries"):
        again.transform(source)
    # Entries of columns that were not fitted are left out.
    more = source.union(spark.createDataFrame([(0, "new", 2.0), (0, "newer", 3.0)], source.schema))
    again.setEntries(more)
    pairs = source.select("row", "column")
    expected = {(row[0], row[1]): row[2] for row in model.transform(pairs).collect()}
    assert {(row[0], row[1]): row[2] for row in again.transform(pairs).collect()} == expected
    loadings = {row["column"]: row for row in model.columnLoadings().collect()}
    np.testing.assert_allclose(loadings["c03"]["loadings"], model.toKarhunen().components_[:, 3])


def test_bits_do_not_depend_on_the_partitions_of_the_input(spark, entries):
    estimator = IncompletePCA(k=2, persist=True, numPartitions=4, tol=1e-2)
    one = estimator.fit(frame(spark, entries).repartition(1)).toKarhunen()
    other = estimator.fit(frame(spark, entries).repartition(7)).toKarhunen()
    assert one.components_.tobytes() == other.components_.tobytes()


def test_repeated_reading_is_told(spark, entries):
    with pytest.warns(UserWarning, match="every iteration computes the DataFrame again and shuffles it"):
        IncompletePCA(k=1, tol=1e-2, numPartitions=2).fit(frame(spark, entries))
    with warnings.catch_warnings():
        # One task reads the entries once.
        warnings.simplefilter("error", UserWarning)
        IncompletePCA(k=1, tol=1e-2).fit(frame(spark, entries))


def test_what_cannot_be_used(spark, entries):
    source = frame(spark, entries)
    nothing = source.withColumn("value", functions.lit(float("nan")))
    fails = [
        (IncompletePCA(), source, "k is not set"),
        (IncompletePCA(k=0), source, "n_components|k"),
        (IncompletePCA(k=2, method="vb"), source, "method = 'vb' is not allowed: choose 'als', 'em' or 'vb-full'"),
        (IncompletePCA(k=2, weightedReg=True), source, "set regParam"),
        (IncompletePCA(k=2, rowCol="user"), source, "rowCol names 'user', which the DataFrame does not have"),
        (IncompletePCA(k=2, rowCol="value"), source, "labels are integers or strings"),
        (IncompletePCA(k=2, numPartitions=0), source, "numPartitions = 0 is not allowed"),
        (IncompletePCA(k=2), source.filter("row < 0"), "the DataFrame has no rows"),
        (IncompletePCA(k=2), source.union(source.limit(1)), "occurs more than once"),
        (IncompletePCA(k=2), source.union(nothing.limit(1)), "occurs more than once"),
        (
            IncompletePCA(k=1),
            source.filter("row = 0"),
            "^the rows with entries of all parts count as 1.0 samples; at least 2",
        ),
        (IncompletePCA(k=2, mean="foo"), source, "foo"),
        (IncompletePCA(k=2, resume=True), source, "needs the file to continue from"),
        (IncompletePCA(k=2), source.withColumn("value", functions.lit(None).cast("double")), "'value' holds null"),
        (IncompletePCA(k=2), source.withColumn("value", functions.lit(float("inf"))), r"row \d+, column \d+ is inf"),
        (IncompletePCA(k=2, method="em", regParam=0.1), source, "method = 'em' has no penalty; clear regParam"),
        (IncompletePCA(k=2, method="vb-full", regParam=0.1), source, "method = 'vb-full' has no penalty"),
        (IncompletePCA(k=2, regParam=0.0), source, "regParam = 0.0 is not allowed"),
        (
            IncompletePCA(k=2),
            source.selectExpr("cast(row as string) collate UTF8_LCASE row", "column", "value"),
            "bytes",
        ),
        (IncompletePCA(k=40), source, "40"),
    ]
    for estimator, rows, message in fails:
        # In one task and in passes.
        for n_parts in (1, 2) if not estimator.isSet("numPartitions") else (None,):
            estimator.setParams(persist=True)
            with pytest.raises(ValueError, match=message) as caught:
                (estimator if n_parts is None else estimator.setNumPartitions(n_parts)).fit(rows)
            assert "max_iter" not in str(caught.value)
    model = IncompletePCA(k=1, persist=True, tol=1e-2).fit(source)
    with pytest.raises(ValueError, match="set another predictionCol"):
        model.transform(source.withColumn("prediction", functions.lit(1.0)))
    for rows in (source.withColumn("row", functions.col("row").cast("double")), source.selectExpr("row", "'a' column")):
        with pytest.raises(ValueError, match=r"rowCol = 'row' is double|columnCol = 'column' was of another type"):
            model.transform(rows)
    with pytest.raises(ValueError, match="columnCol = 'column' was of another type"):
        model.setEntries(source.withColumn("column", functions.lit("a")))
    with pytest.raises(TypeError, match="no parameter rank"):
        IncompletePCA().setParams(rank=3)
    with pytest.raises(ValueError, match="has no components"):
        IncompletePCAModel().write()


def test_every_parameter_has_a_setter(spark):
    pca = IncompletePCA()
    for param in pca.params:
        setter = f"set{param.name[0].upper()}{param.name[1:]}"
        value = {"k": 3, "maxIter": 9, "seed": 4, "numThreads": 2, "numPartitions": 5, "tol": 1e-3, "regParam": 0.5}
        default = pca.getOrDefault(param) if pca.hasDefault(param) else None
        given = value.get(param.name, not default if isinstance(default, bool) else "text")
        assert getattr(pca, setter)(given) is pca
        assert pca.getOrDefault(param) == given
        assert f"`{param.name}`" in IncompletePCA.__doc__ or f" {param.name}" in IncompletePCA.__doc__, param.name
    for name in ("RowCol", "ColumnCol", "ValueCol", "PredictionCol", "NumPartitions", "NumThreads"):
        assert hasattr(IncompletePCAModel(), f"set{name}")
