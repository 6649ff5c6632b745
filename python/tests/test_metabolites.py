"""A real table with known missing values: comparison with the methods of R's pcaMethods."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from karhunen import IncompletePCA

DATA = next(p for p in Path(__file__).resolve().parents if (p / "examples/data").exists()) / "examples/data"
#: Errors of pcaMethods 1.90.0 under R 4.2.2 at the missing entries, columns centred, with 2 and with 5 components.
PEERS = {
    "svdImpute": {2: 0.18752653146, 5: 0.14784850516},
    "nipals": {2: 0.20123865073, 5: 0.17026851503},
    "ppca": {2: 0.18753664331, 5: 0.14785566895},
    "bpca": {2: 0.18772178507, 5: 0.16185062925},
}
#: Error of predicting the column means.
MEANS = 0.44515250179


@pytest.fixture(scope="module")
def table():
    incomplete, full = (pd.read_csv(DATA / f"metabolite_{name}.csv") for name in ("missing", "complete"))
    assert int(incomplete.isna().sum().sum()) == 419
    return incomplete, full


def error(values, table):
    incomplete, full = table
    return float(np.sqrt(np.mean((values.to_numpy() - full.to_numpy())[incomplete.isna().to_numpy()] ** 2)))


def test_the_measure_matches_the_peers(table):
    assert error(table[0].fillna(table[0].mean()), table) == pytest.approx(MEANS, abs=1e-10)


@pytest.mark.parametrize("c", [2, 5])
@pytest.mark.parametrize(
    ("method", "peer", "margin"),
    [
        # At the optimum; the peer stops a little before it.
        ("imputation", "svdImpute", 1e-5),
        ("em", "nipals", 0.0),
        # At the optimum of the likelihood; the peer has the error of least squares.
        ("ppca", "ppca", 3e-3),
        ("vb-full", "bpca", 0.0),
    ],
)
def test_missing_values_are_predicted_as_well_as_by_pcamethods(table, method, peer, margin, c):
    pca = IncompletePCA(c, method=method, mean="fixed", tol=1e-8).fit(table[0])
    assert error(pca.impute(table[0]), table) <= (1 + margin) * PEERS[peer][c]


@pytest.mark.parametrize("options", [{"n_components": 5, "method": "em", "mean": "fixed"}, {"n_components": 20}])
def test_the_error_is_below_every_peer(table, options):
    """The defaults suffice even if more components are allowed than needed."""
    pca = IncompletePCA(**options).fit(table[0])
    assert error(pca.impute(table[0]), table) < min(peer[5] for peer in PEERS.values())
