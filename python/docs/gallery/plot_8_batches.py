"""
Rows in batches
===============

A stream whose main direction turns. `IncrementalPCA` takes one batch after the other: with a half-life it follows the
turn, without one it finds the mean of all directions that there were.
"""

import matplotlib.pyplot as plt
import numpy as np
from karhunen import IncrementalPCA

rng = np.random.default_rng(0)
batches, rows = 60, 50
forever = IncrementalPCA(1)
recent = IncrementalPCA(1, half_life=200.0, weighting="importance")
angles = {"truth": [], "all rows": [], "half-life of 200 rows": []}


def angle(direction: np.ndarray) -> float:
    """Return the angle of a direction in the plane, in degrees."""
    return np.degrees(np.arctan2(direction[1], direction[0]))


for batch in range(batches):
    turned = np.radians(75 * batch / batches)
    axis = np.array([np.cos(turned), np.sin(turned)])
    x = 3 * rng.normal(size=(rows, 1)) * axis + rng.normal(size=(rows, 2))
    angles["truth"].append(np.degrees(turned))
    for name, pca in {"all rows": forever, "half-life of 200 rows": recent}.items():
        angles[name].append(angle(pca.partial_fit(x).components_[0]))

# %%
# The angle of the first component after each batch.
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for (name, values), style in zip(angles.items(), ["k--", "C0", "C1"], strict=True):
    ax.plot(np.arange(1, batches + 1), values, style, label=name)
ax.set(xlabel="batch of 50 rows", ylabel="angle in degrees")
ax.legend()

# %%
# The rows in other batches give the same bits: nothing depends on how a stream is divided.
again = IncrementalPCA(1)
x = rng.normal(size=(1000, 5))
for row in x:
    again.partial_fit(row[None])
assert (again.components_ == IncrementalPCA(1).fit(x).components_).all()
