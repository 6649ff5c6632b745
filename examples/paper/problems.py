"""Problems: entries of planted rank with the shape of a catalogue of ratings, and real tables with missing values."""

from __future__ import annotations

import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from karhunen import Observed

ROOT = Path(__file__).resolve().parents[2]
#: Numbers of rows, columns and entries. The first runs in seconds; the last has the shape of the Netflix prize.
SIZES = {
    "small": (1500, 400, 100_000),
    "million": (6040, 3700, 1_000_000),
    "ten-million": (71_567, 10_681, 10_000_000),
    "netflix": (480_189, 17_770, 100_480_507),
}
#: Share of the held-out entries: that of the paper's validation set.
SHARE = 1_408_395 / 100_480_507
#: Columns of the tables that are not measurements.
LABELS = ["Month", "Day", "month", "day", "weekday", "date", "time"]


@dataclass(frozen=True)
class Problem:
    """Entries to fit, and held-out entries of the same matrix."""

    name: str
    train: Observed
    test: Observed


def make(shape: tuple[int, int, int], n_components: int = 15, seed: int = 2007) -> Observed:
    """Make the entries of a catalogue: uneven, with a planted rank and noise of 0.85."""
    program = ROOT / "target/release/examples/ratings"
    if not program.exists():
        build = ["cargo", "build", "--release", "--quiet", "-p", "karhunen-testkit", "--example", "ratings"]
        subprocess.run(build, cwd=ROOT, check=True)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, *map(str, (*shape, n_components, seed)), folder], check=True)
        triples = [np.load(Path(folder) / f"{name}.npy") for name in ("rows", "columns", "values")]
    return Observed(*triples, shape=shape[:2])


def synthetic(size: str) -> Problem:
    """Make the problem of a size and hold entries out."""
    return Problem(size, *make(SIZES[size]).split(SHARE, random_state=0))


def table(path: Path) -> np.ndarray:
    """Read the measurements of a table, each with mean zero and variance one."""
    frame = pd.read_csv(path)
    frame = frame.select_dtypes("number").drop(columns=LABELS, errors="ignore")
    frame = frame.loc[:, frame.nunique() > 1]
    return ((frame - frame.mean()) / frame.std()).to_numpy(dtype=np.float64)


def tables(folder: Path) -> list[Path]:
    """Find the tables that contain missing values."""
    return [path for path in sorted(folder.glob("*.csv*")) if np.isnan(table(path)).any()]


def set_aside(name: str, x: np.ndarray, seed: int) -> Problem:
    """Hold out a tenth of the observed entries."""
    rows, columns = np.nonzero(~np.isnan(x))
    entries = Observed(rows, columns, x[rows, columns], shape=x.shape)
    return Problem(name, *entries.split(0.1, random_state=seed))
