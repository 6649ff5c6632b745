#!/usr/bin/env python3
"""Compare the reading of a gigabyte of CSV by karhunen and by pyarrow: seconds, their ratio, and peak memory.

    python3 benchmarks/reading.py [--rounds N] [--threads N] [--rows N]

karhunen's time is that of the whole program, `karhunen inspect`, including means and deviations of every column;
pyarrow's is that of `read_csv` alone, without starting Python. Both use the same number of threads and alternate, on a
file in the page cache. The data take 2 GB in benchmarks/cache/ and are removed afterwards.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import time

from run import HERE, ROOT, in_venv, record

# Number format and number of columns: each gives about a gigabyte for a million rows.
FILES = {"csv-%.17g": ("%.17g", 55), "csv-%.6f": ("%.6f", 110)}
PYARROW = """
import sys, time, pyarrow, pyarrow.csv
pyarrow.set_cpu_count(int(sys.argv[2]))
started = time.perf_counter()
pyarrow.csv.read_csv(sys.argv[1])
print(time.perf_counter() - started)
"""


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3, help="readings by each competitor (default 3)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each competitor (default 2)")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows of the files (default 1000000)")
    return parser.parse_args()


def make(path, number: str, p: int, n: int) -> None:
    import numpy as np

    random = np.random.default_rng(1)
    line = ",".join([number] * p) + "\n"
    with open(path, "w", buffering=1 << 20) as f:
        f.write(",".join(f"c{j}" for j in range(p)) + "\n")
        for begin in range(0, n, 10_000):
            f.writelines(line % tuple(row) for row in random.standard_normal((min(10_000, n - begin), p)).tolist())


def read_once(command: list, prints_seconds: bool) -> tuple[float, float]:
    """Return seconds, and peak memory in megabytes."""
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    if status != 0:
        raise SystemExit(f"failed: {command}")
    return (float(output) if prints_seconds else wall), usage.ru_maxrss / 1024


def measure(name: str, options: argparse.Namespace) -> list[dict]:
    number, p = FILES[name]
    path = HERE / "cache" / f"{number.strip('%')}.csv"
    path.parent.mkdir(exist_ok=True)
    make(path, number, p, options.rows)
    program, threads = ROOT / "target" / "release" / "karhunen", str(options.threads)
    commands = {
        "karhunen": ([program, "inspect", path, "--threads", threads], False),
        "pyarrow": ([sys.executable, "-c", PYARROW, path, threads], True),
    }
    try:
        runs = {who: [] for who in commands}
        for _ in range(options.rounds):
            for who, (command, prints_seconds) in commands.items():
                runs[who].append(read_once(command, prints_seconds))
        size = path.stat().st_size
    finally:
        path.unlink()
    ratio = lambda who: statistics.median(a[0] / b[0] for a, b in zip(runs[who], runs["karhunen"]))
    return [
        {
            "workload": name,
            "n": options.rows,
            "p": p,
            "file_mb": round(size / 1e6),
            "competitor": who,
            "median_s": statistics.median(seconds for seconds, _ in runs[who]),
            "time_ratio": ratio(who),
            "peak_mb": statistics.median(peak for _, peak in runs[who]),
        }
        for who in commands
    ]


def main() -> None:
    options = arguments()
    in_venv()
    subprocess.run(["cargo", "build", "--release", "-p", "karhunen-cli"], cwd=ROOT, check=True)
    rows = []
    for name in FILES:
        for row in measure(name, options):
            rows.append(row)
            print(
                f"{name:<12} {row['file_mb']:>5} MB {row['competitor']:<10} {row['median_s']:>8.3f} s "
                f"{row['time_ratio']:>6.2f} x {row['peak_mb']:>7.0f} MB",
                flush=True,
            )
    options.components = 0
    print(f"\nrecorded in {record(rows, options).relative_to(ROOT)}")


if __name__ == "__main__":
    main()
