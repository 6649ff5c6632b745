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


def kernel_parts(n: int, p: int, dtype: str, passes: int, fit: dict, machine: dict[str, float]) -> dict[str, float]:
    """Return the seconds of each part of kernel PCA that no implementation of its solver can avoid, as `parts` does.

    `fit` holds the solver, the numbers of components and landmarks, and whether passes may be in float32. Multiply-adds:
    p for each pair of rows, in every pass where kernel values are recomputed; for each pair and component two at least,
    because a value multiplies the vectors of both rows. Landmarks: p for each row and landmark, and half of the squared
    number of landmarks for each row. Reading: half of the stored matrix in every pass. Exponentials are not counted.
    """
    single = np.dtype(dtype).itemsize == 4 or fit["in_single"]
    rate, size = (machine["fma_f32"], 4) if single else (machine["fma_f64"], 8)
    if fit["solver"] == "nystrom":
        landmarks = fit["landmarks"]
        return {"multiply-adds": n * landmarks * (p + landmarks / 2) / machine["fma_f64"]}
    pairs, stored = n * (n + 1) / 2, fit["solver"] == "stored"
    multiplied = pairs * (p * (1 if stored else passes) + 2 * fit["components"])
    found = {"multiply-adds": multiplied / rate}
    return found | {"reading": passes * pairs * size / machine["read_bytes"]} if stored else found


#: Methods whose passes multiply the moments of every entry, and those that gather second moments from memory.
SQUARES = {"als", "em", "map", "ppca", "vb-full"}
SECOND_MOMENTS = {"ppca", "vb-full"}


def ratings_parts(n_entries: int, iterations: int, k: int, method: str, machine: dict[str, float]) -> dict[str, float]:
    """Return the seconds of each part of iterations on float32 entries, as `parts` does.

    Both passes of an iteration read every entry and its number, 8 bytes, and gather from the outer cache, for each entry,
    k values of 4 bytes of its row or column, and k (k + 1) / 2 second moments by the methods that keep them. k values are
    multiplied and added, and as many squares as there are second moments by the methods with normal equations.
    """
    visits, squares = 2 * n_entries * iterations, k * (k + 1) / 2
    gathered = k + (squares if method in SECOND_MOMENTS else 0)
    multiplied = k + (squares if method in SQUARES else 0)
    return {
        "multiply-adds": visits * multiplied / machine["fma_f32"],
        "reading": visits * 8 / machine["read_bytes"],
        "lines": visits * np.ceil(4 * gathered / 64) / machine["outer_lines"],
    }


def longest(parts: dict[str, float]) -> dict[str, float | str]:
    """Return the longest part and its name, as the columns of a record; empty if there are no parts."""
    by = max(parts, key=parts.get, default="")
    return {"floor_s": parts.get(by, ""), "floor_by": by}


def shown(line: dict) -> str:
    """Describe the time of a line of a record as a multiple of its floor."""
    return f"  {line['median_s'] / line['floor_s']:.2f} of the floor ({line['floor_by']})" if line["floor_by"] else ""
