"""
Sea surface temperature: El Niño
================================

Winter anomalies of the temperature of the central and northern Pacific, 50 winters on a grid of 18 by 30. Components
of fields are *empirical orthogonal functions*. Grid cells shrink towards the poles, so each has the weight of the
cosine of its latitude; land has no values at all.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from karhunen import PCA, rotation, selection
from scipy.io import netcdf_file

data = next(p for p in Path.cwd().resolve().parents if (p / "examples/data").exists()) / "examples/data"
with netcdf_file(data / "sst_ndjfm_anom.nc", mmap=False) as file:
    sst = np.ma.masked_greater(file.variables["sst"][:].astype(float), 1e10).filled(np.nan)
    latitude, longitude = (file.variables[name][:].astype(float) for name in ("latitude", "longitude"))
    days = file.variables["time"][:]

sea = np.isfinite(sst).all(axis=0)
names = [f"{abs(y):.1f}°{'N' if y >= 0 else 'S'} {x:.1f}°E" for y in latitude for x in longitude]
winters = [str(np.datetime64("1800-01-01") + int(day))[:4] for day in days]
field = pd.DataFrame(sst[:, sea], index=winters, columns=np.array(names)[sea.ravel()])
weight = np.broadcast_to(np.cos(np.deg2rad(latitude))[:, None], sea.shape)[sea]

pca = PCA(6).fit(field, feature_weight=weight)
print("shares of the variance:", np.round(100 * pca.explained_variance_ratio_, 1))

# %%
# Which components are separate? North's rule compares the standard errors of neighbouring variances.
separation = selection.north(pca)
print("mixed by sampling:", [f"{group[0] + 1} to {group[-1] + 1}" for group in separation.groups if len(group) > 1])


# %%
# The first pattern is El Niño: the correlation of each cell with the first component.
scores = pca.transform(field)
figure, axes = plt.subplots(1, 2, figsize=(11, 3.2), layout="constrained", sharey=True)
for k, ax in enumerate(axes):
    pattern = np.full(sea.shape, np.nan)
    pattern[sea] = np.corrcoef(scores[:, k], field.to_numpy().T)[0, 1:]
    drawn = ax.pcolormesh(longitude, latitude, pattern, cmap="RdBu_r", vmin=-1, vmax=1, shading="nearest")
    ax.set_title(f"PC{k + 1}, {100 * pca.explained_variance_ratio_[k]:.0f} %")
    ax.set_xlabel("°E")
axes[0].set_ylabel("°N")
figure.colorbar(drawn, ax=axes, label="Correlation")
plt.show()

# %%
# Its scores are an index of the winters, named by the year in which they end: 1983 and 1998 are the strong El Niños.
index = pd.Series(scores[:, 0] / scores[:, 0].std(), index=winters)
index *= np.sign(index["1998"] + index["1983"])
figure, ax = plt.subplots(figsize=(8, 3.0), layout="constrained")
ax.bar(range(len(index)), index, color=np.where(index > 0, "#D55E00", "#0072B2"))
ax.set_xticks(range(0, len(index), 5), winters[::5])
ax.set_ylabel("PC1 (standard deviations)")
plt.show()
print("strongest:", ", ".join(index.nlargest(3).index))

# %%
# Varimax makes patterns regional: each rotated pattern has fewer large values.
rotated = rotation.varimax(pca, n_components=4)
print("shares after rotation:", np.round(100 * rotated.explained_variance_ratio, 1))

# %%
# The report shows cells as features and winters as samples.
page = pca.report(Path(tempfile.mkdtemp(), "sst.html"), field, title="Sea surface temperature")
print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")
