"""Options on their way to the engine: kinds of values, their messages, names that the engine does not have."""

from fractions import Fraction

import numpy as np
import pytest
from karhunen import PCA, IncompletePCA, KernelPCA, Nystroem, _core

X = np.random.default_rng(0).normal(size=(30, 5))


@pytest.mark.parametrize(
    ("estimator", "options"),
    [
        (PCA, {"max_iter": np.int32(50), "center": np.False_, "weighting": np.str_("population")}),
        (PCA, {"solver": "block-krylov", "n_components": 1, "tol": Fraction(1, 1000)}),
        (IncompletePCA, {"row_offsets": np.True_, "rmse_tol": np.float32(0.01), "inner_iterations": np.uint8(3)}),
        (IncompletePCA, {"n_starts": np.int64(1), "alpha": 1, "method": "cg", "angle_tol": np.longdouble(0.01)}),
        (KernelPCA, {"solver": "nystrom", "n_components": 2, "n_features": np.int64(20)}),
    ],
)
def test_scalars_of_other_libraries_are_taken(estimator, options):
    plain = {name: getattr(value, "item", lambda value=value: value)() for name, value in options.items()}
    found, expected = (estimator(**given).fit(X) for given in (options, plain))
    np.testing.assert_array_equal(found.transform(X), expected.transform(X))


@pytest.mark.parametrize(
    ("estimator", "option", "value", "message"),
    [
        (PCA, "max_iter", True, "max_iter = True is not allowed: it must be a whole number"),
        (PCA, "max_iter", 10.0, "max_iter = 10.0 is not allowed: it must be a whole number"),
        (PCA, "max_iter", None, "max_iter = None is not allowed: it must be a whole number"),
        (PCA, "max_iter", -3, "max_iter = -3 is not allowed: it must be a whole number, and not a negative one"),
        (PCA, "center", 1, "center = 1 is not allowed: give True, False, or one number for each column"),
        (PCA, "strict", "no", "strict = 'no' is not allowed: it must be True or False"),
        (IncompletePCA, "refit", 0, "refit = 0 is not allowed: it must be True or False"),
        (IncompletePCA, "inner_iterations", "3", "inner_iterations = '3' is not allowed: it must be a whole number"),
        (IncompletePCA, "alpha", None, "alpha = None is not allowed: it must be a number"),
        (IncompletePCA, "alpha", True, "alpha = True is not allowed: it must be a number"),
        (IncompletePCA, "step", "auto", "step = 'auto' is not allowed: it must be a number, or None"),
        (IncompletePCA, "tol", 10**400, "tol = 1000+ is not allowed: it must be a number in the range of float64"),
        (IncompletePCA, "method", 3, "method = 3 is not known; it must be a string"),
        (KernelPCA, "n_features", 2.5, "n_features = 2.5 is not allowed: it must be a whole number, or None"),
        (KernelPCA, "landmarks", None, "landmarks = None is not known; it must be a string"),
        (KernelPCA, "solver", None, "solver = None is not known; it must be a string"),
        (Nystroem, "landmarks", 1, "landmarks = 1 is not known; it must be a string"),
    ],
)
def test_values_of_another_kind_are_refused_as_they_were_given(estimator, option, value, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        estimator(**{option: value}).fit(X)


def test_a_name_that_the_engine_does_not_have_is_a_fault_of_the_package():
    with pytest.raises(TypeError, match=r"^internal error: the engine has no option gradient_tol$"):
        _core.fit(X, {**PCA()._engine_options(), "gradient_tol": 0.1})


def test_arguments_of_a_subclass_are_its_own():
    class Named(PCA):
        def __init__(self, n_components=None, *, name="x"):
            super().__init__(n_components)
            self.name = name

    np.testing.assert_array_equal(Named(2, name="y").fit(X).components_, PCA(2).fit(X).components_)
