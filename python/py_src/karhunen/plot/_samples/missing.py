"""Places of missing entries."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from karhunen._inputs.no_data import refuse_no_data
from karhunen.plot._parts import bars, fitted_model, labelling
from karhunen.plot._parts.axes import COLOURS, FAINT, GREY, INK, SOFT, axes, colour_bar, laid_out

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum numbers of bands of rows and of columns; each cell of a larger table represents several entries.
ROWS, COLUMNS = 400, 600
#: Place of the bars above the map, as shares of the Axes: bottom and height.
BARS = (1.06, 0.16)


def missing(X: Any, *, feature_names: Sequence[Any] | None = None, ax: Axes | None = None) -> Axes:
    """Draw where entries of a table are missing, with the missing share of each column above.

    Up to 400 rows and 600 columns, each cell is one entry. A larger table is divided into so many bands, and the colour
    is the missing share of a cell.

    Parameters
    ----------
    X : array-like or dataframe of shape (n_samples, n_features)
        Table in which NaN, None, pandas' NA and masked entries are missing.
    feature_names : sequence of shape (n_features,) or None, default=None
        Names of the columns; None uses the names of a data frame. Where space for names is short, the columns with the
        most missing entries are named.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes of the map, with columns on the horizontal axis and rows, from 0, on the vertical axis. The bars, in
        percent, are its child.

    Raises
    ------
    ValueError
        If `X` is sparse, not two-dimensional or empty, or there is not one name for each column.

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import plot
    >>> x = np.ones((4, 3))
    >>> x[1:, 2] = np.nan
    >>> ax = plot.missing(x)
    >>> ax.child_axes[0].get_title(loc="left")
    '25.0 % of 12 entries are missing'
    """
    if sp.issparse(X):
        raise ValueError("X is sparse, and entries that are not stored are zeros; pass a dense table with NaN")
    refuse_no_data(X)
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    shape = tuple(X.shape)
    if len(shape) != 2 or 0 in shape:
        raise ValueError(f"X has shape {shape}; give a table with rows and columns")
    n, p = shape
    names = _names(X, feature_names, p)
    edges = np.linspace(0, n, min(n, ROWS) + 1).astype(int)
    counts = np.stack([_missing_entries(X, a, b).sum(axis=0) for a, b in itertools.pairwise(edges)])
    starts = np.linspace(0, p, min(p, COLUMNS) + 1).astype(int)
    sizes = np.outer(np.diff(edges), np.diff(starts))
    shares = np.add.reduceat(counts, starts[:-1], axis=1) / sizes

    ax = axes(ax, (float(np.clip(2.6 + 0.26 * p, 4.2, 9.0)), 5.0))
    look = {"cmap": "Blues", "vmin": 0.0, "vmax": 1.0, "aspect": "auto", "interpolation": "nearest"}
    image = ax.imshow(shares, extent=(-0.5, p - 0.5, n - 0.5, -0.5), **look)
    ax.spines[:].set_visible(True)
    ax.spines[:].set_color(FAINT)
    ax.set_ylabel("Row")
    ax.yaxis.get_major_locator().set_params(integer=True)
    if sizes.max() > 1:
        colour_bar(ax, image, "Missing share", aspect=30)
    columns = counts.sum(axis=0) / n
    whole = fitted_model.percent(100.0 * float(columns.mean()))
    _draw_shares(ax, 100.0 * columns, f"{whole} % of {n * p:,} entries are missing")
    _name_columns(ax, names, columns)
    laid_out(ax)  # With space for the title, whose place depends on the place of the map.
    return ax


def _draw_shares(ax: Axes, percent: np.ndarray, title: str) -> None:
    """Draw the missing percentage of each column as bars above the map."""
    strip = ax.inset_axes([0.0, BARS[0], 1.0, BARS[1]], sharex=ax)
    p = len(percent)
    strip.stairs(percent, np.arange(p + 1) - 0.5, color=COLOURS[0], fill=True)
    strip.set_ylim(0.0, 1.05 * float(percent.max()) or 1.0)
    strip.yaxis.get_major_locator().set_params(nbins=2)
    strip.set_ylabel("%", color=INK)
    strip.set_title(title, loc="left", fontsize=9, color=SOFT)
    strip.tick_params(axis="x", length=0, labelbottom=False)
    strip.tick_params(colors=INK, color=GREY)
    strip.spines[["top", "right"]].set_visible(False)
    strip.spines[["left", "bottom"]].set_color(GREY)


def _name_columns(ax: Axes, names: list[str], columns: np.ndarray) -> None:
    """Write the names below the map; if space is short, only those with the most missing entries."""
    ax.set_xticks([])
    width, height = laid_out(ax)
    named = labelling.apart(np.arange(len(names)), columns, bars.USUAL * bars.LINE * len(names) / width)
    short = labelling.shorten([names[j] for j in named], bars.longest(height, bars.USUAL) // 2)
    ax.set_xticks(named, short, rotation=90, fontsize=bars.USUAL)
    ax.tick_params(axis="x", length=0)


def _names(X: Any, given: Sequence[Any] | None, p: int) -> list[str]:
    """Return the names of the columns: `given`, from a data frame, or x0, x1, ... as in scikit-learn."""
    if given is None:
        given = getattr(X, "columns", [f"x{j}" for j in range(p)])
    if len(given) != p:
        raise ValueError(f"feature_names has {len(given)} names, but X has {p} columns")
    return [str(name) for name in given]


def _missing_entries(X: Any, first: int, last: int) -> np.ndarray:
    """Return which entries of rows `first` to `last` are missing, as booleans (last - first, n_features)."""
    if hasattr(X, "isna"):
        return X.iloc[first:last].isna().to_numpy()
    block = np.ma.asarray(X[first:last]) if np.ma.isMaskedArray(X) else np.asarray(X[first:last])
    data = np.ma.getdata(block)
    unequal = data != data if data.dtype.kind in "fcO" else np.zeros(data.shape, dtype=bool)
    none = np.equal(data, None) if data.dtype.kind == "O" else False
    return (unequal | none | np.ma.getmaskarray(block)).astype(bool)
