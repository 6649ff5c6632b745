"""PCA of dask arrays and dataframes, on the scheduler that the user has chosen.

The passes of a fit are graphs of dask: each partition is summed where it lies, and the sums are merged by a tree. Needs
dask 2024.8 or later.
"""

from karhunen.dask._incomplete_pca import IncompletePCA
from karhunen.dask._incremental_pca import IncrementalPCA
from karhunen.dask._pca import PCA
from karhunen.dask._truncated_svd import TruncatedSVD

__all__ = ["PCA", "IncompletePCA", "IncrementalPCA", "TruncatedSVD"]
