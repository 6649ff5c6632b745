"""scikit-learn's tests of `IncrementalPCA`, applied to ours."""

from theirs import their_tests

globals().update(their_tests("sklearn.decomposition.tests.test_incremental_pca", "IncrementalPCA", "PCA"))
