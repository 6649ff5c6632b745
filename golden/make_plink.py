"""Fit and project the genotypes in examples/genotypes with PLINK 2, and keep its results.

    python3 golden/make_plink.py            # writes golden/plink_people.json; needs plink2
    python3 golden/make_plink.py --compare PREFIX [KARHUNEN]   # compares other genotypes with `karhunen fit`

PLINK 2.00a3.5 (Debian 12). `meanimpute` gives missing genotypes their mean, as `karhunen fit` does; without it, PLINK
divides each entry of the relationship matrix by the number of variants that both samples have.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
PEOPLE, NEW = (ROOT / "examples/genotypes" / name for name in ("people", "new"))
N_COMPONENTS = 6


def main() -> None:
    """Write the results, or compare."""
    if "--compare" in sys.argv:
        prefix, *program = sys.argv[sys.argv.index("--compare") + 1 :]
        compare(Path(prefix), program[0] if program else "karhunen")
        return
    with tempfile.TemporaryDirectory() as folder:
        found = fit(PEOPLE, Path(folder) / "people", N_COMPONENTS)
        n_variants = len(found["alleles"]) // 2
        run(
            *("--bfile", NEW, "--read-freq", Path(folder) / "people.afreq", "--out", Path(folder) / "new"),
            *("--score", Path(folder) / "people.eigenvec.allele", 2, 5, "header-read", "no-mean-imputation"),
            *("variance-standardize", "--score-col-nums", f"6-{5 + N_COMPONENTS}"),
        )
        header, *lines = rows(Path(folder) / "new.sscore")
        count = header.index("ALLELE_CT")
    # Averages over alleles, with PLINK's weights of both, as sums with components of length one.
    scores = [[-float(x) * int(line[count]) / math.sqrt(n_variants) for x in line[-N_COMPONENTS:]] for line in lines]
    result = {
        "program": version(),
        "eigenval": found["eigenval"],
        "eigenvec": found["eigenvec"],
        "alleles": found["alleles"][:20],
        "frequencies": found["frequencies"][:20],
        "scores_of_new": scores,
    }
    (ROOT / "golden/plink_people.json").write_text(json.dumps(result) + "\n")


def fit(prefix: Path, out: Path, k: int) -> dict[str, list]:
    """Return the results of `plink2 --pca`."""
    run("--bfile", prefix, "--nonfounders", "--freq", "--pca", k, "meanimpute", "allele-wts", "--out", out)
    return tables(out, k)


def tables(out: Path, k: int) -> dict[str, list]:
    """Read the files of PLINK."""
    return {
        "eigenval": [float(line[0]) for line in rows(Path(f"{out}.eigenval"))],
        "eigenvec": [[float(x) for x in line[-k:]] for line in rows(Path(f"{out}.eigenvec"))[1:]],
        "alleles": [[*line[:-k], *map(float, line[-k:])] for line in rows(Path(f"{out}.eigenvec.allele"))[1:]],
        "frequencies": [[*line[:4], float(line[4]), int(line[5])] for line in rows(Path(f"{out}.afreq"))[1:]],
    }


def compare(prefix: Path, program: str, k: int = 10) -> None:
    """Print the largest differences between the results of PLINK and of karhunen, relative to the largest value."""
    with tempfile.TemporaryDirectory() as folder:
        expected = fit(prefix, Path(folder) / "plink", k)
        out = Path(folder) / "karhunen"
        command = [program, "fit", f"{prefix}.bed", "--scale=binomial", "-k", str(k), "--tol", "1e-9", "-q"]
        subprocess.run([*command, "--eigenvec", str(out)], check=True)
        found = tables(out, k)
    worst = {}
    for c in range(k):
        mine, theirs = ([row[c] for row in table["eigenvec"]] for table in (found, expected))
        sign = math.copysign(1, sum(a * b for a, b in zip(mine, theirs, strict=True)))
        worst["eigenvec"] = max(worst.get("eigenvec", 0), difference([sign * x for x in mine], theirs))
        mine, theirs = ([row[5 + c] for row in table["alleles"]] for table in (found, expected))
        worst["eigenvec.allele"] = max(worst.get("eigenvec.allele", 0), difference([sign * x for x in mine], theirs))
    worst["eigenval"] = difference(found["eigenval"], expected["eigenval"])
    mine, theirs = ([row[4] for row in table["frequencies"]] for table in (found, expected))
    worst["afreq"] = difference(mine, theirs)
    for table in ("alleles", "frequencies"):
        assert [row[:4] for row in found[table]] == [row[:4] for row in expected[table]], table
    assert [row[5] for row in found["frequencies"]] == [row[5] for row in expected["frequencies"]]
    print(f"{prefix}: " + ", ".join(f"{name} {value:.1e}" for name, value in worst.items()))


def difference(found: list[float], expected: list[float]) -> float:
    """Return the largest difference, relative to the largest expected value."""
    assert len(found) == len(expected)
    return max(abs(a - b) for a, b in zip(found, expected, strict=True)) / max(map(abs, expected))


def rows(path: Path) -> list[list[str]]:
    """Return the fields of the lines."""
    return [line.split("\t") for line in path.read_text().splitlines()]


def run(*arguments: object) -> None:
    """Run PLINK."""
    subprocess.run(["plink2", *map(str, arguments), "--silent"], check=True)


def version() -> str:
    """Return the version of PLINK."""
    return subprocess.run(["plink2", "--version"], capture_output=True, text=True, check=True).stdout.strip()


if __name__ == "__main__":
    main()
