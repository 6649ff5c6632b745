"""The package as a whole: imports, documentation, types."""

import doctest
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import karhunen
import pytest

ROOT = Path(__file__).parents[2]
MODULES = [
    "_convergence",
    "_fitted",
    "_inputs",
    "_options",
    "_pca",
    "_progress",
    "_tables",
    "_to_sklearn",
    "_truncated_svd",
    "_warning",
    "plot._biplot",
    "plot._circle",
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
    assert result.attempted > 0 or not name.startswith(("_fitted", "_pca", "_truncated_svd", "plot"))


@pytest.mark.parametrize("page", sorted(p.name for p in (ROOT / "python/docs").glob("*.rst")))
def test_examples_in_the_pages_run(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(ROOT / "python/docs" / page), module_relative=False)
    assert result.failed == 0
    examples = ("getting_started.rst", "solvers.rst", "weights.rst", "sparse.rst", "coming_from.rst")
    assert result.attempted > 0 or page not in examples


def test_readmes_run():
    for path in (ROOT / "README.md", ROOT / "python/README.md"):
        snippets = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
        assert snippets, path
        for snippet in snippets:
            exec(compile(snippet, str(path), "exec"), {})


def test_the_stub_tells_the_truth():
    pytest.importorskip("mypy.stubtest")
    command = [
        sys.executable,
        "-m",
        "mypy.stubtest",
        "karhunen._core",
        "--mypy-config-file",
        str(ROOT / "python/pyproject.toml"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "MYPY_CACHE_DIR": os.devnull})
    assert done.returncode == 0, done.stdout + done.stderr
