"""
Circles, moons and a roll
=========================

Two circles, two moons and a rolled up sheet: no linear component separates or unrolls them. The first components of a
radial kernel do.
"""

import matplotlib.pyplot as plt
import numpy as np
from karhunen import PCA, KernelPCA
from sklearn.datasets import make_circles, make_moons, make_swiss_roll

circles, ring = make_circles(600, factor=0.3, noise=0.05, random_state=0)
moons, moon = make_moons(600, noise=0.05, random_state=0)

figure, axes = plt.subplots(2, 3, figsize=(11, 6.6), layout="constrained")
for row, (x, colour, gamma) in zip(axes, [(circles, ring, 4.0), (moons, moon, 15.0)], strict=True):
    kernel = KernelPCA(2, kernel="rbf", gamma=gamma)
    pictures = {"the data": x, "PCA": PCA(2).fit_transform(x), "KernelPCA": kernel.fit_transform(x)}
    for ax, (title, points) in zip(row, pictures.items(), strict=True):
        ax.scatter(*points.T, c=colour, s=9, cmap="coolwarm")
        ax.set_title(title)
plt.show()

# %%
# The position along the roll is a linear function of ten scores, but not of the three coordinates.
roll, along = make_swiss_roll(1000, random_state=0)
unrolled = KernelPCA(10, kernel="rbf", gamma="median").fit_transform(roll)


def fitted_line(scores: np.ndarray) -> np.ndarray:
    """Fit the position by least squares; return the fitted values."""
    design = np.column_stack([np.ones(len(scores)), scores])
    return design @ np.linalg.lstsq(design, along, rcond=None)[0]


figure = plt.figure(figsize=(11, 3.8), layout="constrained")
ax = figure.add_subplot(1, 3, 1, projection="3d")
ax.scatter(*roll.T, c=along, s=6)
ax.set_title("the data")
for place, (title, scores) in enumerate(
    {"PCA, 3 components": PCA(3).fit_transform(roll), "KernelPCA, 10": unrolled}.items()
):
    ax = figure.add_subplot(1, 3, place + 2)
    found = fitted_line(scores)
    ax.scatter(along, found, c=along, s=6)
    ax.set_title(f"{title}: R² = {np.corrcoef(along, found)[0, 1] ** 2:.2f}")
    ax.set_xlabel("along the roll")
    ax.set_ylabel("from the scores")
plt.show()
