"""Model files, and what the command line makes of them."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from karhunen import PCA
from numpy.testing import assert_allclose, assert_array_equal

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def program() -> str:
    """Give the command line, built by the test command or here."""
    given = os.environ.get("KARHUNEN_PROGRAM")
    if given:
        return given
    subprocess.run(["cargo", "build", "--release", "--quiet", "-p", "karhunen-cli"], cwd=ROOT, check=True)
    return str(ROOT / "target/release/karhunen")


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


def test_files_that_cannot_be_read_or_written(table, tmp_path):
    with pytest.raises(FileNotFoundError, match="nothing"):
        PCA.load(tmp_path / "nothing.model")
    (tmp_path / "text.model").write_text("not a model at all")
    with pytest.raises(ValueError, match="text"):
        PCA.load(tmp_path / "text.model")
    with pytest.raises(OSError, match="no folder"):
        PCA(2).fit(table).save(tmp_path / "no folder" / "m.model")
