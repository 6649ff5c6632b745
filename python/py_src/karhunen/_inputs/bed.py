"""Files of genotypes whose variants are matched with the variants of a fit."""

from __future__ import annotations

import os
from dataclasses import dataclass


@dataclass(frozen=True)
class Bed(os.PathLike[str]):
    """A PLINK .bed file, and how its variants are matched with the variants of a fit.

    Variants are matched by id and alleles. Where the alleles stand in the other order, copies of the allele that the
    fit counted are counted. Where a path is enough, a plain str does as well.

    Parameters
    ----------
    path : str or path
        The file, with its .bim and .fam in the same folder.
    flip_strand : bool, default=False
        Match variants whose alleles are on the other strand. Variants with the alleles A and T, or C and G, are then
        not matched, because both strands have the same alleles.
    allow_unmatched : bool, default=False
        Give variants of the fit that the file lacks their means, with a warning; otherwise they are refused.
    """

    path: str | os.PathLike[str]
    flip_strand: bool = False
    allow_unmatched: bool = False

    def __fspath__(self) -> str:
        """Return the path."""
        return os.fspath(self.path)
