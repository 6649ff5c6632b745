"""Control charts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen._shared.options import flag_option
from karhunen.plot._parts import fitted_model, labelling
from karhunen.plot._parts.axes import COLOURS, FAINT, INK, SOFT, axes, plain_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Distance of the names of two limits, in typographic points.
LINE = 11.0
#: Number of points of a limit that names must not cover.
ON_LINE = 150


def monitor(
    values: Any,
    *,
    limits: Mapping[str, float] | None = None,
    labels: Sequence[Any] | bool = True,
    name: str = "",
    log: bool = False,
    ax: Axes | None = None,
) -> Axes:
    """Draw a statistic of samples in order, such as T² or the squared prediction error, with its control limits.

    Samples beyond the lowest limit are orange squares; those beyond the highest limit have their names, the farthest
    first, as far as there is space.

    Parameters
    ----------
    values : array-like of shape (n_samples,)
        Statistic of each sample, in the order of time. NaN leaves a gap.
    limits : mapping of str to float or None, default=None
        Control limits by name, such as ``{"95 %": 6.1, "99 %": 9.5}``.
    labels : sequence of shape (n_samples,), bool, default=True
        Names of the samples. True uses the index of a pandas series, or
        else numbers from 0; False writes none.
    name : str, default=""
        Name of the statistic, for the vertical axis.
    log : bool, default=False
        Use a logarithmic vertical axis; all values and limits must then be positive.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes, with samples from 0 on the horizontal axis.

    Raises
    ------
    ValueError
        If `values` is not one-dimensional, empty or infinite, a limit is not finite, or a value or limit is not
        positive with `log`.

    Examples
    --------
    >>> from karhunen import plot
    >>> ax = plot.monitor([1.0, 2.5, 12.0, 0.4], limits={"95 %": 6.0, "99 %": 9.2}, name="T²")
    >>> [text.get_text() for text in ax.texts]
    ['95 %', '99 %', '2']
    """
    try:
        y = np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(
            f"values is of the type {type(values).__name__}; give one number for each sample, such as `t2` or `spe` of "
            "diagnostics.samples"
        ) from None
    if y.ndim != 1 or not np.isfinite(y).any() or np.isinf(y).any():
        raise ValueError(f"values has shape {y.shape}; give one finite number for each sample, or NaN for a gap")
    lines = {} if limits is None else {str(key): float(limit) for key, limit in limits.items()}
    flag_option("log", log)
    for key, limit in lines.items():
        if not np.isfinite(limit) or (log and limit <= 0.0):
            raise ValueError(f"limits has {key!r} = {limit}; a limit must be finite, and positive with log=True")
    if log and np.nanmin(y) <= 0.0:
        raise ValueError(f"values has {np.nanmin(y)} at {np.nanargmin(y)}; with log=True all values must be positive")
    indexed = hasattr(values, "index") and not callable(values.index)
    numbered = labels is True and not indexed
    given = [str(i) for i in range(len(y))] if numbered else fitted_model.row_names(values, labels, len(y))
    ax = axes(ax, (7.2, 3.4))
    order = np.arange(len(y))
    low, high = (min(lines.values()), max(lines.values())) if lines else (np.inf, np.inf)
    beyond = y > low
    area = float(np.clip(2500.0 / len(y), 5.0, 22.0))
    ax.plot(order, y, color=FAINT, linewidth=0.9, zorder=1, rasterized=len(y) > 5000)
    look = {"s": area, "linewidths": 0.0, "zorder": 2, "rasterized": len(y) > 5000}
    ax.scatter(order[~beyond], y[~beyond], color=COLOURS[0], **look)
    ax.scatter(order[beyond], y[beyond], color=COLOURS[1], marker="s", **look)
    for i, limit in enumerate(lines.values()):
        ax.axhline(limit, color=INK, linewidth=0.9, linestyle=("--", "-", ":", "-.")[i % 4], zorder=1.5)
    ax.set_yscale("log" if log else "linear")
    ax.margins(x=0.02, y=0.1)
    if log:
        plain_numbers(ax.yaxis, *ax.get_ylim())
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.set_xlabel("Sample")
    ax.set_ylabel(name)
    ax.grid(axis="y", color=FAINT, linewidth=0.5)
    _name_limits(ax, lines)
    if given is not None and lines:
        out = np.flatnonzero(y > high)
        out = out[np.argsort(-y[out], kind="stable")][: labelling.MOST]
        points = np.column_stack([order, y])[~np.isnan(y)]
        along = [(x, limit) for limit in lines.values() for x in np.linspace(0, len(y) - 1, ON_LINE)]
        labelling.place(
            ax,
            np.column_stack([order, y])[out],
            labelling.shorten([given[i] for i in out]),
            obstacles=np.vstack([points, along]),
        )
    return ax


def _name_limits(ax: Axes, lines: dict[str, float]) -> None:
    """Name the limits at the right of the Axes, at least a line apart."""
    figure = ax.figure.canvas.figure
    pixels = figure.dpi / 72.0
    last = -np.inf
    for key, limit in sorted(lines.items(), key=lambda line: line[1]):
        figure.draw_without_rendering()
        at = float(ax.transData.transform((0.0, limit))[1]) / pixels
        up = max(0.0, last + LINE - at)
        last = at + up
        where = {"xycoords": ax.get_yaxis_transform(), "textcoords": "offset points", "xytext": (4.0, up)}
        ax.annotate(key, (1.0, limit), fontsize=8.5, color=SOFT, va="center", annotation_clip=False, **where)
