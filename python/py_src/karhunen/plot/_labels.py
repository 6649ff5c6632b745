"""Labels that do not cover one another, the points, or the edge of the Axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from karhunen.plot._axes import GREY, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

#: Steps away from the point, in points of a printer, in the order in which they are tried.
DISTANCES = (5.0, 9.0, 15.0, 23.0, 33.0, 45.0)
#: Beyond this distance a thin line leads from the label to its point.
LEADER = 12.0
#: Labels that are tried; there is no room for more on a page.
MOST = 400
#: Longer labels lose their middle.
LONGEST = 30
#: Air around a label, in points.
MARGIN = 1.5


def place(
    ax: Axes,
    at: np.ndarray,
    texts: Sequence[str],
    *,
    toward: np.ndarray | None = None,
    obstacles: np.ndarray | None = None,
    keep: bool = False,
    size: float = 8.5,
    colour: str = INK,
) -> list[int]:
    """Write `texts` beside the points `at` (n, 2), the first ones first, where they cover nothing; tell which were.

    A label goes `toward` a direction (n, 2) if one is given, to the right otherwise, and turns away from there until
    it covers no label written before, none of the `obstacles` (m, 2) and none of the other points. Where there is no
    such place it is left out, or, with `keep`, written where it covers least.
    """
    figure = ax.figure.canvas.figure  # The whole figure, also of Axes in a subfigure.
    figure.draw_without_rendering()  # The layout is settled: from here on, pixels mean something.
    renderer = figure.canvas.get_renderer() if hasattr(figure.canvas, "get_renderer") else None
    pixels = ax.transData.transform(np.asarray(at, dtype=float).reshape(-1, 2))
    others = pixels if obstacles is None else np.vstack([pixels, ax.transData.transform(obstacles)])
    point = figure.dpi / 72.0
    frame = ax.get_window_extent(renderer)
    written: list[int] = []
    boxes = [_extent_of(text, renderer) for text in ax.texts if text.get_text()]
    for i, text in enumerate(texts[:MOST]):
        wide, high = _measure(ax, text, size, renderer)
        offsets = _offsets(None if toward is None else np.asarray(toward[i], dtype=float))
        best, least = None, np.inf
        for dx, dy in offsets:
            box = _box(pixels[i], dx * point, dy * point, wide, high, MARGIN * point)
            covered = _covered(box, np.array(boxes).reshape(-1, 4), np.delete(others, i, axis=0))
            covered += 10.0 * _outside(box, frame)
            if covered < least:
                best, least = (dx, dy, box), covered
            if covered == 0.0:
                break
        if best is None or (least > 0.0 and not keep):
            continue
        _write(ax, at[i], text, best[0], best[1], size=size, colour=colour)
        boxes.append(best[2])
        written.append(i)
    return written


def shorten(texts: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Give labels that fit into a picture: long ones without their middle, or without what all of them share."""
    short = [_without_middle(text, longest) for text in texts]
    if len(set(short)) == len(set(texts)):
        return short
    head = _shared(texts)
    tail = _shared([text[head:][::-1] for text in texts])
    return [_without_middle(f"…{text[head : len(text) - tail]}…", longest) for text in texts]


def _shared(texts: Sequence[str]) -> int:
    """Count the letters that all texts begin with."""
    pairs = enumerate(zip(*texts, strict=False))
    return next((i for i, letters in pairs if len(set(letters)) > 1), min(map(len, texts)))


def _without_middle(text: str, longest: int) -> str:
    """Keep the beginning and the end of a long text."""
    if len(text) <= longest:
        return text
    head = (longest - 1) * 2 // 3
    return f"{text[:head].rstrip()}…{text[head + 1 - longest :].lstrip()}"


def _write(ax: Axes, at: np.ndarray, text: str, dx: float, dy: float, *, size: float, colour: str) -> None:
    """Write one label, `dx` and `dy` points away from the point."""
    from matplotlib.patheffects import withStroke

    line = {"arrowstyle": "-", "color": GREY, "linewidth": 0.5, "shrinkA": 0.0, "shrinkB": 2.5}
    ax.annotate(
        text,
        at,
        xytext=(dx, dy),
        textcoords="offset points",
        ha=_anchor(dx, "left", "center", "right"),
        va=_anchor(dy, "bottom", "center", "top"),
        fontsize=size,
        color=colour,
        arrowprops=line if np.hypot(dx, dy) > LEADER else None,
        zorder=5,
        path_effects=[withStroke(linewidth=2.2, foreground="white", alpha=0.85)],
    )


def _offsets(toward: np.ndarray | None) -> np.ndarray:
    """Give places to try, in points: near ones first, each ring from the wanted direction outwards."""
    start = 0.0 if toward is None or not np.any(toward) else np.arctan2(toward[1], toward[0])
    turns = np.deg2rad([0, 25, -25, 50, -50, 80, -80, 115, -115, 150, -150, 180])
    distances = DISTANCES[:3] if toward is None else DISTANCES
    near = len(turns) if toward is None else 7
    # What a label leads away from is a last resort.
    places = [(r, a) for r in distances for a in turns[:near]] + [(r, a) for r in distances for a in turns[near:]]
    return np.array([(r * np.cos(start + a), r * np.sin(start + a)) for r, a in places])


def _anchor(d: float, positive: str, middle: str, negative: str) -> str:
    """Tell which side of a label lies at its offset."""
    if abs(d) < 2.0:
        return middle
    return positive if d > 0.0 else negative


def _box(at: np.ndarray, dx: float, dy: float, wide: float, high: float, margin: float) -> np.ndarray:
    """Give the box (left, bottom, right, top) of a label in pixels."""
    shift = {"left": 0.0, "center": -0.5, "right": -1.0, "bottom": 0.0, "top": -1.0}
    scale = margin / MARGIN
    left = at[0] + dx + wide * shift[_anchor(dx / scale, "left", "center", "right")]
    bottom = at[1] + dy + high * shift[_anchor(dy / scale, "bottom", "center", "top")]
    return np.array([left - margin, bottom - margin, left + wide + margin, bottom + high + margin])


def _covered(box: np.ndarray, boxes: np.ndarray, points: np.ndarray) -> float:
    """Tell how much a box covers: one for each point, and more for the smallest part of another box."""
    across = np.minimum(box[2], boxes[:, 2]) - np.maximum(box[0], boxes[:, 0])
    along = np.minimum(box[3], boxes[:, 3]) - np.maximum(box[1], boxes[:, 1])
    area = np.sum(np.clip(across, 0.0, None) * np.clip(along, 0.0, None))
    inside = np.all((points > box[:2]) & (points < box[2:]), axis=1)
    share = area / ((box[2] - box[0]) * (box[3] - box[1]))
    return float((5.0 + 50.0 * share) * (share > 0.0) + np.sum(inside))


def _outside(box: np.ndarray, frame: Bbox) -> float:
    """Tell how far, in pixels, a box reaches over the edge of the Axes."""
    over = (frame.x0 - box[0], frame.y0 - box[1], box[2] - frame.x1, box[3] - frame.y1)
    return float(sum(max(o, 0.0) for o in over))


def _measure(ax: Axes, text: str, size: float, renderer: RendererBase | None) -> tuple[float, float]:
    """Give width and height of a text in pixels."""
    probe = ax.text(0.0, 0.0, text, fontsize=size)
    extent = probe.get_window_extent(renderer)
    probe.remove()
    return extent.width, extent.height


def _extent_of(text: Text, renderer: RendererBase | None) -> np.ndarray:
    """Give the box of a text that is there already, without the line of an annotation."""
    from matplotlib.text import Text

    extent = Text.get_window_extent(text, renderer)
    return np.array([extent.x0, extent.y0, extent.x1, extent.y1])
