"""The algorithms of the paper on one problem, and their errors over time."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from karhunen import IncompletePCA, Observed
from problems import Problem
from sklearn.exceptions import ConvergenceWarning

#: The mean of the paper: every feature has 22 pseudo-observations of 3, and the mean is not fitted with the
#: components.
PAPER_MEAN = {"mean": "fixed", "mean_prior": (22, 3.0)}
#: The best exponent of the second derivatives in the paper.
SPEED_UP = {"method": "newton", "alpha": 0.625}
#: Number of iterations of the speed-up before regularised PCA and variational Bayes start.
BEFORE = 50

#: Name, options, iterations, and whether the fit starts from the result of the speed-up.
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
    """Return the iterations after which held-out entries are predicted: a geometric sequence up to `n`."""
    found, at = [], 1.0
    while round(at) < n:
        found.append(round(at))
        at = max(at * 1.6, at + 1)
    return [*found, n]


def rmse(pca: IncompletePCA, test: Observed) -> float:
    """Compute the root mean squared error of predictions."""
    rows, columns, values = test.triples()
    return float(np.sqrt(np.mean((pca.predict(rows, columns) - values) ** 2, dtype=np.float64)))


def fitted(problem: Problem, options: dict[str, Any], iterations: int, start: Any, c: int) -> IncompletePCA:
    """Fit without tolerance and error bars: `iterations` iterations, unless no step lowers the cost."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        pca = IncompletePCA(c, **PAPER_MEAN, **options, tol=0.0, max_iter=iterations, error_bars=False)
        return pca.fit(problem.train, start=start)


def random_start(problem: Problem, c: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw normal components and scores, the same for every algorithm."""
    rng = np.random.default_rng(2007)
    n, p = problem.train.shape
    return 0.5 * rng.normal(size=(c, p)), 0.5 * rng.normal(size=(n, c))


def starts(problem: Problem, c: int) -> tuple[Any, Any, float]:
    """Return a random start, the result of the speed-up from it, and the seconds of the speed-up."""
    begin = random_start(problem, c)
    before = fitted(problem, SPEED_UP, BEFORE, begin, c)
    return begin, (before.components_, before.scores_, before.mean_), float(before.convergence_.seconds[-1])


def times(problem: Problem, c: int, only: list[str], share: float, report: Callable[[str], None]) -> dict[str, dict]:
    """Fit the algorithms named in `only`, or all, for `share` of their usual iterations; return the times."""
    begin, solution, offset = starts(problem, c)
    found = {}
    for name, options, usual, from_solution in RUNS:
        if only and name not in only:
            continue
        began = time.perf_counter()
        start, before = (solution, offset) if from_solution else (begin, 0.0)
        pca = fitted(problem, options, max(2, round(share * usual)), start, c)
        seconds = time.perf_counter() - began
        trace = pca.convergence_
        at = dict(zip(trace.iterations.tolist(), (before + trace.seconds).tolist(), strict=True))
        keep = np.unique(np.geomspace(1, len(trace.iterations), 120).astype(int)) - 1
        found[name] = {
            "method": pca.method_,
            "iterations": pca.n_iter_,
            "components": pca.n_components_,
            "seconds": round(seconds, 4),
            "seconds_per_iteration": float(f"{np.median(np.diff(trace.seconds)):.3g}"),
            "train": [[round(before + trace.seconds[i], 4), round(trace.rmses[i], 5)] for i in keep],
            "ends": [[k, round(at[k], 4)] for k in marks(pca.n_iter_)],
        }
        report(f"{name}: {pca.n_iter_} iterations in {seconds:.2f} s, {trace.rmse:.4f} on the entries fitted")
    return found


def errors(problem: Problem, c: int, only: list[str], runs: dict[str, dict], report: Callable[[str], None]) -> None:
    """Measure the errors of the held-out entries along the fits of `times`, as the part "test" of each.

    The measurement is not part of the timed fits: each fit is repeated with fewer iterations. Its bits depend neither
    on the number of later iterations nor on the load of the machine.
    """
    begin, solution, _ = starts(problem, c)
    for name, options, _, from_solution in RUNS:
        if (only and name not in only) or name not in runs:
            continue
        start = solution if from_solution else begin
        run = runs[name]
        found = [rmse(fitted(problem, options, k, start, c), problem.test) for k, _ in run["ends"]]
        run["test"] = [[at, round(error, 5)] for (_, at), error in zip(run["ends"], found, strict=True)]
        report(f"{name}: {min(found):.4f} at best and {found[-1]:.4f} in the end on the entries set aside")
