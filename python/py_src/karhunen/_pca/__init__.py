"""Components of complete data."""

from karhunen._pca.convergence import Convergence
from karhunen._pca.pca import PCA
from karhunen._pca.truncated_svd import TruncatedSVD

__all__ = ["PCA", "Convergence", "TruncatedSVD"]
