"""The algorithms of the paper on real tables with missing values: errors of a tenth of the observed entries."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import problems
from karhunen import IncompletePCA
from learning import rmse
from sklearn.exceptions import ConvergenceWarning

#: Name and options; every fit runs until it stops by itself.
METHODS = {
    "gradient": {"method": "gradient"},
    "natural gradient": {"method": "natural"},
    "speed-up": {"method": "newton", "alpha": 0.625},
    "EM": {"method": "em"},
    "imputation": {"method": "imputation"},
    "regularised": {"method": "map"},
    "VB1": {"method": "vb-fixed"},
    "VB2": {"method": "vb"},
    "VB, full covariances": {"method": "vb-full"},
}
SEEDS = 3
COMPONENTS = 5


def run_tables(folder: Path, report: Callable[[str], None]) -> dict:
    """Fit every table with every algorithm, for several choices of the held-out entries; return medians."""
    found = {}
    for path in problems.tables(folder):
        x = problems.table(path)
        splits = [problems.set_aside(path.stem, x, seed) for seed in range(SEEDS)]
        name = path.name.split(".")[0]
        # Five components would fit a small table completely.
        c = min(COMPONENTS, x.shape[1] // 2)
        found[name] = {
            "components": c,
            "rows": x.shape[0],
            "columns": x.shape[1],
            "missing": round(float(np.isnan(x).mean()), 4),
            "means": round(float(np.median([of_means(problem) for problem in splits])), 4),
            "errors": {},
            "seconds": {},
        }
        for method, options in METHODS.items():
            errors, seconds = [], []
            for problem in splits:
                began = time.perf_counter()
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    pca = IncompletePCA(c, **options, error_bars=False).fit(problem.train)
                seconds.append(time.perf_counter() - began)
                errors.append(rmse(pca, problem.test))
            found[name]["errors"][method] = round(float(np.median(errors)), 4)
            found[name]["seconds"][method] = float(f"{np.median(seconds):.3g}")
        report(
            f"{name}: means {found[name]['means']}, " + ", ".join(f"{k} {v}" for k, v in found[name]["errors"].items())
        )
    return {"seeds": SEEDS, "tables": found}


def of_means(problem: problems.Problem) -> float:
    """Compute the error of predicting the column means."""
    _, columns, values = problem.train.triples()
    sums, counts = (np.bincount(columns, w, problem.train.shape[1]) for w in (values, None))
    _, columns, values = problem.test.triples()
    return float(np.sqrt(np.mean((values - (sums / np.maximum(counts, 1))[columns]) ** 2)))
