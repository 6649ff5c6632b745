"""Labels that do not cover one another, the points, or the edge of the Axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from karhunen.plot._parts.axes import GREY, INK

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.backend_bases import RendererBase
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox

#: Distances from the point to try in order, in typographic points.
DISTANCES = (5.0, 9.0, 15.0, 23.0, 33.0, 45.0)
#: Distance beyond which a thin line connects the label with its point.
LEADER = 12.0
#: Maximum number of points of shafts and rows below a label.
MOST_COVERED = 3
#: Maximum number of labels to try; a page has no space for more.
MOST = 400
#: Maximum length of a label; longer ones lose their middle.
LONGEST = 30
#: Margin of a label, in typographic points.
MARGIN = 1.5


def place(
    ax: Axes,
    at: np.ndarray,
    texts: Sequence[str],
    *,
    toward: np.ndarray | None = None,
    obstacles: np.ndarray | None = None,
    soft: np.ndarray | None = None,
    size: float = 8.5,
    colour: str = INK,
) -> list[int]:
    """Write `texts` next to the points `at` (n, 2) in order, without overlaps; return which were written.

    A label is tried in the direction `toward` (n, 2) if given, else to the right, and then in directions farther from
    it, until it covers no earlier label, no `obstacles` (m, 2), no other point and no line from a label to its point.
    Of several positions it takes the one that covers the fewest points of `soft` (m, 2). It is omitted if there is no
    position, or more than `MOST_COVERED` of these are covered.
    """
    figure = ax.figure.canvas.figure  # The whole figure, even for Axes in a subfigure.
    figure.draw_without_rendering()  # Fixes the layout: pixel positions are final.
    renderer = figure.canvas.get_renderer() if hasattr(figure.canvas, "get_renderer") else None
    pixels = ax.transData.transform(np.asarray(at, dtype=float).reshape(-1, 2))
    others = pixels if obstacles is None else np.vstack([pixels, ax.transData.transform(obstacles)])
    point = figure.dpi / 72.0
    reach = (max(DISTANCES) + MARGIN) * point
    below = np.empty((0, 2)) if soft is None else ax.transData.transform(soft)
    lines = np.empty((0, 2))
    frame = ax.get_window_extent(renderer)
    written: list[int] = []
    boxes = [_extent_of(text, renderer) for text in ax.texts if text.get_text()]
    for i, text in enumerate(texts[:MOST]):
        wide, high = _measure(ax, text, size, renderer)
        offsets = _offsets(None if toward is None else np.asarray(toward[i], dtype=float))
        best, least = None, float("inf")
        near = np.all(np.abs(others - pixels[i]) < [wide + reach, high + reach], axis=1)
        near &= np.any(others != pixels[i], axis=1)
        close, passed = np.vstack([others[near], lines]), np.array(boxes).reshape(-1, 4)
        for dx, dy in offsets:
            box = _box(pixels[i], dx * point, dy * point, wide, high, MARGIN * point)
            line = _line(pixels[i], dx * point, dy * point, np.hypot(dx, dy) > LEADER)
            if _is_outside(box, frame) or _meets(box, passed) or _holds(box, close) or _cross(line, passed):
                continue
            covered = _holds(box, below)
            if covered < least:
                best, least = (dx, dy, box, line), covered
            if covered == 0:
                break
        if best is None or least > MOST_COVERED:
            continue
        _write(ax, at[i], text, best[0], best[1], size=size, colour=colour)
        boxes.append(best[2])
        lines = np.vstack([lines, best[3]])
        written.append(i)
    return written


def apart(at: np.ndarray, priority: np.ndarray, gap: float) -> list[int]:
    """Choose indices of positions `at` (n,) that are at least `gap` apart, high `priority` (n,) first."""
    chosen: list[int] = []
    for i in np.argsort(-priority, kind="stable"):
        if np.all(np.abs(at[chosen] - at[i]) >= gap):
            chosen.append(int(i))
    return sorted(chosen)


def shorten(texts: Sequence[str], longest: int = LONGEST) -> list[str]:
    """Shorten long labels: remove their common beginning or their middle."""
    short = [_without_middle(text, longest) for text in texts]
    if len(set(short)) == len(set(texts)):
        return short
    head = _shared(texts)
    tail = _shared([text[head:][::-1] for text in texts])
    return [_without_middle(f"…{text[head : len(text) - tail]}…", longest) for text in texts]


def _shared(texts: Sequence[str]) -> int:
    """Count the leading letters shared by all texts."""
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
    """Return offsets to try, in typographic points: near ones first, each ring from `toward` outwards."""
    start = 0.0 if toward is None or not np.any(toward) else np.arctan2(toward[1], toward[0])
    turns = np.deg2rad([0, 25, -25, 50, -50, 80, -80, 115, -115, 150, -150, 180])
    distances = DISTANCES[:3] if toward is None else DISTANCES
    near = len(turns) if toward is None else 7
    # Directions opposite to `toward` are tried last.
    places = [(r, a) for r in distances for a in turns[:near]] + [(r, a) for r in distances for a in turns[near:]]
    return np.array([(r * np.cos(start + a), r * np.sin(start + a)) for r, a in places])


def _anchor(d: float, positive: str, middle: str, negative: str) -> str:
    """Return the alignment of a label with this offset."""
    if abs(d) < 2.0:
        return middle
    return positive if d > 0.0 else negative


def _box(at: np.ndarray, dx: float, dy: float, wide: float, high: float, margin: float) -> np.ndarray:
    """Return the box (left, bottom, right, top) of a label in pixels."""
    shift = {"left": 0.0, "center": -0.5, "right": -1.0, "bottom": 0.0, "top": -1.0}
    scale = margin / MARGIN
    left = at[0] + dx + wide * shift[_anchor(dx / scale, "left", "center", "right")]
    bottom = at[1] + dy + high * shift[_anchor(dy / scale, "bottom", "center", "top")]
    return np.array([left - margin, bottom - margin, left + wide + margin, bottom + high + margin])


def _line(at: np.ndarray, dx: float, dy: float, is_drawn: bool) -> np.ndarray:
    """Return points, in pixels, on the line from a point to its label, if it is drawn."""
    steps = np.linspace(0.0, 1.0, 12 if is_drawn else 0)[:, None]
    return at + steps * [dx, dy]


def _meets(box: np.ndarray, boxes: np.ndarray) -> bool:
    """Return whether a box overlaps one of `boxes` (n, 4)."""
    apart = (box[2] <= boxes[:, 0]) | (box[0] >= boxes[:, 2]) | (box[3] <= boxes[:, 1]) | (box[1] >= boxes[:, 3])
    return not apart.all()


def _holds(box: np.ndarray, points: np.ndarray) -> int:
    """Count the points (n, 2) inside a box."""
    return int(np.sum(np.all((points > box[:2]) & (points < box[2:]), axis=1)))


def _cross(line: np.ndarray, boxes: np.ndarray) -> bool:
    """Return whether points (n, 2) of a line are inside one of `boxes` (m, 4)."""
    inside = (line[:, None] > boxes[:, :2]) & (line[:, None] < boxes[:, 2:])
    return bool(inside.all(axis=2).any())


def _is_outside(box: np.ndarray, frame: Bbox) -> bool:
    """Return whether a box exceeds the Axes."""
    return box[0] < frame.x0 or box[1] < frame.y0 or box[2] > frame.x1 or box[3] > frame.y1


def _measure(ax: Axes, text: str, size: float, renderer: RendererBase | None) -> tuple[float, float]:
    """Return width and height of a text in pixels."""
    probe = ax.text(0.0, 0.0, text, fontsize=size)
    extent = probe.get_window_extent(renderer)
    probe.remove()
    return extent.width, extent.height


def _extent_of(text: Text, renderer: RendererBase | None) -> np.ndarray:
    """Return the box of an existing text, without the line of an annotation."""
    from matplotlib.text import Text

    extent = Text.get_window_extent(text, renderer)
    return np.array([extent.x0, extent.y0, extent.x1, extent.y1])
