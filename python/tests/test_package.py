"""The package as a whole: imports, documentation, types."""

import doctest
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import karhunen
import pandas as pd
import pytest

ROOT = Path(__file__).parents[2]
MODULES = [
    "_convergence",
    "_cross_validation",
    "_filled",
    "_fitted",
    "_fitted_incomplete",
    "_fitted_kernel",
    "_ids",
    "_incomplete_convergence",
    "_incomplete_inputs",
    "_incomplete_options",
    "_incomplete_pca",
    "_inputs",
    "_kernel_convergence",
    "_kernel_function",
    "_kernel_options",
    "_kernel_pca",
    "_nystroem",
    "_observed",
    "_options",
    "_pca",
    "_progress",
    "_sparse_entries",
    "_tables",
    "_to_sklearn",
    "_truncated_svd",
    "_viewed_model",
    "_warning",
    "plot._biplot",
    "plot._circle",
    "plot._convergence",
    "plot._cross_validation",
    "plot._loadings",
    "plot._scores",
    "plot._scree",
]


def test_importing_the_package_imports_numpy_at_most():
    others = ("sklearn", "scipy", "pandas", "tqdm", "matplotlib")
    source = f"import sys, karhunen; print([m for m in {others} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    assert out == "[]\n"


def test_names_of_the_package():
    assert set(karhunen.__all__) <= set(dir(karhunen))
    for name in karhunen.__all__:
        assert getattr(karhunen, name) is not None
    assert re.fullmatch(r"\d+\.\d+\.\d+", karhunen.__version__)
    with pytest.raises(AttributeError, match="no attribute 'PSA'"):
        _ = karhunen.PSA


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    importlib.import_module("matplotlib").use("Agg")
    result = doctest.testmod(importlib.import_module(f"karhunen.{name}"))
    assert result.failed == 0
    with_examples = (
        "_cross_validation",
        "_fitted",
        "_incomplete_pca",
        "_kernel_pca",
        "_nystroem",
        "_observed",
        "_pca",
        "_truncated_svd",
        "plot",
    )
    assert result.attempted > 0 or not name.startswith(with_examples) or name == "_fitted_kernel"


@pytest.mark.parametrize("page", sorted(p.name for p in (ROOT / "python/docs").glob("*.rst")))
def test_examples_in_the_pages_run(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(ROOT / "python/docs" / page), module_relative=False)
    assert result.failed == 0
    examples = (
        "getting_started.rst",
        "solvers.rst",
        "weights.rst",
        "sparse.rst",
        "coming_from.rst",
        "missing_values.rst",
        "kernel.rst",
    )
    assert result.attempted > 0 or page not in examples


def test_readmes_run():
    for path in (ROOT / "README.md", ROOT / "python/README.md"):
        snippets = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
        assert snippets, path
        for snippet in snippets:
            exec(compile(snippet, str(path), "exec"), {})


def stubtest(**environment):
    """Hold the stub of the extension module to the binary."""
    pytest.importorskip("mypy.stubtest")
    config = str(ROOT / "python/pyproject.toml")
    command = [sys.executable, "-m", "mypy.stubtest", "karhunen._core", "--mypy-config-file", config]
    environment = {**os.environ, "MYPY_CACHE_DIR": os.devnull, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_the_stub_tells_the_truth():
    done = stubtest()
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stub_that_lies_would_be_noticed(tmp_path):
    package = tmp_path / "karhunen"
    shutil.copytree(Path(karhunen.__file__).parent, package)
    stub = package / "_core.pyi"
    lie = stub.read_text().replace("def n_passes(self)", "def n_steps(self)")
    stub.write_text(lie.replace("def to_state(model: Model)", "def to_state(model: Model, deep: bool)"))
    done = stubtest(PYTHONPATH=str(tmp_path))
    assert done.returncode != 0
    for name in ("Model.n_steps", "Model.n_passes", "to_state"):
        assert f"karhunen._core.{name}" in done.stdout


@pytest.mark.parametrize("estimator", [karhunen.PCA, karhunen.TruncatedSVD, karhunen.KernelPCA, karhunen.Nystroem])
def test_every_option_and_attribute_is_documented(estimator):
    text = estimator.__doc__
    options, attributes = text.split("Parameters\n")[1].split("Attributes\n")
    documented = set(re.findall(r"^    ([A-Za-z0-9_, ]+)(?: :|$)", options, re.MULTILINE))
    documented = {name for names in documented for name in names.split(", ")}
    assert set(inspect.signature(estimator).parameters) <= documented
    fitted = estimator(n_components=2).fit(pd.DataFrame({"a": [1.0, 2, 4], "b": [0.0, 3, 1]}))
    shown = {name for name in dir(fitted) if name.endswith("_") and not name.startswith("_")}
    missing = {name for name in shown if not re.search(rf"^    .*\b{name}\b", attributes, re.MULTILINE)}
    assert missing == set()
