"""Files of single cells with options, against the same values in memory."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from karhunen import PCA, IncompletePCA, IncrementalPCA, Scatter
from karhunen.anndata import Cells
from karhunen.diagnostics import samples

#: 150 cells and 110 genes; layers by_gene, counts and dense; a column highly_variable of var.
FILE = Path(__file__).parents[2] / "golden" / "scanpy_cells.h5ad"


@pytest.fixture(scope="module")
def counts():
    """Read the counts of all genes, by the projection of the cells on all axes."""
    pca = PCA(110, center=False).fit(Cells(FILE, layer="counts"))
    found = pca.inverse_transform(pca.transform(Cells(FILE, layer="counts")))
    assert_allclose(found, found.round(), atol=1e-8)
    return found.round()


def normalised(counts, target=None):
    sums = counts.sum(axis=1, keepdims=True)
    target = np.median(sums[sums > 0]) if target is None else target
    return np.log1p(np.divide(counts, sums, out=np.zeros_like(counts), where=sums > 0) * target)


def test_the_layer_matches_anndata(counts):
    anndata = pytest.importorskip("anndata")
    np.testing.assert_array_equal(counts, anndata.read_h5ad(FILE).layers["counts"].toarray())


@pytest.mark.parametrize(("log1p", "target"), [(True, None), (1e4, 1e4), (False, 0)])
def test_counts_are_normalised_as_in_memory(counts, log1p, target):
    x = counts if target == 0 else normalised(counts, target)
    cells = Cells(FILE, layer="counts", log1p=log1p)
    pca, expected = PCA(3).fit(cells), PCA(3).fit(x)
    assert_allclose(pca.explained_variance_, expected.explained_variance_, rtol=1e-10)
    # Cells of later calls are normalised as in the fit, whether they ask for it or not.
    for later in (cells, Cells(FILE, layer="counts")):
        assert_allclose(np.abs(pca.transform(later)), np.abs(expected.transform(x)), atol=1e-8)


def test_the_sum_of_a_fit_is_kept_and_genes_are_found_by_name(counts, tmp_path):
    cells = Cells(FILE, layer="counts", mask="highly_variable", log1p=True)
    pca = PCA(3).fit(cells)
    assert pca.n_features_in_ < 110
    scores = pca.transform(cells)
    pca.save(tmp_path / "m")
    loaded = PCA.load(tmp_path / "m")
    # Without the mask the genes of the fit are taken out of the file.
    np.testing.assert_array_equal(loaded.transform(Cells(FILE, layer="counts")), scores)
    rows = np.array([sum(counts[0]), sum(counts[1])])
    assert (rows > 0).all()
    with pytest.raises(ValueError, match="log1p"):
        loaded.transform(Cells(FILE, layer="counts", log1p=123.0))
    # A fit to an array forgets the sum.
    pca.fit(counts)
    with pytest.raises(ValueError, match="does not apply"):
        pca.transform(Cells(FILE, layer="counts", log1p=True))


def test_batches_take_the_sum_of_the_first(counts):
    cells = Cells(FILE, layer="counts", log1p=True)
    found = IncrementalPCA(3).partial_fit(cells).partial_fit(cells)
    expected = PCA(3).fit(np.vstack([normalised(counts)] * 2))
    assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-8)
    with pytest.raises(ValueError, match="Scatter does not keep the log1p"):
        Scatter().add(cells)


def test_sparse_rows_leave_nothing_behind(tmp_path):
    # Sparse matrices have a method log1p.
    x = sp.random(2000, 30, density=0.3, random_state=0, format="csr")
    for estimator in (PCA(2).fit(x), IncrementalPCA(2).partial_fit(x)):
        estimator.save(tmp_path / "m")
        assert_allclose(type(estimator).load(tmp_path / "m").transform(x), estimator.transform(x), atol=1e-12)
    assert len(pickle.dumps(PCA(2).fit(x))) < 20_000
    assert Scatter().add(x) is not None


def test_options_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="layer"):
        PCA(2).fit(Cells(FILE, layer="none"))
    with pytest.raises(ValueError, match="mask"):
        PCA(2).fit(Cells(FILE, mask="feature_type"))
    with pytest.raises(ValueError, match="need the same layer"):
        PCA(2).fit([Cells(FILE, layer="counts"), Cells(FILE, layer="dense")])
    with pytest.raises(ValueError, match="-1"):
        PCA(2).fit(Cells(FILE, layer="counts", log1p=-1))
    with pytest.raises(ValueError, match="need the same layer"):
        PCA(2).fit([Cells(FILE, layer="dense"), FILE])
    with pytest.raises(TypeError, match="log1p must be True, False or a number"):
        Cells(FILE, log1p="yes")
    with pytest.raises(TypeError, match="layer must be a name or None, got 1"):
        Cells(FILE, layer=1)
    with pytest.raises(TypeError, match="the path of Cells is"):
        Cells(Cells(FILE))
    with pytest.raises(ValueError, match="where values are missing"):
        IncompletePCA(2).fit(Cells(FILE, layer="counts", log1p=True))


def test_arrays_of_counts_are_refused_under_a_model_of_normalised_counts(counts, tmp_path):
    pca = PCA(3).fit(Cells(FILE, layer="counts", log1p=True))
    names = pca.feature_names_in_
    x, counts = pd.DataFrame(normalised(counts), columns=names), pd.DataFrame(counts, columns=names)
    scores = pca.transform(x)
    for rows in (counts, counts.astype(int), counts.astype(pd.SparseDtype(float, 0))):
        with pytest.raises(ValueError, match=r"X holds counts, and PCA was fitted to counts divided by the sum"):
            pca.transform(rows)
    pca.save(tmp_path / "m")
    with pytest.raises(ValueError, match="X holds counts"):
        samples(PCA.load(tmp_path / "m"), counts)
    # X of the file is normalised already.
    for rows in (FILE, Cells(FILE)):
        with pytest.raises(ValueError, match="is not a whole number, and the model normalises counts"):
            pca.transform(rows)
    np.save(tmp_path / "x.npy", x)
    with pytest.raises(ValueError, match="is not a whole number"):
        pca.transform(tmp_path / "x.npy")
    np.save(tmp_path / "counts.npy", counts)
    assert_allclose(pca.transform(tmp_path / "counts.npy"), scores, atol=1e-8)


def test_the_page_repeats_the_normalisation(tmp_path):
    pca = PCA(3).fit(Cells(FILE, layer="counts", log1p=40))
    page = pca.report(tmp_path / "r.html", Cells(FILE, layer="counts")).read_text(encoding="utf-8")
    assert "log1p=40.0" in page
    assert "--log1p=40" in page
    assert "divided by the sum of their row, multiplied by 40" in page
