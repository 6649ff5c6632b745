"""
Words of a manual, centred and sparse
=====================================

How often each of 11,311 words stands in each of the 4,814 pages of Rust's documentation: 1.2 % of the cells are not
zero. PCA centres and scales them without filling them.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import scipy.io
from karhunen import PCA, plot
from sklearn.preprocessing import normalize

data = next(p for p in Path.cwd().resolve().parents if (p / "examples/data").exists()) / "examples/data"
counts = scipy.io.mmread(data / "rust_docs_bow.mtx.gz").tocsr()
words = np.loadtxt(data / "rust_docs_terms.txt.gz", dtype=str, comments=None)

# %%
# Words of at least 50 pages, by log(1 + count); each page has length 1, so that long pages do not come first.
often = np.diff(counts.tocsc().indptr) >= 50
x, words = counts[:, often].astype(np.float64), words[often]
x.data = np.log1p(x.data)
x = normalize(x)
pca = PCA(n_components=6).fit(x)
print(f"{x.shape[0]} x {x.shape[1]}, {x.nnz / np.prod(x.shape):.1%} filled")
print(f"{pca.solver_}, {pca.n_iter_} passes, residuals up to {pca.residuals_.max():.0e}")
print(pca.convergence_.reason)

# %%
# The words that make the first components.
plot.loadings(pca, feature_names=words, n_features=8)

# %%
# Loadings of the 24 words with the most explained variance.
plot.loadings(pca, feature_names=words, n_features=24, kind="heatmap")

# %%
# Pages on two components, coloured by their length.
length = pd.Series(np.log10(np.asarray(counts.sum(axis=1)).ravel()), name="log10 of words")
plot.scores(pca, x, color_by=length)
