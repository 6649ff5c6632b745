"""scikit-learn's tests of `Nystroem`, applied to ours."""

from theirs import their_tests

globals().update(their_tests("sklearn.tests.test_kernel_approximation", "Nystroem", only="nystroem"))
