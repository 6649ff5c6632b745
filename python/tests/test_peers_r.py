"""Values of PCAtools, psych and FactoMineR, with weights of rows and columns.

`golden/make_pcatools.R`, `golden/make_psych.R` and `golden/make_factominer.R` made the files. Percentages of PCAtools
and FactoMineR are a hundred times our shares.
"""

import numpy as np
import pandas as pd
import pytest
from compare import assert_allclose
from karhunen import PCA, diagnostics, rotation, selection
from peers import ROOT, close, golden, signs_of


@pytest.mark.parametrize("case", [0, 1])
def test_pcatools(case):
    expected = golden("pcatools_wine")
    x = pd.read_csv(ROOT / expected["file"]).iloc[:, :11]
    expected = expected["cases"][case]
    pca = PCA(scale=expected["scale"]).fit(x)
    n = len(x)
    close(100.0 * pca.explained_variance_ratio_, expected["percentages"])
    close(np.sqrt(pca.explained_variance_), expected["sdev"])
    signs = signs_of(pca.components_.T, expected["loadings"])
    close(pca.components_.T, expected["loadings"], signs)
    close(pca.transform(x)[::17], expected["rotated"], signs)
    found = {row.rule: row for row in selection.rules(pca)}
    # Given the noise that karhunen estimates, the edges are equal; PCAtools keeps at least one component.
    edge = found["marchenko-pastur"]
    close(edge.thresholds[0], expected["marchenko_pastur"]["limit"])
    assert max(edge.n_components, 1) == expected["marchenko_pastur"]["n"]
    # PCAtools takes the threshold of p x n values and divides by n - 1; ours is of p x (n - 1) free ones.
    hard = found["gavish-donoho"]
    close(hard.thresholds[0] ** 2 / (n - 1), expected["gavish_donoho_free"]["limit"] * (n - 2) / (n - 1))
    assert_allclose(hard.thresholds[0] ** 2 / (n - 1), expected["gavish_donoho"]["limit"], rtol=0.02)
    assert max(hard.n_components, 1) == expected["gavish_donoho"]["n"] == expected["gavish_donoho_free"]["n"]


@pytest.fixture(scope="module")
def psych():
    return golden("psych_counties")


@pytest.fixture(scope="module")
def counties(psych):
    table = pd.read_csv(ROOT / psych["file"])
    return table[psych["columns"]].to_numpy(), table["poptotal"]


@pytest.fixture(scope="module", params=["importance", "population", "frequency"])
def pca(counties, request):
    """Fit by every meaning of weights: the divisor cancels from correlations."""
    x, w = counties
    return PCA(scale=True, weighting=request.param).fit(x, sample_weight=w)


def test_components_of_weighted_correlations(psych, counties, pca):
    close(pca.explained_variance_, psych["values"])
    close(pca.explained_variance_, psych["parallel_values"])
    of_first = psych["none"]
    loadings = pca.loadings_[:, :3]
    signs = signs_of(loadings, of_first["loadings"])
    close(loadings, of_first["loadings"], signs)
    close((loadings**2).sum(axis=1), of_first["communalities"])
    close(pca.explained_variance_[:3], of_first["variances"])
    close(pca.explained_variance_ratio_[:3], of_first["shares"])
    found = diagnostics.features(pca)
    close(found.correlations[:, :3], of_first["structure"], signs)
    # Standardised scores are psych's weights times standardised columns.
    x = counties[0]
    scores = (pca.transform(x) / np.sqrt(pca.explained_variance_))[:, :3]
    close(scores, (x - pca.mean_) / pca.scale_ @ np.array(of_first["weights"]), signs)


@pytest.mark.parametrize(
    ("rotate", "tolerance"), [("varimax", 2e-7), ("quartimax", 1e-6), ("oblimin", 1e-6), ("promax", 2e-2)]
)
def test_rotations_of_weighted_correlations(psych, counties, pca, rotate, tolerance):
    """To the tolerance of psych's iterations; promax stops at the tolerance of R's varimax, 1e-5."""
    expected = psych[rotate]
    found = getattr(rotation, rotate)(pca, n_components=3)
    pattern = np.array(expected["loadings"])
    similarity = np.abs(found.pattern.T @ pattern)
    order = similarity.argmax(axis=1)
    assert sorted(order) == [0, 1, 2]
    signs = signs_of(found.pattern, pattern[:, order])
    close(found.pattern, pattern[:, order], signs, atol=tolerance)
    close(found.structure, np.array(expected["structure"])[:, order], signs, atol=2 * tolerance)
    phi = np.array(expected["phi"])[np.ix_(order, order)]
    close(found.component_correlations, phi * np.outer(signs, signs), atol=2 * tolerance)
    close(found.communalities, expected["communalities"])
    close(found.explained_variance, np.array(expected["variances"])[order], atol=10 * tolerance)
    close(found.explained_variance_ratio, np.array(expected["shares"])[order], atol=10 * tolerance)
    x = counties[0]
    scores = (x - pca.mean_) / pca.scale_ @ np.array(expected["weights"])[:, order]
    of_largest = np.abs(scores).max()
    close(found.transform(x), scores, signs, atol=10 * tolerance * of_largest)


@pytest.mark.parametrize("case", [0, 1, 2, 3])
def test_factominer_with_weights_and_supplementary_rows(case):
    expected = golden("factominer_decathlon")["cases"][case]
    table = pd.read_csv(ROOT / "examples/data/decathlon.csv")
    x, w = table.iloc[:35, :10], np.array(expected["row_weights"], dtype=float)
    pca = PCA(3, scale=expected["scale"], weighting="population")
    pca.fit(x, sample_weight=w, feature_weight=expected["column_weights"])
    features = diagnostics.features(pca)
    signs = signs_of(features.correlations, expected["var_cor"])
    close(pca.explained_variance_, expected["eigenvalues"])
    close(100.0 * pca.explained_variance_ratio_, expected["percentages"])
    close(features.correlations, expected["var_cor"], signs)
    close(100.0 * features.contributions, expected["var_contrib"])
    close(features.cos2, expected["var_cos2"])
    samples = diagnostics.samples(pca, x)
    close(samples.scores[:8], expected["ind_coord"], signs)
    close(100.0 * samples.contributions(w)[:8], expected["ind_contrib"])
    close(samples.cos2[:8], expected["ind_cos2"])
    close(np.sqrt(samples.distance2[:8]), expected["ind_dist"])
    new = diagnostics.samples(pca, table.iloc[35:, :10])
    close(new.scores, expected["ind_sup_coord"], signs)
    close(new.cos2, expected["ind_sup_cos2"])
    close(np.sqrt(new.distance2), expected["ind_sup_dist"])
    numbers = diagnostics.correlations(samples.scores, table.iloc[:35, 10:12], w)
    close(numbers.correlations, expected["quanti_sup_cor"], signs)
    groups = diagnostics.categories(samples.scores, table["Competition"][:35], w)
    assert groups.names == expected["quali_sup_names"]
    close(groups.barycentres, expected["quali_sup_coord"], signs)
    close(groups.v_tests, expected["quali_sup_v_test"], signs)
    close(groups.eta2, expected["quali_sup_eta2"][0])
    check_descriptions(expected, table.iloc[:35], samples.scores * signs, w)


def check_descriptions(expected, table, scores, w):
    found = diagnostics.describe(scores, table, w, adjust="none", level=1.0)
    for axis, described in zip(expected["describe"], found.values(), strict=False):
        numbers = described[described["kind"] == "number"].loc[axis["quanti_names"], ["statistic", "p_value"]]
        close(numbers.to_numpy(), axis["quanti"], rtol=1e-8, atol=1e-300)
        group = described[described["kind"] == "categories"][["statistic", "p_value"]].to_numpy()
        close(group, axis["quali"], rtol=1e-8, atol=1e-300)
    # dimdesc tests a category by the correlation with its indicator.
    indicators = np.column_stack([table["Competition"] == name.split("=")[1] for name in axis["category_names"]])
    tests = diagnostics.correlations(scores[:, 1:2], indicators.astype(float), w)
    close(tests.p_values[:, 0], np.array(axis["category"])[:, 1], rtol=1e-8, atol=1e-300)
