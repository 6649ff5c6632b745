"""Files of single cells, and what is read of them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from karhunen._shared.options import is_number


@dataclass(frozen=True)
class Cells(os.PathLike[str]):
    """A file or folder of counts by cell, and what is read of it.

    For AnnData files (.h5ad) and Zarr stores, and HDF5 files and folders of Cell Ranger. Where `X` is wanted as it is,
    a plain str does as well. Rows for a fitted estimator are normalised as in its fit, and its genes are taken out of
    the file; give the layer again, because the model does not keep it.

    Parameters
    ----------
    path : str or path
        The file or folder.
    layer : str, optional
        Layer of an AnnData instead of `X`; "raw" is its ``raw.X``, if no layer has this name.
    mask : str, optional
        Column of `var` of an AnnData that is true for the genes to read, such as "highly_variable".
    genome : str, optional
        Genome of an HDF5 file of Cell Ranger, or array of a Zarr store without AnnData, where it has several.
    log1p : bool or float, default=False
        Divide each row by its sum, multiply by this number and take ``ln(1 + x)``, as ``normalize_total`` and ``log1p``
        of scanpy. With True, the number is the median of the sums of the rows. Sums are over all genes.
    """

    path: str | os.PathLike[str]
    layer: str | None = None
    mask: str | None = None
    genome: str | None = None
    log1p: bool | float = False

    def __fspath__(self) -> str:
        """Return the path."""
        return os.fspath(self.path)

    def __post_init__(self) -> None:
        """Check the options."""
        if isinstance(self.path, Cells):
            raise TypeError(f"the path of Cells is {self.path!r}; give the path of a file or folder")
        for name in ("layer", "mask", "genome"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                raise TypeError(f"{name} must be a name or None, got {value!r}")
        if not isinstance(self.log1p, (bool, np.bool_)) and not is_number(self.log1p):
            raise TypeError(f"log1p must be True, False or a number, got {self.log1p!r}")

    def _options(self) -> tuple[str | None, str | None, str | None, bool, float | None]:
        """Return the options of the engine."""
        is_flag = isinstance(self.log1p, (bool, np.bool_))
        target = None if is_flag else float(self.log1p)
        return self.layer, self.mask, self.genome, bool(self.log1p) if is_flag else True, target


def cells_among(given: Sequence[Any]) -> Cells | None:
    """Return the options of files of cells; None for other files.

    Raises
    ------
    ValueError
        If files of one table have different options.
    """
    if any(isinstance(path, Cells) for path in given):
        found = [path if isinstance(path, Cells) else Cells(path) for path in given]
        if any(cells._options() != found[0]._options() for cells in found):
            raise ValueError("files of cells that are read as one table need the same layer, mask, genome and log1p")
        return found[0]
    endings = (".h5ad", ".h5", ".zarr", ".zarr.zip")
    is_file = all(os.fspath(path).lower().rstrip("/\\").endswith(endings) for path in given)
    return Cells(given[0]) if is_file else None
