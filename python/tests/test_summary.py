"""Summaries of fitted models in terminals and notebooks."""

import re

import numpy as np
import pandas as pd
import pytest
from karhunen import PCA, IncompletePCA, IncrementalPCA, KernelPCA, Nystroem, TruncatedSVD, rotation
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline


@pytest.fixture(scope="module")
def wine():
    return load_wine(as_frame=True).data


@pytest.fixture(scope="module")
def pca(wine):
    return PCA(3, scale=True).fit(wine)


def test_a_fitted_estimator_says_what_came_out(wine, pca):
    assert repr(clone(pca)) == "PCA(n_components=3, scale=True)"
    share = 100.0 * pca.explained_variance_ratio_.sum()
    outcome = f" fitted to 178 x 13: 3 components, {share:.1f}% of the variance"
    assert repr(pca) == str(pca) == "PCA(n_components=3, scale=True)" + outcome
    assert repr(TruncatedSVD(1).fit(wine)).startswith("TruncatedSVD(n_components=1) fitted to 178 x 13: 1 component,")
    assert repr(IncrementalPCA(2).fit(wine)) == "IncrementalPCA(n_components=2) fitted to 178 x 13"
    assert repr(KernelPCA(2).fit(wine)).startswith("KernelPCA(n_components=2) fitted to 178 x 13: 2 components, ")
    assert repr(Nystroem().fit(wine)) == "Nystroem() fitted"
    incomplete = IncompletePCA(2, method="ppca").fit(wine.mask(wine > 1000.0))
    assert re.fullmatch(
        r"IncompletePCA\(.*\) fitted to 178 x 13: 2 components, [\d.]+% of the variance, by ppca", repr(incomplete)
    )
    assert "PCA(n_components=3, scale=True)" in repr(make_pipeline(pca))


def test_numbers_match_the_model(pca):
    summary = pca.summary()
    assert summary.n_components == 3
    table = summary.to_frame()
    assert list(table.index) == ["PC1", "PC2", "PC3"]
    np.testing.assert_allclose(table["variance"].astype(float), pca.explained_variance_, rtol=1e-3)
    ratios = table["ratio"].str.rstrip("%").astype(float) / 100.0
    np.testing.assert_allclose(ratios, pca.explained_variance_ratio_, atol=1e-3)
    assert "PCA of the correlation matrix" in " ".join(summary.fitted)
    assert summary.components[0]["sentence"].startswith("PC1 rises with flavanoids (+")
    text = str(summary)
    for said in ("     variance  ratio  cumulative  residual", "PC3", "Accuracy", "flavanoids"):
        assert said in text


@pytest.mark.parametrize("columns", [50, 80, 300])
def test_text_is_as_wide_as_the_terminal(pca, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    longest = max(len(line) for line in str(pca.summary()).splitlines())
    assert longest <= min(columns, 100)
    assert longest > min(columns, 100) - 20


def test_many_components_are_cut(wine):
    rows = np.random.default_rng(0).normal(size=(130, 120))
    summary = PCA().fit(rows).summary()
    assert (len(summary.components), summary.n_components) == (100, 120)
    assert "and 20 more" in str(summary)
    assert "and 20 more" in summary._repr_html_()


def test_notebooks_show_escaped_names(wine):
    hostile = "<script>alert(1)</script>"
    pca = PCA(2, scale=True).fit(wine.rename(columns={"flavanoids": hostile}))
    bundle = pca._repr_mimebundle_()
    assert bundle["text/plain"] == repr(pca)
    shown = bundle["text/html"].split('<div class="karhunen-summary">')[1]
    assert "&lt;script&gt;" in shown
    assert "<script" not in shown
    assert shown.count("<tr>") == 3
    assert "karhunen-summary" not in clone(pca)._repr_mimebundle_()["text/html"]


def test_every_kind_of_model_has_a_summary(wine, pca):
    with_missing = wine.mask(wine > 1000.0)
    models = [
        TruncatedSVD(2).fit(wine),
        IncrementalPCA(2).fit(wine),
        KernelPCA(2, kernel="rbf").fit(wine),
        IncompletePCA(2).fit(with_missing),
        rotation.varimax(pca),
    ]
    for model in models:
        summary = model.summary()
        assert len(summary.components) == summary.n_components
        assert "<table>" in summary._repr_html_()
    assert "PC1 rises with proline (+" in str(models[3].summary())
    assert "RC1" in models[4]._repr_html_()
    with pytest.raises(NotFittedError):
        PCA().summary()
    names = pd.Index(["a", "b"])
    assert "PC1 rises with a" in str(
        PCA(1).fit(pd.DataFrame([[1.0, 0.0], [2.0, 0.1], [4.0, 0.0]], columns=names)).summary()
    )
