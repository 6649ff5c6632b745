"""scikit-learn's tests of `KernelPCA`, applied to ours."""

from theirs import their_tests

globals().update(their_tests("sklearn.decomposition.tests.test_kernel_pca", "KernelPCA", "PCA"))
