"""Machine and time of a measurement."""

from __future__ import annotations

import os
import platform
from datetime import datetime, timezone
from pathlib import Path

import karhunen


def setting(threads: int | None) -> dict:
    """Describe the machine, the time and the load before the measurement."""
    return {
        "date": datetime.now(timezone.utc).strftime("%Y-%m-%d %H:%M"),
        "cpu": _cpu(),
        "threads": threads or os.cpu_count(),
        "cores": os.cpu_count(),
        "load_before": round(os.getloadavg()[0], 1),
        "karhunen": karhunen.__version__,
        "python": platform.python_version(),
    }


def _cpu() -> str:
    """Name the processor; AMD families by their generation, since virtual machines hide the model."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    found = dict(line.split(":", 1) for line in lines if ":" in line)
    found = {key.strip(): value.strip() for key, value in found.items()}
    name = found.get("model name", platform.machine())
    generation = {"26": " (Zen 5)", "25": " (Zen 3 or 4)"}.get(found.get("cpu family", ""), "")
    return name + (generation if "AMD" in name else "")
