"""Components of complete data, fitted at once or in batches."""

from karhunen._pca.incremental_pca import IncrementalPCA
from karhunen._pca.pca import PCA
from karhunen._pca.scatter import Scatter
from karhunen._pca.truncated_svd import TruncatedSVD
from karhunen._shared.convergence import Convergence

__all__ = ["PCA", "Convergence", "IncrementalPCA", "Scatter", "TruncatedSVD"]
