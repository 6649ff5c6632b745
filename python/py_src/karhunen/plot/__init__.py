"""Plots of fitted models with matplotlib (``pip install 'karhunen[plot]'``).

Most functions take a fitted :class:`karhunen.PCA`, :class:`karhunen.TruncatedSVD` or scikit-learn's estimator of the
same name (or a :class:`karhunen.IncompletePCA`); `monitor` takes statistics, `missing` a table, `selection` and
`intervals` results of :mod:`karhunen.selection` and :mod:`karhunen.resampling`. Each draws into `ax` or
a new figure, and returns the matplotlib Axes.
Names of a pandas data frame become labels that do not overlap. Colours are distinguishable with every kind of colour
vision (Okabe & Ito 2008), and groups also differ by marker.
"""

from karhunen.plot._biplot import biplot
from karhunen.plot._circle import correlation_circle
from karhunen.plot._contributions import contributions
from karhunen.plot._convergence import convergence
from karhunen.plot._cos2 import cos2
from karhunen.plot._cross_validation import cross_validation
from karhunen.plot._intervals import intervals
from karhunen.plot._loadings import loadings
from karhunen.plot._missing import missing
from karhunen.plot._monitor import monitor
from karhunen.plot._scores import scores
from karhunen.plot._scores_3d import scores_3d
from karhunen.plot._scree import scree
from karhunen.plot._selection import selection

__all__ = [
    "biplot",
    "contributions",
    "convergence",
    "correlation_circle",
    "cos2",
    "cross_validation",
    "intervals",
    "loadings",
    "missing",
    "monitor",
    "scores",
    "scores_3d",
    "scree",
    "selection",
]
