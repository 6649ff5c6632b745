#!/usr/bin/env python3
"""Time of an iteration against entries, components, rows and threads.

    python examples/paper/scaling.py [--largest 10000000] [--only entries components rows threads] [--draw]

Each point is the shortest iteration of two fits to generated entries, since other programs can only make it longer.
Slopes are those of lines through the larger half of the points, on logarithmic axes. Writes `results/scaling.json` and
`results/scaling.svg`; series that are not requested are kept.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pictures
import problems
from karhunen import IncompletePCA, Observed
from run import write
from setting import setting
from sklearn.exceptions import ConvergenceWarning

HERE = Path(__file__).resolve().parent
STYLES = {"newton": ("#0072B2", "o"), "em": ("#7f7f7f", "s"), "vb": ("#009E73", "^"), "vb-full": ("#D55E00", "D")}
#: Iterations of a fit; `vb` takes five gradient steps in each.
ITERATIONS = {"newton": 12, "em": 3, "vb": 3, "vb-full": 3}
#: Rows and columns at a million entries; both grow as the square root of the entries.
SHAPE = (6040, 3700)
COMPONENTS = [2, 4, 8, 15, 16, 32, 64]
ROWS = [1510, 3020, 6040, 12_080, 24_160, 48_320, 96_640]


def iteration(data: Observed, method: str, c: int, threads: int | None = None) -> float:
    """Time an iteration: the shortest in two fits."""
    least = np.inf
    rng = np.random.default_rng(2007)
    # With a given start, no sweeps precede the first iteration.
    start = 0.3 * rng.normal(size=(c, data.shape[1])), 0.3 * rng.normal(size=(data.shape[0], c))
    for _ in range(2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            limits = {"tol": 0.0, "max_iter": ITERATIONS[method], "error_bars": False, "n_threads": threads}
            pca = IncompletePCA(c, method=method, mean="fixed", **limits).fit(data, start=start)
        steps = np.diff(pca.convergence_.seconds)
        if method == "newton":
            # A rejected step does not lower the cost and takes half a pass.
            steps = steps[np.diff(pca.convergence_.costs) < 0]
        least = min(least, float(np.min(steps)))
    return least


def by_entries(largest: int) -> dict[str, list]:
    """Measure from 10,000 entries upwards, c = 15; rows and columns grow as the square root of the entries."""
    return series(entries_of(largest), lambda n: (shaped(n), 15))


def entries_of(largest: int) -> list[int]:
    """Return numbers of entries: powers of the square root of ten from 10,000."""
    return [n for n in (round(10 ** (k / 2)) for k in range(8, 17)) if n <= largest]


def shaped(n: int) -> tuple[int, int, int]:
    """Return the shape of a problem with `n` entries."""
    scale = (n / 1e6) ** 0.5
    return round(SHAPE[0] * scale), round(SHAPE[1] * scale), n


def by_components() -> dict[str, list]:
    """Measure 2 to 64 components, a million entries."""
    return series(COMPONENTS, lambda c: ((*SHAPE, 1_000_000), c))


def by_rows() -> dict[str, list]:
    """Measure 1,510 to 96,640 rows, a million entries, c = 15."""
    return series(ROWS, lambda n: ((n, SHAPE[1], 1_000_000), 15))


def series(sizes: list[int], of_size: Callable[[int], tuple]) -> dict[str, list]:
    """Time every method at every size."""
    found = {method: [] for method in ITERATIONS}
    made = {}
    for size in sizes:
        shape, c = of_size(size)
        if shape not in made:
            made = {shape: problems.make(shape)}
        for method in ITERATIONS:
            seconds = iteration(made[shape], method, c)
            found[method].append([size, float(f"{seconds:.3g}")])
        print(size, {method: points[-1][1] for method, points in found.items()}, flush=True)
    return found


def by_threads() -> dict[str, list]:
    """Measure one thread to all cores, a million entries, c = 15."""
    data = problems.make((*SHAPE, 1_000_000))
    counts = range(1, (os.cpu_count() or 1) + 1)
    return {m: [[k, float(f"{iteration(data, m, 15, k):.3g}")] for k in counts] for m in ITERATIONS}


def slope(points: list) -> float:
    """Fit the slope of the larger half of the points, including the middle one."""
    sizes, seconds = np.log(np.array(points)[len(points) // 2 :]).T
    return round(float(np.polyfit(sizes, seconds, 1)[0]), 3)


def main() -> None:
    """Measure the requested series."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--largest", type=int, default=10_000_000, help="most entries (default ten million)")
    parser.add_argument("--only", nargs="+", default=[], choices=["entries", "components", "rows", "threads"])
    parser.add_argument("--draw", action="store_true", help="draw the record that is there")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    path = options.out / "scaling.json"
    record = json.loads(path.read_text()) if path.exists() else {"series": {}, "settings": {}}
    measures = {
        "entries": lambda: by_entries(options.largest),
        "components": by_components,
        "rows": by_rows,
        "threads": by_threads,
    }
    for what, measure in ({} if options.draw else measures).items():
        if not options.only or what in options.only:
            record["settings"][what] = setting(None)
            record["series"][what] = measure()
    axes = [what for what in record["series"] if what != "threads"]
    record["slopes"] = {what: {m: slope(points) for m, points in record["series"][what].items()} for what in axes}
    record["styles"] = STYLES
    options.out.mkdir(parents=True, exist_ok=True)
    write(path, record)
    if len(axes) == 3:
        pictures.scaling(record, options.out)


if __name__ == "__main__":
    main()
