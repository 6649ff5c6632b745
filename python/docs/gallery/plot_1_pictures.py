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

# sphinx_gallery_thumbnail_number = 3

# %%
# The variance explained by each component: two explain 55 %, eight 92 %.
plot.scree(pca)

# %%
# The rows on the first two components. The fit does not use the cultivar.
plot.scores(pca, frame, color_by=cultivar)

# %%
# Rows and features together: wines in the direction of an arrow have larger values of that feature.
plot.biplot(pca, frame, color_by=cultivar)

# %%
# Correlations of the features with two components. The closer an arrow comes to the circle, the better the two
# components explain the feature.
plot.correlation_circle(pca)

# %%
# The same numbers for more components.
plot.loadings(pca, n_components=6)
