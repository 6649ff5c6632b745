"""Fits of incomplete data from a given start."""

import numpy as np
import pytest
from compare import assert_allclose
from karhunen import IncompletePCA
from problem_q import normals, problem, uniforms
from sklearn.exceptions import ConvergenceWarning


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return problem()[0]


@pytest.fixture(scope="module")
def start() -> tuple[np.ndarray, np.ndarray]:
    return normals(uniforms(1), 12, 2).T, normals(uniforms(2), 40, 2)


@pytest.mark.parametrize(
    ("method", "options", "costs"),
    [
        ("gradient", {"step": 1e-3}, [1137.604833, 1106.668894, 1015.960090, 882.533772]),
        ("newton", {"alpha": 0.625, "step": 0.1}, [794.093340, 698.328228, 427.208961, 24.461056]),
        ("natural", {"step": 2e-5}, [1156.789518, 1144.501292, 1104.862332, 1031.871178]),
        ("em", {}, [352.318562, 79.986585, 21.125500, None]),
    ],
)
def test_costs_from_a_start_match_the_reference(x, start, method, options, costs):
    pca = IncompletePCA(2, method=method, mean="fixed", tol=0.0, max_iter=10, **options)
    with pytest.warns(ConvergenceWarning):
        pca.fit(x, start=start)
    found = pca.convergence_.costs
    assert_allclose(found[0], 1168.572260589, rtol=1e-9)
    for iteration, cost in zip([1, 2, 3 if method == "em" else 5, 10], costs, strict=True):
        assert cost is None or found[iteration] == pytest.approx(cost, rel=1e-7)


def test_a_fit_continues_from_another(x):
    first = IncompletePCA(2, method="als").fit(x)
    again = IncompletePCA(2, method="als").fit(x, start=(first.components_, first.scores_, first.mean_))
    # The same model, but without the balance of loadings and scores that the penalty produces.
    assert again.convergence_.rmses[0] == pytest.approx(first.convergence_.rmse, rel=1e-9)
    assert again.convergence_.cost == pytest.approx(first.convergence_.cost, rel=1e-5)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ([1, 2], "start must be a tuple"),
        ((1, 2, 3, 4), "start must be a tuple"),
        ((np.zeros((2, 3)), np.zeros((40, 2))), r"components of shape \(2, 3\), but \(2, 12\) is needed"),
        ((np.zeros((2, 12)), np.zeros((2, 40))), "scores of shape"),
        ((np.zeros((2, 12)), np.zeros((40, 2)), np.zeros(2)), "mean of shape"),
        ((np.full((2, 12), np.nan), np.zeros((40, 2))), "components hold nan"),
    ],
)
def test_starts_that_do_not_fit_are_refused(x, start, message):
    with pytest.raises(ValueError, match=message):
        IncompletePCA(2, method="als").fit(x, start=start)
