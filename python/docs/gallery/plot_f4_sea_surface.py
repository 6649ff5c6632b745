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
import xarray as xr
from karhunen import PCA
from karhunen.xarray import EOF

data = next(p for p in Path.cwd().resolve().parents if (p / "examples/data").exists()) / "examples/data"
sst = xr.open_dataset(data / "sst_ndjfm_anom.nc", engine="scipy").sst

eof = EOF(6).fit(sst, dim="time", weights="coslat")
print("shares of the variance:", np.round(100 * eof.explained_variance_ratio_.values, 1))

# %%
# Which modes are separate? North's rule compares the standard errors of neighbouring variances.
groups = eof.north().group
mixed = [groups.mode.values[groups.values == number] for number in np.unique(groups)]
print("mixed by sampling:", [f"{modes[0]} to {modes[-1]}" for modes in mixed if len(modes) > 1])


# %%
# The first pattern is El Niño: the correlation of each cell with the first series.
maps = eof.eofs_as_correlation()
figure, axes = plt.subplots(1, 2, figsize=(11, 3.2), layout="constrained", sharey=True)
for mode, ax in enumerate(axes, start=1):
    drawn = ax.pcolormesh(
        maps.longitude, maps.latitude, maps.sel(mode=mode), cmap="RdBu_r", vmin=-1, vmax=1, shading="nearest"
    )
    ax.set_title(f"Mode {mode}, {100 * eof.explained_variance_ratio_.sel(mode=mode):.0f} %")
    ax.set_xlabel("°E")
axes[0].set_ylabel("°N")
figure.colorbar(drawn, ax=axes, label="Correlation")
plt.show()

# %%
# Its series is an index of the winters, named by the year in which they end: 1983 and 1998 are the strong El Niños.
index = eof.pcs(scaling=1).sel(mode=1)
years = index.time.dt.year.values
index = index * np.sign(index[(years == 1983) | (years == 1998)].sum())
figure, ax = plt.subplots(figsize=(8, 3.0), layout="constrained")
ax.bar(years, index, color=np.where(index > 0, "#D55E00", "#0072B2"))
ax.set_ylabel("Mode 1 (standard deviations)")
plt.show()
print("strongest:", ", ".join(str(year) for year in years[np.argsort(-index.values)[:3]]))

# %%
# Varimax makes patterns regional: each rotated pattern has fewer large values.
rotated = eof.rotate("varimax", n_components=4)
print("shares after rotation:", np.round(100 * rotated.explained_variance_ratio_.values, 1))

# %%
# The report shows cells as features and winters as samples, named by a table of the same values.
table = sst.stack(point=("latitude", "longitude")).dropna("point").to_pandas()
weight = np.cos(np.deg2rad(table.columns.get_level_values("latitude").to_numpy(dtype=float)))
table.columns = [f"{abs(y):.1f}°{'N' if y >= 0 else 'S'} {x:.1f}°E" for y, x in table.columns]
table.index = table.index.year.astype(str)
pca = PCA(6).fit(table, feature_weight=weight)
page = pca.report(Path(tempfile.mkdtemp(), "sst.html"), table, title="Sea surface temperature")
print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")
