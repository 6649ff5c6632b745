"""The example that repeats the paper's experiments, at its smallest size."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
ROOT = next(p for p in Path(__file__).resolve().parents if (p / "examples/paper").exists())
RESULTS = ROOT / "examples/paper/results"


def test_every_algorithm_runs_and_is_drawn(tmp_path):
    command = [sys.executable, ROOT / "examples/paper/run.py", "--size", "small", "--share", "0.03", "--out", tmp_path]
    subprocess.run(command, check=True, capture_output=True, timeout=300)
    record = json.loads((tmp_path / "small.json").read_text())
    committed = json.loads((RESULTS / "million.json").read_text())
    assert record["runs"].keys() == committed["runs"].keys()
    for run in record["runs"].values():
        times, errors = zip(*run["test"], strict=True)
        assert list(times) == sorted(times)
        assert 0.85 < min(errors) < 3
    assert {path.name for path in tmp_path.glob("*.svg")} == {"training.svg", "held_out.svg"}
    assert all(path.stat().st_size < 200_000 for path in RESULTS.glob("*.svg"))
