"""PCA of an AnnData, against the results of scanpy."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import karhunen.anndata
import numpy as np
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from karhunen import PCA

ad = pytest.importorskip("anndata")

GOLDEN = Path(__file__).parents[2] / "golden"
FILE = GOLDEN / "scanpy_cells.h5ad"
SCANPY = json.loads((GOLDEN / "scanpy.json").read_text())
N_COMPS = SCANPY["n_comps"]

# anndata warns of the versions of its own dependencies.
pytestmark = [pytest.mark.filterwarnings("ignore::FutureWarning"), pytest.mark.filterwarnings("ignore::UserWarning")]


@pytest.fixture
def adata():
    return ad.read_h5ad(FILE)


def signs(found, expected):
    return np.sign(np.sum(found * expected, axis=0))


def assert_scanpy(adata, name):
    """Compare with scanpy, up to the signs of the components."""
    expected = SCANPY["cases"][name]
    obsm, varm, uns = ("X_pca", "PCs", "pca") if name != "named" else ("mine",) * 3
    pcs = np.array(expected["PCs"])
    sign = signs(adata.varm[varm], pcs)
    # The gaps between the variances are above 1 % of the largest, and scanpy iterates to the precision of float64.
    assert_allclose(adata.varm[varm] * sign, pcs, atol=1e-6)
    assert adata.varm[varm].shape == pcs.shape
    np.testing.assert_array_equal(adata.varm[varm][(pcs == 0).all(axis=1)], 0)
    scores = np.asarray(adata.obsm[obsm])
    assert_allclose(scores[:5] * sign, expected["X_pca"], atol=1e-5)
    assert adata.uns[uns]["params"] == expected["params"]
    for part in ("variance", "variance_ratio"):
        assert_allclose(adata.uns[uns][part], expected[part], rtol=1e-6)
    assert (adata.uns[uns]["residuals"] < 1e-8).all()


@pytest.mark.parametrize("name", [name for name in SCANPY["cases"] if name != "truncated"])
@pytest.mark.parametrize("form", ["csr", "csc", "dense", "chunked"])
def test_results_match_scanpy(adata, name, form):
    convert = {"csc": sp.csc_matrix, "dense": lambda x: x.toarray()}.get(form, lambda x: x)
    adata.X = convert(adata.X)
    options = dict(SCANPY["cases"][name]["options"])
    if form == "chunked":
        options |= {"chunked": True, "chunk_size": 31}
    assert karhunen.anndata.pca(adata, N_COMPS, **options) is None
    assert_scanpy(adata, name)
    assert adata.obsm["mine" if name == "named" else "X_pca"].dtype == np.float32


@pytest.mark.parametrize("form", ["csr", "dense"])
def test_without_centring_results_match_scanpy(adata, form):
    if form == "dense":
        adata.X = adata.X.toarray()
    karhunen.anndata.pca(adata, N_COMPS, mask_var=None, zero_center=False)
    assert_scanpy(adata, "truncated")


@pytest.mark.parametrize("form", ["csr_matrix", "csc_matrix", "array"])
def test_a_matrix_in_its_file_gives_the_same(adata, tmp_path, form):
    del adata.layers["counts"], adata.layers["by_gene"], adata.layers["dense"]
    adata.X = adata.X.toarray() if form == "array" else getattr(sp, form)(adata.X)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = ad.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    assert backed.isbacked
    karhunen.anndata.pca(backed, N_COMPS)
    assert_scanpy(backed, "highly_variable")
    karhunen.anndata.pca(backed, N_COMPS, mask_var=None)
    assert_scanpy(backed, "all_genes")


@pytest.mark.parametrize("sparse", [False, True])
def test_a_dask_array_stays_on_its_scheduler(adata, sparse):
    da = pytest.importorskip("dask.array")
    whole = adata.X.tocsr() if sparse else adata.X.toarray()
    rows = da.from_array(whole, chunks=(40, whole.shape[1]), asarray=False)
    adata.X = rows
    karhunen.anndata.pca(adata, N_COMPS)
    assert hasattr(adata.obsm["X_pca"], "__dask_graph__")
    adata.obsm["X_pca"] = adata.obsm["X_pca"].compute()
    assert_scanpy(adata, "highly_variable")


def test_a_view_and_a_copy(adata):
    view = adata[20:90]
    copy = karhunen.anndata.pca(view, 4, copy=True)
    assert "X_pca" not in adata.obsm
    expected = PCA(4).fit(adata.X[20:90][:, adata.var["highly_variable"].to_numpy()])
    assert_allclose(copy.uns["pca"]["variance"], expected.explained_variance_)


def test_scaled_genes_stay_sparse(adata):
    karhunen.anndata.pca(adata, 4, mask_var=None, scale=True)
    dense = adata.X.toarray()
    scale = dense.std(axis=0, ddof=1)
    scale[scale == 0] = 1
    expected = np.linalg.svd((dense - dense.mean(axis=0)) / scale, compute_uv=False)[:4] ** 2 / (len(dense) - 1)
    assert_allclose(adata.uns["pca"]["variance"], expected, rtol=1e-8)
    assert adata.uns["pca"]["params"]["scale"] is True


def test_weights_equal_repeated_cells(adata):
    adata.obs["times"] = np.arange(adata.n_obs) % 3
    karhunen.anndata.pca(adata, 4, sample_weight="times")
    repeated = adata[np.repeat(np.arange(adata.n_obs), adata.obs["times"])].copy()
    karhunen.anndata.pca(repeated, 4)
    assert_allclose(adata.uns["pca"]["variance"], repeated.uns["pca"]["variance"], rtol=1e-10)


def test_arrays_give_arrays(adata):
    x = adata.X.toarray()
    scores, components, ratio, variance = karhunen.anndata.pca(x, 5, return_info=True, dtype="float64")
    pca = PCA(5).fit(x)
    assert_allclose(scores, pca.transform(x))
    assert_allclose(components, pca.components_)
    assert_allclose((ratio, variance), (pca.explained_variance_ratio_, pca.explained_variance_))
    assert karhunen.anndata.pca(x[:20]).shape == (20, 19)


def test_an_array_of_obsm_is_used(adata):
    adata.obsm["mine"] = adata.X[:, :30].toarray()
    karhunen.anndata.pca(adata, 3, obsm="mine")
    assert adata.uns["pca"]["components"].shape == (30, 3)
    assert "PCs" not in adata.varm
    assert adata.uns["pca"]["params"]["obsm"] == "mine"


def test_genes_are_ranked(adata):
    karhunen.anndata.pca(adata, 3)
    ranks = karhunen.anndata.rank_genes(adata, 7, components=2)
    assert list(ranks.columns) == ["component", "rank", "gene", "loading", "share"]
    assert len(ranks) == 14
    for k, name in enumerate(["PC1", "PC2"]):
        loading = adata.varm["PCs"][:, k]
        of_component = ranks[ranks["component"] == name]
        best = sorted(range(adata.n_vars), key=lambda j: -abs(loading[j]))[:7]
        assert list(of_component["gene"]) == list(adata.var_names[best])
        assert_allclose(of_component["loading"], loading[best])
        assert_allclose(of_component["share"], loading[best] ** 2)
    whole = karhunen.anndata.rank_genes(adata, adata.n_vars)
    assert_allclose(whole.groupby("component")["share"].sum(), 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": "no"}, r"layer = 'no' does not exist; there are 'by_gene', 'counts', 'dense'"),
        ({"layer": "counts", "obsm": "x"}, "give one of them"),
        ({"mask_var": "no"}, r"mask_var = 'no': var has no such column; it has 'feature_type', 'highly_variable'"),
        ({"mask_var": "feature_type"}, "'feature_type' has dtype"),
        ({"mask_var": np.ones(3, bool)}, r"has shape \(3,\); there are 110 genes"),
        ({"mask_var": np.zeros(110, bool)}, "takes none of the 110 genes"),
        ({"n_comps": 200}, "give a whole number from 1 to 60 for 150 x 60"),
        ({"chunked": True}, "chunk_size = None is not allowed with chunked=True"),
        ({"zero_center": False, "scale": True}, "zero_center=False has no scale"),
        ({"svd_solver": "lobpcg"}, "lobpcg"),
    ],
)
def test_what_does_not_fit_is_refused(adata, options, message):
    with pytest.raises(ValueError, match=message):
        karhunen.anndata.pca(adata, **options)


def test_ranks_need_results(adata):
    with pytest.raises(ValueError, match=r"no varm\['PCs'\]"):
        karhunen.anndata.rank_genes(adata)
    with pytest.raises(ValueError, match="n = 0 is not allowed"):
        karhunen.anndata.rank_genes(adata, 0)
    with pytest.raises(TypeError, match="of type list"):
        karhunen.anndata.rank_genes([])


def test_an_annotated_matrix_says_how_it_is_used(adata):
    with pytest.raises(ValueError, match=r"karhunen\.anndata\.pca\(X\)"):
        PCA(2).fit(adata)


@pytest.mark.usefixtures("temporary_files")
def test_examples_in_the_page_run(monkeypatch):
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    result = doctest.testfile(str(root / "python/docs/single_cells.rst"), module_relative=False)
    assert result.failed == 0
    assert result.attempted > 10


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sample_weight": "nope"}, r"sample_weight = 'nope': obs has no such column; it has "),
        ({"dtype": "int8"}, "dtype = 'int8' is not allowed: scores are floating point, float32 or float64"),
        ({"dtype": "floaty"}, "dtype = 'floaty' is not allowed"),
    ],
)
def test_names_of_weights_and_types_are_checked(adata, options, message):
    with pytest.raises(ValueError, match=message):
        karhunen.anndata.pca(adata, **options)


def test_a_matrix_without_cells_is_refused(adata):
    with pytest.raises(ValueError, match=r"the matrix has 0 cells and \d+ genes; two cells or more are needed"):
        karhunen.anndata.pca(adata[:0].copy())
    with pytest.raises(ValueError, match="the matrix has 0 cells"):
        karhunen.anndata.pca(np.zeros((0, 5)))
    with pytest.raises(ValueError, match="names a column of an AnnData, and data is an array"):
        karhunen.anndata.pca(np.eye(5), sample_weight="n")
