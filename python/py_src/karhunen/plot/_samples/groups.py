"""Groups and numbers that colour rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from karhunen.plot._parts import fitted_model
from karhunen.plot._parts.axes import COLOURS, FAINT, MARKERS, PALE
from karhunen.plot._samples import columns

#: Maximum number of different integers that are groups; more are numbers.
MOST_INTEGERS = 10


@dataclass
class Look:
    """Label, colour and marker of a group, or of the rows that belong to none."""

    label: str
    colour: str
    marker: str
    is_group: bool = True


@dataclass
class Colouring:
    """Colours of rows: `numbers` (n,), or the index in `looks` of each row, `codes` (n,); or neither."""

    numbers: np.ndarray | None = None
    codes: np.ndarray | None = None
    looks: list[Look] = field(default_factory=list)
    name: str | None = None


def read(color_by: Any, X: Any, n: int, source: str, max_groups: int | None, data: Any = None) -> Colouring:
    """Convert `color_by` of the `n` rows of `X`, called `source` in messages, to a colouring.

    It may be the name of a column of the table `data`, or else of `X`. The `max_groups` largest groups keep a look of
    their own; the rest are one look, "other".
    """
    most = fitted_model.count("max_groups", max_groups, n)
    if color_by is None:
        return Colouring()
    name = color_by if isinstance(color_by, str) else getattr(color_by, "name", None)
    if isinstance(color_by, str):
        color_by = columns.values_of(color_by, X, data, n, source)
    elif data is not None:
        raise ValueError("data is a table of which color_by names a column; give the name, or leave data out")
    values = _checked(color_by, n, source)
    title = None if name is None else str(name)
    order = getattr(getattr(color_by, "cat", None), "categories", None)
    listed = values.tolist()
    seen: dict[Any, int] = {}
    codes = np.fromiter((-1 if _is_missing(v) else seen.setdefault(v, len(seen)) for v in listed), np.int64, n)
    if order is None and _are_numbers(seen):
        numbers = np.array([np.nan if code < 0 else value for value, code in zip(listed, codes, strict=True)], float)
        return Colouring(numbers=numbers, name=title)
    names = list(seen) if order is None or callable(order) else [value for value in order if value in seen]
    if order is None or callable(order):
        names.sort(key=_natural)
        if all(isinstance(value, int) for value in names):
            names.sort()
    place = np.empty(len(seen) + 1, dtype=np.int64)
    place[[seen[value] for value in names]] = np.arange(len(names))
    place[-1] = len(names)  # Missing values have the code -1.
    return _folded(place[codes], names, most, title)


def look_of(i: int) -> tuple[str, str]:
    """Return the colour and the marker of group `i`; they repeat after 60 groups."""
    return COLOURS[i % len(COLOURS)], MARKERS[(i + i // 30) % len(MARKERS)]


def _natural(value: Any) -> list[str | int]:
    """Return a key that sorts numbers in names by their value."""
    return [int(part) if part.isdecimal() else part for part in re.split(r"(\d+)", str(value))]


def _folded(codes: np.ndarray, names: list[Any], most: int, title: str | None) -> Colouring:
    """Give looks to the largest groups and to all others together; the code of missing values is the last one."""
    counts = np.bincount(codes, minlength=len(names) + 1)
    kept = np.sort(np.argsort(-counts[:-1], kind="stable")[:most])
    looks = [Look(str(names[g]), *look_of(i)) for i, g in enumerate(kept)]
    target = np.full(len(names) + 1, len(looks))
    target[kept] = np.arange(len(kept))
    folded = len(names) - len(kept)
    if folded:
        rows = int(counts[:-1].sum() - counts[kept].sum())
        label = f"other ({folded} group{'s' * (folded > 1)}, {rows} row{'s' * (rows > 1)})"
        looks.append(Look(label, PALE, "o", is_group=False))
    target[-1] = len(looks)
    if counts[-1]:
        looks.append(Look("missing", FAINT, "o", is_group=False))
    return Colouring(codes=target[codes], looks=looks, name=title)


def _checked(color_by: Any, n: int, source: str) -> np.ndarray:
    """Return the values of `color_by` after a check of their number."""
    values = np.asarray(color_by)
    if values.shape == (n,):
        return values
    if values.ndim == 0:
        raise ValueError(f"color_by is {color_by!r}; give one value for each of the {n} rows of {source}")
    has = f"{len(values)} entries" if values.ndim == 1 else f"shape {values.shape}"
    raise ValueError(f"color_by has {has}; {source} has {n} rows: give one value for each")


def _are_numbers(values: dict[Any, int]) -> bool:
    """Return whether values are numbers that name no groups: floats, or many different integers."""
    if any(isinstance(value, bool) or not isinstance(value, (int, float)) for value in values):
        return False
    return len(values) > MOST_INTEGERS or not all(isinstance(value, int) for value in values)


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or pandas' NA."""
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
