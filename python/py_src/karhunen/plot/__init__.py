"""Pictures of fitted models, on matplotlib (``pip install 'karhunen[plot]'``).

Each function takes a fitted :class:`karhunen.PCA`, :class:`karhunen.TruncatedSVD` or scikit-learn's estimator of the
same name (or a :class:`karhunen.IncompletePCA`), draws into `ax` or a figure of its own, and returns the matplotlib
Axes. Names of a pandas data frame become labels, placed so that they do not cover one another. Colours are told apart
with every kind of colour vision (Okabe & Ito 2008), and groups differ by marker as well.
"""

from karhunen.plot._biplot import biplot
from karhunen.plot._circle import correlation_circle
from karhunen.plot._convergence import convergence
from karhunen.plot._cross_validation import cross_validation
from karhunen.plot._loadings import loadings
from karhunen.plot._scores import scores
from karhunen.plot._scree import scree

__all__ = ["biplot", "convergence", "correlation_circle", "cross_validation", "loadings", "scores", "scree"]
