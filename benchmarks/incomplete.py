#!/usr/bin/env python3
"""Compare PCA with missing values with LIBMF on the same entries: time to reach an error on held-out entries.

    python3 benchmarks/incomplete.py [--shape 6040x3700x1000000] [--method auto] [--threads N] [--rounds N] [--installed]

The entries come from the catalogue of `karhunen-testkit` (15 components); 1% are held out. LIBMF runs 30 epochs with
16 factors (15 components, and one for the mean) and its defaults. Its wrapper misreads its input in `predict`, so this
script multiplies the factors. karhunen runs through its package with default options, from the entries to the model.
Its time to an error is that of the whole fit with the fewest iterations, of 1, 2, 3, 4, 6, 8, …, that reaches the
error. The floor is that of its iterations (`floor.py`).
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
import warnings
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING

from incremental import record
from run import PROGRAMS, ROOT, Start, build, in_venv

if TYPE_CHECKING:
    import numpy as np

    Entries = tuple[np.ndarray, np.ndarray, np.ndarray]

COMPONENTS, SEED = 15, 2007
EPOCHS, FACTORS = 30, COMPONENTS + 1
ASIDE = 0.01
#: Iteration limits to try until the error is reached.
LIMITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)


def make(shape: tuple[int, int, int], folder: Path) -> None:
    """Make the entries and the held-out entries."""
    import numpy as np

    program = ["cargo", "run", "--release", "--quiet", "-p", "karhunen-testkit", "--example", "ratings", "--"]
    subprocess.run([*program, *map(str, (*shape, COMPONENTS, SEED)), folder], cwd=ROOT, check=True)
    aside = np.random.default_rng(SEED).random(shape[2], dtype=np.float32) < ASIDE
    for part in ("rows", "columns", "values"):
        entries = np.load(folder / f"{part}.npy")
        np.save(folder / f"{part}_kept.npy", entries[~aside])
        np.save(folder / f"{part}_aside.npy", entries[aside])


def read(folder: Path, name: str) -> Entries:
    """Read the rows, columns and values of the entries that were kept, or set aside."""
    import numpy as np

    return tuple(np.load(folder / f"{part}_{name}.npy") for part in ("rows", "columns", "values"))


def rmse(fitted: np.ndarray, values: np.ndarray) -> float:
    """Return the root mean square of the differences."""
    import numpy as np

    return float(np.sqrt(np.mean((fitted - values) ** 2, dtype=np.float64)))


def fit_libmf(folder: Path, threads: int) -> tuple[float, float]:
    """Return seconds and error; a rating is predicted by the product of the factors of its row and column."""
    import numpy as np
    from libmf import mf

    kept = np.column_stack(read(folder, "kept")).astype(np.float32)
    engine = mf.MF(k=FACTORS, nr_threads=threads, nr_iters=EPOCHS, quiet=True)
    start = time.perf_counter()
    engine.fit(kept)
    seconds = time.perf_counter() - start
    p, q = engine.p_factors(), engine.q_factors()
    rows, columns, values = read(folder, "aside")
    # Rows and columns without fitted entries have no factors: predict the mean of all entries.
    known = (rows < len(p)) & (columns < len(q))
    fitted = np.full(len(values), np.nan)
    fitted[known] = np.einsum("ek,ek->e", p[rows[known]], q[columns[known]])
    return seconds, rmse(np.where(np.isnan(fitted), kept[:, 2].mean(dtype=np.float64), fitted), values)


def fit_karhunen(
    folder: Path, threads: int, shape: tuple[int, int], method: str, max_iter: int
) -> tuple[float, float, str, int]:
    """Return the seconds from the entries to the model, error, method and iterations."""
    from karhunen import IncompletePCA, Observed

    kept = read(folder, "kept")
    pca = IncompletePCA(COMPONENTS, method=method, max_iter=max_iter, n_threads=threads)
    start = time.perf_counter()
    with warnings.catch_warnings(action="ignore"):
        pca.fit(Observed(*kept, shape=shape))
    seconds = time.perf_counter() - start
    rows, columns, values = read(folder, "aside")
    return seconds, rmse(pca.predict(rows, columns), values), pca.method_, pca.n_iter_


def alone(work, *arguments):
    """Run in a separate process."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(work, arguments)


def measure(options: argparse.Namespace, machine: dict[str, float]) -> list[dict]:
    """Measure LIBMF, karhunen until the error of LIBMF, and karhunen to its end."""
    import floor

    shape = tuple(map(int, options.shape.split("x")))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(shape, folder)
        ours = (folder, options.threads, shape[:2], options.method)
        _, goal = alone(fit_libmf, folder, options.threads)
        enough = next((limit for limit in LIMITS if alone(fit_karhunen, *ours, limit)[1] <= goal), None)
        limits = {"to the error of LIBMF": enough, "to the end": 1000}
        theirs, fits = [], {work: [] for work, limit in limits.items() if limit}
        for _ in range(options.rounds):
            theirs.append(alone(fit_libmf, folder, options.threads))
            for work, found in fits.items():
                found.append(alone(fit_karhunen, *ours, limits[work]))
    seconds = statistics.median(fit[0] for fit in theirs)
    line = {"shape": options.shape, "work": f"{EPOCHS} epochs", "competitor": "LIBMF", "iterations": EPOCHS}
    none = floor.longest({}) | dict.fromkeys(machine, "")
    lines = [line | {"median_s": seconds, "time_ratio": 1.0, "rmse": goal} | none]
    for work, found in fits.items():
        _, error, method, iterations = found[-1]
        line = {"shape": options.shape, "work": work, "competitor": f"karhunen {method}", "iterations": iterations}
        line["median_s"] = statistics.median(fit[0] for fit in found)
        pairs = zip(theirs, found, strict=True)
        line |= {"time_ratio": statistics.median(other[0] / fit[0] for other, fit in pairs), "rmse": error}
        parts = floor.ratings_parts(shape[2], iterations, COMPONENTS, method, machine)
        lines.append(line | floor.longest(parts) | machine)
    return lines


def main() -> None:
    """Measure one shape."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="6040x3700x1000000", help="SAMPLESxFEATURESxENTRIES")
    parser.add_argument("--method", default="auto", help="karhunen's method (default auto)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="fits by each, alternating (default 3)")
    parser.add_argument("--installed", action="store_true", help="do not build the package: it is installed")
    options = parser.parse_args()
    in_venv()
    import floor

    programs = PROGRAMS if options.installed else build()
    machine = floor.limits(programs / "machine_limits", options.threads)
    started = Start()
    lines = measure(options, machine)
    for line in lines:
        print(
            f"{line['shape']} {line['competitor']:<16} {line['work']:<22} {line['iterations']:>3} iterations "
            f"{line['median_s']:>7.2f} s, LIBMF {line['time_ratio']:.2f} x, RMSE {line['rmse']:.5f}{floor.shown(line)}"
        )
    print(f"record: {record('incomplete', lines, options, started)}")


if __name__ == "__main__":
    main()
