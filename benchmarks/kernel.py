#!/usr/bin/env python3
"""Compare kernel PCA with scikit-learn's: time ratio, accuracy, peak memory, one row of the table at a time.

    python3 benchmarks/kernel.py [ROW ...] [--rounds N] [--threads N] [--only WHO ...] [--check] [--quick]

Rows: `5k` and `20k` (float64), `100k` (float32, tiles, to 1e-4), `1m` (landmarks). The data have 50 columns with ten
factors; the kernel is `exp(-|x - y|^2 / 50)`, with 50 components. Every fit runs in a separate process, competitors
alternate, and only the fit is timed, after a small fit that starts libraries and threads. Memory is the rise of the
peak of resident memory during the fit. The error is the worst difference of an eigenvalue from a reference, relative
to the largest: karhunen to 1e-12 up to 20,000 rows, and four times as many new landmarks for `1m`; `100k` has no
reference. `--check` computes `||K u - l u|| / l_1` of every component with numpy, which shares no code with karhunen.
Exact fits of scikit-learn for `20k` take minutes: `--only karhunen-stored sklearn-randomized` omits them. For a
million rows scikit-learn holds two arrays of 8 GB at a time, 17 GB with the data: `--part 0.25` fits a quarter of the
rows.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from incremental import record
from run import PROGRAMS, Start, build, environment_of, in_venv

if TYPE_CHECKING:
    import numpy as np
    from sklearn.base import BaseEstimator

P, FACTORS, COMPONENTS, LANDMARKS = 50, 10, 50, 1000
GAMMA = 1 / P
#: Number of rows, dtype, and competitors, of which the first is the base of the ratios.
ROWS = {
    "5k": (5_000, "float64", ("karhunen-stored", "sklearn-exact", "sklearn-randomized")),
    "20k": (20_000, "float64", ("karhunen-stored", "karhunen-tiles", "sklearn-randomized", "sklearn-exact")),
    "100k": (100_000, "float32", ("karhunen-tiles",)),
    "1m": (1_000_000, "float64", ("karhunen-nystrom", "sklearn-nystroem")),
}


def make(n: int, dtype: str) -> np.ndarray:
    """Make rows of ten factors and noise from a fixed seed."""
    import numpy as np

    rng = np.random.default_rng(1998)
    loadings = rng.normal(size=(FACTORS, P)) / np.sqrt(FACTORS)
    x = rng.normal(size=(n, FACTORS)) @ loadings
    return (x + 0.3 * rng.normal(size=(n, P))).astype(dtype)


def estimator(who: str, dtype: str, threads: int, tol: float | None) -> BaseEstimator:
    """Make the estimator of a competitor; `tol` is the tolerance of karhunen's residuals."""
    if who == "sklearn-nystroem":
        from sklearn.decomposition import PCA
        from sklearn.kernel_approximation import Nystroem
        from sklearn.pipeline import make_pipeline

        features = Nystroem("rbf", gamma=GAMMA, n_components=LANDMARKS, random_state=0, n_jobs=threads)
        return make_pipeline(features, PCA(COMPONENTS, random_state=0))
    if who.startswith("sklearn"):
        from sklearn.decomposition import KernelPCA

        solver = {"sklearn-exact": "dense", "sklearn-randomized": "randomized"}[who]
        return KernelPCA(COMPONENTS, kernel="rbf", gamma=GAMMA, eigen_solver=solver, random_state=0, n_jobs=threads)
    from karhunen import KernelPCA

    tol = tol or (1e-4 if dtype == "float32" else None)
    options = {
        "reference": {"solver": "tiles", "tol": 1e-12},
        "reference-landmarks": {"solver": "nystrom", "n_features": 4 * LANDMARKS, "random_state": 1},
        "nystrom": {"solver": "nystrom", "n_features": LANDMARKS},
        "stored": {"solver": "stored", "tol": tol},
        "tiles": {"solver": "tiles", "tol": tol},
    }[who.removeprefix("karhunen-")]
    return KernelPCA(COMPONENTS, kernel="rbf", gamma=GAMMA, n_threads=threads, **options)


def residual(x: np.ndarray, vectors: np.ndarray, values: np.ndarray) -> float:
    """Compute the worst `||K u - l u||` of the centred kernel matrix, relative to the largest eigenvalue."""
    import numpy as np

    norms, centred = np.einsum("ij,ij->i", x, x), vectors - vectors.mean(axis=0)
    product = np.empty((len(x), vectors.shape[1]))
    few = max(1, 200_000_000 // (8 * len(x)))
    for first in range(0, len(x), few):
        rows = slice(first, first + few)
        squares = norms[rows, None] + norms - 2 * x[rows] @ x.T
        product[rows] = np.exp(-GAMMA * np.maximum(squares, 0)) @ centred
    product -= product.mean(axis=0)
    return float(np.linalg.norm(product - vectors * values, axis=0).max() / values[0])


def one(who: str, row: str, options: dict) -> dict:
    """Fit in this process."""
    from peer import memory_kb

    n, dtype, _ = ROWS[row]
    n = int(n * options["part"])
    threads = options["threads"]
    # Libraries load and threads start before the timer.
    warm = {"karhunen-reference-landmarks": "karhunen-stored", "karhunen-nystrom": "karhunen-stored"}.get(who, who)
    with warnings.catch_warnings(action="ignore"):
        estimator(warm, dtype, threads, None).fit(make(300, dtype))
    x = make(n, dtype)
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before, processor = memory_kb("VmRSS"), time.process_time()
    start = time.perf_counter()
    with warnings.catch_warnings(action="ignore"):
        fitted = estimator(who, dtype, threads, options["tol"]).fit(x)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    growth = (memory_kb("VmHWM") - before) / 1024
    found = {"seconds": seconds, "processor": processor, "growth_mb": growth}
    if who == "sklearn-nystroem":
        pca = fitted[-1]
        return {**found, "values": (pca.explained_variance_ * (n - 1)).tolist()}
    found["values"] = fitted.eigenvalues_.tolist()
    if hasattr(fitted, "convergence_"):
        convergence = fitted.convergence_
        found["n_passes"] = convergence.n_passes
        found["said"] = f"residual {convergence.worst_residual:.1e} in {convergence.n_passes} passes"
        if convergence.error_estimate is not None:
            bound, estimate = convergence.error_bound, convergence.error_estimate
            found["said"] = f"error {estimate:.1e} estimated, {bound:.1e} at most"
    if options["check"] and hasattr(fitted, "eigenvectors_"):
        found["residual"] = residual(x, fitted.eigenvectors_, fitted.eigenvalues_)
    return found


def alone(who: str, row: str, options: argparse.Namespace) -> dict:
    """Fit in a separate process."""
    settings = json.dumps({name: getattr(options, name) for name in ("threads", "check", "part", "tol")})
    environment = environment_of(options.threads)
    command = [sys.executable, Path(__file__), "--one", who, row, settings]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"{who} failed on {row}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def reference_values(row: str, options: argparse.Namespace) -> list[float] | None:
    """Compute the reference eigenvalues for all competitors, if they are affordable."""
    if ROWS[row][0] * options.part <= 20_000:
        return alone("karhunen-reference", row, options)["values"]
    return alone("karhunen-reference-landmarks", row, options)["values"] if row == "1m" else None


def floor_of(who: str, fit: dict, n: int, dtype: str, options: argparse.Namespace) -> dict[str, float]:
    """Return the parts of the floor of a fit by karhunen."""
    import floor

    if not who.startswith("karhunen"):
        return {}
    # Passes in float32 come first where the tolerance is far above its rounding.
    may_be_single = options.tol is not None and options.tol >= 1e-5
    how = {"solver": who.removeprefix("karhunen-"), "in_single": may_be_single}
    how |= {"components": COMPONENTS, "landmarks": LANDMARKS}
    return floor.kernel_parts(n, P, dtype, fit.get("n_passes", 0), how, options.machine)


def measure(row: str, options: argparse.Namespace) -> list[dict]:
    """Measure all competitors on one row."""
    import floor

    n, dtype, competitors = ROWS[row]
    competitors = [who for who in competitors if not options.only or who in options.only]
    if not competitors:
        return []
    reference = reference_values(row, options)
    runs = {who: [] for who in competitors}
    for _ in range(options.rounds):
        for who in competitors:
            runs[who].append(alone(who, row, options))
    lines = []
    for who, fits in runs.items():
        pairs = zip(fits, runs[competitors[0]], strict=True)
        values, line = fits[-1]["values"], {"row": row, "n": int(n * options.part), "dtype": dtype, "competitor": who}
        line["tol"] = options.tol or "default"
        line["median_s"] = statistics.median(fit["seconds"] for fit in fits)
        line["median_processor_s"] = statistics.median(fit["processor"] for fit in fits)
        line["time_ratio"] = statistics.median(theirs["seconds"] / ours["seconds"] for theirs, ours in pairs)
        line["growth_mb"] = statistics.median(fit["growth_mb"] for fit in fits)
        off = [abs(a - b) for a, b in zip(values, reference or [], strict=False)]
        line["worst_error"] = max(off) / reference[0] if reference else ""
        line["residual"] = fits[-1].get("residual", "")
        line["said"] = fits[-1].get("said", "")
        parts = floor_of(who, fits[-1], line["n"], dtype, options)
        line |= floor.longest(parts) | (options.machine if parts else dict.fromkeys(options.machine, ""))
        lines.append(line)
        error, checked = (f"{line[name]:.1e}" if line[name] != "" else "-" for name in ("worst_error", "residual"))
        print(
            f"{row:>5} {line['n']:>8} {who:<19} {line['median_s']:>8.2f} s {line['median_processor_s']:>8.2f} s of "
            f"processor {line['time_ratio']:>7.2f} x {line['growth_mb']:>7.0f} MB, error {error}, "
            f"checked residual {checked} {line['said']}{floor.shown(line)}",
            flush=True,
        )
    return lines


def main() -> None:
    """Measure the requested rows."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    choices = f"of {', '.join(ROWS)} (default all)"
    parser.add_argument("rows", nargs="*", default=list(ROWS), metavar="ROW", help=choices)
    parser.add_argument("--rounds", type=int, default=3, help="fits by each, alternating (default 3)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each (default 2)")
    parser.add_argument("--only", nargs="+", default=[], metavar="WHO", help="competitors")
    parser.add_argument("--tol", type=float, help="tolerance of karhunen (default its own; 1e-4 of float32)")
    parser.add_argument("--part", type=float, default=1.0, help="share of the rows (default 1)")
    parser.add_argument("--check", action="store_true", help="compute residuals with numpy, too")
    parser.add_argument("--quick", action="store_true", help="a twentieth of the rows: checks that everything runs")
    parser.add_argument("--installed", action="store_true", help="do not build the package: it is installed")
    options = parser.parse_args()
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f"no such row: {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    in_venv()
    import floor

    programs = PROGRAMS if options.installed else build()
    options.machine = floor.limits(programs / "machine_limits", options.threads)
    if options.quick:
        options.part, options.rounds, options.check = 0.05, 1, True
    started = Start()
    lines = [line for row in options.rows for line in measure(row, options)]
    if lines and not options.quick:
        print(f"record: {record('kernel', lines, options, started)}")


if __name__ == "__main__":
    main()
