"""The package as a whole: imports, documentation, types."""

import ast
import contextlib
import doctest
import graphlib
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
PACKAGE = Path(karhunen.__file__).parent


def module_name(path):
    """Return the name of the module in a file of the package."""
    parts = ["karhunen", *path.relative_to(PACKAGE).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def test_every_parameter_that_errors_name_exists():
    found = set()
    for name in MODULES:
        module = None
        # Packages that are not installed, such as pyspark.
        with contextlib.suppress(ImportError):
            module = importlib.import_module(name)
        for member in (getattr(module, public) for public in getattr(module, "__all__", ())):
            of_class = [method for _, method in inspect.getmembers(member, callable)] if inspect.isclass(member) else []
            for function in (member, *of_class):
                with contextlib.suppress(TypeError, ValueError):
                    found.update(inspect.signature(function).parameters)
    # Options that the package does not set: errors of them cannot come up.
    unset = {"block_size", "double", "pairs", "sample_names", "triples"}
    assert sorted(set(karhunen._core.named_parameters()) - found - unset) == []


def test_importing_the_package_imports_numpy_at_most():
    others = ("sklearn", "scipy", "pandas", "tqdm", "matplotlib")
    source = f"import sys, karhunen; print([m for m in {others} if m in sys.modules])"
    out = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    assert out == "[]\n"


def test_scipy_is_imported_before_scikit_learn():
    source = "import sys; from karhunen import PCA; print([m for m in sys.modules if m in ('scipy.stats', 'sklearn')])"
    out = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    assert out == "['scipy.stats', 'sklearn']\n"


def test_names_of_the_package():
    assert set(karhunen.__all__) <= set(dir(karhunen))
    for name in karhunen.__all__:
        assert getattr(karhunen, name) is not None
    assert re.fullmatch(r"\d+\.\d+\.\d+", karhunen.__version__)
    with pytest.raises(AttributeError, match="no attribute 'PSA'"):
        _ = karhunen.PSA


#: Packages that the modules of a package may import besides their own.
BELOW = {
    "_shared": set(),
    "_inputs": {"_shared"},
    "_pca": {"_inputs", "_shared"},
    "_incomplete": {"_inputs", "_shared"},
    "_kernel": {"_inputs", "_shared"},
    "plot": {"_diagnostics", "_inputs", "_shared", "diagnostics", "rotation"},
    "_diagnostics": {"_incomplete", "_inputs", "_shared"},
    "anndata": {"_diagnostics", "_inputs", "_shared", "dask"},
    "completion": {"_incomplete", "_inputs", "_shared"},
    "diagnostics": {"_diagnostics"},
    "resampling": {"_diagnostics", "_inputs", "_pca", "_shared"},
    "rotation": {"_diagnostics", "_incomplete", "_inputs", "_shared"},
    "genotypes": {"_diagnostics", "_inputs", "_shared"},
    "selection": {"_diagnostics", "_inputs", "_pca", "_shared"},
    "_cluster": {"_inputs", "_shared"},
    "cluster": {"_cluster", "_shared"},
    "dask": {"_cluster", "_inputs", "_pca", "_shared"},
    "_spark": {"_cluster", "_shared"},
    "spark": {"_cluster", "_spark"},
    "_xarray": {"_diagnostics", "_shared", "diagnostics", "rotation", "selection"},
    "xarray": {"_xarray"},
    "_categorical": {"_inputs", "_shared"},
    "categorical": {"_categorical"},
}


def imports(path):
    """Return the names of the modules of the package that a file imports when it runs."""
    found, nodes = set(), [ast.parse(path.read_text())]
    while nodes:
        node = nodes.pop()
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        nodes += ast.iter_child_nodes(node)
    return {name if name in MODULES else name.rpartition(".")[0] for name in found} & set(MODULES)


def test_imports_form_no_cycle_and_go_down():
    graph = {name: imports(path) - {"karhunen"} for name, path in MODULES.items()}
    assert "karhunen._shared.fitted_model" in graph["karhunen._pca.fitted"]
    graphlib.TopologicalSorter(graph).prepare()
    for name, used in graph.items():
        own = name.partition("karhunen.")[2].partition(".")[0]
        assert {other.split(".")[1] for other in used} <= BELOW.get(own, set()) | {own}, name


def skip_without_pyspark(name):
    if "spark" in name:
        pytest.importorskip("pyspark")


class PublicDocTests(doctest.DocTestFinder):
    """Finds examples of classes in their defining module, although their `__module__` is a public one."""

    def _from_module(self, module, object):
        own = module.__name__.removeprefix("karhunen.").partition(".")[0].removeprefix("_")
        public = f"karhunen.{own}" if own in ("categorical", "dask", "xarray") else "karhunen"
        named = getattr(object, "__module__", None)
        if named not in ("karhunen", "karhunen.categorical", "karhunen.dask", "karhunen.xarray"):
            return super()._from_module(module, object)
        return named == public and f"\nclass {object.__name__}" in Path(module.__file__).read_text()


@pytest.mark.usefixtures("temporary_files")
@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name):
    skip_without_pyspark(name)
    importlib.import_module("matplotlib").use("Agg")
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner()
    for test in PublicDocTests(exclude_empty=True).find(module, name):
        runner.run(test)
    importlib.import_module("matplotlib.pyplot").close("all")
    assert runner.failures == 0
    # Every prompt in the file was run.
    prompts = re.findall(r"^ *>>> ", MODULES[name].read_text(), re.MULTILINE)
    assert runner.tries == len(prompts)


# test_spark.py and test_anndata.py run the pages about Spark and single cells.
ELSEWHERE = ("spark", "single_cells")
PAGES = sorted(page.name for page in (ROOT / "python/docs").glob("*.rst") if page.stem not in ELSEWHERE)


@pytest.mark.usefixtures("temporary_files")
@pytest.mark.parametrize("page", PAGES)
def test_examples_in_the_pages_run(page, monkeypatch):
    monkeypatch.chdir(ROOT)
    result = doctest.testfile(str(ROOT / "python/docs" / page), module_relative=False)
    importlib.import_module("matplotlib.pyplot").close("all")
    assert result.failed == 0
    examples = (
        "getting_started.rst",
        "solvers.rst",
        "weights.rst",
        "sparse.rst",
        "coming_from.rst",
        "missing_values.rst",
        "kernel.rst",
        "batches.rst",
        "clusters.rst",
        "climate.rst",
        "genotypes.rst",
        "machine_learning.rst",
        "ratings.rst",
        "spectra.rst",
        "surveys.rst",
    )
    assert result.attempted > 0 or page not in examples


def test_readmes_run():
    for path in (ROOT / "README.md", ROOT / "python/README.md"):
        snippets = re.findall(r"```python\n(.*?)```", path.read_text(), re.DOTALL)
        assert snippets, path
        for snippet in snippets:
            exec(compile(snippet, str(path), "exec"), {})


def stubtest(**environment):
    """Compare the stub of the extension module with the binary."""
    pytest.importorskip("mypy.stubtest")
    config = str(ROOT / "python/pyproject.toml")
    command = [sys.executable, "-m", "mypy.stubtest", "karhunen._core", "--mypy-config-file", config]
    environment = {**os.environ, "MYPY_CACHE_DIR": os.devnull, **environment}
    return subprocess.run(command, capture_output=True, text=True, env=environment)


def test_the_stub_is_true():
    done = stubtest()
    assert done.returncode == 0, done.stdout + done.stderr


def test_a_stub_that_lies_would_be_noticed(tmp_path):
    package = tmp_path / "karhunen"
    shutil.copytree(Path(karhunen.__file__).parent, package)
    stub = package / "_core.pyi"
    lie = stub.read_text().replace("def n_passes(self)", "def n_steps(self)")
    stub.write_text(lie.replace("def to_state(model: _AnyModel)", "def to_state(model: _AnyModel, deep: bool)"))
    done = stubtest(PYTHONPATH=str(tmp_path))
    assert done.returncode != 0
    for name in ("Model.n_steps", "Model.n_passes", "to_state"):
        assert f"karhunen._core.{name}" in done.stdout


@pytest.mark.parametrize(
    "estimator",
    [karhunen.PCA, karhunen.IncrementalPCA, karhunen.TruncatedSVD, karhunen.KernelPCA, karhunen.Nystroem],
)
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


def test_every_public_module_is_loaded_by_its_name():
    code = "import karhunen; print(karhunen.categorical.MCA, karhunen.resampling.bootstrap, karhunen.completion)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "karhunen.categorical.MCA" in done.stdout
