"""The algorithms of the paper on one problem, and their errors by time."""

from __future__ import annotations

import time
import warnings
from typing import Any

import numpy as np
from karhunen import IncompletePCA, Observed
from problems import Problem
from sklearn.exceptions import ConvergenceWarning

#: The paper's mean: every feature has 22 pseudo-observations of 3, and the mean is not fitted with the components.
PAPER_MEAN = {"mean": "fixed", "mean_prior": (22, 3.0)}
#: The paper's best power of the second derivatives.
SPEED_UP = {"method": "newton", "alpha": 0.625}
#: Iterations of the speed-up that regularised PCA and variational Bayes start from.
BEFORE = 50

#: Name, options, iterations, whether it starts where the speed-up got to.
RUNS: list[tuple[str, dict[str, Any], int, bool]] = [
    ("gradient", {"method": "gradient"}, 800, False),
    ("natural gradient", {"method": "natural"}, 700, False),
    ("speed-up", SPEED_UP, 500, False),
    ("EM", {"method": "em"}, 40, False),
    ("imputation", {"method": "imputation"}, 500, False),
    ("regularised", {"method": "map"}, 200, True),
    ("VB1", {"method": "vb-fixed"}, 100, True),
    ("VB2", {"method": "vb"}, 100, True),
    ("VB, full covariances", {"method": "vb-full"}, 40, False),
]


def marks(n: int) -> list[int]:
    """Give the iterations after which other entries are predicted: a geometric sequence up to `n`."""
    found, at = [], 1.0
    while round(at) < n:
        found.append(round(at))
        at = max(at * 1.6, at + 1)
    return [*found, n]


def rmse(pca: IncompletePCA, test: Observed) -> float:
    """Measure the error of predictions."""
    rows, columns, values = test.triples()
    return float(np.sqrt(np.mean((pca.predict(rows, columns) - values) ** 2, dtype=np.float64)))


def fitted(problem: Problem, options: dict[str, Any], iterations: int, start: Any, c: int) -> IncompletePCA:
    """Fit with neither tolerance nor error bars: exactly so many iterations, unless no step lowers the cost."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pca = IncompletePCA(c, **PAPER_MEAN, **options, tol=0.0, max_iter=iterations, error_bars=False)
        return pca.fit(problem.train, start=start)


def random_start(problem: Problem, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw normal components and scores, the same for every algorithm."""
    rng = np.random.default_rng(2007)
    n, p = problem.train.shape
    return 0.5 * rng.normal(size=(c, p)), 0.5 * rng.normal(size=(n, c))


def run_all(problem: Problem, n_components: int, only: list[str], share: float, report: Any) -> dict[str, dict]:
    """Run the algorithms named in `only`, all if it is empty, for `share` of their usual iterations.

    The error of the entries set aside is not part of a fit: each fit is repeated, ended at each of the marks. A fit is
    the same bit for bit however long it goes on.
    """
    start = random_start(problem, n_components)
    before = fitted(problem, SPEED_UP, BEFORE, start, n_components)
    solution = (before.components_, before.scores_, before.mean_)
    found = {}
    for name, options, usual, from_solution in RUNS:
        if only and name not in only:
            continue
        begin, offset = (solution, before.convergence_.seconds[-1]) if from_solution else (start, 0.0)
        began = time.perf_counter()
        longest = fitted(problem, options, max(2, round(share * usual)), begin, n_components)
        seconds = time.perf_counter() - began
        convergence = longest.convergence_
        at = {int(k): s for k, s in zip(convergence.iterations, convergence.seconds, strict=True)}
        ends = marks(longest.n_iter_)
        errors = [rmse(fitted(problem, options, k, begin, n_components), problem.test) for k in ends[:-1]]
        errors.append(rmse(longest, problem.test))
        steps = np.diff(convergence.seconds)
        keep = np.unique(np.geomspace(1, len(convergence.iterations), 120).astype(int)) - 1
        found[name] = {
            "method": longest.method_,
            "iterations": longest.n_iter_,
            "components": longest.n_components_,
            "seconds": round(seconds, 4),
            "seconds_per_iteration": float(f"{np.median(steps):.3g}"),
            "train": [[round(offset + convergence.seconds[i], 4), round(convergence.rmses[i], 5)] for i in keep],
            "test": [[round(offset + at[k], 4), round(e, 5)] for k, e in zip(ends, errors, strict=True)],
        }
        report(f"{name}: {longest.n_iter_} iterations in {seconds:.2f} s, {errors[-1]:.4f} on entries set aside")
    return found
