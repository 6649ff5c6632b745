#!/usr/bin/env python3
"""Compare `IncrementalPCA` with scikit-learn's: time, processor time, accuracy, peak memory, one workload at a time.

    python3 benchmarks/incremental.py [WORKLOAD ...] [--rounds N] [--threads N] [--batches N] [--quick] [--installed]

Workloads: `dense`, 1,000,000 x 100 float32 in batches of 10,000 rows with 50 components; `sparse`, batches of 500 rows x
130,107 columns with 10 components, whose columns follow Zipf's law. scikit-learn's `partial_fit` takes no sparse rows:
each batch is densified for it, within the time. A fit ends with the reading of all fitted attributes. Every fit runs in
a separate process, competitors alternate, and only the batches are timed, after a small fit that starts libraries and
threads. Memory is the rise of the peak of resident memory during the fit. The error is the worst relative error of a
variance against an exact fit of all rows (`PCA` of karhunen by the covariance, for `dense`). `--batches` sets the number
of sparse batches (default 4), of which scikit-learn needs a minute each.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

from run import HERE, Start, build, environment_of, in_venv, processor

#: Number of rows of a batch, number of columns, number of components.
WORKLOADS = {"dense": (10_000, 100, 50), "sparse": (500, 130_107, 10)}
WHO = ("karhunen", "scikit-learn")


def batches_of(workload: str, n_batches: int):
    """Make the batches from a fixed seed."""
    import numpy as np
    import scipy.sparse as sp

    rng = np.random.default_rng(14)
    rows, p, _ = WORKLOADS[workload]
    if workload == "dense":
        scale = (1 / np.sqrt(1 + np.arange(p))).astype(np.float32)
        return [rng.standard_normal((rows, p), dtype=np.float32) * scale + 1 for _ in range(n_batches)]
    shares = 1 / np.arange(1, p + 1)
    ends, place = np.cumsum(shares) / shares.sum(), rng.permutation(p)

    def batch():
        columns = place[np.minimum(np.searchsorted(ends, rng.random(120 * rows)), p - 1)]
        counts = sp.csr_matrix((np.ones(len(columns)), (np.repeat(np.arange(rows), 120), columns)), shape=(rows, p))
        counts.data = np.log1p(counts.data)
        return counts

    return [batch() for _ in range(n_batches)]


def estimator(who: str, k: int, threads: int):
    """Make the estimator of a competitor."""
    if who == "karhunen":
        from karhunen import IncrementalPCA

        return IncrementalPCA(k, n_threads=threads)
    from sklearn.decomposition import IncrementalPCA

    return IncrementalPCA(k)


def fitted(who: str, batches, k: int, threads: int):
    """Fit all batches and read the attributes."""
    pca = estimator(who, k, threads)
    for batch in batches:
        pca.partial_fit(batch.toarray() if who != "karhunen" and hasattr(batch, "toarray") else batch)
    return pca, pca.components_.sum(), pca.explained_variance_.tolist()


def one(who: str, workload: str, options: dict) -> dict:
    """Fit in this process."""
    import numpy as np
    from peer import memory_kb

    _, _, k = WORKLOADS[workload]
    # Libraries load and threads start before the timer.
    fitted(who, [np.random.default_rng(0).standard_normal((300, 30)).astype(np.float32)], 5, options["threads"])
    batches = batches_of(workload, options["batches"])
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before, cpu = memory_kb("VmRSS"), time.process_time()
    start = time.perf_counter()
    pca, _, variances = fitted(who, batches, k, options["threads"])
    found = {"seconds": time.perf_counter() - start, "processor": time.process_time() - cpu}
    found |= {"growth_mb": (memory_kb("VmHWM") - before) / 1024, "variances": variances}
    if who == "karhunen":
        found["said"] = f"{pca.method_}, worst residual {pca.residuals_.max():.1e}"
    if workload == "dense" and who == "karhunen":
        from karhunen import PCA

        exact = PCA(k, solver="covariance").fit(np.concatenate(batches).astype(np.float64))
        found["exact"] = exact.explained_variance_.tolist()
    return found


def alone(who: str, workload: str, options: dict) -> dict:
    """Fit in a separate process."""
    environment = environment_of(options["threads"])
    command = [sys.executable, Path(__file__), "--one", who, workload, json.dumps(options)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"{who} failed on {workload}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(workload: str, options: argparse.Namespace) -> list[dict]:
    """Measure both competitors on one workload."""
    rows, p, k = WORKLOADS[workload]
    n_batches = options.batches if workload == "sparse" else 100
    settings = {"threads": options.threads, "batches": max(1, n_batches // 10) if options.quick else n_batches}
    runs = {who: [] for who in WHO}
    for _ in range(options.rounds):
        for who in WHO:
            runs[who].append(alone(who, workload, settings))
    exact = runs["karhunen"][-1].get("exact")
    lines = []
    for who, fits in runs.items():
        pairs = list(zip(fits, runs["karhunen"], strict=True))
        line = {"workload": workload, "n": rows * settings["batches"], "p": p, "batch": rows, "k": k, "competitor": who}
        line["median_s"] = statistics.median(fit["seconds"] for fit in fits)
        line["median_processor_s"] = statistics.median(fit["processor"] for fit in fits)
        line["time_ratio"] = statistics.median(a["seconds"] / b["seconds"] for a, b in pairs)
        line["processor_ratio"] = statistics.median(a["processor"] / b["processor"] for a, b in pairs)
        line["growth_mb"] = statistics.median(fit["growth_mb"] for fit in fits)
        off = [abs(a / b - 1) for a, b in zip(fits[-1]["variances"], exact or [], strict=False)]
        line["worst_error"] = max(off) if off else ""
        line["said"] = fits[-1].get("said", "")
        lines.append(line)
        error = f"{line['worst_error']:.1e}" if off else "-"
        print(
            f"{workload:>6} {who:<12} {line['median_s']:>8.2f} s ({line['time_ratio']:.1f} x) "
            f"{line['median_processor_s']:>8.2f} s of processor ({line['processor_ratio']:.1f} x) "
            f"{line['growth_mb']:>6.0f} MB, error {error} {line['said']}",
            flush=True,
        )
    return lines


def record(name: str, lines: list[dict], options: argparse.Namespace, started: Start) -> Path:
    """Write a record of the benchmark `name`, named after the start, to the second: no record is overwritten."""
    setting = {"date": started.time.strftime("%Y-%m-%d %H:%M"), "threads": options.threads, "rounds": options.rounds}
    setting |= {"processor": processor(), "cores": os.cpu_count(), "load_before": round(started.load, 1)}
    path = HERE / "records" / name / f"{started.time:%Y-%m-%d-%H%M%S}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "x", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=[*setting, *lines[0]])
        writer.writeheader()
        writer.writerows(setting | line for line in lines)
    return path


def begin(parser: argparse.ArgumentParser, options: argparse.Namespace, workloads: Iterable[str]) -> Start:
    """Check the names of the workloads, and build the package unless it is installed. Returns the start."""
    if unknown := set(options.workloads) - set(workloads):
        parser.error(f"no such workload: {', '.join(sorted(unknown))}; there are {', '.join(workloads)}")
    in_venv()
    if not options.installed:
        build()
    if options.quick:
        options.rounds = 1
    return Start()


def main() -> None:
    """Measure the requested workloads."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), metavar="WORKLOAD", help="default: both")
    parser.add_argument("--rounds", type=int, default=3, help="fits by each, alternating (default 3)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each (default 2)")
    parser.add_argument("--batches", type=int, default=4, help="number of sparse batches (default 4)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the batches: checks that everything runs")
    parser.add_argument("--installed", action="store_true", help="do not build the package: it is installed")
    options = parser.parse_args()
    started = begin(parser, options, WORKLOADS)
    lines = [line for workload in options.workloads for line in measure(workload, options)]
    if lines and not options.quick:
        print(f"record: {record('incremental', lines, options, started)}")


if __name__ == "__main__":
    main()
