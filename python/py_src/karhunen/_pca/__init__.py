"""Components of complete data."""

from karhunen._pca.pca import PCA
from karhunen._pca.truncated_svd import TruncatedSVD
from karhunen._shared.convergence import Convergence

__all__ = ["PCA", "Convergence", "TruncatedSVD"]
