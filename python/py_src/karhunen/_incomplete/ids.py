"""Ids of rows and columns, and their positions."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np

from karhunen._shared.choices import Unknown

#: Whole numbers below this have an exact form as floats.
EXACT = 2.0**53


def index_of(what: str, wanted: Any, ids: np.ndarray | None, n: int, *, unknown: Unknown = "refuse") -> np.ndarray:
    """Return the positions of ids; without `ids`, the ids are integers below `n`.

    Parameters
    ----------
    what : str
        Name of the argument, for errors.
    wanted : array-like
        Requested ids.
    ids : ndarray or None
        Id of each position.
    n : int
        Number of positions.
    unknown : {"refuse", "nan"}, default="refuse"
        Raise for an id that is not among `ids`, or give it the position -1.

    Returns
    -------
    ndarray of int64
        Positions, in the shape of `wanted`.
    """
    wanted = _id_array(wanted)
    if ids is None:
        if wanted.dtype.kind not in "iu" and wanted.size:
            raise ValueError(f"{what} must be whole numbers below {n}, got an array of {wanted.dtype}")
        outside = (wanted < 0) | (wanted >= n) if wanted.size else np.zeros(wanted.shape, dtype=bool)
        if unknown == "nan":
            return np.where(outside, 0, wanted).astype(np.int64) - outside
        if outside.any():
            raise ValueError(
                f"{what}: {int(wanted[outside].flat[0])} is outside 0..{n - 1}: no such {what[:-1]} was fitted"
            )
        return wanted.astype(np.int64)
    flat = wanted.ravel()
    _refuse_inexact(what, flat)
    possible = np.ones(flat.shape, dtype=bool)
    if ids.dtype.kind in "iu" and flat.dtype.kind in "iu" and ids.dtype != flat.dtype:
        # numpy compares whole numbers of two types as floats.
        possible = _is_within(flat, np.iinfo(ids.dtype))
        flat = np.where(possible, flat, 0).astype(ids.dtype)
    if ids.dtype.kind == "U" and (flat.dtype.kind == "M" or (flat.size and hasattr(flat[0], "isoformat"))):
        # Files hold dates as text.
        with suppress(TypeError, ValueError):
            ids, flat = ids.astype("M8[us]"), flat.astype("M8[us]")
    if ids.dtype.kind == "M" and flat.dtype.kind in "OUM":
        # Dates in other units, as Python and pandas write them, or as text.
        with suppress(TypeError, ValueError):
            flat = flat.astype(ids.dtype)
    if _comparable(ids, flat) and (ids[:-1] < ids[1:]).all():
        places = np.minimum(np.searchsorted(ids, flat), len(ids) - 1)
        known = possible & (ids[places] == flat)
    else:
        where = {id_: place for place, id_ in enumerate(ids.tolist())}
        found = [where.get(id_, -1) for id_ in flat.tolist()]
        places = np.asarray(found, dtype=np.int64)
        known = possible & (places >= 0)
    if unknown == "nan":
        places = np.where(known, places, -1)
    elif not known.all():
        first = wanted.ravel()[~known][0]
        first = first.item() if isinstance(first, np.generic) else first
        raise ValueError(f"{what}: {first!r} was not among the {what} of the fit")
    return places.astype(np.int64, copy=False).reshape(wanted.shape)


def _refuse_inexact(what: str, ids: np.ndarray) -> None:
    """Refuse ids as floats that several whole numbers round to."""
    if ids.dtype.kind == "f" and (large := np.abs(ids) >= EXACT).any():
        raise ValueError(
            f"{what}: {ids[large][0]:.0f} is a float of 2**53 or more, to which several whole numbers round; give "
            "integers"
        )


def _is_within(ids: np.ndarray, of: np.iinfo) -> np.ndarray:
    """Return which whole numbers an integer type can hold."""
    within = np.ones(ids.shape, dtype=bool)
    if ids.dtype.kind == "i" and of.kind == "u":
        within = ids >= 0
    elif ids.dtype.kind == "i":
        within = ids >= of.min
    if np.iinfo(ids.dtype).max > of.max:
        within &= ids <= ids.dtype.type(of.max)
    return within


def _comparable(one: np.ndarray, other: np.ndarray) -> bool:
    """Return whether numpy can search ids of one array in the other."""
    numbers = [array.dtype.kind in "iuf" for array in (one, other)]
    return all(numbers) or one.dtype.kind == other.dtype.kind in ("U", "M", "m")


def _id_array(ids: Any) -> np.ndarray:
    """Convert ids to an array; ids that numpy would nest or convert become an object array."""
    ids = plain(ids)
    if isinstance(ids, np.ndarray):
        return ids
    kinds = {type(id_) for id_ in ids} if isinstance(ids, (list, tuple)) else set()
    if len(kinds) > 1 or tuple in kinds:
        return _object_array(list(ids))
    return np.asarray(ids)


def plain(values: Any) -> Any:
    """Convert series and columns of any library to numpy arrays."""
    if not hasattr(values, "to_numpy"):
        return values
    # pyarrow arrays without a numpy view require permission to copy.
    copied = {"zero_copy_only": False} if type(values).__module__.startswith("pyarrow") else {}
    return values.to_numpy(**copied)


def _is_missing(id_: Any) -> bool:
    """Return whether a value is missing: None, NaN, NaT, NA."""
    return id_ is None or type(id_).__name__ == "NAType" or bool(id_ != id_)


def _object_array(ids: list[Any]) -> np.ndarray:
    array = np.empty(len(ids), dtype=object)
    array[:] = ids
    return array


def numbered(name: str, ids: Any, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Assign numbers to ids; return the number of each entry and the id of each number."""
    ids = _id_array(ids)
    _check_length(name, ids, n)
    if ids.dtype.kind in "fcmM" and (missing := ids != ids).any():
        none = "NaT" if ids.dtype.kind in "mM" else "NaN"
        raise ValueError(f"{name}: entry {int(missing.argmax())} is {none}, which is not an id")
    _refuse_inexact(name, ids)
    if ids.dtype.kind in "iu" and n:
        least, most = int(ids.min()), int(ids.max())
        if most - least < max(4 * n, 1 << 20) and most < 2**63:
            # Integers in a narrow range are numbered by a table, without sorting.
            at = ids.astype(np.int64) - least
            present = np.zeros(most - least + 1, dtype=bool)
            present[at] = True
            number = np.cumsum(present, dtype=np.int64) - 1
            return number[at], (np.flatnonzero(present) + least).astype(ids.dtype)
    if ids.dtype != object:
        unique, codes = np.unique(ids, return_inverse=True)
        return codes.reshape(-1).astype(np.int64, copy=False), unique
    numbers: dict[Any, int] = {}
    codes = np.fromiter((numbers.setdefault(id_, len(numbers)) for id_ in ids.tolist()), np.int64, n)
    if any(map(_is_missing, numbers)):
        missing = next(e for e, id_ in enumerate(ids.tolist()) if _is_missing(id_))
        raise ValueError(f"{name}: entry {missing} is {ids[missing]}, which is not an id")
    unique = _object_array(list(numbers))
    try:
        order = np.fromiter(sorted(range(len(unique)), key=unique.__getitem__), np.int64, len(unique))
    except TypeError:
        return codes, unique
    rank = np.empty(len(order), np.int64)
    rank[order] = np.arange(len(order))
    return rank[codes], unique[order]


def as_numbers(name: str, ids: Any, n: int) -> np.ndarray:
    """Check ids that are indices."""
    ids = np.asarray(ids)
    _check_length(name, ids, n)
    if ids.dtype.kind not in "iu" and ids.size:
        raise ValueError(f"{name} must be whole numbers where shape is given, got an array of {ids.dtype}")
    kind = ids.dtype if ids.dtype in (np.int32, np.int64) else np.int64
    return np.ascontiguousarray(ids, dtype=kind)


def _check_length(name: str, ids: np.ndarray, n: int) -> None:
    if ids.shape != (n,):
        raise ValueError(f"{name} has shape {ids.shape}, but there are {n} values: expected ({n},)")


def adopt_ids(estimator: Any, row_ids: np.ndarray | None, column_ids: np.ndarray | None) -> None:
    """Set the ids of an estimator; if all column ids are strings, also the feature names.

    Parameters
    ----------
    estimator : IncompletePCA
        Its ``row_ids_``, ``column_ids_`` and ``feature_names_in_`` are set.
    row_ids, column_ids : ndarray or None
        Id of each row and column. Column names without row ids are feature names only, as in tables.
    """
    vars(estimator).pop("feature_names_in_", None)
    estimator.row_ids_, estimator.column_ids_ = row_ids, column_ids
    if column_ids is not None and all(isinstance(id_, str) for id_ in column_ids.tolist()):
        estimator.feature_names_in_ = column_ids.astype(object)
        if row_ids is None:
            estimator.column_ids_ = None


def id_list(what: str, ids: np.ndarray | None) -> list[int] | list[str] | None:
    """Convert ids for model files: to integers or strings."""
    if ids is None:
        return None
    # `tolist` would convert dates to integers of nanoseconds.
    values = (ids.astype(str) if ids.dtype.kind == "M" else ids).tolist()
    for kind in (int, str):
        if all(isinstance(id_, kind) and not isinstance(id_, bool) for id_ in values):
            if kind is int and values and max(values) >= 2**63:
                raise ValueError(
                    f"the {what} id {max(values)} is larger than those that model files hold, which are below 2**63; "
                    "pickle the estimator, or fit with other ids"
                )
            return values
    raise ValueError(
        f"the {what} ids are not all whole numbers or all strings, which model files hold (first: {values[0]!r}); "
        "pickle the estimator, or fit with other ids"
    )
