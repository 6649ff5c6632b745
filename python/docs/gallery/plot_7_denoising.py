"""
Clean digits from noisy ones
============================

Components fitted to noisy digits keep what digits have in common, so the digits reconstructed from the scores of other
noisy digits are cleaner. How much cleaner depends on the reconstruction: linear projection, kernel ridge regression of
rows on scores, or the fixed point, which is the default of `KernelPCA` for the kernel ``"rbf"``.
"""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from karhunen import PCA, KernelPCA

data = next(p for p in Path.cwd().resolve().parents if (p / "examples/data").exists()) / "examples/data"
digits = np.loadtxt(data / "digits_8x8.csv.gz", delimiter=",", skiprows=1)[:, :-1]
rng = np.random.default_rng(0)
digits = digits[rng.permutation(len(digits))]
noisy = digits + rng.normal(scale=4, size=digits.shape)
learnt, shown = noisy[:1000], noisy[1297:]
truth = digits[1297:]

kernel = KernelPCA(64, kernel="rbf", gamma="median", fit_inverse_transform=True)
gamma = kernel.fit(learnt).gamma_
ways = {
    "linear PCA": PCA(16),
    "ridge, alpha 1": KernelPCA(32, kernel="rbf", gamma=gamma / 2, fit_inverse_transform=True, alpha=1.0),
    "ridge, alpha 0.001": KernelPCA(32, kernel="rbf", gamma=gamma / 2, fit_inverse_transform=True, alpha=0.001),
    "fixed point": KernelPCA(128, kernel="rbf", gamma=4 * gamma, fit_inverse_transform=True),
}
pictures = {"clean": truth, "noisy": shown}
for name, pca in ways.items():
    pictures[name] = pca.fit(learnt).inverse_transform(pca.transform(shown))

# %%
# Mean squared errors are next to the rows of the picture. Settings are the best of their kind on digits not shown here
# (``benchmarks/preimages.py``), except alpha = 1, scikit-learn's default.
figure, axes = plt.subplots(len(pictures), 12, figsize=(11, 5.6), layout="constrained")
for row, (name, images) in zip(axes, pictures.items(), strict=True):
    for ax, image in zip(row, images, strict=False):
        ax.imshow(image.reshape(8, 8), cmap="gray_r", vmin=0, vmax=16)
        ax.set(xticks=[], yticks=[])
    error = np.square(images - truth).mean()
    label = name if name == "clean" else f"{name}\n{error:.1f}"
    row[0].set_ylabel(label, rotation=0, ha="right", va="center", labelpad=8)
plt.show()
