#!/usr/bin/env python3
"""Compare fits with AVX-512 and with AVX2 alone on one machine, beside scikit-learn likewise restricted.

    python3 benchmarks/instructions.py [WORKLOAD ...] [--rounds N] [--threads N] [--quick] [--programs FOLDER]

Workloads are those of `run.py`. The engine is the example `time_fit` of karhunen-io, on a standard library whose
detection of the processor reads the environment: `RUST_STD_DETECT_UNSTABLE=avx512f` hides AVX-512 from karhunen and
from faer. Such a library takes a nightly toolchain with the component rust-src; the programs are built once, in
target/instructions. `OPENBLAS_CORETYPE=Haswell` restricts scikit-learn's BLAS. The peer is scikit-learn's fastest
solver of like accuracy. Each fit runs in a separate process, competitors and instruction sets alternate, and floors
are those of the same instructions, measured in the same run. `difference` is the largest relative difference of a
variance from that with AVX-512.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

from incremental import record
from run import HERE, ROOT, Start, environment_of, in_venv

ENGINE = "karhunen-engine"
SETS = {
    "avx512": {},
    "avx2": {"RUST_STD_DETECT_UNSTABLE": "avx512f", "OPENBLAS_CORETYPE": "Haswell"},
}
TARGET = "x86_64-unknown-linux-gnu"
#: A solver of scikit-learn for each workload.
PEERS = {
    "tall-f64": "sklearn-covariance",
    "very-tall-f32": "sklearn-covariance",
    "large-f32": "sklearn-covariance",
    "wide-f64": "sklearn-full",
    "square-f64": "sklearn-arpack",
    "sparse-tall-f32": "sklearn-arpack",
    "sparse-zipf-f32": "sklearn-arpack",
    "sparse-wide-f32": "sklearn-arpack",
}


def build() -> Path:
    """Build the programs; return their folder."""
    folder = ROOT / "target" / "instructions"
    examples = ["--example", "time_fit", "--example", "machine_limits"]
    command = ["cargo", "+nightly", "build", "--release", "-p", "karhunen-io", *examples, "--target", TARGET]
    command += ["--target-dir", folder, "-Zbuild-std=std,panic_unwind"]
    environment = os.environ | {"RUSTFLAGS": '--cfg feature="std_detect_env_override"'}
    subprocess.run(command, cwd=ROOT, env=environment, check=True)
    return folder / TARGET / "release" / "examples"


def run(command: list, instructions: str, threads: int) -> dict:
    """Run a program with an instruction set; return the JSON that it prints."""
    environment = environment_of(threads) | SETS[instructions]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"failed: {command}\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def commands(workload, options: argparse.Namespace) -> dict[str, list]:
    """Return the commands of the competitors."""
    kind, k = "sparse" if workload.is_sparse else "dense", str(options.components)
    numbers = [str(workload.p), k, str(options.threads)]
    description, peer = json.dumps(dataclasses.asdict(workload)), PEERS[workload.name]
    return {
        ENGINE: [options.programs / "time_fit", kind, workload.path, *numbers],
        peer: [sys.executable, HERE / "peer.py", peer, description, k],
    }


def measure(workload, options: argparse.Namespace, machines: dict[str, dict]) -> list[dict]:
    """Measure one workload."""
    import floor
    import numpy as np
    import workloads

    exact = workloads.prepare(workload, options.components)
    runs: dict[tuple[str, str], list[dict]] = {}
    for _ in range(options.rounds):
        for who, command in commands(workload, options).items():
            for instructions in SETS:
                runs.setdefault((instructions, who), []).append(run(command, instructions, options.threads))
    lines = []
    for (instructions, who), fits in runs.items():
        ours = runs[instructions, ENGINE]
        found = np.array(fits[-1]["explained_variance"])
        other = np.array(runs["avx512", who][-1]["explained_variance"])
        route, passes = fits[-1]["route"], fits[-1].get("n_passes", 0)
        machine = machines[instructions]
        parts = floor.parts(workload, route, passes, options.components, machine) if route else {}
        line = {"workload": workload.name, "n": workload.n, "p": workload.p, "dtype": workload.dtype}
        line |= {"instructions": instructions, "competitor": who, "route": route, "n_passes": passes}
        line["median_s"] = statistics.median(fit["seconds"] for fit in fits)
        line["time_ratio"] = statistics.median(a["seconds"] / b["seconds"] for a, b in zip(fits, ours, strict=True))
        line["worst_error"] = float(np.max(np.abs(found - exact) / exact))
        line["difference"] = float(np.max(np.abs(found - other) / exact))
        line |= {**floor.longest(parts), **machine}
        lines.append(line)
        print(
            f"{workload.name:<16} {instructions:<7} {who:<20} {line['median_s']:>8.3f} s {line['time_ratio']:>6.2f} x "
            f"{line['worst_error']:>8.1e} {line['difference']:>8.1e}{floor.shown(line)}",
            flush=True,
        )
    return lines


def main() -> None:
    """Measure the requested workloads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=list(PEERS), metavar="WORKLOAD", help="default: all")
    parser.add_argument("--rounds", type=int, default=3, help="fits by each, alternating (default 3)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each (default 2)")
    parser.add_argument("--quick", action="store_true", help="small sizes: checks that everything runs")
    parser.add_argument("--programs", type=Path, help="folder of the programs, if they are built")
    options = parser.parse_args()
    if unknown := set(options.workloads) - set(PEERS):
        parser.error(f"no such workload: {', '.join(sorted(unknown))}; there are {', '.join(PEERS)}")
    in_venv()
    import workloads

    options.components = 50
    options.programs = options.programs or build()
    started = Start()
    limits = [options.programs / "machine_limits", str(options.threads)]
    machines = {instructions: run(limits, instructions, options.threads) for instructions in SETS}
    chosen = [workload for workload in workloads.WORKLOADS if workload.name in options.workloads]
    lines = []
    for workload in chosen:
        lines += measure(workloads.quick(workload) if options.quick else workload, options, machines)
    if not options.quick:
        print(f"record: {record('instructions', lines, options, started).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
