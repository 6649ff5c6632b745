#!/usr/bin/env python3
"""Measure fits by the workers of a cluster beside one process, dask-ml and scanpy.

    python3 benchmarks/cluster.py [WORKLOAD ...] [--rounds N] [--quick] [--installed]

Two worker processes of one thread each on this machine, by a local cluster of dask; one process has two threads.
Workloads:

`scatter`: 100,000 x 2,000 float32 in partitions of 8,000 rows (64 MB), 50 components in one pass: karhunen in one
process by its own choice and by the covariance route, which the workers take, karhunen on the workers, dask-ml's PCA
with its randomized solver (four power iterations) and with its exact one (a QR decomposition of the rows) on the
workers, and scanpy's PCA with its default solver and with `covariance_eigh`.
Rows are in the memory of the process or of the workers before the fit.

`products`: 20,000 x 6,400 float64 in partitions of 1,000 rows (51 MB), which are computed anew in every pass, 100
components: karhunen and dask's compressed SVD on the workers, with the memory that a worker takes beside what it takes
at rest.

`large`, which is measured only if it is named: 500,000 such rows (25.6 GB), karhunen on the workers; ten minutes.

The error is the largest relative difference of a variance from those of karhunen in one process, where that is
measured. Processor seconds are those of all processes during the fit.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import threading
import time

from incremental import begin, record

#: Number of rows, number of columns, rows of a partition, number of components.
WORKLOADS = {"scatter": (100_000, 2_000, 8_000, 50), "products": (20_000, 6_400, 1_000, 100)}
WORKLOADS["large"] = (500_000, *WORKLOADS["products"][1:])
FITS = {
    "scatter": (
        "one process",
        "one process, covariance",
        "karhunen.dask",
        "dask-ml",
        "dask-ml, exact",
        "scanpy",
        "scanpy, covariance",
    ),
    "products": ("one process", "karhunen.dask", "dask svd_compressed"),
    "large": ("karhunen.dask",),
}


def block(number: int, shape: tuple[int, int], dtype: str):
    """Make the rows of a partition: 200 latent variables of falling variance, noise, and a mean."""
    import numpy as np

    n, p = shape
    loadings = np.random.default_rng(0).standard_normal((200, p), dtype=np.float32) / 10
    rng = np.random.default_rng(number + 1)
    scores = rng.standard_normal((n, 200), dtype=np.float32) * (3 / np.sqrt(1 + np.arange(200))).astype(np.float32)
    rows = scores @ loadings + rng.standard_normal((n, p), dtype=np.float32) + 3
    return rows.astype(dtype)


def one(workload: str, fit: str, options: dict) -> dict:
    """Fit in this process and its workers."""
    import numpy as np

    n, p, height, k = options["size"]
    dtype = "float32" if workload == "scatter" else "float64"
    heights = [min(height, n - first) for first in range(0, n, height)]
    if fit.startswith("one process"):
        from karhunen import PCA

        rows = np.concatenate([block(i, (m, p), dtype) for i, m in enumerate(heights)])
        PCA(2, n_threads=2).fit(np.random.default_rng(0).standard_normal((300, 30), dtype=np.float32))
        begun, used = time.perf_counter(), time.process_time()
        solver = "covariance" if fit.endswith("covariance") else "auto" if workload == "scatter" else "block-krylov"
        pca = PCA(k, n_threads=2, solver=solver).fit(rows)
        return {
            "seconds": time.perf_counter() - begun,
            "processor_seconds": time.process_time() - used,
            "worker_mb": 0.0,
            "passes": pca.n_iter_,
            "variances": pca.explained_variance_.astype(float).tolist(),
        }
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit=0)
    with cluster, Client(cluster) as client:

        def make(block_info=None):
            place = block_info[None]
            return block(place["chunk-location"][0], place["chunk-shape"], dtype)

        x = da.map_blocks(make, chunks=(tuple(heights), (p,)), dtype=dtype)
        if workload == "scatter":
            x = x.persist()
            wait(x)
        _load(fit)
        client.run(_load, fit)
        before, at_rest = _processor_of(client), _resident_of(client)
        peak, done = [0], threading.Event()
        watch = threading.Thread(target=_watch, args=(client, peak, done))
        watch.start()
        begun = time.perf_counter()
        passes, variances = _FITTERS[fit](x, k)
        seconds = time.perf_counter() - begun
        done.set()
        watch.join()
        used = _processor_of(client) - before
    worker_mb = (peak[0] - at_rest) / 1e6
    return {
        "seconds": seconds,
        "processor_seconds": used,
        "worker_mb": worker_mb,
        "passes": passes,
        "variances": [float(value) for value in variances],
    }


def _load(fit: str) -> None:
    """Import what a fit imports."""
    if fit.startswith("dask-ml"):
        import dask_ml.decomposition  # noqa: F401
    if fit.startswith("scanpy"):
        import scanpy  # noqa: F401
    import karhunen.dask
    import numpy as np

    karhunen.PCA(2, n_threads=1).fit(np.random.default_rng(0).standard_normal((300, 30), dtype=np.float32))


def _karhunen(x, k):
    import warnings

    from karhunen.dask import PCA

    warnings.simplefilter("ignore")
    pca = PCA(k).fit(x)
    return pca.n_iter_, pca.explained_variance_


def _dask_ml(x, k):
    from dask_ml.decomposition import PCA

    pca = PCA(k, svd_solver="randomized", iterated_power=4, random_state=0).fit(x)
    return 0, pca.explained_variance_


def _dask_ml_exact(x, k):
    from dask_ml.decomposition import PCA

    return 0, PCA(k, svd_solver="full").fit(x).explained_variance_


def _scanpy(x, k, solver=None):
    import anndata
    import scanpy

    cells = anndata.AnnData(x)
    scanpy.pp.pca(cells, n_comps=k, svd_solver=solver)
    return 0, cells.uns["pca"]["variance"]


def _scanpy_covariance(x, k):
    return _scanpy(x, k, "covariance_eigh")


def _compressed(x, k):
    import dask.array as da

    centred = x - x.mean(axis=0)
    _, s, _ = da.linalg.svd_compressed(centred, k, n_power_iter=4, seed=0)
    return 0, s.compute() ** 2 / (len(x) - 1)


_FITTERS = {
    "karhunen.dask": _karhunen,
    "dask-ml": _dask_ml,
    "dask-ml, exact": _dask_ml_exact,
    "scanpy": _scanpy,
    "scanpy, covariance": _scanpy_covariance,
    "dask svd_compressed": _compressed,
}


def _processor_of(client) -> float:
    """Return the processor seconds of this process and the workers so far."""
    return time.process_time() + sum(client.run(time.process_time).values())


def _resident_of(client) -> int:
    """Return the resident bytes of the worker that has most."""
    return max(client.run(_resident).values())


def _resident() -> int:
    return _resident_of_process("self")


def _resident_of_process(pid: int | str) -> int:
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _watch(client, peak: list[int], done: threading.Event) -> None:
    """Keep the largest resident size of a worker, every 50 ms, by its process."""
    pids = list(client.run(os.getpid).values())
    while not done.wait(0.05):
        peak[0] = max(peak[0], *map(_resident_of_process, pids))


def measure(workload: str, options: argparse.Namespace) -> list[dict]:
    """Run every fit of a workload in processes of their own, alternating."""
    size = WORKLOADS[workload]
    if options.quick:
        size = (size[0] // 10, size[1] // 10, size[2] // 10, size[3] // 10)
    runs: dict[str, list[dict]] = {fit: [] for fit in FITS[workload]}
    for _ in range(options.rounds):
        for fit in FITS[workload]:
            command = [sys.executable, "-W", "ignore", __file__, "--one", workload, fit, json.dumps({"size": size})]
            done = subprocess.run(command, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{workload}, {fit} failed:\n{done.stderr}")
            runs[fit].append(json.loads(done.stdout.splitlines()[-1]))
    reference = runs["one process"][0]["variances"] if "one process" in runs else None
    lines = []
    for fit, found in runs.items():
        numbers = ("seconds", "processor_seconds", "worker_mb")
        median = {name: statistics.median(run[name] for run in found) for name in numbers}
        error = ""
        if reference is not None:
            pairs = zip(found[0]["variances"], reference, strict=True)
            error = f"{max(abs(a - b) / b for a, b in pairs):.1e}"
        line = {"workload": workload, "size": "x".join(map(str, size)), "fit": fit}
        line |= {name: round(value, 3) for name, value in median.items()}
        lines.append(line | {"passes": found[0]["passes"], "error": error})
        print("  ".join(f"{name} {value}" for name, value in lines[-1].items()), flush=True)
    return lines


def main() -> None:
    """Measure the requested workloads."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    usual = ["scatter", "products"]
    parser.add_argument("workloads", nargs="*", default=usual, metavar="WORKLOAD", help="default: all but large")
    parser.add_argument("--rounds", type=int, default=3, help="fits by each, alternating (default 3)")
    parser.add_argument("--quick", action="store_true", help="a tenth of each side: checks that everything runs")
    parser.add_argument("--installed", action="store_true", help="do not build the package: it is installed")
    options = parser.parse_args()
    options.threads = 2
    started = begin(parser, options, WORKLOADS)
    lines = [line for workload in options.workloads for line in measure(workload, options)]
    if lines and not options.quick:
        print(f"record: {record('cluster', lines, options, started)}")


if __name__ == "__main__":
    main()
