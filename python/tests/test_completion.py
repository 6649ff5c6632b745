"""Completion of tables by iterated PCA; the values of missMDA are tested in Rust, and once here."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from karhunen import PCA, completion
from sklearn.exceptions import ConvergenceWarning

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def golden():
    return json.loads((ROOT / "golden/missmda.json").read_text())


@pytest.fixture(scope="module")
def table(golden):
    rows, columns = golden["part"]
    return pd.read_csv(ROOT / golden["file"]).iloc[:rows, :columns]


def test_fills_match_missmda(golden, table):
    cases = [case for case in golden["cases"] if case["table"] == "part"]
    assert len(cases) == 5
    for case in cases:
        weights = case["weights"]
        found = completion.iterative_pca(
            table,
            case["ncp"],
            scale=case["scale"],
            method=case["method"],
            ridge=case["ridge"],
            sample_weight=None if weights is None else np.array(weights, dtype=float),
        )
        missing = table.isna().to_numpy()
        filled = found.completed.to_numpy().T[missing.T]
        np.testing.assert_allclose(filled, case["filled"], atol=1e-9)
        np.testing.assert_allclose(found.fitted.iloc[:3, :5], case["fitted_head"], atol=1e-9)
        assert list(found.completed.columns) == list(table.columns)
        np.testing.assert_array_equal(found.completed.to_numpy()[~missing], table.to_numpy()[~missing])
    for case in golden["chosen"]:
        number, criterion = completion.choose_n_components(table, scale=case["scale"])
        assert number == case["ncp"]
        np.testing.assert_allclose(criterion, case["criterion"], atol=1e-10)


def test_the_model_is_pca_of_the_completed_table(table):
    found = completion.iterative_pca(table, 2)
    again = PCA(2, scale=True, weighting="population").fit(found.completed)
    np.testing.assert_allclose(found.pca.explained_variance_, again.explained_variance_, rtol=1e-12)
    np.testing.assert_allclose(found.pca.transform(found.completed), again.transform(found.completed), atol=1e-10)
    assert list(found.pca.feature_names_in_) == list(table.columns)
    assert found.pca.get_params() == again.get_params()


def test_means_are_the_fills_without_components(table):
    filled = completion.mean(table)
    pd.testing.assert_frame_equal(filled, table.fillna(table.mean()))
    found = completion.iterative_pca(table.to_numpy(), 0)
    np.testing.assert_allclose(found.completed, filled, rtol=1e-12)
    assert (found.n_iter, found.converged) == (0, True)


def test_unsuitable_arguments_are_named(table):
    with pytest.raises(ValueError, match="n_components = -1"):
        completion.iterative_pca(table, -1)
    with pytest.raises(ValueError, match="at most 11 components"):
        completion.iterative_pca(table, 12)
    with pytest.raises(ValueError, match="method"):
        completion.iterative_pca(table, method="soft")
    with pytest.raises(ValueError, match="ridge"):
        completion.iterative_pca(table, ridge=-1.0)
    with pytest.raises(ValueError, match="X1h"):
        completion.iterative_pca(table.assign(X1h=np.inf))
    with pytest.raises(ValueError, match="sample_weight"):
        completion.iterative_pca(table, sample_weight=[1.0, 2.0])
    with pytest.raises(ValueError, match="least"):
        completion.choose_n_components(table, least=12, most=13)
    with pytest.warns(ConvergenceWarning, match="stopped after 2 iterations"):
        completion.iterative_pca(table, max_iter=2)


@pytest.mark.filterwarnings("ignore:iterative PCA stopped after")
def test_far_fills_are_warned_of():
    rng = np.random.default_rng(4)
    x = 0.01 * rng.normal(size=(60, 4)) + rng.normal(size=(60, 1))
    # The first row, a hundred times as large as the others, is observed in two columns.
    x[0] *= 100 / x[0, 0]
    x[0, 2:] = np.nan
    with pytest.warns(UserWarning, match=r"2 missing entries are predicted far outside .* method=\"regularized\""):
        found = completion.iterative_pca(x, 1, method="em", scale=False)
    far = found.far_predictions
    assert (far.count, far.row) == (2, 0)
    assert far.value == found.completed[0, far.column]
    assert completion.iterative_pca(x[1:], 1, method="em").far_predictions is None
