"""
Five pictures of a fit
======================

Chemistry of 178 Italian wines of three cultivars: 13 measures whose scales differ a thousandfold, so they are scaled.
"""

from karhunen import PCA, plot
from sklearn.datasets import load_wine

wine = load_wine(as_frame=True)
frame = wine.data.rename(columns={"od280/od315_of_diluted_wines": "od280"})
cultivar = wine.target.map(lambda i: f"cultivar {i + 1}").rename("")
pca = PCA(scale=True).fit(frame)

# %%
# How much each component explains. Two show 55 % of the variance, eight 92 %.
plot.scree(pca)

# %%
# The rows on the first two. Nobody told the model about cultivars.
plot.scores(pca, frame, color_by=cultivar)

# %%
# Rows and features together: where an arrow points, wines have more of it.
plot.biplot(pca, frame, color_by=cultivar)

# %%
# Correlations of the features with two components. The closer to the circle, the better the two explain a feature.
plot.correlation_circle(pca)

# %%
# The same numbers for more components.
plot.loadings(pca, n_components=6)
