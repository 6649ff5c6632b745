"""Diagnostics of fitted models.

Contributions and quality of representation, T² and SPE with their limits, supplementary variables.

Functions take a fitted :class:`karhunen.PCA`, :class:`karhunen.TruncatedSVD` or :class:`karhunen.IncompletePCA`, or
scores, and return numbers;
:mod:`karhunen.plot` draws them.
"""

from karhunen._diagnostics.features import R2, Features, features, r2
from karhunen._diagnostics.incomplete import IncompleteSamples
from karhunen._diagnostics.monitor import Monitor, MonitoredRows
from karhunen._diagnostics.samples import RowContributions, Samples, row_contributions, samples
from karhunen._diagnostics.supplementary import Categories, Correlations, categories, correlations, describe

__all__ = [
    "R2",
    "Categories",
    "Correlations",
    "Features",
    "IncompleteSamples",
    "Monitor",
    "MonitoredRows",
    "RowContributions",
    "Samples",
    "categories",
    "correlations",
    "describe",
    "features",
    "r2",
    "row_contributions",
    "samples",
]
