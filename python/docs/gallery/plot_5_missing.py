"""
A third of the wine is missing
==============================

13 measurements of 178 wines of three growers, of which a third is removed at random. The components are found
nevertheless, every score has a standard deviation, and the removed entries are predicted with calibrated intervals.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from karhunen import PCA, IncompletePCA, plot

data = next(p for p in Path.cwd().resolve().parents if (p / "examples/data").exists()) / "examples/data"
wine = pd.read_csv(data / "wine.csv")
grower = wine.pop("class")
full = (wine - wine.mean()) / wine.std()
missing = np.random.default_rng(0).random(full.shape) < 1 / 3
table = full.mask(missing)

pca = IncompletePCA(8).fit(table)
print(f"{pca.n_components_} of 8 components are supported; {pca.convergence_.reason}")

# %%
# Left: all measurements. Right: two thirds of them, with ellipses of one standard deviation.
figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
plot.scores(PCA(2).fit(full), full, color_by=grower, ax=axes[0]).set_title("everything")
plot.scores(pca, table, color_by=grower, deviations=1, ax=axes[1]).set_title("two thirds of it")
for ax in axes:
    ax.get_legend().remove()
plt.show()

# %%
# Intervals of 95% should contain 95% of the removed entries.
i, j = np.nonzero(missing)
value, std = pca.predict(i, j, return_std=True)
inside = np.abs(value - full.to_numpy()[i, j]) < 1.96 * std
print(f"{inside.mean():.1%} of {len(i)} values are inside")

# %%
# Least squares fits noise: its held-out error rises again while the error of the fitted entries still falls. With
# variational Bayes it does not rise.
ax = None
for method in ("newton", "vb-full"):
    fit = IncompletePCA(4, method=method, early_stopping=0.1, tol=1e-7).fit(table)
    ax = plot.convergence(fit, ax=ax)
plt.show()
