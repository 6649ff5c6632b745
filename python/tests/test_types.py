"""What a type checker and an editor know of the package."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

CONFIG = str(Path(__file__).parents[1] / "pyproject.toml")

USE = """
import numpy as np
from karhunen import PCA, IncompletePCA, KernelPCA, Nystroem, Observed, TruncatedSVD, plot

x = np.ones((9, 4))

PCA(solver="gram", weighting="population", svd_solver="full")
PCA(solver="grma")  # refused
PCA(weighting="frequencies")  # refused
PCA(svd_solver="svd")  # refused
TruncatedSVD(algorithm="arpack")
TruncatedSVD(algorithm="full")  # refused
IncompletePCA(method="vb-full", mean="fixed", online_rule="oja", regularization=("weighted", 0.1))
IncompletePCA(method="vbfull")  # refused
IncompletePCA(mean="free")  # refused
IncompletePCA(regularization=("ridge", 0.1))  # refused
Observed([1], [1], [1.0], duplicates="average")
Observed([1], [1], [1.0], duplicates="mean")  # refused
KernelPCA(kernel="poly", gamma="median", solver="tiles", landmarks="leverage", pre_image="ridge")
KernelPCA(kernel=lambda a, b: a @ b.T, gamma=0.5)
KernelPCA(kernel="gaussian")  # refused
KernelPCA(gamma="mean")  # refused
KernelPCA(solver="lanczos")  # refused
Nystroem(kernel="precomputed")  # refused
plot.biplot(PCA(), x, scaling="covariance")
plot.biplot(PCA(), x, scaling="both")  # refused

a: np.ndarray = PCA().fit(x).components_
b: str = PCA().fit(x).components_  # refused
c: float = PCA().fit(x).noise_variance_
d: str = PCA().fit(x).noise_variance_  # refused
e: int = TruncatedSVD().fit(x).convergence_.n_passes
f: str = TruncatedSVD().fit(x).convergence_.n_passes  # refused
g: str = IncompletePCA().fit(x).scores_  # refused
h: bool = IncompletePCA().fit(x).convergence_.converged
i: str = KernelPCA().fit(x).eigenvalues_  # refused
j: str = Nystroem().fit(x).normalization_  # refused
k: PCA = PCA.load("a.model")
"""


def test_a_type_checker_refuses_wrong_options_and_knows_fitted_attributes(tmp_path):
    pytest.importorskip("mypy")
    program = tmp_path / "use.py"
    program.write_text(USE)
    command = [sys.executable, "-m", "mypy", "--config-file", CONFIG, str(program)]
    environment = {**os.environ, "MYPY_CACHE_DIR": os.devnull}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    found = {int(line) for line in re.findall(r"use\.py:(\d+): error", done.stdout)}
    refused = {n for n, line in enumerate(USE.splitlines(), 1) if line.endswith("# refused")}
    assert found == refused, done.stdout + done.stderr
