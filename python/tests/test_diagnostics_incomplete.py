"""Diagnostics of rows with missing values."""

from __future__ import annotations

import pickle

import karhunen
import numpy as np
import pandas as pd
import pytest
from karhunen import diagnostics


@pytest.fixture(name="incomplete")
def table_with_missing() -> np.ndarray:
    """Return rows of two components and noise, a fifth of whose entries are missing."""
    rng = np.random.default_rng(5)
    x = rng.standard_normal((400, 2)) @ rng.standard_normal((2, 8)) * 2 + 0.4 * rng.standard_normal((400, 8)) + 3
    x[rng.random(x.shape) < 0.2] = np.nan
    return x


def test_complete_rows_give_the_results_of_pca():
    x = np.random.default_rng(2).standard_normal((60, 5)) @ np.diag([5, 3, 1, 0.5, 0.4])
    pca = karhunen.PCA(2, scale=True).fit(x)
    incomplete = karhunen.IncompletePCA(2, method="em", scale=True, tol=1e-12, max_iter=5000).fit(x)
    expected, found = diagnostics.samples(pca, x), diagnostics.samples(incomplete, x)
    np.testing.assert_allclose(found.t2, expected.t2, rtol=1e-4)
    np.testing.assert_allclose(found.spe, expected.spe, rtol=1e-4, atol=1e-7)
    assert (found.t2_degrees == 2).all()
    assert (found.spe_degrees == 3).all()
    monitor, other = diagnostics.Monitor(incomplete, x), diagnostics.Monitor(pca, x)
    assert monitor.limits(0.95, fitted=True) == pytest.approx(other.limits(0.95, fitted=True), rel=1e-4)
    of_features = [diagnostics.features(model) for model in (pca, incomplete)]
    np.testing.assert_allclose(of_features[1].correlations, of_features[0].correlations, atol=1e-5)
    terms = [diagnostics.row_contributions(model, x[:4]) for model in (pca, incomplete)]
    np.testing.assert_allclose(terms[1].t2, terms[0].t2, atol=1e-4)
    np.testing.assert_allclose(terms[1].spe, terms[0].spe, atol=1e-4)


def test_outlying_entries_are_found(incomplete):
    names = [f"v{j}" for j in range(8)]
    table = pd.DataFrame(incomplete, columns=names, index=[f"r{i}" for i in range(400)])
    model = karhunen.IncompletePCA(2, method="ppca").fit(table)
    new = table.iloc[:20].copy()
    column = int(np.flatnonzero(~np.isnan(incomplete[3]))[0])
    new.iloc[3, column] += 8.0
    checked = diagnostics.Monitor(model, table, level=0.999).check(new)
    assert checked.beyond_spe[3]
    assert checked.beyond_spe.sum() == 1
    terms = diagnostics.row_contributions(model, new.iloc[[3]])
    assert np.nanargmax(terms.spe[0]) == column
    assert terms.names == names
    assert np.isnan(terms.t2[0, np.isnan(incomplete[3])]).all()
    frame = checked.samples.to_frame()
    assert list(frame.index) == list(new.index)
    assert (frame.T2_degrees + frame.SPE_degrees == new.notna().sum(axis=1)).all()
    p = checked.samples.spe_p_values()
    assert p[3] < 1e-6 < np.delete(p, 3).min()


def test_p_values_and_limits_agree(incomplete):
    model = karhunen.IncompletePCA(2, method="ppca").fit(incomplete)
    found = diagnostics.samples(model, incomplete)
    for fitted in (False, True):
        beyond = found.t2 > found.t2_limits(0.9, fitted=fitted)
        np.testing.assert_array_equal(found.t2_p_values(fitted=fitted) < 0.1, beyond)
    scale = found.spe_scale()
    np.testing.assert_array_equal(found.spe_p_values(scale) < 0.1, found.spe > found.spe_limits(0.9, scale))
    again = pickle.loads(pickle.dumps(found))
    np.testing.assert_array_equal(again.t2_limits(), found.t2_limits())
    weighted = found.spe_scale(np.r_[np.ones(200), np.zeros(200)])
    assert weighted == pytest.approx(diagnostics.samples(model, incomplete[:200]).spe_scale())


def test_errors_name_the_argument(incomplete):
    model = karhunen.IncompletePCA(2, method="ppca").fit(incomplete)
    found = diagnostics.samples(model, incomplete[:5])
    with pytest.raises(ValueError, match="level"):
        found.t2_limits(1.0)
    with pytest.raises(ValueError, match="scale is"):
        found.spe_limits(scale=(np.nan, 1.0))
    with pytest.raises(ValueError, match="method"):
        diagnostics.Monitor(model, incomplete, method="jackson-mudholkar")
    with pytest.raises(ValueError, match="8 features"):
        diagnostics.samples(model, incomplete[:, :3])
    kernel = karhunen.KernelPCA(2).fit(np.random.default_rng(0).random((20, 3)))
    with pytest.raises(TypeError, match="KernelPCA"):
        diagnostics.samples(kernel, np.ones((2, 3)))
