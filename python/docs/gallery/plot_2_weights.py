"""
Counties or people?
===================

437 counties of five US states, from 1,701 to 5.1 million inhabitants. Unweighted, the smallest county counts as much
as Chicago. Weighted by population, the components describe the 42 million *people*, without repeating a row.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from karhunen import PCA, plot

data = next(p for p in Path.cwd().resolve().parents if (p / "examples/data").exists()) / "examples/data"
counties = pd.read_csv(data / "midwest_counties.csv")
counties.index = counties.pop("county").str.title() + ", " + counties.pop("state")
people = counties.pop("poptotal")
counties = counties.drop(columns="popdensity")
counties.columns = counties.columns.str.removeprefix("perc")
counties = counties.rename(columns={"ollege": "college", "hsd": "high school", "childbelowpovert": "childbelowpoverty"})

each = PCA(3, scale=True).fit(counties)
weighted = PCA(3, scale=True).fit(counties, sample_weight=people)

# sphinx_gallery_thumbnail_number = 2

# %%
# Both first components describe poverty. Among counties it goes with a lack of schooling, and `white` and `black` have
# small loadings; among people, most of whom live in large cities, these two have large loadings as well.
figure, axes = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained")
plot.loadings(each, ax=axes[0]).set_title("every county alike")
plot.loadings(weighted, ax=axes[1]).set_title("every person alike")
plt.show()

# %%
# Scores on the weighted components; colours are the number of people.
size = np.log10(people).rename("log10 of population")
plot.scores(weighted, counties, color_by=size)

# %%
# A weight is a count: the fit equals the fit of repeated rows.
few = counties.head(50)
times = np.arange(50) % 4
repeated = PCA(3, scale=True).fit(few.loc[few.index.repeat(times)])
counted = PCA(3, scale=True).fit(few, sample_weight=times)
print(f"largest difference of the components: {np.abs(counted.components_ - repeated.components_).max():.0e}")

# %%
# The report says how the weights count and what the components are about.
file = Path(tempfile.mkdtemp(), "counties.html")
page = weighted.report(file, counties, sample_weight=people, title="Midwest, by people")
print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")
