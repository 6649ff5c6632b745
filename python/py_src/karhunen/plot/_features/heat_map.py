"""Loadings as a heat map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen.plot._parts import bars, fitted_model, labelling
from karhunen.plot._parts.axes import INK, axes, colour_bar, laid_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of cells with their values in digits.
MOST_NUMBERS = 260
#: Maximum number of columns with full names; more are labelled by some of their numbers.
MOST_NAMED = 12
#: Maximum number of rows of cells; of more features, each row shows the largest loading of several.
MOST_ROWS = 1000
#: Size of names and of numbers in typographic points, and width of a digit as a multiple of it.
NAMES, NUMBERS, DIGIT = 9.0, 8.0, 0.65


def draw(pca: Any, values: np.ndarray, n_features: int | None, names: Sequence[str], ax: Axes | None) -> Axes:
    """Draw the loadings (n_features, n_components) of the features with the largest ones."""
    k = values.shape[1]
    lengths = np.linalg.norm(values, axis=1)
    rows = np.argsort(-lengths, kind="stable")[:n_features]
    rows.sort()
    values, lengths, p = values[rows], lengths[rows], len(rows)
    most = np.abs(values).max() or 1.0
    ax = axes(ax, (float(np.clip(3.0 + 0.55 * k, 4.2, 9.0)), float(np.clip(1.0 + 0.27 * p, 2.6, 11.0))))
    look = {"cmap": "RdBu_r", "vmin": -most, "vmax": most, "aspect": "auto", "interpolation": "nearest"}
    image = ax.imshow(_extremes(values), extent=(-0.5, k - 0.5, p - 0.5, -0.5), **look)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    colour_bar(ax, image, fitted_model.loading_label(pca), aspect=30)
    ax.set_yticks([])
    _name_rows(ax, [names[j] for j in rows], lengths)
    _name_columns(ax, pca, k)
    if k <= MOST_NAMED and p * k <= MOST_NUMBERS:
        _write_values(ax, values)
    return ax


def _extremes(values: np.ndarray) -> np.ndarray:
    """Return the values, of many rows the one of largest size of each of `MOST_ROWS` bands of rows."""
    if len(values) <= MOST_ROWS:
        return values
    bands = np.array_split(values, MOST_ROWS)
    return np.stack([band[np.argmax(np.abs(band), axis=0), np.arange(values.shape[1])] for band in bands])


def _name_rows(ax: Axes, names: Sequence[str], lengths: np.ndarray) -> None:
    """Name the features; if space is short, only those with the largest loadings."""
    width, height = laid_out(ax)
    # Numbers of the components below the Axes will take one or two lines.
    height -= 2 * NAMES * bars.LINE
    gap = NAMES * bars.LINE * len(names) / height
    named = labelling.apart(np.arange(len(names)), lengths, gap)
    short = labelling.shorten([names[i] for i in named], bars.longest(width, NAMES))
    ax.set_yticks(named, short, fontsize=NAMES)


def _name_columns(ax: Axes, pca: Any, k: int) -> None:
    """Name the components with their shares of the variance, or number them if space is short."""
    ax.set_xticks([])
    width, _ = laid_out(ax)
    labels = [_x_label(pca, i) for i in range(k)]
    widest = max(len(line) for label in labels for line in label.split("\n"))
    if k <= MOST_NAMED and widest * DIGIT * NAMES < width / k:
        ax.set_xticks(range(k), labels, fontsize=NAMES)
    else:
        step = -(-k // max(1, min(MOST_NAMED, int(width / (DIGIT * NAMES * (len(str(k)) + 1))))))
        shown = range(0, k, step)
        ax.set_xticks(shown, [str(i + 1) for i in shown], fontsize=NAMES)
        ax.set_xlabel(fitted_model.components_label(pca))


def _x_label(pca: Any, index: int) -> str:
    """Return the name of a component above its share of the variance."""
    return fitted_model.name_and_share(pca, index, "\n{}")


def _write_values(ax: Axes, values: np.ndarray) -> None:
    """Separate the cells by white lines and write the value into each, if the cells are large enough."""
    p, k = values.shape
    ax.set_xticks(np.arange(k - 1) + 0.5, minor=True)
    ax.set_yticks(np.arange(p - 1) + 0.5, minor=True)
    ax.grid(which="minor", color="white", linewidth=1.5)
    ax.tick_params(which="minor", length=0)
    most = np.abs(values).max()
    # Two decimals for correlations; about two significant digits otherwise.
    digits = 2 if 0.1 <= most <= 1.0 or most == 0.0 else int(np.clip(2 - np.floor(np.log10(most)), 0, 5))
    texts = {place: f"{round(value, digits) + 0.0:.{digits}f}" for place, value in np.ndenumerate(values)}  # no -0.0
    width, height = laid_out(ax)
    widest = max(map(len, texts.values()))
    if widest * DIGIT * NUMBERS > width / k or height / p < NUMBERS * bars.LINE:
        return
    for (i, j), text in texts.items():
        colour = "white" if abs(values[i, j]) > 0.5 * most else INK
        ax.text(j, i, text, ha="center", va="center", fontsize=NUMBERS, color=colour)
