"""Options with a fixed set of values: the types, the engine and the documentation name the same values."""

import re
import typing

import numpy as np
import pytest
from karhunen import PCA, IncompletePCA, IncrementalPCA, KernelPCA, Nystroem, Observed, TruncatedSVD, plot
from karhunen._shared import choices
from karhunen.categorical import MCA
from karhunen.resampling import bootstrap, jackknife
from karhunen.selection import parallel_analysis

#: Uses of each set: a callable, its option, and the type.
CHOICES = [
    (PCA, "scale", choices.ColumnScaling),
    (PCA, "solver", choices.Solver),
    (PCA, "scale", choices.ColumnScaling),
    (PCA, "weighting", choices.Weighting),
    (PCA, "svd_solver", choices.SvdSolver),
    (PCA, "device", choices.Device),
    (TruncatedSVD, "algorithm", choices.Algorithm),
    (MCA, "solver", choices.Solver),
    (IncrementalPCA, "method", choices.IncrementalMethod),
    (IncrementalPCA, "weighting", choices.Weighting),
    (IncompletePCA, "method", choices.Method),
    (IncompletePCA, "mean", choices.Mean),
    (IncompletePCA.predict, "unknown", choices.Unknown),
    (IncompletePCA.predict_interval, "unknown", choices.Unknown),
    (IncompletePCA, "noise", choices.Noise),
    (IncompletePCA, "online_rule", choices.OnlineRule),
    (KernelPCA, "kernel", choices.Kernel),
    (KernelPCA, "solver", choices.KernelSolver),
    (KernelPCA, "eigen_solver", choices.EigenSolver),
    (KernelPCA, "landmarks", choices.Landmarks),
    (KernelPCA, "pre_image", choices.PreImage),
    (KernelPCA, "gamma", choices.Gamma),
    (Nystroem, "kernel", choices.DefiniteKernel),
    (Nystroem, "landmarks", choices.Landmarks),
    (Nystroem, "gamma", choices.Gamma),
    (Observed, "duplicates", choices.Duplicates),
    (bootstrap, "alignment", choices.Alignment),
    (jackknife, "alignment", choices.Alignment),
    (parallel_analysis, "scale", choices.ColumnScaling),
    (plot.biplot, "scaling", choices.Scaling),
    (plot.convergence, "by", choices.Across),
    (plot.loadings, "kind", choices.LoadingsKind),
    (plot.bootstrap, "kind", choices.CloudKind),
]


def values_in(hint):
    """Collect the values of all literals in a type."""
    if typing.get_origin(hint) is typing.Literal:
        return set(typing.get_args(hint))
    return {value for part in typing.get_args(hint) if part is not Ellipsis for value in values_in(part)}


@pytest.mark.parametrize(("call", "option", "choice"), CHOICES)
def test_signature_and_documentation_name_the_choices(call, option, choice):
    names = set(typing.get_args(choice))
    function = call.__init__ if isinstance(call, type) else call
    assert values_in(eval(function.__annotations__[option], function.__globals__)) == names
    (documented,) = re.findall(rf"^ +{option} : (.*(?:\n\S.*)?), default=", call.__doc__, re.MULTILINE)
    assert set(re.findall(r'"([^"]+)"', documented)) == names


@pytest.mark.parametrize(("call", "option", "choice"), [c for c in CHOICES if isinstance(c[0], type)])
def test_an_error_names_the_choices(call, option, choice):
    x = np.random.default_rng(0).normal(size=(6, 3))
    with pytest.raises(ValueError, match=rf"^{option} = 'x' is not known; choose one of ") as refused:
        Observed([0], [0], [1.0], duplicates="x") if call is Observed else call(**{option: "x"}).fit(x)
    named = set(re.findall("'([^']+)'", str(refused.value).partition("choose one of")[2]))
    assert named == set(typing.get_args(choices.Kernel if call is Nystroem and option == "kernel" else choice))


@pytest.mark.parametrize("kernel", typing.get_args(choices.Kernel))
def test_landmarks_take_definite_kernels(kernel):
    x = np.random.default_rng(0).random((6, 6))
    if kernel in typing.get_args(choices.DefiniteKernel):
        Nystroem(kernel, n_components=3).fit(x)
    else:
        with pytest.raises(ValueError, match="positive semi-definite"):
            Nystroem(kernel, n_components=3).fit(x)


def test_routes_are_solvers_that_are_known():
    assert {"auto", *typing.get_args(choices.Route)} == set(typing.get_args(choices.Solver))
    assert {"auto", *typing.get_args(choices.KernelRoute)} == set(typing.get_args(choices.KernelSolver))
