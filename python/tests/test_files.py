"""Model files, and their use by the command line."""

import json
import pickle
import subprocess

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from karhunen import PCA, IncompletePCA, TruncatedSVD
from numpy.testing import assert_array_equal


def test_a_file_reads_back_with_the_same_bits(table, tmp_path):
    frame = pd.DataFrame(table, columns=[f"ü {j}" for j in range(8)])
    options = {
        "n_components": 0.9,
        "scale": True,
        "weighting": "importance",
        "solver": "covariance",
        "random_state": 5,
    }
    pca = PCA(**options).fit(frame, np.arange(60), feature_weight=np.arange(1, 9))
    pca.save(tmp_path / "m.model")
    again = PCA.load(tmp_path / "m.model")
    assert again.get_params() == pca.get_params()
    assert_array_equal(again.feature_names_in_, pca.feature_names_in_)
    assert_array_equal(again.transform(frame), pca.transform(frame))
    assert again.convergence_ == pca.convergence_
    assert PCA(3).fit(table).n_features_in_ == 8


def metadata(path):
    """Return the metadata of a safetensors file: JSON after its length in 8 bytes."""
    content = path.read_bytes()
    return json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])["__metadata__"]


@pytest.mark.parametrize("n_threads", [None, 1, 2])
@pytest.mark.parametrize("n", [20, 20_000])
def test_a_file_holds_no_number_of_threads(n, n_threads, tmp_path):
    x = np.random.default_rng(0).normal(size=(n, 30))
    PCA(2, n_threads=n_threads).fit(x).save(tmp_path / "m.model")
    assert "n_threads" not in json.loads(metadata(tmp_path / "m.model")["options"])


def test_the_command_line_reads_what_python_wrote(table, tmp_path, program):
    pca = PCA(3, scale=True).fit(table)
    pca.save(tmp_path / "m.model")
    np.save(tmp_path / "x.npy", table)
    command = [program, "transform", "m.model", "x.npy", "-o", "scores.npy"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert_allclose(np.load(tmp_path / "scores.npy"), pca.transform(table), atol=1e-12)


def test_python_reads_what_the_command_line_wrote(table, tmp_path, program):
    frame = pd.DataFrame(table, columns=list("abcdefgh"))
    frame.to_csv(tmp_path / "x.csv", index=False)
    command = [program, "fit", "x.csv", "-k", "3", "--scale", "-o", "m.model", "--json"]
    out = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    pca = PCA.load(tmp_path / "m.model")
    assert_allclose(pca.explained_variance_ratio_, json.loads(out)["explained_variance_ratio"])
    assert pca.feature_names_in_.tolist() == list("abcdefgh")
    assert_allclose(pca.transform(frame), PCA(3, scale=True).fit_transform(frame), atol=1e-9)


def test_models_of_incomplete_data_go_both_ways(table, tmp_path, program):
    holes = np.where(np.random.default_rng(1).random(table.shape) < 0.2, np.nan, table)
    frame = pd.DataFrame(holes, columns=list("abcdefgh"))
    frame.to_csv(tmp_path / "x.csv", index=False)
    options = {"n_components": 3, "regularization": ("weighted", 0.25), "mean_prior": (2.0, 0.5), "random_state": 4}
    ours = IncompletePCA(method="als", **options).fit(frame)
    ours.save(tmp_path / "python.model")
    arguments = "-k 3 --missing=als --regularization weighted:0.25 --mean-prior 2:0.5 --seed 4"
    for command in (
        f"fit x.csv {arguments} -q -o cli.model",
        "transform python.model x.csv -o scores.npy",
        "impute python.model x.csv -o filled.csv",
        "inspect python.model",
    ):
        subprocess.run([program, *command.split()], cwd=tmp_path, check=True, capture_output=True)
    theirs = IncompletePCA.load(tmp_path / "cli.model")
    for name in ("components_", "mean_", "explained_variance_", "scores_"):
        assert_array_equal(getattr(theirs, name), getattr(ours, name), err_msg=name)
    assert theirs.get_params() == {**ours.get_params(), "n_threads": None}
    assert list(theirs.feature_names_in_) == list("abcdefgh")
    assert_allclose(np.load(tmp_path / "scores.npy"), ours.transform(frame), atol=1e-10)
    assert_allclose(pd.read_csv(tmp_path / "filled.csv"), ours.impute(frame), atol=1e-10)
    assert_array_equal(theirs.predict([1, 2], [0, 7], return_std=True), ours.predict([1, 2], [0, 7], return_std=True))


def test_files_of_the_command_line_keep_what_they_remember(table, tmp_path, program):
    frame = pd.DataFrame(table, columns=list("abcdefgh"))
    frame["town"] = [f"town {i}" for i in range(60)]
    frame["group"] = np.arange(60) % 3
    frame["people"] = np.arange(1, 61)
    frame.to_csv(tmp_path / "x.csv", index=False)

    def run(*arguments):
        subprocess.run([program, *arguments], cwd=tmp_path, check=True, capture_output=True)

    run("fit", "x.csv", "-k", "2", "--weights", "people", "--label", "group", "--id-column", "town", "-o", "cli.model")
    # Without the columns recorded in the file, `group` and `people` would be additional features.
    pickle.loads(pickle.dumps(PCA.load(tmp_path / "cli.model"))).save(tmp_path / "python.model")
    for name in ("cli", "python"):
        run("transform", f"{name}.model", "x.csv", "-o", f"{name}.csv")
    assert (tmp_path / "python.csv").read_text() == (tmp_path / "cli.csv").read_text()
    again = PCA.load(tmp_path / "cli.model")
    again.fit(table).save(tmp_path / "new.model")
    assert metadata(tmp_path / "new.model").keys().isdisjoint({"set_aside", "id_column"})


def test_models_of_triples_keep_their_columns(tmp_path, program):
    lines = [f"u{i},v{j},{i * j + i}\n" for i in range(8) for j in range(5) if (i + j) % 4]
    (tmp_path / "x.csv").write_text("user,item,rating\n" + "".join(lines))
    arguments = ["fit", "x.csv", "--missing", "--triples", "user,item,rating", "-k", "1", "-o", "cli.model"]
    subprocess.run([program, *arguments], cwd=tmp_path, check=True, capture_output=True)
    IncompletePCA.load(tmp_path / "cli.model").save(tmp_path / "python.model")
    found, expected = (metadata(tmp_path / f"{name}.model")["triples"] for name in ("python", "cli"))
    assert found == expected


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_truncated_svd_reads_back(dtype, tmp_path):
    x = sp.random(80, 30, density=0.2, random_state=0, format="csr", dtype=dtype)
    svd = TruncatedSVD(3, algorithm="arpack", tol=1e-5, max_iter=500, random_state=4, strict=True).fit(x)
    svd.save(tmp_path / "words.model")
    again = TruncatedSVD.load(tmp_path / "words.model")
    assert again.get_params() == svd.get_params() | {"algorithm": "block-krylov"}
    assert_array_equal(again.transform(x), svd.transform(x))
    for name in [name for name in vars(svd) if name.endswith("_")]:
        assert_array_equal(getattr(again, name), getattr(svd, name), err_msg=name)
    frame = pd.DataFrame(x.toarray(), columns=[f"word {j}" for j in range(30)])
    again.fit(frame).save(tmp_path / "named.model")
    assert_array_equal(TruncatedSVD.load(tmp_path / "named.model").feature_names_in_, frame.columns)


def test_files_of_the_other_estimator(table, tmp_path, program):
    svd = TruncatedSVD(2).fit(table)
    svd.save(tmp_path / "svd.model")
    uncentred = PCA.load(tmp_path / "svd.model")
    assert not uncentred.center
    assert_array_equal(uncentred.transform(table), svd.transform(table))
    PCA(2, center=False).fit(table).save(tmp_path / "pca.model")
    with pytest.raises(ValueError, match=r"pca.model: the model was not saved by a TruncatedSVD.*PCA.load"):
        TruncatedSVD.load(tmp_path / "pca.model")
    np.save(tmp_path / "x.npy", table)
    command = [program, "transform", "svd.model", "x.npy", "-o", "scores.npy"]
    subprocess.run(command, cwd=tmp_path, check=True, capture_output=True)
    assert_allclose(np.load(tmp_path / "scores.npy"), svd.transform(table), atol=1e-12)


@pytest.mark.parametrize("estimator", [PCA(1), TruncatedSVD(1)])
def test_damaged_files_are_refused(estimator, tmp_path):
    x = np.array([[0.0, 1.0], [2.0, 3.0], [5.0, 4.0]])
    estimator.fit(x).save(tmp_path / "whole.model")
    whole = (tmp_path / "whole.model").read_bytes()
    damaged = tmp_path / "damaged.model"
    for size in range(0, len(whole), 97):
        damaged.write_bytes(whole[:size])
        with pytest.raises(ValueError, match=r"damaged.model"):
            type(estimator).load(damaged)


def test_files_that_cannot_be_read_or_written(table, tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        PCA.load(tmp_path / "nothing.model")
    (tmp_path / "text.model").write_text("not a model at all")
    with pytest.raises(ValueError, match="text"):
        PCA.load(tmp_path / "text.model")
    with pytest.raises(OSError, match="no folder"):
        PCA(2).fit(table).save(tmp_path / "no folder" / "m.model")
