"""
Sixteen votes, and members who did not vote
===========================================

435 members of the US House of Representatives on 16 questions in 1984: yes, no, or no vote, which may mean something.
Nobody is dropped and nothing is filled with means.
"""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from karhunen import IncompletePCA, cross_validate_entries, diagnostics, plot

data = next(p for p in Path.cwd().resolve().parents if (p / "examples/data").exists()) / "examples/data"
votes = pd.read_csv(data / "house_votes_84.csv")
party = votes.pop("Class")
missing, complete = votes.isna().to_numpy().mean(), votes.notna().all(axis=1).sum()
print(f"{missing:.1%} of the votes are missing; {complete} members voted always")

# sphinx_gallery_thumbnail_number = 3

# %%
# Where votes are missing: a few members hardly ever voted, and one question was avoided.
plot.missing(votes)

# %%
# How many components? Votes are held out and predicted.
table = cross_validate_entries(IncompletePCA(), votes, n_components=[1, 2, 3, 4], n_folds=5)
plot.cross_validation(table)

# %%
# The first component separates the parties, without being told.
pca = IncompletePCA(2).fit(votes)
plot.scores(pca, votes, color_by=party)

# %%
# These members voted least as the components predict. Limits depend on the number of votes that a member has cast.
found = diagnostics.samples(pca, votes)
odd = pd.DataFrame({"party": party, "votes": votes.notna().sum(axis=1), "p": found.spe_p_values(found.spe_scale())})
print(odd.nsmallest(5, "p").round(5))

# %%
# How certain would a vote have been that was not cast? The most and the least predictable questions.
i, j = np.nonzero(votes.isna().to_numpy())
_, std = pca.predict(i, j, return_std=True)
certainty = pd.Series(std).groupby(votes.columns[j]).mean().sort_values()
print(pd.concat([certainty.head(2), certainty.tail(2)]).round(2).to_string())

# %%
# The report says it all in sentences, with a table of the missing votes.
page = pca.report(Path(tempfile.mkdtemp(), "votes.html"), votes, title="Votes of the House, 1984")
print(f"{page.name}: {page.stat().st_size / 1e6:.1f} MB")
