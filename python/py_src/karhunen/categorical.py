"""PCA of categories: multiple correspondence analysis, and factor analysis of mixed data, as in FactoMineR."""

from __future__ import annotations

from karhunen._categorical.famd import FAMD
from karhunen._categorical.mca import MCA

__all__ = ["FAMD", "MCA"]
