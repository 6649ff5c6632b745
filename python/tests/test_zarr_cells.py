"""Zarr stores of single cells, against the same AnnData in HDF5 and against anndata."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from karhunen import PCA, IncompletePCA, IncrementalPCA
from karhunen.anndata import Cells

ROOT = Path(__file__).parents[2]
#: 150 cells and 110 genes, as in the stores.
FILE = ROOT / "golden" / "scanpy_cells.h5ad"
STORES = ROOT / "crates" / "karhunen-io" / "tests" / "data" / "zarr"


@pytest.fixture(params=["cells_v2.zarr", "cells_v3.zarr"])
def packed(request):
    """Return the path of a store in a zip archive."""
    return STORES / f"{request.param}.zip"


@pytest.fixture(params=["folder", "archive"])
def store(request, packed, tmp_path):
    """Return the path of a store."""
    if request.param == "archive":
        return packed
    with zipfile.ZipFile(packed) as archive:
        archive.extractall(tmp_path / "cells.zarr")
    return tmp_path / "cells.zarr"


@pytest.mark.parametrize("limit", [None, 2_000_000])
def test_fits_of_a_path_match_hdf5(store, limit):
    for estimator in (PCA(3, memory_limit=limit), IncrementalPCA(3)):
        found, expected = estimator.fit_transform(store), estimator.fit_transform(FILE)
        np.testing.assert_array_equal(found, expected)
        assert list(estimator.fit(str(store)).feature_names_in_) == [f"gene-{j}" for j in range(110)]


@pytest.mark.parametrize("layer", ["counts", "by_gene", "dense", "raw"])
def test_layers_masks_and_normalisation_match_hdf5(store, layer):
    # Of raw.X the genes are in raw.var, which has no mask.
    mask = None if layer == "raw" else "highly_variable"
    pca = PCA(3)
    found = pca.fit_transform(Cells(store, layer=layer, mask=mask, log1p=True))
    expected = PCA(3).fit_transform(Cells(FILE, layer=layer, mask=mask, log1p=True))
    np.testing.assert_array_equal(found, expected)
    # Cells of later calls are normalised as in the fit, and its genes are taken out of the store.
    np.testing.assert_array_equal(pca.transform(Cells(store, layer=layer)), found)
    np.testing.assert_array_equal(pca.transform(Cells(FILE, layer=layer)), found)


def test_values_match_anndata(store):
    anndata = pytest.importorskip("anndata")
    zarr = pytest.importorskip("zarr")
    group = zarr.storage.ZipStore(store, mode="r") if store.suffix == ".zip" else store
    x = anndata.read_zarr(group).layers["counts"].toarray().astype(float)
    expected = PCA(3).fit(x)
    found = PCA(3).fit(Cells(store, layer="counts"))
    np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-10)


def test_missing_values_are_entries_that_are_not_stored(store):
    # Several starts end apart on these few counts, and the fit would warn.
    found = IncompletePCA(2, tol=1e-2, n_starts=1).fit(Cells(store, layer="counts"))
    expected = IncompletePCA(2, tol=1e-2, n_starts=1).fit(Cells(FILE, layer="counts"))
    np.testing.assert_array_equal(found.components_, expected.components_)


def test_an_array_is_chosen_by_name():
    path = STORES / "tables_v3.zarr.zip"
    expected = np.arange(23)[:, None] + 1000.0 * np.arange(7)
    pca = PCA(1).fit(Cells(path, genome="whole"))
    np.testing.assert_array_equal(pca.mean_, expected.mean(axis=0))
    np.testing.assert_allclose(pca.transform(Cells(path, genome="whole")), pca.transform(expected), atol=1e-9)
    with pytest.raises(ValueError, match="holds several arrays"):
        PCA(1).fit(path)


def test_parts_that_do_not_exist_are_refused(store):
    with pytest.raises(ValueError, match="there is no such layer"):
        PCA(2).fit(Cells(store, layer="none"))
    with pytest.raises(ValueError, match="holds no values true and false"):
        PCA(2).fit(Cells(store, mask="feature_type"))
