"""Uncertainty of scores as ellipses around points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from karhunen._shared.errors import a_kind
from karhunen.plot._parts.axes import GREY

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def covariances(pca: Any, X: Any, first: int, second: int) -> np.ndarray:
    """Compute the covariances of the scores of the rows of `X` on two components, shape (n, 2, 2)."""
    if not hasattr(pca, "score_covariances_"):
        raise ValueError(f"deviations = ... needs scores that are uncertain; the scores of {a_kind(pca)} are not")
    _, full = pca.transform(X, return_covariance=True)
    plane = np.ix_(range(len(full)), [first, second], [first, second])
    return full[plane].astype(np.float64)


def draw(ax: Axes, at: np.ndarray, covariances: np.ndarray, deviations: float) -> None:
    """Draw ellipses of `deviations` standard deviations around points (n, 2)."""
    from matplotlib.collections import EllipseCollection

    if isinstance(deviations, bool) or not isinstance(deviations, (int, float)) or not deviations > 0:
        raise ValueError(f"deviations = {deviations!r}; give a number of standard deviations above 0")
    variances, axes = np.linalg.eigh(covariances)
    radii = deviations * np.sqrt(np.clip(variances, 0.0, None))
    # The last axis is the longer one.
    angles = np.degrees(np.arctan2(axes[:, 1, 1], axes[:, 0, 1]))
    # Outlines only: filled areas of many rows would add up.
    look = {
        "facecolor": "none",
        "edgecolor": GREY,
        "linewidth": 0.6,
        "alpha": 0.5 if len(at) < 300 else 0.2,
        "zorder": 0.8,
    }
    ax.add_collection(
        EllipseCollection(
            2 * radii[:, 1], 2 * radii[:, 0], angles, units="xy", offsets=at, offset_transform=ax.transData, **look
        )
    )
    reach = deviations * np.sqrt(np.clip(np.diagonal(covariances, axis1=1, axis2=2), 0.0, None))
    ax.update_datalim(np.vstack([at - reach, at + reach]))
