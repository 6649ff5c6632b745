#!/usr/bin/env python3
"""Compare PCA with missing values with LIBMF on the same entries: time to reach an error on held-out entries.

    python3 benchmarks/incomplete.py [--shape 6040x3700x1000000] [--method auto] [--threads 2] [--rounds 3]

The entries come from the catalogue of `karhunen-testkit` (15 components); 1% are held out. LIBMF runs 30 epochs with
16 factors (15 components, and one for the mean) and its defaults. Its wrapper misreads its input in `predict`, so this
script multiplies the factors. karhunen runs through its package with default options, from the entries to the model.
Its time to an error is that of the whole fit with the fewest iterations, of 1, 2, 3, 4, 6, 8, …, that reaches the
error. Needs `karhunen`, `libmf` and numpy.
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

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
COMPONENTS, SEED = 15, 2007
EPOCHS, FACTORS = 30, COMPONENTS + 1
ASIDE = 0.01
#: Iteration limits to try until the error is reached.
LIMITS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)

Entries = tuple[np.ndarray, np.ndarray, np.ndarray]


def make(shape: tuple[int, int, int], folder: Path) -> None:
    """Make the entries and the held-out entries."""
    program = ["cargo", "run", "--release", "--quiet", "-p", "karhunen-testkit", "--example", "ratings", "--"]
    subprocess.run([*program, *map(str, (*shape, COMPONENTS, SEED)), folder], cwd=ROOT, check=True)
    aside = np.random.default_rng(SEED).random(shape[2], dtype=np.float32) < ASIDE
    for part in ("rows", "columns", "values"):
        entries = np.load(folder / f"{part}.npy")
        np.save(folder / f"{part}_kept.npy", entries[~aside])
        np.save(folder / f"{part}_aside.npy", entries[aside])


def read(folder: Path, name: str) -> Entries:
    return tuple(np.load(folder / f"{part}_{name}.npy") for part in ("rows", "columns", "values"))


def rmse(fitted: np.ndarray, values: np.ndarray) -> float:
    return float(np.sqrt(np.mean((fitted - values) ** 2, dtype=np.float64)))


def fit_libmf(folder: Path, threads: int) -> tuple[float, float]:
    """Return seconds and error; a rating is predicted by the product of the factors of its row and column."""
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="6040x3700x1000000", help="SAMPLESxFEATURESxENTRIES")
    parser.add_argument("--method", default="auto", help="karhunen's method (default auto)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="fits by each, alternating (default 3)")
    options = parser.parse_args()
    shape = tuple(map(int, options.shape.split("x")))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(shape, folder)
        ours = (folder, options.threads, shape[:2], options.method)
        _, goal = alone(fit_libmf, folder, options.threads)
        enough = next((limit for limit in LIMITS if alone(fit_karhunen, *ours, limit)[1] <= goal), None)
        theirs, there, whole = [], [], []
        for _ in range(options.rounds):
            theirs.append(alone(fit_libmf, folder, options.threads))
            if enough:
                there.append(alone(fit_karhunen, *ours, enough)[0])
            whole.append(alone(fit_karhunen, *ours, 1000))
    seconds = statistics.median(fit[0] for fit in theirs)
    print(f"{options.shape}: LIBMF, {EPOCHS} epochs: {seconds:.2f} s, RMSE {goal:.5f}")
    if there:
        reached = statistics.median(there)
        print(f"karhunen, {enough} iterations: as low after {reached:.2f} s, {seconds / reached:.2f} times as fast")
    _, error, method, iterations = whole[-1]
    seconds = statistics.median(fit[0] for fit in whole)
    print(f"karhunen, {method}, {iterations} iterations to the end: {seconds:.2f} s, RMSE {error:.5f}")


if __name__ == "__main__":
    main()
