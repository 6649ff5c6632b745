"""The pictures of the landing page and of pages of fields, drawn when the site is built, for light and dark pages."""

from __future__ import annotations

import doctest
import runpy
from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd
from karhunen import PCA, plot
from matplotlib.axes import Axes

HERE = Path(__file__).parent
#: Text in the colour of the names in pictures.
INK = "#2b2f36"
STYLE = {"text.color": INK, "axes.labelcolor": INK, "svg.hashsalt": "karhunen"}
#: Colours of a light page, and those that have their place on a dark one: text, frame, grid, halos of points.
DARK = {
    INK: "#ced6dd",
    "#0072b2": "#3d9bd6",
    "#555b66": "#b1b8c0",
    "#8a8f98": "#9ca4af",
    "#d9dce1": "#384150",
    "#ffffff": "#14181e",
}


def write(folder: Path) -> None:
    """Draw every picture into `folder`, as NAME-light.svg and NAME-dark.svg."""
    folder.mkdir(parents=True, exist_ok=True)
    for draw in (biplot, genotypes, ratings):
        light = folder / f"{draw.__name__}-light.svg"
        with plt.rc_context(STYLE):
            figure = draw().figure
            figure.savefig(light, transparent=True, metadata={"Date": None})
            plt.close(figure)
        text = light.read_text()
        for colour, other in DARK.items():
            text = text.replace(colour, other)
        (folder / f"{draw.__name__}-dark.svg").write_text(text)


def biplot() -> Axes:
    """Run the example of the landing page."""
    return runpy.run_path(str(HERE / "first_picture.py"))["axes"]


def genotypes() -> Axes:
    """Draw the samples of the example genotypes by population."""
    folder = HERE.parents[1] / "examples" / "genotypes"
    population = pd.read_csv(folder / "populations.csv").set_index("sample")["population"]
    samples = pd.read_csv(folder / "people.fam", sep="\t", header=None)[1]
    pca = PCA(6, scale="binomial").fit(folder / "people.bed")
    return plot.scores(pca, folder / "people.bed", color_by=population.loc[samples].to_numpy())


def ratings() -> Axes:
    """Draw the list of the page on ratings, whose examples are run for it."""
    found = {}
    for example in doctest.DocTestParser().get_examples((HERE / "ratings.rst").read_text()):
        exec(compile(example.source, "ratings.rst", "exec"), found)
    top = found["top"].nlargest(5, "at_least")[::-1]
    _, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
    ax.errorbar(top["rating"], top.index, xerr=1.645 * top["std"], fmt="o", color="#0072B2")
    ax.set_xlabel("Predicted rating, with 90 % intervals")
    ax.grid(axis="x", color="#d9dce1", linewidth=0.6)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0, labelcolor=INK)
    return ax
