"""Errors by iteration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from karhunen._shared.choices import Across
from karhunen._shared.errors import a_kind
from karhunen._shared.options import choice_option
from karhunen.plot._parts.axes import COLOURS, FAINT, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Attribute and label of each choice for the horizontal axis.
ACROSS: dict[Across, tuple[str, str]] = {"iteration": ("iterations", "Iteration"), "seconds": ("seconds", "Seconds")}


def convergence(pca: Any, *, by: Across = "iteration", label: str | None = None, ax: Axes | None = None) -> Axes:
    """Draw the root mean squared error of a fit of incomplete data, by iteration or by time.

    Errors of the fitted entries are a solid line; errors of the entries held out by `early_stopping` are dashed in the
    same colour. To compare fits, call the function repeatedly with the same axes.

    Parameters
    ----------
    pca : IncompletePCA
        Fitted estimator.
    by : {"iteration", "seconds"}, default="iteration"
        Quantity on the horizontal axis.
    label : str or None, default=None
        Name of the fit in the legend; None uses the name of the method.
    ax : Axes or None, default=None
        Axes to draw on; None creates a figure.

    Returns
    -------
    matplotlib.axes.Axes
        The Axes, with errors on the vertical axis.

    Examples
    --------
    >>> import numpy as np
    >>> from karhunen import IncompletePCA, plot
    >>> x = np.random.default_rng(0).normal(size=(100, 2)) @ np.ones((2, 9))
    >>> x[::3, ::2] = np.nan
    >>> ax = plot.convergence(IncompletePCA(1, method="newton", early_stopping=0.1).fit(x))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['newton', 'newton, held out']
    """
    check_is_fitted(pca)
    told = getattr(pca, "convergence_", None)
    if not hasattr(told, "held_out_rmses"):
        raise ValueError(f"pca is {a_kind(pca)}; only fits of IncompletePCA have a record of iterations")
    choice_option("by", by, Across)
    if not len(told.iterations):
        raise ValueError("the fit has no record of iterations: partial_fit makes none")
    attribute, name = ACROSS[by]
    ax = axes(ax, (6.4, 3.8))
    across, label = getattr(told, attribute), told.method if label is None else label
    colour = COLOURS[len([line for line in ax.lines if line.get_linestyle() == "-"]) % len(COLOURS)]
    ax.plot(across, told.rmses, color=colour, linewidth=1.6, label=label)
    seen = ~np.isnan(told.held_out_rmses)
    if seen.any():
        ax.plot(
            across[seen],
            told.held_out_rmses[seen],
            color=colour,
            linewidth=1.6,
            linestyle="--",
            label=f"{label}, held out",
        )
    ax.set_xlabel(name)
    ax.set_ylabel("Root mean squared error")
    ax.grid(axis="y", color=FAINT, linewidth=0.6)
    ax.legend(frameon=False)
    return ax
