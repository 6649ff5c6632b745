#!/usr/bin/env python3
"""Compare `karhunen fit` of genotypes with PLINK 2's `--pca` and `--pca approx`: time of the command, and accuracy.

    python3 benchmarks/plink.py [PEER ...] [--shape 5000x100000] [--populations 12] [--rounds 3] [--threads 2] [--quick]

The genotypes are drawn once from a fixed seed: people of populations that share ancestral allele frequencies, uniform
in 0.05 to 0.95, with FST 0.01, and 0.5 % of the genotypes missing. All programs get the same .bed file, give missing
genotypes their mean, write scores and weights of 10 components, and use the same number of threads. Commands
alternate; times are those of whole commands. The error of a component is the sine of its angle with that of a fit
with the tolerance 1e-8; the error of a program is the largest of ten. `karhunen` runs with the loosest tolerance
whose error is not above that of the program that it is compared with. PEER is "exact" or "approx". Needs plink2 with
OpenBLAS (the package libopenblas0 of Debian: the reference BLAS, which plink2 takes without it, is several times
slower), numpy, and a release build of karhunen, or its path in --karhunen.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import time
from datetime import date
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
K = 10
TOLERANCES = (1e-1, 3e-2, 1e-2, 3e-3, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8)


def make(prefix: Path, n: int, p: int, n_populations: int) -> None:
    """Write the genotypes."""
    rng = np.random.default_rng(17)
    population = np.arange(n) * n_populations // n
    codes = np.array([0b11, 0b10, 0b00, 0b01], dtype=np.uint8)
    shape = (1 - 0.01) / 0.01
    with open(f"{prefix}.bed", "wb") as bed:
        bed.write(b"\x6c\x1b\x01")
        for first in range(0, p, 500):
            ancestral = rng.uniform(0.05, 0.95, min(500, p - first))[:, None]
            f = rng.beta(ancestral * shape, (1 - ancestral) * shape, (len(ancestral), n_populations))
            f = f[:, population].astype(np.float32)
            copies = (rng.random(f.shape, dtype=np.float32) < f).astype(np.uint8)
            copies += rng.random(f.shape, dtype=np.float32) < f
            copies[rng.random(f.shape, dtype=np.float32) < 0.005] = 3
            four = np.zeros((len(f), -(-n // 4) * 4), dtype=np.uint8)
            four[:, :n] = codes[copies]
            bed.write((four[:, ::4] | four[:, 1::4] << 2 | four[:, 2::4] << 4 | four[:, 3::4] << 6).tobytes())
    bim = [f"{1 + 22 * j // p}\tv{j}\t0\t{1 + 1000 * j}\tA\tG" for j in range(p)]
    Path(f"{prefix}.bim").write_text("\n".join(bim) + "\n")
    Path(f"{prefix}.fam").write_text("\n".join(f"0\ts{i}\t0\t0\t0\t-9" for i in range(n)) + "\n")


def vectors(out: Path) -> np.ndarray:
    """Return the scores, each component of length one."""
    return np.loadtxt(f"{out}.eigenvec", skiprows=1, usecols=range(2, 2 + K))


def error(found: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest sine of the angles between components."""
    found, reference = (x / np.linalg.norm(x, axis=0) for x in (found, reference))
    signs = np.sign((found * reference).sum(axis=0))
    return float(np.linalg.norm(found * signs - reference, axis=0).max())


def main() -> None:
    """Measure and write a record."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peers", nargs="*", metavar="PEER", help="exact or approx; both if none is given")
    parser.add_argument("--shape", default="5000x100000")
    parser.add_argument("--populations", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--karhunen", default=HERE.parent / "target/release/karhunen")
    parser.add_argument("--quick", action="store_true", help="500 x 5,000, one round")
    given = parser.parse_args()
    # The choices of argparse refuse the default of a list.
    given.peers = given.peers or ["exact", "approx"]
    if unknown := set(given.peers) - {"exact", "approx"}:
        parser.error(f"there is no peer {unknown.pop()}; there are exact and approx")
    n, p = (500, 5000) if given.quick else map(int, given.shape.split("x"))
    rounds = 1 if given.quick else given.rounds
    folder = HERE / "cache/plink"
    folder.mkdir(parents=True, exist_ok=True)
    prefix = folder / f"{n}x{p}x{given.populations}"
    if not Path(f"{prefix}.fam").exists():
        make(prefix, n, p, given.populations)

    def karhunen(tol: float) -> list[str]:
        scale = ["--scale=binomial", "-k", str(K), "--tol", str(tol), "--threads", str(given.threads)]
        return [str(given.karhunen), "fit", f"{prefix}.bed", *scale, "--force", "-q", "--eigenvec"]

    plink = ["plink2", "--bfile", str(prefix), "--threads", str(given.threads), "--silent", "--pca", str(K)]
    options = {"exact": ["meanimpute"], "approx": ["approx"]}
    peers = {f"plink2 --pca ({peer})": [*plink, *options[peer], "allele-wts", "--out"] for peer in given.peers}
    out = folder / "out"

    def run(command: list[str]) -> float:
        before = time.perf_counter()
        subprocess.run([*command, str(out)], check=True)
        return time.perf_counter() - before

    run(karhunen(TOLERANCES[-1]))
    reference = vectors(out)
    record = {
        "date": str(date.today()),
        "processor": platform.processor() or platform.machine(),
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "threads": given.threads,
        "plink2": subprocess.run(["plink2", "--version"], capture_output=True, text=True, check=True).stdout.strip(),
        "shape": [n, p],
        "populations": given.populations,
        "comparisons": [],
    }
    for who, command in peers.items():
        first = run(command)
        theirs = error(vectors(out), reference)
        # PLINK writes six digits.
        wanted = max(theirs, 2e-6)
        for tol in TOLERANCES:
            own = run(karhunen(tol))
            mine = error(vectors(out), reference)
            if mine <= wanted:
                break
        times = [(first, own), *((run(command), run(karhunen(tol))) for _ in range(rounds - 1))]
        ratio = statistics.median(a / b for a, b in times)
        median = [statistics.median(column) for column in zip(*times, strict=True)]
        record["comparisons"].append(
            {"peer": who, "seconds": median, "ratio": ratio, "errors": [theirs, mine], "tol": tol, "all_seconds": times}
        )
        print(
            f"{who}: {median[0]:.2f} s, error {theirs:.1e}; "
            f"karhunen (tol {tol:.0e}): {median[1]:.2f} s, error {mine:.1e}; ratio {ratio:.2f}",
            flush=True,
        )
    if not given.quick:
        name = f"{record['date']}-{n}x{p}-{given.populations}-{'-'.join(given.peers)}.json"
        (HERE / "records/plink").mkdir(parents=True, exist_ok=True)
        (HERE / "records/plink" / name).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
