"""scikit-learn's tests of `PCA`, applied to ours."""

from theirs import their_tests

globals().update(their_tests("sklearn.decomposition.tests.test_pca", "PCA"))
