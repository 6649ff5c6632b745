#!/usr/bin/env python3
"""Measure PCA of single cells beside scanpy.

    python3 benchmarks/single_cell.py [COMPETITOR ...] [--rounds N] [--threads N] [--quick] [--installed]

50,000 cells x 20,000 genes of simulated counts, about 4 % of them not zero, normalised and log-transformed, CSR of
float32, 50 components of all genes: `karhunen.anndata.pca` to its default tolerance and to 1e-5, and `scanpy.pp.pca` with
its default solver, ARPACK. Errors are the largest relative ones of the 50 variances, against a fit to 1e-12 in float64.
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

CELLS, GENES, COMPONENTS = 50_000, 20_000, 50
COMPETITORS = ("karhunen", "karhunen 1e-5", "scanpy")


def cells_of(quick: bool) -> Path:
    """Make the cells once, from a fixed seed: 30 kinds, each with a programme of its own, of different depths."""
    import numpy as np
    import scipy.sparse as sp

    n = CELLS // 10 if quick else CELLS
    path = HERE / "cache" / f"cells-{n}.npz"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        rng = np.random.default_rng(17)
        base = rng.gamma(0.25, 1.0, GENES)
        programmes = base * rng.lognormal(0.0, 1.0, (30, GENES))
        programmes *= 1500 / programmes.sum(axis=1, keepdims=True)
        kinds = rng.choice(30, n, p=rng.dirichlet(np.full(30, 2.0)))
        depth = rng.lognormal(0.0, 0.4, n)
        blocks = []
        for first in range(0, n, 1000):
            some = slice(first, first + 1000)
            counts = sp.csr_matrix(rng.poisson(depth[some, None] * programmes[kinds[some]]).astype(np.float32))
            sums = np.asarray(counts.sum(axis=1)).ravel()
            blocks.append(sp.diags_array((1e4 / np.maximum(sums, 1)).astype(np.float32)) @ counts)
        cells = sp.csr_matrix(sp.vstack(blocks).log1p())
        cells.sort_indices()
        sp.save_npz(path, cells, compressed=False)
    return path


def variances(path: Path, threads: int) -> list[float]:
    """Compute the variances in float64, once."""
    kept = path.with_suffix(".json")
    if not kept.exists():
        import numpy as np
        import scipy.sparse as sp
        from karhunen import PCA

        cells = sp.load_npz(path).astype(np.float64)
        kept.write_text(
            json.dumps(PCA(COMPONENTS, tol=1e-12, n_threads=threads).fit(cells).explained_variance_.tolist())
        )
    return json.loads(kept.read_text())


def one(competitor: str, options: dict) -> dict:
    """Fit in this process."""
    import anndata
    import numpy as np
    import scipy.sparse as sp
    from peer import memory_kb

    adata = anndata.AnnData(sp.csr_matrix(sp.load_npz(options["path"])))
    small = anndata.AnnData(sp.random(300, 200, density=0.2, format="csr", dtype=np.float32, random_state=0))
    if competitor == "scanpy":
        import scanpy

        def fit(data: anndata.AnnData, k: int) -> None:
            scanpy.pp.pca(data, k)
    else:
        import karhunen.anndata

        tol = 1e-5 if competitor.endswith("1e-5") else None

        def fit(data: anndata.AnnData, k: int) -> None:
            karhunen.anndata.pca(data, k, tol=tol, n_threads=options["threads"])

    fit(small, 3)
    Path("/proc/self/clear_refs").write_text("5")
    before, start, used = memory_kb("VmRSS"), time.perf_counter(), time.process_time()
    fit(adata, COMPONENTS)
    found = {"seconds": time.perf_counter() - start, "processor_s": time.process_time() - used}
    errors = np.abs(adata.uns["pca"]["variance"] / np.array(options["variances"]) - 1)
    return found | {"growth_mb": (memory_kb("VmHWM") - before) / 1024, "worst_error": float(errors.max())}


def alone(competitor: str, options: dict) -> dict:
    """Fit in a separate process."""
    environment = environment_of(options["threads"])
    command = [sys.executable, Path(__file__), "--one", competitor, json.dumps(options)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"{competitor} failed:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(options: argparse.Namespace) -> list[dict]:
    """Measure the competitors, alternating."""
    path = cells_of(options.quick)
    settings = {"path": str(path), "variances": variances(path, options.threads), "threads": options.threads}
    runs = {competitor: [] for competitor in options.workloads}
    for _ in range(options.rounds):
        for competitor, found in runs.items():
            found.append(alone(competitor, settings))
    lines = []
    for competitor, found in runs.items():
        ratios = [one["seconds"] / own["seconds"] for one, own in zip(found, runs[options.workloads[0]], strict=True)]
        line = {"workload": "cells", "n": CELLS, "p": GENES, "k": COMPONENTS, "competitor": competitor}
        line |= {f"median_{name}": statistics.median(one[name] for one in found) for name in ("seconds", "processor_s")}
        line |= {"time_ratio": statistics.median(ratios)} | {n: found[-1][n] for n in ("growth_mb", "worst_error")}
        lines.append(line)
        print(
            f"{competitor:<14} {line['median_seconds']:>7.2f} s, {line['time_ratio']:.2f} of {options.workloads[0]}; "
            f"worst error {line['worst_error']:.1e}, memory +{line['growth_mb']:.0f} MB",
            flush=True,
        )
    return lines


def main() -> None:
    """Measure the requested competitors."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(sys.argv[2], json.loads(sys.argv[3]))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=list(COMPETITORS), metavar="COMPETITOR", help="default: all")
    parser.add_argument("--rounds", type=int, default=3, help="fits by each, alternating (default 3)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each (default 2)")
    parser.add_argument("--quick", action="store_true", help="a tenth of the cells: checks that everything runs")
    parser.add_argument("--installed", action="store_true", help="do not build the package: it is installed")
    options = parser.parse_args()
    started = begin(parser, options, COMPETITORS)
    lines = measure(options)
    if not options.quick:
        print(f"record: {record('single-cell', lines, options, started)}")


if __name__ == "__main__":
    main()
