"""Kernel principal components and kernel feature maps."""

from karhunen._kernel.convergence import KernelConvergence
from karhunen._kernel.kernel_pca import KernelPCA
from karhunen._kernel.nystroem import Nystroem

__all__ = ["KernelConvergence", "KernelPCA", "Nystroem"]
