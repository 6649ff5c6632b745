"""
Personality items with missing answers
======================================

2,800 people and 25 statements about themselves, five for each of five traits, answered from 1 (very inaccurate) to 6
(very accurate): ``bfi`` of R's psych, with items of the International Personality Item Pool. Few answers are missing,
but leaving out everyone with a missing answer would lose 364 people.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from karhunen import PCA, IncompletePCA, diagnostics, plot, rotation, selection

data = next(p for p in Path.cwd().resolve().parents if (p / "examples/data").exists()) / "examples/data"
people = pd.read_csv(data / "bfi_items.csv")
items = people.drop(columns=["gender", "education", "age"])
missing, incomplete = items.isna().to_numpy().mean(), items.isna().any(axis=1).sum()
print(f"{missing:.1%} of the answers are missing, of {incomplete} people")

# sphinx_gallery_thumbnail_number = 2

# %%
# Missing answers are filled from the answers that each person gave. A deviation says how far a filled answer may be
# off.
pca = IncompletePCA(5, scale=True).fit(items)
filled, deviation = pca.impute(items, return_std=True)
unanswered = items.isna().to_numpy()
print(
    f"filled answers: {np.sqrt(np.mean(np.asarray(deviation)[unanswered] ** 2)):.2f} off, where answers vary by "
    f"{items.std().mean():.2f}"
)

# %%
# How many components? Parallel analysis keeps those with more variance than shuffled answers have: six, the last by 2 %
# only. The items were written for five traits, so five are rotated.
complete = PCA(scale=True).fit(filled)
rules = [*selection.rules(complete), selection.parallel_analysis(filled, scale=True, n_draws=100)]
plot.selection(rules)

# %%
# Oblimin turns five components until each item loads on few of them; the components may be correlated.
rotated = rotation.oblimin(PCA(5, scale=True).fit(filled), n_components=5)
plot.loadings(rotated)

# %%
# Each component is a trait.
print(pd.DataFrame(rotated.component_correlations, rotated.component_names, rotated.component_names).round(2))

# %%
# Traits and people, who took no part in the fit: correlations with age, and the mean of each gender.
scores = pd.DataFrame(rotated.transform(filled), columns=rotated.component_names)
found = diagnostics.correlations(scores, people[["age"]])
print(pd.DataFrame(found.correlations, index=["age"], columns=scores.columns).round(2))
gender = people["gender"].map({1: "men", 2: "women"})
print(scores.groupby(gender).mean().round(2))

# %%
# The report of the rotated components says what each is about, and who answered oddly.
page = rotated.report(Path(tempfile.mkdtemp(), "personality.html"), filled, title="25 personality items")
print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")

# %%
# The report of the fit to the original answers shows where answers are missing, and how certain the filled ones are.
page = pca.report(Path(tempfile.mkdtemp(), "missing.html"), items, title="25 personality items, some missing")
print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")
