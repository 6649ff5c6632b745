"""Grids of variables: points that take part in a fit, and maps of results on them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Literal, TypeAlias

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from karhunen._xarray.arrays import is_lazy

#: The forms in which users give variables.
Kind: TypeAlias = Literal["array", "dataset", "list"]
#: Attributes that hold for values in the units of the data alone.
_OF_VALUES = (
    *("units", "standard_name", "cell_methods", "actual_range", "valid_range", "valid_min", "valid_max"),
    *("missing_value", "_FillValue", "scale_factor", "add_offset"),
)


@dataclass(frozen=True, eq=False)
class Grid:
    """The points of one variable.

    Attributes
    ----------
    label : str
        Name of the variable in messages.
    name : hashable or None
        Name of its array.
    attrs : dict
        Its attributes.
    kept : DataArray of bool
        The points, with their coordinates: True where the variable has values, False where it is missing throughout.
    """

    label: str
    name: Hashable | None
    attrs: dict[Any, Any]
    kept: xr.DataArray
    _index: NDArray[np.intp] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_index", np.flatnonzero(self.kept.values.ravel()))

    @property
    def n_kept(self) -> int:
        """Number of points with values."""
        return len(self._index)

    def take(self, rows: Any) -> Any:
        """Return the columns of the points with values, of rows (n, n_points); the rows themselves if it is all."""
        return rows if self.n_kept == self.kept.size else rows[:, self._index]

    def field(self, values: Any, like: xr.DataArray, *, in_units: bool, **attrs: Any) -> xr.DataArray:
        """Put values at the points, and NaN at those without values.

        Parameters
        ----------
        values : numpy or dask array of shape (n, n_kept)
            Values.
        like : DataArray of n entries
            Its axes become the first axes of the result.
        in_units : bool
            True if the values have the units of the data.
        **attrs
            Further attributes.

        Returns
        -------
        DataArray
            A field with the coordinates of `like` and of the points.
        """
        data = spread(values, self._index, self.kept.size, axis=1).reshape(like.shape + self.kept.shape)
        own = {key: value for key, value in self.attrs.items() if in_units or key not in _OF_VALUES}
        found = xr.DataArray(data, dims=(*like.dims, *self.kept.dims), name=self.name, attrs={**own, **attrs})
        return found.assign_coords(like.coords).assign_coords(self.kept.coords)

    def on_points(self, array: xr.DataArray, what: str) -> xr.DataArray:
        """Return an array with the axes of the points in their order, where its labels match the points.

        Parameters
        ----------
        array : DataArray
            Values on the points, perhaps in another order, with or without further axes.
        what : str
            Name of the array in messages.

        Returns
        -------
        DataArray
            The array, with labels in the order of the points.

        Raises
        ------
        ValueError
            If its labels are others.
        """
        for dim in self.kept.dims:
            if dim not in array.dims:
                raise ValueError(f"{what} has no dimension {dim!r}; the points of the fit have it")
            if array.sizes[dim] != self.kept.sizes[dim]:
                raise ValueError(
                    f"{what} has {array.sizes[dim]} points along {dim!r}, the fit had {self.kept.sizes[dim]}; "
                    "interpolate it to the grid of the fit"
                )
            if dim not in array.indexes or dim not in self.kept.indexes:
                continue
            fitted, given = self.kept.indexes[dim], array.indexes[dim]
            if fitted.equals(given) or _are_close(fitted, given):
                continue
            order = given.get_indexer(fitted) if given.is_unique else np.array([-1])
            if (order < 0).any():
                raise ValueError(
                    f"{what} has other values of {dim!r} than the fit; interpolate it to the grid of the fit"
                )
            array = array.isel({dim: order})
        return array

    def describe(self, point: int) -> str:
        """Name a point by its coordinates, or by its position along axes without them."""
        where = np.unravel_index(point, self.kept.shape)
        at = {dim: int(i) for dim, i in zip(self.kept.dims, where, strict=True)}
        return describe(self.kept, at)


@dataclass(frozen=True, eq=False)
class Grids:
    """The grids of all variables, and the form in which the user gave them."""

    kind: Kind
    attrs: dict[Any, Any]
    grids: Sequence[Grid]

    @property
    def n_kept(self) -> int:
        """Number of points with values, of all variables."""
        return sum(grid.n_kept for grid in self.grids)

    def fields(self, values: Any, like: xr.DataArray, *, in_units: bool, **attrs: Any) -> Any:
        """As :meth:`Grid.field` for every variable, from values (n, n_kept) of all; in the form that the user gave."""
        ends = np.cumsum([0, *(grid.n_kept for grid in self.grids)])
        parts = [values[:, start:end] for start, end in pairwise(ends)]
        each = zip(self.grids, parts, strict=True)
        return self.together([grid.field(part, like, in_units=in_units, **attrs) for grid, part in each])

    def maps(self, values: Any, *, in_units: bool, **attrs: Any) -> Any:
        """Return maps of a vector of values (n_kept,)."""
        return self.fields(np.asarray(values)[None], xr.DataArray(0.0), in_units=in_units, **attrs)

    def together(self, arrays: list[xr.DataArray]) -> Any:
        """Return arrays of the variables in the form that the user gave."""
        if self.kind == "array":
            return arrays[0]
        if self.kind == "list":
            return arrays
        return xr.Dataset({array.name: array for array in arrays}, attrs=self.attrs)


def spread(values: Any, index: NDArray[np.intp], size: int, *, axis: int) -> Any:
    """Put values at positions of a longer axis, and NaN at the others.

    Parameters
    ----------
    values : numpy or dask array
        Values.
    index : ndarray of int
        Their positions, in order.
    size : int
        Length of the axis in the result.
    axis : int
        The axis, 0 or 1, of two.

    Returns
    -------
    numpy or dask array
        The longer array.
    """
    if len(index) == size:
        return values
    if not is_lazy(values):
        shape = (size, values.shape[1]) if axis == 0 else (values.shape[0], size)
        full = np.full(shape, np.nan, dtype=values.dtype)
        full[(index,) if axis == 0 else (slice(None), index)] = values
        return full
    import dask.array as da

    # The last entry is NaN, and stands at all positions without a value.
    source = np.full(size, values.shape[axis])
    source[index] = np.arange(len(index))
    shape = (1, values.shape[1]) if axis == 0 else (values.shape[0], 1)
    chunks = (1, values.chunks[1]) if axis == 0 else (values.chunks[0], 1)
    more = da.concatenate([values, da.full(shape, np.nan, dtype=values.dtype, chunks=chunks)], axis=axis)
    if axis == 0:
        return da.take(more, source, axis=0).rechunk({1: -1})
    return da.take(more.rechunk({1: -1}), source, axis=1)


def describe(array: xr.DataArray, at: dict[Hashable, int]) -> str:
    """Name an entry by its coordinates, or by its position along axes without them."""
    found = []
    for dim, position in at.items():
        if dim in array.coords:
            label = array[dim].values[position]
            label = np.datetime_as_string(label, unit="auto") if isinstance(label, np.datetime64) else label
            found.append(f"{dim}={label}")
        else:
            found.append(f"{dim}[{position}]")
    return ", ".join(found)


def _are_close(fitted: Any, given: Any) -> bool:
    """Return whether labels are numbers that differ by rounding alone, as of float32 and float64."""
    try:
        a, b = np.asarray(fitted, dtype=np.float64), np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        return False
    if a.ndim != 1 or len(a) < 2 or fitted.dtype.kind != "f" or given.dtype.kind != "f":
        return False
    return bool(np.abs(a - b).max() <= 1e-3 * np.abs(np.diff(a)).min())
