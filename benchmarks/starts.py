#!/usr/bin/env python3
"""Count fits of the committed tables that compare starts and still end above the lowest cost of twelve random starts.

    python3 benchmarks/starts.py [--methods auto,als,ppca]

Entries are removed at random, 5, 20 and 50% of them; columns are scaled and not; 2, 5 and 10 components. A cost is above the
lowest if it differs by more than 0.001: of it, or for methods that learn variances per entry. Prints for each method the
numbers of fits, of fits above the lowest cost, of these that are called converged, of fits whose starts ended apart, and of
fits from one start that are above it.
"""

from __future__ import annotations

import argparse
import warnings

from methods import TABLES, numbers
from run import build, in_venv


def settings(name: str):
    """Yield the tables with missing entries, whether they are scaled, and numbers of components."""
    import numpy as np

    x = numbers(name)
    for share in (0.05, 0.2, 0.5):
        removed = np.random.default_rng(7).random(x.shape) < share
        for scale in (True, False):
            for k in (k for k in (2, 5, 10) if k < min(x.shape) - 1):
                yield np.where(removed, np.nan, x), scale, k


def outcome(x, k: int, **options) -> list[bool]:
    """Return whether a fit is above the lowest cost, also called converged, its starts apart, and one start above it."""
    import numpy as np
    from karhunen import IncompletePCA

    fits = [
        IncompletePCA(k, n_starts=n, **options).fit(x).convergence_
        for n in (None, 1, 12)
    ]
    lowest = min(fit.cost for fit in fits)
    learns = fits[0].method in ("map", "ppca", "vb", "vb-fixed", "vb-full")
    unit = np.isfinite(x).sum() if learns else abs(lowest)
    above = [fit.cost - lowest > 1e-3 * unit for fit in fits]
    apart = fits[0].starts.n_lowest < 2
    return [above[0], above[0] and not apart, apart, above[1]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--methods",
        default="auto,als,ppca",
        help="methods, separated by commas (default auto,als,ppca)",
    )
    options = parser.parse_args()
    in_venv()
    import numpy as np

    warnings.simplefilter("ignore")
    build()
    for method in options.methods.split(","):
        found = [
            outcome(x, k, method=method, scale=scale)
            for name in TABLES
            for x, scale, k in settings(name)
        ]
        wrong, silent, apart, one = np.sum(found, axis=0)
        print(
            f"{method}: {len(found)} fits, {wrong} above the lowest cost, {silent} of them called converged; "
            f"{apart} with starts apart; {one} above it from one start",
            flush=True,
        )


if __name__ == "__main__":
    main()
