"""
Spectra, and a monitor for new ones
===================================

Near-infrared spectra of 60 samples of gasoline at 401 wavelengths: wide, smooth, nearly collinear. Forty spectra are
normal operation; the others are checked against the limits of T² (distance within the components) and SPE (distance
from them).
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from karhunen import PCA, diagnostics, plot

data = next(p for p in Path.cwd().resolve().parents if (p / "examples/data").exists()) / "examples/data"
spectra = pd.read_csv(data / "gasoline_nir_60x401.csv.gz").drop(columns="octane")
# The file is in an order of its own.
spectra = spectra.sample(frac=1.0, random_state=0, ignore_index=True)
wavelength = spectra.columns.str.removesuffix("_nm").astype(int)
normal, new = spectra.iloc[:40], spectra.iloc[40:].copy()

pca = PCA(4).fit(normal)
print(f"4 components explain {pca.explained_variance_ratio_.sum():.1%} of the variance")

# %%
# Components of spectra are curves.
figure, ax = plt.subplots(figsize=(8, 3.4), layout="constrained")
for k in range(3):
    ax.plot(wavelength, pca.loadings_[:, k], label=f"PC{k + 1}")
ax.set_xlabel("Wavelength (nm)")
ax.set_ylabel("Loading")
ax.legend(frameon=False)
plt.show()

# %%
# A fault: the detector drifts at 1200 to 1220 nm in the last five samples.
band = (wavelength >= 1200) & (wavelength <= 1220)
new.iloc[-5:, np.flatnonzero(band)] += 0.02 * np.arange(1, 6)[:, None]
monitor = diagnostics.Monitor(pca, normal, level=0.99)
checked = monitor.check(new)
print(checked.to_frame().tail(6).round(4))

# %%
# SPE grows with the drift, because the spectra leave the plane of the components. Its limit comes from the error of
# each of the 40 normal spectra under the fit of the other 39.
figure, axes = plt.subplots(1, 2, figsize=(11, 3.4), layout="constrained")
plot.monitor(checked.samples.t2, limits={"99 %": monitor.t2_limit}, name="T²", ax=axes[0])
plot.monitor(checked.samples.spe, limits={"99 %": monitor.spe_limit}, name="SPE", log=True, ax=axes[1])
plt.show()

# %%
# The residuals of the last sample say where to look.
terms = diagnostics.row_contributions(pca, new.iloc[[-1]])
largest = np.argsort(-terms.spe[0])[:5]
print("largest contributions to SPE:", ", ".join(terms.names[j] for j in largest))

# %%
# The report of all samples names those beyond a limit, and the wavelengths that put them there.
page = pca.report(Path(tempfile.mkdtemp(), "spectra.html"), new, level=0.99, title="Gasoline")
print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")
