#!/usr/bin/env python3
"""Compare whole fits of karhunen's Python package with its peers: time ratio, accuracy, peak memory.

    python3 benchmarks/run.py [--quick] [--rounds N] [--threads N] [--only NAME …]

Needs only Python and cargo: the first run makes benchmarks/cache/venv and installs requirements.txt there; each run
builds the package and installs it there. The engine without Python, an example of karhunen-io, is also measured. Every
competitor runs in a separate process, alternating, on data in anonymous memory; only the fit is timed.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import os
import platform
import re
import shutil
import statistics
import subprocess
import sys
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
VENV = HERE / "cache" / "venv"
PROGRAMS = ROOT / "target" / "release" / "examples"
OURS = "karhunen"
ENGINE = "karhunen-engine"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def in_venv() -> None:
    """Start this script again with the Python of the benchmarks' environment, which is made if missing."""
    python = Path(os.environ.get("KARHUNEN_BENCH_PYTHON", VENV / "bin" / "python"))
    if Path(sys.prefix) == python.parent.parent:
        return
    requirements, stamp = HERE / "requirements.txt", python.parent.parent / "requirements.txt"
    if VENV in python.parents and not (stamp.exists() and stamp.read_text() == requirements.read_text()):
        venv.create(VENV, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", "-r", requirements], check=True)
        shutil.copy(requirements, stamp)
    os.execv(python, [python, *sys.argv])


class Start:
    """Start time of a run, and load of the machine: running processes, and the average of the previous minute."""

    def __init__(self) -> None:
        self.time = datetime.datetime.now(datetime.timezone.utc)
        self.load = os.getloadavg()[0]


def processor() -> str:
    """Return the name of the processor."""
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1] if found else platform.processor()


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes: checks that everything runs, measures nothing")
    parser.add_argument("--rounds", type=int, default=5, help="fits by each competitor (default 5)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each competitor (default 2)")
    parser.add_argument("--components", type=int, default=50, help="components (default 50)")
    parser.add_argument("--only", nargs="+", default=[], help="names of workloads")
    return parser.parse_args()


def build() -> Path:
    """Install the current package; return the folder of the programs that time the engine alone and the machine."""
    wheels = HERE / "cache" / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    maturin = [sys.executable, "-m", "maturin", "build", "--release", "--quiet", "--out", wheels]
    subprocess.run(maturin, cwd=ROOT / "python", check=True)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--force-reinstall", *wheels.iterdir()]
    subprocess.run(pip, check=True)
    examples = ["--example", "time_fit", "--example", "machine_limits"]
    subprocess.run(["cargo", "build", "--release", "--workspace", *examples], cwd=ROOT, check=True)
    return PROGRAMS


def environment_of(threads: int) -> dict[str, str]:
    """Return the environment of a competitor: so many threads, and no variable that chooses a kernel of OpenBLAS."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("OPENBLAS_")}
    return inherited | dict.fromkeys(THREADS, str(threads))


def fit_once(who: str, workload, options: argparse.Namespace, programs: Path) -> dict:
    import dataclasses

    if who == ENGINE:
        kind = "sparse" if workload.is_sparse else "dense"
        numbers = map(str, (workload.p, options.components, options.threads))
        command = [programs / "time_fit", kind, workload.path, *numbers]
    else:
        description = json.dumps(dataclasses.asdict(workload))
        command = [sys.executable, HERE / "peer.py", who, description, str(options.components)]
    environment = environment_of(options.threads)
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"{who} failed on {workload.name}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(workload, options: argparse.Namespace, programs: Path, machine: dict[str, float]) -> list[dict]:
    import floor
    import numpy as np
    import workloads

    exact = workloads.prepare(workload, options.components)
    competitors = [OURS, ENGINE, *workload.peers]
    runs = {who: [] for who in competitors}
    for _ in range(options.rounds):
        for who in competitors:
            runs[who].append(fit_once(who, workload, options, programs))
    rows = []
    for who in competitors:
        ratios = [theirs["seconds"] / ours["seconds"] for theirs, ours in zip(runs[who], runs[OURS])]
        found = np.array(runs[who][-1]["explained_variance"])
        route, passes = runs[who][-1]["route"], runs[who][-1].get("n_passes", 0)
        parts = floor.parts(workload, route, passes, options.components, machine) if route else {}
        rows.append(
            {
                "workload": workload.name,
                "n": workload.n,
                "p": workload.p,
                "dtype": workload.dtype,
                "competitor": who,
                "route": runs[who][-1]["route"],
                "version": runs[who][-1].get("version", ""),
                "blas": runs[who][-1].get("blas", ""),
                "median_s": statistics.median(run["seconds"] for run in runs[who]),
                "time_ratio": statistics.median(ratios),
                "worst_error": float(np.max(np.abs(found - exact) / exact)),
                "growth_mb": statistics.median(run["growth_mb"] for run in runs[who]),
                "n_passes": passes,
                **floor.longest(parts),
                **(machine if parts else dict.fromkeys(machine, "")),
            }
        )
    return rows


def show(rows: list[dict]) -> None:
    import floor

    for row in rows:
        who = f"{row['competitor']} ({row['route']})" if row["route"] else row["competitor"]
        shape = f"{row['n']} x {row['p']}"
        print(
            f"{row['workload']:<16} {shape:>14} {who:<30} {row['median_s']:>9.3f} s {row['time_ratio']:>7.2f} x "
            f"{row['worst_error']:>9.1e} {row['growth_mb']:>8.0f} MB{floor.shown(row)}",
            flush=True,
        )


def record(rows: list[dict], options: argparse.Namespace, started: Start | None = None) -> Path:
    """Write a record named after the start, replacing that of the same start."""
    started = started or Start()
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    setting = {
        "date": started.time.strftime("%Y-%m-%d %H:%M"),
        "commit": commit.stdout.strip(),
        "cpu": processor(),
        "cores": os.cpu_count(),
        "threads": options.threads,
        "components": options.components,
        "rounds": options.rounds,
        "load_before": round(started.load, 1),
    }
    path = HERE / "records" / f"{started.time:%Y-%m-%d-%H%M}.csv"
    path.parent.mkdir(exist_ok=True)
    with open(path, "w", newline="") as f:
        writer = csv.DictWriter(f, fieldnames=[*setting, *rows[0]])
        writer.writeheader()
        writer.writerows(setting | row for row in rows)
    return path


def main() -> None:
    options = arguments()
    in_venv()
    import workloads

    names = {workload.name for workload in workloads.WORKLOADS}
    if unknown := set(options.only) - names:
        raise SystemExit(f"no such workload: {', '.join(sorted(unknown))}; there are {', '.join(sorted(names))}")
    chosen = [w for w in workloads.WORKLOADS if not options.only or w.name in options.only]
    started = Start()
    programs = build()
    import floor

    machine = floor.limits(programs / "machine_limits", options.threads)
    shown = ", ".join(f"{name} {value:.3g}" for name, value in machine.items())
    print(f"a second of this machine, on {options.threads} threads: {shown}")
    print("time ratio: how many times as long as karhunen, median over pairs; error: worst relative error of a variance\n")
    rows = []
    for workload in chosen:
        measured = measure(workloads.quick(workload) if options.quick else workload, options, programs, machine)
        show(measured)
        rows += measured
        if not options.quick:
            path = record(rows, options, started)  # After each workload, so that an interrupted run has a record.
    if not options.quick:
        print(f"\nrecorded in {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
