#!/usr/bin/env python3
"""Compare the errors of missing entries of `auto` with the best single method, on fresh splits of the committed tables.

    python3 benchmarks/methods.py [--splits N] [--npy FILE ...]

A fifth of the entries is held out at random; errors are root mean squares over these, of scaled fits in deviations of the
columns. Prints one line for each setting, and the number of those in which `auto` is within 5% of the best.
"""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

from run import ROOT, build, in_venv

METHODS = ("auto", "em", "als", "ppca", "ridge", "vb", "map")
TABLES = (
    "wine",
    "breast_cancer",
    "bfi_items",
    "metabolite_complete",
    "midwest_counties",
    "usarrests",
    "worldbank_fertility",
    "digits_8x8",
    "gasoline_nir_60x401",
    "decathlon",
    "iris",
)


def numbers(name: str):
    """Return the columns of numbers of a table that vary."""
    import numpy as np
    import pandas as pd

    if name.endswith(".npy"):
        return np.load(name)
    (path,) = Path(ROOT, "examples/data").glob(f"{name}.csv*")
    x = pd.read_csv(path).select_dtypes("number").to_numpy(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        return x[:, pd.DataFrame(x).std().to_numpy() > 0]


def errors(x, scale: bool, k: int, split: int) -> list[float]:
    """Return the error of each method."""
    import numpy as np
    from karhunen import IncompletePCA

    rng = np.random.default_rng(100 + split)
    out = ~np.isnan(x) & (rng.random(x.shape) < 0.2)
    kept = np.where(out, np.nan, x)
    unit = np.nanstd(kept, axis=0) if scale else np.ones(x.shape[1])
    unit[unit == 0] = 1.0
    found = []
    for method in METHODS:
        filled = IncompletePCA(k, method=method, scale=scale).fit(kept).impute(kept)
        found.append(float(np.sqrt(np.mean((((filled - x) / unit)[out]) ** 2))))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--splits", type=int, default=3, help="splits of each table (default 3)")
    parser.add_argument("--npy", nargs="+", default=[], help="further tables, such as yarn of R's package pls")
    options = parser.parse_args()
    in_venv()
    import numpy as np

    warnings.simplefilter("ignore")
    build()
    n_near, n_all = 0, 0
    for name in (*TABLES, *options.npy):
        x = numbers(name)
        for scale in (True, False):
            for k in (k for k in (2, 5, 10) if k < x.shape[1] - 1):
                mean = np.mean([errors(x, scale, k, split) for split in range(options.splits)], axis=0)
                ratios = dict(zip(METHODS, mean / mean.min()))
                n_near, n_all = n_near + (ratios["auto"] <= 1.05), n_all + 1
                told = " ".join(f"{method} {ratio:.3f}" for method, ratio in ratios.items())
                print(f"{name}, {'scaled' if scale else 'unscaled'}, {k} components: {told}", flush=True)
    print(f"auto within 5% of the best in {n_near} of {n_all} settings")


if __name__ == "__main__":
    main()
