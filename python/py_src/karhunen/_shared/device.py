"""The option `device`, and the folders of libraries that packages of Python bring along."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from karhunen._shared.choices import Device
from karhunen._shared.options import choice_option


def device_option(device: Any) -> list[str] | None:
    """Return the folders to search for libraries; None for the processor."""
    return None if choice_option("device", device, Device) == "cpu" else library_folders()


def refuse_device(device: Any) -> None:
    """Refuse a device for work that only the processor does."""
    if device_option(device) is not None:
        raise ValueError(
            f"device = {device!r} is for PCA.fit of rows: this work is done by the processor; say device='cpu'"
        )


def library_folders() -> list[str]:
    """List the folders of NVIDIA's packages (`nvidia-cublas-cu12` and others) and of a conda environment."""
    nvidia = find_spec("nvidia")
    roots = [] if nvidia is None else [Path(root) for root in nvidia.submodule_search_locations or ()]
    packages = [folder for root in roots for folder in sorted(root.glob("*/*")) if folder.name in ("lib", "bin")]
    return [str(folder) for folder in (*packages, Path(sys.prefix) / "lib") if folder.is_dir()]
