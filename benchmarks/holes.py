#!/usr/bin/env python3
"""Compare fits of a small table with missing values with R's pcaMethods: seconds, and error of the missing entries.

    python3 benchmarks/holes.py [--rounds 3] [--methods auto,em,als,ppca]

The table is 600 x 300 of planted rank 10 with noise; 5% of the entries are missing at random. Every competitor fits 10
components of centred columns, once before the timed fits. Needs `karhunen`, numpy, and R with pcaMethods.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

SCRIPT = Path(__file__).resolve().parent / "pcamethods.R"
SAMPLES, FEATURES, COMPONENTS, SHARE, NOISE, SEED = 600, 300, 10, 0.05, 0.5, 2007
PEERS = ("svdImpute", "nipals", "bpca", "ppca")


def make() -> tuple[np.ndarray, np.ndarray]:
    """Make the complete table and the table with missing values."""
    random = np.random.default_rng(SEED)
    sizes = np.geomspace(3.0, 0.5, COMPONENTS)
    scores, loadings = random.normal(size=(SAMPLES, COMPONENTS)) * sizes, random.normal(size=(COMPONENTS, FEATURES))
    whole = scores @ loadings / np.sqrt(COMPONENTS) + random.normal(size=FEATURES)
    whole += NOISE * random.normal(size=whole.shape)
    return whole, np.where(random.random(whole.shape) < SHARE, np.nan, whole)


def fit_karhunen(holed: np.ndarray, method: str, rounds: int) -> tuple[list[float], np.ndarray]:
    """Fit after an untimed fit; return the seconds of each fit and the completed table."""
    from karhunen import IncompletePCA

    seconds = []
    for _ in range(rounds + 1):
        pca = IncompletePCA(COMPONENTS, method=method)
        start = time.perf_counter()
        with warnings.catch_warnings(action="ignore"):
            pca.fit(holed)
        seconds.append(time.perf_counter() - start)
    return seconds[1:], pca.impute(holed)


def fit_pcamethods(holed: np.ndarray, method: str, rounds: int) -> tuple[list[float], np.ndarray]:
    """Fit in one R process; return the seconds of each fit and the completed table."""
    with tempfile.TemporaryDirectory() as folder:
        np.savetxt(Path(folder) / "holes.csv", holed, delimiter=",", fmt="%.17g")
        command = ["Rscript", SCRIPT, folder, method, str(COMPONENTS), str(rounds + 1)]
        found = subprocess.run(command, check=True, capture_output=True, text=True)
        return [float(s) for s in found.stdout.split()][1:], np.loadtxt(Path(folder) / "completed.csv", delimiter=",")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="timed fits by each (default 3)")
    parser.add_argument("--methods", default="auto,em,als,ppca", help="karhunen's methods")
    options = parser.parse_args()
    whole, holed = make()
    holes = np.isnan(holed)
    print(f"{SAMPLES} x {FEATURES}, {holes.sum()} holes, {COMPONENTS} components, noise {NOISE}")
    print(f"{'':24}{'seconds':>10}{'RMSE in the holes':>20}")
    for package, fit, methods in (
        ("karhunen", fit_karhunen, options.methods.split(",")),
        ("pcaMethods", fit_pcamethods, PEERS),
    ):
        for method in methods:
            seconds, filled = fit(holed, method, options.rounds)
            error = np.sqrt(np.mean((filled - whole)[holes] ** 2))
            print(f"{package + ' ' + method:24}{statistics.median(seconds):>10.4f}{error:>20.5f}", flush=True)


if __name__ == "__main__":
    main()
