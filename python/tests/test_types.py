"""Types of the package as seen by a type checker and an editor."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import karhunen
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


def mypy(path):
    """Type-check a file or a folder."""
    pytest.importorskip("mypy")
    command = [sys.executable, "-m", "mypy", "--config-file", CONFIG, str(path)]
    environment = {**os.environ, "MYPY_CACHE_DIR": str(path.parent / "cache")}
    return subprocess.run(command, capture_output=True, text=True, env=environment, cwd=path.parent)


def test_a_type_checker_refuses_wrong_options_and_knows_fitted_attributes(tmp_path):
    program = tmp_path / "use.py"
    program.write_text(USE)
    done = mypy(program)
    found = {int(line) for line in re.findall(r"use\.py:(\d+): error", done.stdout)}
    refused = {n for n, line in enumerate(USE.splitlines(), 1) if line.endswith("# refused")}
    assert found == refused, done.stdout + done.stderr


def test_the_package_agrees_with_its_types(tmp_path):
    package = tmp_path / "karhunen"
    shutil.copytree(Path(karhunen.__file__).parent, package, ignore=shutil.ignore_patterns("*.so"))
    done = mypy(package)
    assert done.returncode == 0, done.stdout + done.stderr
    (package / "_shared" / "progress.py").write_text("def progress() -> int:\n    return 'a text'\n")
    done = mypy(package)
    assert "_shared/progress.py:2: error: Incompatible return value type" in done.stdout


FIELDS = """
import xarray as xr
from karhunen.xarray import EOF

array = xr.DataArray([[1.0, 2.0], [3.0, 5.0]], dims=("time", "x"))
one = EOF(1).fit(array, dim="time", weights="coslat")
a: xr.DataArray = one.eofs(scaling=2)
b: xr.Dataset = one.eofs()  # refused
c: xr.DataArray = one.pcs()
d: xr.Dataset = EOF(1).fit(array.to_dataset(name="t")).reconstruct(1)
e: xr.DataArray = EOF(1).fit([array, array]).mean_  # refused
f: xr.DataArray = one.rotate("promax").eofs_as_covariance()
one.eofs(scaling=3)  # refused
one.rotate("equamax")  # refused
EOF(scale="variable", missing="vb-full")
EOF(missing="drop")  # refused
g: xr.Dataset = one.north()
h: float = one.total_variance_
EOF.load("a.nc").eofs().plot()
"""


def test_a_type_checker_knows_the_form_of_a_field(tmp_path):
    pytest.importorskip("xarray")
    program = tmp_path / "fields.py"
    program.write_text(FIELDS)
    done = mypy(program)
    found = {int(line) for line in re.findall(r"fields\.py:(\d+): error", done.stdout)}
    refused = {n for n, line in enumerate(FIELDS.splitlines(), 1) if line.endswith("# refused")}
    assert found == refused, done.stdout + done.stderr
