"""Values of eofs and xeofs on anomalies of the sea surface temperature.

`golden/make_eofs.py` made the file. Weights of these programs multiply the field; karhunen's are their squares.
"""

import numpy as np
import pytest
from karhunen import PCA, diagnostics, selection
from peers import ROOT, close, golden, signs_of
from scipy.io import netcdf_file

POINTS, WINTERS = slice(None, None, 23), slice(None, None, 9)


@pytest.fixture(scope="module")
def sea():
    """Return the field at grid points of water, (winters, points), and the latitude of each point."""
    with netcdf_file(ROOT / golden("eofs_sst")["file"], mmap=False) as file:
        sst = file.variables["sst"]
        x = np.array(sst.data, dtype=np.float64)
        latitude = np.array(file.variables["latitude"].data, dtype=np.float64)
        water = x[0] != sst.missing_value
    return x[:, water], np.broadcast_to(latitude[:, None], water.shape)[water]


def weights(name, latitude):
    cosine = np.cos(np.deg2rad(latitude))
    return {"none": np.ones_like(cosine), "cosine": cosine, "root-cosine": np.sqrt(cosine)}[name]


@pytest.mark.parametrize("solver", ["svd", "covariance", "gram", "block-krylov"])
@pytest.mark.parametrize("case", [0, 1, 2])
def test_eofs_and_scores(sea, case, solver):
    x, latitude = sea
    expected = golden("eofs_sst")["eofs"][case]
    w = weights(expected["weights"], latitude)
    pca = PCA(3, weighting="population" if expected["ddof"] == 0 else "frequency", solver=solver, tol=1e-12)
    pca.fit(x, feature_weight=w**2)
    variances = pca.explained_variance_
    close(variances, expected["eigenvalues"])
    close(pca.explained_variance_ratio_, expected["fractions"])
    close(variances / pca.explained_variance_ratio_, expected["total"])
    errors = selection.north(pca).standard_errors
    close(errors, expected["north"])
    close(errors / expected["total"], expected["north_of_fractions"])
    maps, scores = pca.components_.T, pca.transform(x)
    signs = signs_of(maps[POINTS], np.transpose(expected["eofs_0"]))
    # eofs projects fields as they are: the difference of two of our scores, which are about the mean.
    projected = pca.transform(x[WINTERS] * 1.5 - 0.25) - pca.transform(np.zeros_like(x[:1]))
    covariances = (pca.components_ * variances[:, None] / w).T
    units = {0: np.ones(3), 1: 1.0 / np.sqrt(variances), 2: np.sqrt(variances)}
    for scaling, unit in units.items():
        close((maps * unit)[POINTS], np.transpose(expected[f"eofs_{scaling}"]), signs, atol=1e-8)
        close((scores * unit)[WINTERS], expected[f"pcs_{scaling}"], signs, atol=1e-7)
        close(projected * unit, expected[f"projected_{scaling}"], signs, atol=1e-6)
        close((covariances * unit)[POINTS], np.transpose(expected[f"covariances_{scaling}"]), signs, atol=1e-7)
    found = diagnostics.features(pca)
    close(found.correlations[POINTS], np.transpose(expected["correlations"]), signs, atol=1e-8)
    anomalies = pca.inverse_transform(scores[WINTERS]) - pca.mean_
    close(anomalies[:, POINTS], expected["reconstructed"], atol=1e-7)


def test_eofs_about_zero(sea):
    x, latitude = sea
    (expected,) = golden("eofs_sst")["eofs_about_zero"]
    w = weights(expected["weights"], latitude)
    pca = PCA(3, center=False).fit(x, feature_weight=w**2)
    close(pca.explained_variance_, expected["eigenvalues"])
    close(pca.explained_variance_ratio_, expected["fractions"])
    maps = pca.components_.T
    signs = signs_of(maps[POINTS], np.transpose(expected["eofs_0"]))
    close(maps[POINTS], np.transpose(expected["eofs_0"]), signs)
    close(pca.transform(x)[WINTERS], expected["pcs_0"], signs)
    close(pca.transform(x[WINTERS] * 1.5 - 0.25), expected["projected_0"], signs)
    close(pca.inverse_transform(pca.transform(x))[WINTERS][:, POINTS], expected["reconstructed"])


@pytest.mark.parametrize("case", [0, 1])
def test_eofs_of_xeofs(sea, case):
    x, latitude = sea
    expected = golden("eofs_sst")["xeofs"][case]
    pca = PCA(3, scale=expected["standardize"]).fit(x, feature_weight=np.cos(np.deg2rad(latitude)))
    # xeofs divides by standard deviations of divisor n, ours is n - 1: its variances are n / (n - 1) of ours.
    larger = len(x) / (len(x) - 1) if expected["standardize"] else 1.0
    close(pca.explained_variance_ * larger, expected["eigenvalues"])
    close(pca.explained_variance_ratio_, expected["fractions"])
    close(pca.singular_values_ * np.sqrt(larger), expected["singular_values"])
    maps = pca.components_.T
    signs = signs_of(maps[POINTS], np.transpose(expected["components"]))
    close(maps[POINTS], np.transpose(expected["components"]), signs)
    close(pca.transform(x)[WINTERS] * np.sqrt(larger), expected["scores"], signs)
