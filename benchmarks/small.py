#!/usr/bin/env python3
"""Compare small work with scikit-learn's: fits and transforms of small tables, imports, whole programs.

    python3 benchmarks/small.py [WORKLOAD ...] [--rounds N] [--calls N] [--threads N] [--quick] [--installed]

Workloads: `fit`, `fit-transform`, `row` (transform of one row), `rows` (of all) and `inverse` (of one row of scores) of
150 x 4, 1,000 x 20, 500 x 50, 1,797 x 64 and 5,000 x 30 float64 numbers, each the median of many calls in a process of
its own; `import`, a whole process that imports `PCA` and makes an estimator; `program`, `karhunen fit` of the iris table
from start to end beside a script that reads the table with numpy, fits scikit-learn's `PCA` and prints the variances.
Competitors alternate. The error of a fit is the worst relative error of a variance against numpy's singular values of
the centred rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from incremental import begin, record
from run import ROOT, environment_of

SHAPES = ((150, 4), (1_000, 20), (500, 50), (1_797, 64), (5_000, 30))
WHO = ("karhunen", "scikit-learn")
PACKAGES = {"karhunen": "karhunen", "scikit-learn": "sklearn.decomposition"}
CALLS = ("fit", "fit-transform", "row", "rows", "inverse")
PROGRAMS = ("import", "program")
IRIS = ROOT / "examples" / "data" / "iris.csv"
SCRIPT = """
import numpy as np
from sklearn.decomposition import PCA
with open({path!r}) as file:
    names = file.readline()
    x = np.loadtxt(file, delimiter=",")
print(PCA().fit(x).explained_variance_)
"""


def data(n: int, p: int) -> Any:
    """Make normal rows with standard deviations j^-1/2 and a mean, from a fixed seed."""
    import numpy as np

    return np.random.default_rng(18).standard_normal((n, p)) / np.sqrt(1 + np.arange(p)) + 1


def call_of(work: str, who: str, x: Any) -> Callable[[], Any]:
    """Return the call that is timed."""
    from importlib import import_module

    estimator = import_module(PACKAGES[who]).PCA
    fitted = estimator().fit(x)
    row, scores = x[:1].copy(), fitted.transform(x[:1])
    return {
        "fit": lambda: estimator().fit(x),
        "fit-transform": lambda: estimator().fit_transform(x),
        "row": lambda: fitted.transform(row),
        "rows": lambda: fitted.transform(x),
        "inverse": lambda: fitted.inverse_transform(scores),
    }[work]


def one(work: str, who: str, n: int, p: int, calls: int) -> dict:
    """Time calls in this process."""
    import numpy as np

    x = data(n, p)
    call = call_of(work, who, x)
    for _ in range(20):
        found = call()
    seconds = []
    for _ in range(calls):
        start = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - start)
    result = {"seconds": statistics.median(seconds)}
    if work == "fit":
        exact = np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2 / (n - 1)
        result["error"] = float(np.max(np.abs(found.explained_variance_ / exact - 1)))
    return result


def alone(command: list, threads: int) -> tuple[float, str]:
    """Run a process; return its seconds and its output."""
    environment = environment_of(threads)
    start = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    if done.returncode != 0:
        raise SystemExit(f"failed: {command}\n{done.stderr}")
    return seconds, done.stdout


def program_of(work: str, who: str) -> list:
    """Return the command of a whole process."""
    if work == "import":
        return [sys.executable, "-c", f"from {PACKAGES[who]} import PCA; PCA()"]
    if who == "karhunen":
        return [ROOT / "target" / "release" / "karhunen", "fit", IRIS]
    return [sys.executable, "-c", SCRIPT.format(path=str(IRIS))]


def compare(work: str, shape: tuple[int, int] | None, options: argparse.Namespace) -> list[dict]:
    """Measure both competitors, alternating."""
    runs: dict[str, list[dict]] = {who: [] for who in WHO}
    # Files are in the page cache, and byte code is compiled, before the first timed process.
    for turn in range(-1 if shape is None else 0, options.rounds):
        for who in WHO:
            if shape is None:
                seconds, _ = alone(program_of(work, who), options.threads)
                found = {"seconds": seconds}
            else:
                numbers = [*map(str, shape), str(options.calls)]
                command = [sys.executable, Path(__file__), "--one", work, who, *numbers]
                found = json.loads(alone(command, options.threads)[1].splitlines()[-1])
            if turn >= 0:
                runs[who].append(found)
    n, p = shape or ("", "")
    lines = []
    for who, found in runs.items():
        pairs = zip(found, runs["karhunen"], strict=True)
        line = {"workload": work, "n": n, "p": p, "competitor": who}
        line["median_us"] = round(1e6 * statistics.median(run["seconds"] for run in found), 1)
        line["time_ratio"] = round(statistics.median(a["seconds"] / b["seconds"] for a, b in pairs), 3)
        line["worst_error"] = found[-1].get("error", "")
        lines.append(line)
        size = f"{n:>5} x {p:<3}" if shape else " " * 11
        error = f", error {line['worst_error']:.1e}" if line["worst_error"] != "" else ""
        microseconds = f"{line['median_us']:>12,.0f} us ({line['time_ratio']:.2f} x)"
        print(f"{work:>14} {size} {who:<12} {microseconds}{error}", flush=True)
    return lines


def main() -> None:
    """Measure the requested workloads."""
    if sys.argv[1:2] == ["--one"]:
        work, who, *numbers = sys.argv[2:]
        print(json.dumps(one(work, who, *map(int, numbers))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=[*CALLS, *PROGRAMS], metavar="WORKLOAD", help="default: all")
    parser.add_argument("--rounds", type=int, default=5, help="processes of each, alternating (default 5)")
    parser.add_argument("--calls", type=int, default=300, help="timed calls in a process (default 300)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each (default 2)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the calls: checks that everything runs")
    parser.add_argument("--installed", action="store_true", help="do not build package and program: they are there")
    options = parser.parse_args()
    started = begin(parser, options, (*CALLS, *PROGRAMS))
    if not options.installed and "program" in options.workloads:
        subprocess.run(["cargo", "build", "--release", "-p", "karhunen-cli"], cwd=ROOT, check=True)
    if options.quick:
        options.calls = max(1, options.calls // 10)
    lines = []
    for work in options.workloads:
        for shape in SHAPES if work in CALLS else (None,):
            lines += compare(work, shape, options)
    if lines and not options.quick:
        print(f"record: {record('small', lines, options, started).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
