"""Write golden/scanpy_cells.h5ad, simulated counts of 150 cells, and golden/scanpy.json, the results of scanpy for them.
Run from the root of the repository:

    python golden/make_scanpy.py

needs scanpy 1.11 and anndata 0.12. Numbers are written with every digit; signs are scanpy's own. The file holds the
counts in several layouts and with several compressions, whose readers are tested with it:

    X                    log-normalised counts, CSR, gzip
    layers["counts"]     counts, CSR, LZF, int64
    layers["by_gene"]    counts, CSC, not compressed, float32
    layers["dense"]      counts, array, chunks of 44 x 96, gzip, int32
    raw.X                counts of all genes, CSR
    var                  highly_variable, the 60 genes of the largest variance of X; feature_type, categories
"""

import hashlib
import json
import warnings
from importlib.metadata import version

import anndata as ad
import h5py
import numpy as np
import pandas as pd
import scanpy as sc
import scipy.sparse as sp

FILE = "golden/scanpy_cells.h5ad"
N_CELLS, N_GENES, N_COMPS = 150, 110, 8

rng = np.random.default_rng(20261125)
kinds = rng.integers(0, 4, N_CELLS)
programmes = rng.gamma(0.4, 1.0, (4, N_GENES))
depth = rng.lognormal(0.0, 0.4, N_CELLS)
counts = rng.poisson(depth[:, None] * programmes[kinds])
counts[7] = 0  # a cell without counts
counts = sp.csr_matrix(counts.astype(np.int64))

cells = [f"CELL{i:03}-1" for i in range(N_CELLS)]
genes = [f"gene-{j}" for j in range(N_GENES)]
adata = ad.AnnData(
    counts.astype(np.float64),
    obs=pd.DataFrame({"kind": pd.Categorical([f"k{k}" for k in kinds]), "depth": depth}, index=cells),
    var=pd.DataFrame({"feature_type": pd.Categorical(["Gene Expression"] * N_GENES)}, index=genes),
)
adata.raw = adata.copy()
sums = np.asarray(counts.sum(axis=1)).ravel()
# By default scanpy 1.11 takes the median over all cells for CSR, and over cells with counts for every other layout.
target = float(np.median(sums[sums > 0]))
sc.pp.normalize_total(adata, target_sum=target)
sc.pp.log1p(adata)
variances = np.asarray(adata.X.power(2).mean(axis=0) - np.square(adata.X.mean(axis=0))).ravel()
adata.var["highly_variable"] = np.isin(np.arange(N_GENES), np.argsort(-variances, kind="stable")[:60])
adata.layers["counts"] = counts
adata.layers["by_gene"] = sp.csc_matrix(counts.astype(np.float32))
adata.layers["dense"] = counts.toarray().astype(np.int32)
adata.uns = {}
adata.write_h5ad(FILE, compression="gzip")

with h5py.File(FILE, "r+") as file:
    # AnnData packs all parts alike.
    for layer, options in (("counts", {"compression": "lzf"}), ("by_gene", {})):
        for part in ("data", "indices"):
            array = file[f"layers/{layer}/{part}"][:]
            del file[f"layers/{layer}/{part}"]
            chunks = (64,) if options else None
            file[f"layers/{layer}"].create_dataset(part, data=array, chunks=chunks, **options)
    attributes = dict(file["layers/dense"].attrs)
    array = file["layers/dense"][:]
    del file["layers/dense"]
    dense = file["layers"].create_dataset("dense", data=array, chunks=(44, 96), compression="gzip", shuffle=True)
    dense.attrs.update(attributes)

adata = ad.read_h5ad(FILE)
CASES = {
    "highly_variable": {},
    "all_genes": {"mask_var": None},
    "counts": {"layer": "counts", "mask_var": None},
    "dense_layer": {"layer": "dense"},
    "truncated": {"mask_var": None, "zero_center": False, "svd_solver": "arpack"},
    "named": {"key_added": "mine"},
}
results = {}
for name, options in CASES.items():
    copy = adata.copy()
    if options.get("layer") in ("counts", "dense"):
        # ARPACK needs floating-point numbers.
        copy.layers[options["layer"]] = copy.layers[options["layer"]].astype(np.float64)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        sc.pp.pca(copy, N_COMPS, dtype="float64", **options)
    obsm, varm, uns = ("X_pca", "PCs", "pca") if "key_added" not in options else (options["key_added"],) * 3
    results[name] = {
        "options": options,
        "X_pca": copy.obsm[obsm][:5].tolist(),
        "PCs": np.asarray(copy.varm[varm]).tolist(),
        "variance": copy.uns[uns]["variance"].tolist(),
        "variance_ratio": copy.uns[uns]["variance_ratio"].tolist(),
        "params": copy.uns[uns]["params"],
    }
with open(FILE, "rb") as file:
    sha256 = hashlib.sha256(file.read()).hexdigest()
case = {
    "made_by": "golden/make_scanpy.py, "
    + ", ".join(f"{name} {version(name)}" for name in ("scanpy", "anndata", "numpy")),
    "file": FILE,
    "sha256": sha256,
    "n_comps": N_COMPS,
    "target_sum": target,
    "cells": cells[:3],
    "genes": genes,
    "normalised_head": adata.X[:3].toarray().tolist(),
    "cases": results,
}
with open("golden/scanpy.json", "w") as file:
    json.dump(case, file, indent=None, separators=(",", ":"))
    file.write("\n")
