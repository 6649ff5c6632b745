#!/usr/bin/env python3
"""The experiments of Raiko, Ilin & Karhunen (2007), "PCA for large scale problems with lots of missing values".

    python examples/paper/run.py                        # a million entries: minutes
    python examples/paper/run.py --size small           # seconds
    python examples/paper/run.py --size netflix         # hours, 8 GB
    python examples/paper/run.py --tables FOLDER        # real tables with holes, .csv
    python examples/paper/run.py --size million --only VB1 VB2    # these again, the others as they were
    python examples/paper/run.py --draw                 # only the pictures

Writes `results/SIZE.json` and the figures of the largest size in that folder; or `results/tables.json`. `--out` names
another folder. Entries are made by the generator of `karhunen-testkit`, which cargo builds. `scaling.py` measures how
the time grows.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import numpy as np
import pictures
import problems
from learning import errors, times
from setting import setting
from tables import run_tables

HERE = Path(__file__).resolve().parent


def main() -> None:
    """Run the parts that the command line requests."""
    first, *rest = __doc__.splitlines()
    formatter = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=first, epilog="\n".join(rest), formatter_class=formatter)
    parser.add_argument("--size", choices=problems.SIZES, default="million")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="NAME", help="run these algorithms, keep the others' record"
    )
    parser.add_argument("--part", choices=["times", "errors", "both"], default="both", help="errors need times first")
    parser.add_argument("--share", type=float, default=1.0, help="of the usual numbers of iterations (default 1)")
    parser.add_argument("--components", type=int, default=15)
    parser.add_argument("--tables", type=Path, metavar="FOLDER", help="real tables instead")
    parser.add_argument("--draw", action="store_true", help="draw the records that are there, run nothing")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    if options.tables:
        record = {"setting": setting(None), **run_tables(options.tables, print)}
        write(options.out / "tables.json", record)
        return
    if not options.draw:
        run_size(options)
    if options.part != "times":
        draw(options.out)


def run_size(options: argparse.Namespace) -> None:
    """Run the algorithms on the synthetic problem and keep the record."""
    path = options.out / f"{options.size}.json"
    problem = problems.synthetic(options.size)
    n, p = problem.train.shape
    print(f"{n:,} x {p:,}, {problem.train.n_observed:,} entries, {problem.test.n_observed:,} set aside")
    keep = options.only or options.part == "errors"
    record = json.loads(path.read_text()) if keep and path.exists() else {"runs": {}}
    where = setting(None)
    if options.part != "errors":
        for name, run in times(problem, options.components, options.only, options.share, print).items():
            record["runs"][name] = {**run, "date": where["date"], "load_before": where["load_before"]}
    if options.part != "times":
        errors(problem, options.components, options.only, record["runs"], print)
    record |= {
        "setting": where,
        "rows": n,
        "columns": p,
        "entries": problem.train.n_observed,
        "set_aside": problem.test.n_observed,
        "components": options.components,
        "noise": 0.85,
        "rmse_of_means": round(error_of_means(problem), 5),
    }
    write(path, record)


def error_of_means(problem: problems.Problem) -> float:
    """Compute the error of predicting the held-out entries by the column means."""
    _, columns, values = problem.train.triples()
    sums, counts = (np.bincount(columns, w, problem.train.shape[1]) for w in (values, None))
    mean = (sums + 22 * 3.0) / (counts + 22)
    _, columns, values = problem.test.triples()
    return float(np.sqrt(np.mean((mean[columns] - values) ** 2)))


def draw(folder: Path) -> None:
    """Draw the figures of the largest problem with a record."""
    for size in reversed(problems.SIZES):
        path = folder / f"{size}.json"
        if path.exists():
            pictures.learning_curves(json.loads(path.read_text()), folder)
            return


def write(path: Path, record: dict) -> None:
    """Write a record with one line for each point of a curve."""
    pairs = re.compile(r"\[\s+([-\d.e]+),\s+([-\d.e]+)\s+\]")
    path.write_text(pairs.sub(r"[\1, \2]", json.dumps(record, indent=1)) + "\n")
    print(f"wrote {path}")


if __name__ == "__main__":
    main()
