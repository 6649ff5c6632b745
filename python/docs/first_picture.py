"""The example of the landing page, which draws its picture."""

# [begin]
from karhunen import PCA, plot
from sklearn.datasets import load_wine

wine = load_wine(as_frame=True)
kind = wine.target_names[wine.target]

pca = PCA(2, scale=True).fit(wine.data)
axes = plot.biplot(pca, wine.data, color_by=kind)
