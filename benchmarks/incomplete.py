#!/usr/bin/env python3
"""PCA with missing values beside LIBMF, in one run on the same entries: time to an error on entries set aside.

    python3 benchmarks/incomplete.py [--shape 6040x3700x1000000] [--method auto] [--threads 2] [--rounds 3]

The entries come from the catalogue of `karhunen-testkit` (15 components); 1% are set aside. LIBMF makes 30 epochs with 16
factors (15 components and the mean, which it has no other place for) and its own defaults. Its wrapper misreads its
input in `predict`: its factors are multiplied here. karhunen runs with the options of its defaults, from the entries to
the model; its time to an error is when its trace first shows that error. Needs `libmf` and numpy.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
EPOCHS, FACTORS = 30, 16


def entries(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    read = lambda part, dtype: np.fromfile(folder / f"{name}.{part}", dtype=dtype)
    return read("rows", np.uint32), read("columns", np.uint32), read("values", np.float32)


def libmf(folder: Path, threads: int) -> dict:
    """Fits in this process; the rating of a row and a column is the product of their factors."""
    from libmf import mf

    rows, columns, values = entries(folder, "kept")
    kept = np.column_stack([rows, columns, values]).astype(np.float32)
    engine = mf.MF(k=FACTORS, nr_threads=threads, nr_iters=EPOCHS, quiet=True)
    start = time.perf_counter()
    engine.fit(kept)
    seconds = time.perf_counter() - start
    p, q = engine.p_factors(), engine.q_factors()
    rows, columns, values = entries(folder, "aside")
    # What was never seen while it was fitted has no factors: the mean of all entries instead.
    known = (rows < len(p)) & (columns < len(q))
    fitted = np.full(len(values), kept[:, 2].mean(dtype=np.float64))
    fitted[known] = np.einsum("ek,ek->e", p[rows[known]], q[columns[known]])
    fitted[np.isnan(fitted)] = kept[:, 2].mean(dtype=np.float64)
    return {"seconds": seconds, "held_out_rmse": float(np.sqrt(np.mean((fitted - values) ** 2)))}


def ours(program: Path, what: str, options: argparse.Namespace) -> dict:
    command = [program, what, options.shape, options.method, "0", str(options.threads)]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def seconds_to(error: float, run: dict) -> float:
    """When the trace first shows an error as low, counted from the start of the fit."""
    reached = [at[1] for at in run["trace"] if at[3] is not None and at[3] <= error]
    return (run["seconds_before_iterations"] or 0.0) + reached[0] if reached else float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shape", default="6040x3700x1000000", help="SAMPLESxFEATURESxENTRIES or netflix")
    parser.add_argument("--method", default="auto", help="karhunen's method (default auto)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3, help="fits by each, alternating (default 3)")
    parser.add_argument("--fit-libmf", metavar="FOLDER", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fit_libmf:
        print(json.dumps(libmf(Path(options.fit_libmf), options.threads)))
        return
    program = Path(os.environ.get("KARHUNEN_TIME_INCOMPLETE", ROOT / "target/release/examples/time_incomplete"))
    if not program.exists():
        build = ["cargo", "build", "--release", "-p", "karhunen", "--example", "time_incomplete"]
        subprocess.run(build, cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "make", options.shape, folder], check=True)
        rounds = []
        for _ in range(options.rounds):
            again = [sys.executable, __file__, "--fit-libmf", folder, "--threads", str(options.threads)]
            done = subprocess.run(again, check=True, capture_output=True, text=True)
            peer = json.loads(done.stdout.splitlines()[-1])
            trace, fit = ours(program, "trace", options), ours(program, "fit", options)
            rounds.append((peer, seconds_to(peer["held_out_rmse"], trace), fit))
    middle = lambda values: statistics.median(values)
    theirs = middle([peer["seconds"] for peer, _, _ in rounds])
    reached = middle([seconds for _, seconds, _ in rounds])
    print(f"{options.shape}: LIBMF {EPOCHS} epochs {theirs:.2f} s, RMSE {rounds[-1][0]['held_out_rmse']:.5f}")
    print(f"karhunen {rounds[-1][2]['method']}: there after {reached:.2f} s ({theirs / reached:.2f} x as fast),", end=" ")
    whole = middle([fit["seconds"] for _, _, fit in rounds])
    print(f"ends after {whole:.2f} s ({rounds[-1][2]['n_iterations']} iterations), RMSE {rounds[-1][2]['held_out_rmse']:.5f}")


if __name__ == "__main__":
    main()
