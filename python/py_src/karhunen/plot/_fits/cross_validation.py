"""Errors of cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from karhunen.plot._parts.axes import COLOURS, FAINT, INK, MARKERS, SOFT, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from karhunen import EntryCrossValidation


def cross_validation(found: EntryCrossValidation, *, ax: Axes | None = None) -> Axes:
    """Draw the errors of :func:`karhunen.cross_validate_entries`, with their standard errors.

    The horizontal axis is the number of components, with a line for each penalty; or the penalty, if there is only one
    number of components. A ring marks the lowest error, a square the simplest choice within one standard error of it.

    Parameters
    ----------
    found : EntryCrossValidation
        Result of the cross-validation.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes, with errors on the vertical axis.

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import IncompletePCA, cross_validate_entries, plot
    >>> x = np.random.default_rng(0).normal(size=(60, 2)) @ np.ones((2, 9))
    >>> x[::3, ::2] = np.nan
    >>> found = cross_validate_entries(IncompletePCA(), x, n_components=[1, 2, 3])
    >>> plot.cross_validation(found).get_xlabel()
    'Components'
    """
    if not hasattr(found, "simplest_params"):
        raise ValueError(f"found is a {type(found).__name__}; pass what karhunen.cross_validate_entries gives")
    across = "n_components" if len({params.get("n_components") for params in found.params}) > 1 else "regularization"
    if any(across not in params for params in found.params):
        raise ValueError("nothing was compared: give cross_validate_entries several numbers of components or penalties")
    lines: dict[Any, list[int]] = {}
    for place, params in enumerate(found.params):
        lines.setdefault(params.get("regularization") if across == "n_components" else None, []).append(place)
    ax = axes(ax, (6.4, 3.8))
    mean, spread = found.mean, found.standard_error
    at = [_position(params[across]) for params in found.params]
    for i, (penalty, places) in enumerate(lines.items()):
        places = sorted(places, key=lambda place: at[place])
        look = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)], "markersize": 4.5}
        label = None if penalty is None else f"penalty {_name(penalty)}"
        x = [at[place] for place in places]
        ax.errorbar(x, mean[places], spread[places], linewidth=1.4, elinewidth=1.0, capsize=2.5, label=label, **look)
    for place, marker, label in ((found.best_index, "o", "lowest"), (found.simplest_index, "s", "simplest near it")):
        look = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.2, "zorder": 5}
        ax.scatter([at[place]], [mean[place]], marker=marker, s=110 if marker == "o" else 170, label=label, **look)
    bound = mean[found.best_index] + spread[found.best_index]
    ax.axhline(bound, color=SOFT, linewidth=0.8, linestyle=":", zorder=0.5)
    if across == "n_components":
        ax.xaxis.get_major_locator().set_params(integer=True)
    elif min(at) > 0.0:
        ax.set_xscale("log")
    ax.set_xlabel("Components" if across == "n_components" else "Penalty")
    ax.set_ylabel("Held-out root mean squared error")
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.legend(frameon=False)
    return ax


def _position(value: Any) -> float:
    """Return the number of components or the size of a penalty."""
    return float(value[1] if isinstance(value, tuple) else value)


def _name(penalty: Any) -> str:
    """Name a penalty."""
    return f"{penalty[1]:g} ({penalty[0]})" if isinstance(penalty, tuple) else f"{penalty:g}"
