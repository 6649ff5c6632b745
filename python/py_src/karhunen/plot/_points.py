"""Scores as points, coloured by groups or numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen.plot import _labels
from karhunen.plot._axes import COLOURS, FAINT, GREY, INK, MARKERS, SOFT
from karhunen.plot._fitted_model import row_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Maximum number of distinguishable groups.
MOST_GROUPS = len(MARKERS)


def scores_in_plane(pca: Any, X: Any, first: int, second: int) -> np.ndarray:
    """Compute the scores of the rows of `X` on two components as an array, whatever type `transform` returns."""
    return np.asarray(pca.transform(X))[:, [first, second]]


def figure_size(at: np.ndarray, width: float) -> tuple[float, float]:
    """Return the size of a figure of `width` inches with Axes of about the proportions of the points (n, 2)."""
    across, up = np.ptp(at, axis=0)
    share = up / across if across > 0.0 else 1.0
    return width, float(np.clip((width - 1.6) * share + 0.9, 0.5 * width, 0.95 * width))


def draw(ax: Axes, at: np.ndarray, color_by: Any) -> None:
    """Draw points (n, 2), in the colours of groups with a legend, or of numbers with a colour bar."""
    look = {
        "s": _area(len(at)),
        "alpha": 0.85 if len(at) < 500 else 0.6,
        "linewidths": 0.4 if len(at) < 1000 else 0.0,
        "edgecolors": "white",
    }
    look["rasterized"] = len(at) > 5000
    if color_by is None:
        ax.scatter(*at.T, color=COLOURS[0], **look)
        return
    values = np.asarray(color_by)
    if values.shape != (len(at),):
        if values.ndim == 0:
            column = (
                f": of a column of a table, its values, such as table[{color_by!r}]" if values.dtype.kind == "U" else ""
            )
            raise ValueError(f"color_by is {color_by!r}; give one value for each of the {len(at)} rows of X{column}")
        has = f"{len(values)} entries" if values.ndim == 1 else f"shape {values.shape}"
        raise ValueError(f"color_by has {has}; X has {len(at)} rows: give one value for each")
    name = getattr(color_by, "name", None)
    missing = np.array([_is_missing(value) for value in values])
    if missing.any():
        label = None if values.dtype.kind == "f" else "missing"
        ax.scatter(*at[missing].T, color=FAINT, marker="o", label=label, zorder=1, **look)
        at, values = at[~missing], values[~missing]
    groups = _groups(values)
    if groups is None:
        drawn = ax.scatter(*at.T, c=values.astype(float), cmap="viridis", **look)
        bar = ax.figure.colorbar(drawn, ax=ax, shrink=0.75, aspect=25, pad=0.02)
        bar.outline.set_visible(False)
        bar.ax.tick_params(colors=INK, color=GREY)
        bar.solids.set_alpha(1.0)
        if name is not None:
            bar.set_label(str(name))
        return
    for i, group in enumerate(groups):
        marker = MARKERS[i % len(MARKERS)]
        ax.scatter(*at[values == group].T, color=COLOURS[i % len(COLOURS)], marker=marker, label=str(group), **look)
    title = None if name is None else str(name)
    beside = {"loc": "upper left", "bbox_to_anchor": (1.0, 1.0), "borderaxespad": 0.0}
    legend = ax.legend(title=title, frameon=False, handletextpad=0.3, markerscale=1.2, alignment="left", **beside)
    for handle in legend.legend_handles:
        handle.set_alpha(1.0)


def name_points(
    ax: Axes, at: np.ndarray, X: Any, labels: Sequence[Any] | bool | None, obstacles: np.ndarray | None = None
) -> None:
    """Write the names of rows, the outermost first, as far as points and `obstacles` leave space."""
    names = row_names(X, labels, len(at))
    if names is None:
        return
    spread = at.std(axis=0)
    far = np.hypot(*((at - at.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)).T)
    order = np.argsort(-far, kind="stable")
    names = _labels.shorten(names)
    _labels.place(ax, at[order], [names[i] for i in order], obstacles=obstacles, size=7.5, colour=SOFT)


def frame(ax: Axes) -> None:
    """Show all points with equal units on both axes, so that distances are those in the data."""
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.07)
    ax.grid(color=FAINT, linewidth=0.5, alpha=0.6)
    ax.autoscale_view()


def _groups(values: np.ndarray) -> list[Any] | None:
    """Return the different values if they name groups, None if they are numbers."""
    kind = values.dtype.kind
    if kind == "f" or (kind in "iu" and len(np.unique(values)) > MOST_GROUPS):
        return None
    # Kept in order of appearance: `unique` cannot sort mixed objects.
    groups = sorted(dict.fromkeys(values.tolist()), key=str)
    if kind in "iu":
        groups.sort()
    if len(groups) > MOST_GROUPS:
        raise ValueError(f"color_by has {len(groups)} groups; at most {MOST_GROUPS} can be told apart")
    return groups


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or pandas' NA."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def _area(n: int) -> float:
    """Return the area of a marker, smaller for many points."""
    return float(np.clip(2500.0 / max(n, 1), 7.0, 34.0))
