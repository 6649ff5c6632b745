"""Parameters of karhunen.spark, and what estimators and models say about themselves."""

from spark_rows import MARKS, close, frame

# The module above skips the tests without pyspark or Java.
# isort: split

import re

import karhunen
import numpy as np
import pytest
from karhunen.spark import PCA, PCAModel

pytestmark = MARKS


@pytest.fixture(scope="module")
def source(spark):
    return frame(spark, np.random.default_rng(0).normal(size=(60, 3)) * [3, 2, 1] + 5).persist()


def scores(model, source):
    return np.array([row.s.toArray() for row in model.transform(source).orderBy("id").collect()])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"k": 0}, "^k = 0 is not allowed: a whole number of at least 1 is needed"),
        ({"k": -1}, "^k = -1 is not allowed"),
        ({"solver": "svd"}, "^solver = 'svd' is not known; choose one of 'auto', 'covariance', 'block-krylov'$"),
        ({"solver": ""}, "^solver = '' is not known"),
        ({"seed": 2**63}, "^seed = 9223372036854775808 is not allowed: a whole number of 64 bits is needed"),
        ({"numThreads": 0}, "^numThreads = 0 is not allowed"),
        ({"checkpoint": ""}, "^checkpoint = '' is not allowed: name a file of the driver"),
        ({"weighting": "freq"}, "^weighting = 'freq' is not known"),
        ({"inputCol": "F"}, r"its columns are id, w, f; did you mean 'f'\?$"),
        ({"weightCol": "W"}, r"^weightCol names 'W', .*; did you mean 'w'\?$"),
    ],
)
def test_values_that_are_refused_before_the_fit(spark, source, options, message):
    jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup())
    with pytest.raises(ValueError, match=message):
        PCA(**{"k": 1, "inputCol": "f", **options}).fit(source)
    assert len(spark.sparkContext.statusTracker().getJobIdsForGroup()) == jobs


def test_seeds_match_spark(source):
    fits = [
        PCA(k=1, inputCol="f", solver="block-krylov", seed=seed).fit(source).toKarhunen()
        for seed in (-1, -(2**63), 2**63 - 1)
    ]
    assert [fit.random_state for fit in fits] == [2**64 - 1, 2**63, 2**63 - 1]


def test_an_empty_name_of_weights_is_none(source):
    close(PCA(k=2, inputCol="f", weightCol="").fit(source), PCA(k=2, inputCol="f").fit(source).toKarhunen())


def test_one_of_two_kinds_of_columns_replaces_the_other():
    pca = PCA(inputCol="f").setParams(inputCols=["a"])
    assert (pca.isSet(pca.inputCol), pca.getInputCols()) == (False, ["a"])
    pca.setParams(inputCol="g", k=3)
    assert (pca.isSet(pca.inputCols), pca.getInputCol(), pca.getK()) == (False, "g", 3)
    both = pca.setParams(inputCol="g", inputCols=["a"])
    assert both.isSet(both.inputCol)
    assert both.isSet(both.inputCols)


def test_values_that_are_not_given_are_not_set():
    pca = PCA(k=None, tol=None, whiten=None, scale=True)
    assert {param.name for param in pca.params if pca.isSet(param)} == {"scale"}
    assert not pca.isDefined(pca.k)
    assert pca.getOrDefault(pca.whiten) is False
    pca.setParams(scale=None, k=2)
    assert (pca.getOrDefault(pca.scale), pca.getK()) == (True, 2)
    with pytest.raises(TypeError, match="unexpected keyword argument 'kk'"):
        pca.setParams(kk=1)
    with pytest.raises(TypeError, match="unexpected keyword argument 'kk'"):
        PCA(kk=1)


def test_every_parameter_has_a_getter_and_a_true_text():
    pca = PCA(k=2, inputCol="f", inputCols=["a"], outputCol="s", weightCol="w", tol=1e-3, checkpoint="c")
    for param in pca.params:
        name = f"get{param.name[0].upper()}{param.name[1:]}"
        assert getattr(pca, name)() == pca.getOrDefault(param)
        assert hasattr(PCAModel, name)
    texts = dict(line.split(": ", 1) for line in pca.explainParams().splitlines())
    for name, text in {
        "k": r"\(> 0\)",
        "maxIter": r"passes of block Krylov iteration \(> 0\)",
        "weightCol": "if it is empty, every row has the weight 1",
        "solver": "^auto, covariance or block-krylov ",
        "tol": "between 0 and 1",
        "checkpoint": "one fit",
    }.items():
        assert re.search(text, texts[name]), texts[name]


def test_models_show_their_size(source):
    model = PCA(k=2, inputCol="f").fit(source)
    assert repr(model) == f"PCAModel: uid={model.uid}, k=2, numFeatures=3"
    assert re.fullmatch(r"PCAModel: uid=PCAModel_\w+", repr(PCAModel()))


def test_the_model_in_memory_has_the_present_parameters(source, tmp_path):
    model = PCA(k=2, inputCol="f", outputCol="s", whiten=True, seed=7, numThreads=2).fit(source)
    model.save(str(tmp_path / "model"))
    loaded = PCAModel.load(str(tmp_path / "model"))
    for one in (model, loaded, loaded.copy()):
        found = one.toKarhunen()
        assert (found.whiten, found.n_threads, found.random_state) == (True, 2, 7)
    x = np.array([row.f.toArray() for row in source.orderBy("id").collect()])
    np.testing.assert_allclose(loaded.toKarhunen().transform(x), scores(loaded, source), atol=1e-12)
    assert not loaded.setWhiten(False).setNumThreads(1).toKarhunen().whiten
    assert loaded.toKarhunen().n_threads == 1
    centred = loaded.setSubtractMean(False).toKarhunen().transform(x)
    np.testing.assert_allclose(centred.mean(0), 0, atol=1e-12)
    assert np.abs(scores(loaded, source).mean(0)).max() > 1


def test_convergence_is_reported_in_the_names_of_spark(spark):
    rows = frame(spark, np.random.default_rng(1).normal(size=(300, 60))).persist()
    pca = PCA(k=2, inputCol="f", solver="block-krylov", maxIter=1)
    with pytest.warns(UserWarning, match="raise maxIter or tol"):
        pca.fit(rows)
    with pytest.raises(karhunen.NotConvergedError, match="raise maxIter or tol"):
        pca.setStrict(True).fit(rows)
    rows.unpersist()


def test_a_folder_that_exists_is_refused_or_replaced(source, tmp_path):
    model = PCA(k=2, inputCol="f").fit(source)
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "other").touch()
    with pytest.raises(FileExistsError, match=rf"^{folder} already exists; write\(\)\.overwrite\(\)"):
        model.save(str(folder))
    model.write().overwrite().save(str(folder))
    assert sorted(path.name for path in folder.iterdir()) == ["metadata", "model"]
    PCA(k=2).write().overwrite().save(str(folder))
    assert [path.name for path in folder.iterdir()] == ["metadata"]
    assert PCA.load(str(folder)).getK() == 2
