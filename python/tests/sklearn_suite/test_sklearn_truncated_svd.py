"""scikit-learn's tests of `TruncatedSVD`, applied to ours."""

from theirs import their_tests

globals().update(their_tests("sklearn.decomposition.tests.test_truncated_svd", "TruncatedSVD", "PCA"))
