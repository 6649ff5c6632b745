"""Axes and their style."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Okabe & Ito's colours, without yellow and black, which lack contrast on white or next to text.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "*")
GREY = "#8a8f98"
INK = "#2b2f36"
SOFT = "#555b66"
FAINT = "#d9dce1"
#: Points in the background, such as rows under new ones.
PALE = "#b4b9c2"


def pyplot() -> ModuleType:
    """Import matplotlib, or raise ImportError with the command that installs it."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            f"karhunen.plot draws with matplotlib, which cannot be imported ({error}); "
            "install it with `pip install 'karhunen[plot]'`"
        ) from error
    return plt


def axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return `ax`, or the Axes of a new figure of `size` inches, with spines only at the left and bottom."""
    plt = pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_color(GREY)
    ax.tick_params(colors=INK, color=GREY)
    ax.set_axisbelow(True)
    return ax


def cross(ax: Axes) -> None:
    """Draw the lines on which one of two components is zero."""
    ax.axhline(0.0, color=FAINT, linewidth=0.9, zorder=0.5)
    ax.axvline(0.0, color=FAINT, linewidth=0.9, zorder=0.5)


def laid_out(ax: Axes) -> tuple[float, float]:
    """Lay out the figure, and return the width and height of the Axes in typographic points."""
    figure = ax.figure.canvas.figure  # The whole figure, even for Axes in a subfigure.
    figure.draw_without_rendering()
    extent = ax.get_window_extent()
    return extent.width * 72.0 / figure.dpi, extent.height * 72.0 / figure.dpi


def plain_numbers(axis: Any, low: float, high: float) -> None:
    """Write numbers of a logarithmic axis without powers where it spans less than a decade."""
    if high < 10.0 * low:
        axis.set_major_formatter("{x:g}")
        axis.set_minor_formatter("{x:g}")


def colour_bar(ax: Axes, drawn: Any, label: str | None, **style: Any) -> None:
    """Draw the colour bar of an image or of points."""
    bar = ax.figure.colorbar(drawn, ax=ax, pad=0.02, **style)
    bar.outline.set_visible(False)
    bar.ax.tick_params(colors=INK, color=GREY)
    bar.solids.set_alpha(1.0)
    if bar.ax.get_yscale() == "log":
        plain_numbers(bar.ax.yaxis, bar.vmin, bar.vmax)
    if label is not None:
        bar.set_label(label)
