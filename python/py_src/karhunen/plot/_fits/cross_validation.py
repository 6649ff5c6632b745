"""Errors of cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen._shared.choices import CrossValidationKind
from karhunen._shared.options import choice_option
from karhunen.plot._parts.axes import COLOURS, FAINT, GREY, INK, MARKERS, PALE, SOFT, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from karhunen import EntryCrossValidation


#: Least share on the axis: predictions much worse than the means are cut off.
WORST = -0.5


def cross_validation(
    found: EntryCrossValidation, *, kind: CrossValidationKind = "error", ax: Axes | None = None
) -> Axes:
    """Draw the errors of :func:`karhunen.cross_validate_entries` with their standard errors, or Q² and R².

    The horizontal axis is the number of components, with a line for each penalty; or the penalty, if there is only one
    number of components. A ring marks the lowest error, a square the simplest choice within one standard error of it.

    Parameters
    ----------
    found : EntryCrossValidation
        Result of the cross-validation.
    kind : {"error", "share"}, default="error"
        Root mean squared errors of held-out entries, with bars of one standard error and the bound that the simplest
        choice keeps to; or shares of squares: Q², of held-out entries (solid, and thin lines for each feature, if there
        is one penalty), and R², of all entries as fitted (dashed). A gap between them that widens is the noise that is
        fitted.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes, with errors or shares on the vertical axis.

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import IncompletePCA, cross_validate_entries, plot
    >>> x = np.random.default_rng(0).normal(size=(60, 2)) @ np.ones((2, 9))
    >>> x[::3, ::2] = np.nan
    >>> found = cross_validate_entries(IncompletePCA(), x, n_components=[1, 2, 3])
    >>> plot.cross_validation(found).get_xlabel()
    'Components'
    >>> plot.cross_validation(found, kind="share").get_ylabel()
    'Share of squares'
    """
    if not hasattr(found, "simplest_params"):
        raise ValueError(f"found is a {type(found).__name__}; pass what karhunen.cross_validate_entries gives")
    choice_option("kind", kind, CrossValidationKind)
    across = "n_components" if len({params.get("n_components") for params in found.params}) > 1 else "regularization"
    if any(across not in params for params in found.params):
        raise ValueError("nothing was compared: give cross_validate_entries several numbers of components or penalties")
    if np.isnan(found.msep).all():
        raise ValueError("found is of an earlier version, which did not keep squared errors; cross-validate again")
    lines: dict[Any, list[int]] = {}
    at = [_position(params[across]) for params in found.params]
    for place, params in enumerate(found.params):
        lines.setdefault(params.get("regularization") if across == "n_components" else None, []).append(place)
    lines = {penalty: sorted(places, key=lambda place: at[place]) for penalty, places in lines.items()}
    ax = axes(ax, (6.4, 3.8))
    if kind == "share":
        _draw_shares(ax, found, lines, at)
    else:
        _draw_errors(ax, found, lines, at)
    values = found.q2 if kind == "share" else found.rmse
    for place, marker, label in (
        (found.best_index, "o", "lowest error"),
        (found.simplest_index, "s", "simplest near it"),
    ):
        if place is None:
            continue
        look = {"facecolors": "none", "edgecolors": INK, "linewidths": 1.2, "zorder": 5}
        ax.scatter([at[place]], [values[place]], marker=marker, s=110 if marker == "o" else 170, label=label, **look)
    if across == "n_components":
        ax.xaxis.get_major_locator().set_params(integer=True)
    elif min(at) > 0.0:
        ax.set_xscale("log")
    ax.set_xlabel("Components" if across == "n_components" else "Penalty")
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    # Lines of shares end anywhere on the right.
    placement = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if kind == "share" else {}
    ax.legend(frameon=False, **placement)
    return ax


def _draw_errors(ax: Axes, found: EntryCrossValidation, lines: dict[Any, list[int]], at: list[float]) -> None:
    """Draw errors with their standard errors, and the bound of the simplest choice."""
    errors, spread = found.rmse, found.rmse_standard_error
    for i, (penalty, places) in enumerate(lines.items()):
        look = {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)], "markersize": 4.5}
        label = None if penalty is None else f"penalty {_name(penalty)}"
        x = [at[place] for place in places]
        ax.errorbar(x, errors[places], spread[places], linewidth=1.4, elinewidth=1.0, capsize=2.5, label=label, **look)
    best = found.best_index
    bound = found.msep_of_means if best is None else found.msep[best] + found.msep_standard_error[best]
    label = "means, better than all" if best is None else None
    ax.axhline(np.sqrt(bound), color=SOFT, linewidth=0.8, linestyle=":", zorder=0.5, label=label)
    ax.set_ylabel("Held-out root mean squared error")


def _draw_shares(ax: Axes, found: EntryCrossValidation, lines: dict[Any, list[int]], at: list[float]) -> None:
    """Draw Q² and R², and the Q² of each feature if there is one line."""
    least = float(np.nanmin(found.q2))
    for i, (penalty, places) in enumerate(lines.items()):
        look = {
            "color": COLOURS[i % len(COLOURS)],
            "linewidth": 1.4,
            "marker": MARKERS[i % len(MARKERS)],
            "markersize": 4.5,
        }
        label = "" if penalty is None else f", penalty {_name(penalty)}"
        x = [at[place] for place in places]
        if len(lines) == 1:
            of_features = found.features.q2[places]
            least = min(least, float(np.nanmin(of_features, initial=0.0)))
            ax.plot(x, of_features, color=PALE, linewidth=0.7, zorder=0.8)
            ax.plot([], [], color=PALE, linewidth=0.7, label="Q² of each feature")
        ax.plot(x, found.r2[places], linestyle="--", markerfacecolor="white", label=f"R², fitted{label}", **look)
        ax.plot(x, found.q2[places], label=f"Q², held out{label}", **look)
    ax.axhline(0.0, color=GREY, linewidth=0.9, zorder=0.6)
    ax.set_ylim(max(min(least, 0.0), WORST) - 0.04, 1.03)
    ax.set_ylabel("Share of squares")


def _position(value: Any) -> float:
    """Return the number of components or the size of a penalty."""
    return float(value[1] if isinstance(value, tuple) else value)


def _name(penalty: Any) -> str:
    """Name a penalty."""
    return f"{penalty[1]:g} ({penalty[0]})" if isinstance(penalty, tuple) else f"{penalty:g}"
