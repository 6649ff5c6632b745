#!/usr/bin/env python3
"""Measure fits of rows from a slow source: how much of reading and computing overlaps.

    python3 benchmarks/beyond_memory.py [WORKLOAD ...] [--rates MB/S ...] [--rounds N] [--threads N] [--quick] [--installed]

The source is an array in a file whose blocks are delayed, so that reading takes what it would at each rate. The workload:

`overlap`: 100,000 x 2,000 float32 (800 MB), 50 components in one pass by the covariance: the time of the fit beside
the longer of reading alone and of the fit from memory.

Every fit runs in a separate process; competitors alternate.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path

from incremental import begin, record
from run import HERE, environment_of

#: Number of rows, number of columns, number of components.
WORKLOADS = {"overlap": (100_000, 2_000, 50)}
FITS = {"overlap": ("read alone", "from memory", "both")}
LIMIT = 900e6


def rows_of(workload: str, quick: bool) -> Path:
    """Make the rows once, from a fixed seed: 100 latent variables of falling variance, noise, and a mean."""
    import numpy as np

    n, p, _ = WORKLOADS[workload]
    n = n // 10 if quick else n
    path = HERE / "cache" / f"beyond-memory-{workload}-{n}.npy"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(14)
        loadings = rng.standard_normal((100, p), dtype=np.float32) / 10
        scale = (3 / np.sqrt(1 + np.arange(100))).astype(np.float32)
        partial = path.with_suffix(".partial")
        rows = np.lib.format.open_memmap(partial, mode="w+", dtype=np.float32, shape=(n, p))
        for first in range(0, n, 2000):
            scores = rng.standard_normal((len(rows[first : first + 2000]), 100), dtype=np.float32) * scale
            rows[first : first + 2000] = scores @ loadings + rng.standard_normal((len(scores), p), dtype=np.float32) + 3
        rows.flush()
        partial.rename(path)
    return path


def one(workload: str, fit: str, options: dict) -> dict:
    """Fit in this process."""
    import numpy as np
    from karhunen import PCA, RowBlocks
    from peer import memory_kb

    values = np.load(options["path"], mmap_mode="r")
    k, height = WORKLOADS[workload][2], 1_000
    blocks_read = 0

    def blocks():
        nonlocal blocks_read
        for first in range(0, len(values), height):
            block = np.array(values[first : first + height])
            time.sleep(block.nbytes / (options["rate"] * 1e6))
            blocks_read += 1
            yield block

    rows = RowBlocks(blocks, n_features=values.shape[1], n_samples=len(values))
    PCA(2, n_threads=options["threads"]).fit(np.random.default_rng(0).standard_normal((300, 30), dtype=np.float32))
    common = {"n_threads": options["threads"], "memory_limit": LIMIT}
    start = time.perf_counter()
    if fit == "read alone":
        for _ in blocks():
            pass
        return {"seconds": time.perf_counter() - start, "passes": 1, "peak_mb": 0, "residual": 0}
    if fit == "from memory":
        held = np.array(values)
        start = time.perf_counter()
        pca = PCA(k, solver="covariance", n_threads=options["threads"]).fit(held)
    else:
        pca = PCA(k, solver="covariance", **common).fit(rows)
    found = {"seconds": time.perf_counter() - start, "passes": pca.n_iter_, "residual": float(pca.residuals_.max())}
    return found | {"peak_mb": memory_kb("VmHWM") / 1024}


def alone(workload: str, fit: str, options: dict) -> dict:
    """Fit in a separate process."""
    environment = environment_of(options["threads"])
    command = [sys.executable, Path(__file__), "--one", workload, fit, json.dumps(options)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"{workload}, {fit} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(workload: str, rate: float, options: argparse.Namespace) -> list[dict]:
    """Measure the fits of a workload at one rate of reading."""
    settings = {"path": str(rows_of(workload, options.quick)), "rate": rate, "threads": options.threads}
    runs = {fit: [] for fit in FITS[workload]}
    for _ in range(options.rounds):
        for fit, found in runs.items():
            found.append(alone(workload, fit, settings))
    seconds = {fit: statistics.median(one["seconds"] for one in found) for fit, found in runs.items()}
    longer = max(seconds["read alone"], seconds["from memory"])
    lines = []
    for fit, found in runs.items():
        line = {"workload": workload, "rate_mb_s": rate, "fit": fit, "median_s": seconds[fit]}
        line |= {name: found[-1][name] for name in ("passes", "residual", "peak_mb")}
        line["ratio"] = seconds[fit] / longer
        lines.append(line)
        print(
            f"{workload:>8} {rate:>6.0f} MB/s {fit:<12} {seconds[fit]:>7.2f} s, {line['ratio']:.2f} of the longer of the two; "
            f"{line['passes']} passes, worst residual {line['residual']:.1e}, peak {line['peak_mb']:.0f} MB",
            flush=True,
        )
    return lines


def main() -> None:
    """Measure the requested workloads."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), metavar="WORKLOAD", help="default: both")
    parser.add_argument("--rates", type=float, nargs="+", default=[100, 400, 2000], help="MB/s (default 100 400 2000)")
    parser.add_argument("--rounds", type=int, default=3, help="fits of each, alternating (default 3)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each (default 2)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows: checks that everything runs")
    parser.add_argument("--installed", action="store_true", help="do not build the package: it is installed")
    options = parser.parse_args()
    started = begin(parser, options, WORKLOADS)
    settings = [(workload, rate) for workload in options.workloads for rate in options.rates]
    lines = [line for workload, rate in settings for line in measure(workload, rate, options)]
    if lines and not options.quick:
        print(f"record: {record('beyond-memory', lines, options, started)}")


if __name__ == "__main__":
    main()
