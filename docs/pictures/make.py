"""Draw the picture of the README: `python docs/pictures/make.py`, with karhunen, matplotlib and pandas."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from karhunen import PCA, plot

ROOT = Path(__file__).resolve().parents[2]
wine = pd.read_csv(ROOT / "examples/data/wine.csv")
cultivar = wine.pop("class").map(lambda i: f"cultivar {i + 1}").rename("")
wine = wine.rename(columns={"od280_od315_of_diluted_wines": "od280"})
wine.columns = wine.columns.str.replace("_", " ")

figure, ax = plt.subplots(figsize=(8.6, 5), layout="constrained")
plot.biplot(PCA(2, scale=True).fit(wine), wine, color_by=cultivar, ax=ax)
figure.savefig(Path(__file__).with_name("wine.png"), dpi=90, metadata={"Software": None})
