"""Categories among labels."""

from __future__ import annotations

from typing import Any


def is_known(value: Any) -> bool:
    """Return whether a label is neither None nor NaN nor NA."""
    try:
        return value is not None and bool(value == value)
    except (TypeError, ValueError):
        # pandas.NA has no truth, nor has an array.
        return type(value).__name__ != "NAType"


def in_order(labels: Any, known: list[Any], name: str = "labels") -> list[Any]:
    """Return the different labels: in the order of a pandas categorical, otherwise sorted.

    Parameters
    ----------
    labels : array-like
        The labels, whose dtype may have an order.
    known : list
        Those that are known.
    name : str
        What messages call them.

    Raises
    ------
    ValueError
        If a label cannot be compared.
    """
    try:
        found = set(known)
    except TypeError:
        raise ValueError(f"{name} holds lists or other values that cannot be compared; give text or numbers") from None
    order: Any = getattr(getattr(labels, "dtype", None), "categories", None)
    if hasattr(order, "tolist"):
        return [label for label in order.tolist() if label in found]
    try:
        return sorted(found)
    except TypeError:
        return sorted(found, key=lambda label: (type(label).__name__, str(label)))
