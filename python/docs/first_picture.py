"""The example of the landing page, which draws its picture."""

# [begin]
from karhunen import PCA, plot
from sklearn.datasets import load_wine

wine, number = load_wine(return_X_y=True, as_frame=True)
cultivar = number.map("cultivar {}".format)

pca = PCA(2, scale=True).fit(wine)
axes = plot.biplot(pca, wine, color_by=cultivar)
