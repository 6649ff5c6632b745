"""The least time that a fit can take on this machine, from what the machine can do and what the fit must do."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np


def limits(program: Path, threads: int) -> dict[str, float]:
    """Measure the machine: multiply-adds, bytes and cache lines a second, of all threads together."""
    done = subprocess.run([program, str(threads)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def parts(workload, route: str, passes: int, k: int, machine: dict[str, float]) -> dict[str, float]:
    """Return the seconds of each part of the work that no implementation of this route can avoid.

    Multiply-adds: the covariance of dense rows has one in float64 for each entry and column on and above the diagonal, the
    Gram matrix for each entry and row; other solvers multiply at least k columns by the data and by their transpose, in
    the type of the data. Reading: every pass reads the data, unless a cache holds them. Lines of the first cache: sparse
    squares change a value at a place of its own for each pair of entries of a row or column; in every pass of other
    solvers, each stored entry meets a row of vectors, at least a line, once for each of both products.
    """
    n, p, size = workload.n, workload.p, np.dtype(workload.dtype).itemsize
    single = "fma_f64" if route in ("covariance", "gram") or size == 8 else "fma_f32"
    if not workload.is_sparse:
        columns = {"covariance": (p + 1) / 2, "gram": (n + 1) / 2}.get(route, 2 * k)
        reading = passes * n * p * size / machine["read_bytes"]
        return {"multiply-adds": n * p * columns / machine[single], "reading": reading}
    pointers = np.load(workload.path / "indptr.npy")
    n_stored = int(pointers[-1])
    found = {"reading": passes * n_stored * (size + 4) / machine["read_bytes"]}
    if route in ("covariance", "gram"):
        by_column = route == "gram"
        counts = np.bincount(np.load(workload.path / "indices.npy"), minlength=p) if by_column else np.diff(pointers)
        return found | {"lines": float((counts * (counts + 1.0) / 2).sum()) / machine["cache_lines"]}
    found["multiply-adds"] = 2 * n_stored * k / machine[single]
    return found | {"lines": passes * 2 * n_stored / machine["cache_lines"]}
