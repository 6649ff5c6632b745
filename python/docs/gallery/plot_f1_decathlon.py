"""
Decathlon: athletes, events, and what was not fitted
====================================================

Results of 41 athletes in ten events at two competitions, the example of R's FactoMineR. The ten events make the
components; the final rank, the points and the competition are *supplementary*: they are related to the components
afterwards.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from karhunen import PCA, diagnostics, plot, resampling, selection

data = next(p for p in Path.cwd().resolve().parents if (p / "examples/data").exists()) / "examples/data"
table = pd.read_csv(data / "decathlon.csv")
events = table.drop(columns=["Rank", "Points", "Competition"])

# sphinx_gallery_thumbnail_number = 2

# %%
# How many components? The rules disagree, as they do with 41 rows. Hollow markers found no answer within their range.
rules = [*selection.rules(PCA(scale=True).fit(events)), selection.parallel_analysis(events, scale=True)]
plot.selection(rules)

# %%
# The first component opposes fast times to long jumps and throws: it is overall strength. Both times and distances are
# left as measured, so the arrows of running events point the other way.
pca = PCA(4, scale=True).fit(events)
plot.correlation_circle(pca)

# %%
# Points and rank, which took no part in the fit, follow the first component.
scores = pd.DataFrame(pca.transform(events), columns=["PC1", "PC2", "PC3", "PC4"])
found = diagnostics.correlations(scores, table[["Rank", "Points"]])
print(pd.DataFrame(found.correlations, index=["Rank", "Points"], columns=scores.columns).round(2))

# %%
# The Olympic athletes are better on average, but a v-test (barycentre in standard errors) of 1.4 is not unusual.
groups = diagnostics.categories(scores, table["Competition"])
print(groups.to_frame().round(2))

# %%
# With so few athletes loadings are uncertain. An interval that excludes zero has a filled marker.
intervals = resampling.bootstrap(pca, events, n_draws=500)
figure, axes = plt.subplots(1, 2, figsize=(11, 4.0), layout="constrained")
plot.intervals(intervals, component=0, ax=axes[0])
plot.intervals(intervals, component=1, ax=axes[1])
plt.show()

# %%
# The report is one file, to open in a browser or to hand on.
page = pca.report(Path(tempfile.mkdtemp(), "decathlon.html"), events, title="Decathlon")
print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")
