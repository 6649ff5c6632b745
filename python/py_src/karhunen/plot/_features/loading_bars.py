"""The largest loadings of each component as ranked bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen.plot._parts import bars, fitted_model
from karhunen.plot._parts.axes import COLOURS, GREY, INK, axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Components drawn unless their number is given, and bars of all components together.
COMPONENTS, BARS = 3, 36


def draw(
    pca: Any,
    values: np.ndarray,
    n_components: int | None,
    n_features: int | None,
    names: Sequence[str],
    ax: Axes | None,
) -> Axes:
    """Draw the largest loadings of `values` (n_features, n_components), component by component, from top to bottom."""
    k = values.shape[1] if n_components is not None else min(COMPONENTS, values.shape[1])
    most = min(len(values), int(np.clip(BARS // k, 3, 15)))
    n = max(1, bars.fitting(ax, k * (most + 1)) // k - 1) if n_features is None else n_features
    n_rows = k * (n + 1)
    ax = axes(ax, bars.figure_size(n_rows))
    at, shown = [], []
    for component in range(k):
        chosen = np.argsort(-np.abs(values[:, component]), kind="stable")[:n]
        head = component * (n + 1)
        rows = np.arange(head + 1, head + 1 + n)
        sizes = values[chosen, component]
        ax.barh(rows, sizes, height=0.74, color=[COLOURS[0] if size >= 0.0 else COLOURS[1] for size in sizes])
        ax.vlines(0.0, head + 0.5, head + n + 0.5, color=GREY, linewidth=0.9)
        title = {"transform": ax.get_yaxis_transform(), "va": "center", "fontweight": "bold", "color": INK}
        ax.text(0.01, head, fitted_model.name_and_share(pca, component), **title)
        at.extend(rows)
        shown.extend(names[j] for j in chosen)
    ax.margins(x=0.03)
    ax.set_xlabel(fitted_model.loading_label(pca))
    bars.name_rows(ax, np.array(at), shown, n_rows)
    for text in ax.texts:
        text.set_fontsize(ax.get_yticklabels()[0].get_fontsize())
    return ax
