"""Plots of fitted models with matplotlib (``pip install 'karhunen[plot]'``).

Most functions take a fitted :class:`karhunen.PCA`, :class:`karhunen.TruncatedSVD` or scikit-learn's estimator of the
same name, a :class:`karhunen.IncompletePCA`, or a result of :mod:`karhunen.rotation`; `monitor` takes statistics,
`missing` a table, `categories` an MCA or FAMD, `selection`, `intervals` and `bootstrap` results of
:mod:`karhunen.selection` and :mod:`karhunen.resampling`. Each draws into `ax` or a new figure, and returns the
matplotlib Axes. Names of a pandas data frame become labels that do not overlap. Colours are distinguishable with every
kind of colour vision (Okabe & Ito 2008), and groups also differ by marker.
"""

from karhunen.plot._features.categories import categories
from karhunen.plot._features.circle import correlation_circle
from karhunen.plot._features.contributions import contributions
from karhunen.plot._features.cos2 import cos2
from karhunen.plot._features.loadings import loadings
from karhunen.plot._fits.clouds import bootstrap
from karhunen.plot._fits.convergence import convergence
from karhunen.plot._fits.cross_validation import cross_validation
from karhunen.plot._fits.intervals import intervals
from karhunen.plot._fits.scree import scree
from karhunen.plot._fits.selection import selection
from karhunen.plot._samples.biplot import biplot
from karhunen.plot._samples.missing import missing
from karhunen.plot._samples.monitor import monitor
from karhunen.plot._samples.scores import scores
from karhunen.plot._samples.scores_3d import scores_3d

__all__ = [
    "biplot",
    "bootstrap",
    "categories",
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
