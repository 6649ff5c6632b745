"""Fields that users give: taken apart into variables, samples and points."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from karhunen._xarray.arrays import as_rows, count_missing, side_by_side
from karhunen._xarray.grid import Grid, Grids, Kind, describe, spread


@dataclass(frozen=True, eq=False)
class Samples:
    """The samples of a field.

    Attributes
    ----------
    kept : DataArray of bool
        The samples, with their coordinates: True for those with values, False for those missing at all points.
    """

    kept: xr.DataArray

    @property
    def n_kept(self) -> int:
        """Number of samples with values."""
        return int(self.kept.values.sum())

    def take(self, rows: Any) -> Any:
        """Return the rows of the samples with values; the rows themselves if it is all."""
        return rows if self.n_kept == self.kept.size else rows[np.flatnonzero(self.kept.values.ravel())]

    def series(self, values: Any, modes: xr.DataArray, **attrs: Any) -> xr.DataArray:
        """Put rows (n_kept, n_modes) at their samples, and NaN at those without values."""
        index = np.flatnonzero(self.kept.values.ravel())
        data = spread(values, index, self.kept.size, axis=0).reshape((*self.kept.shape, modes.size))
        found = xr.DataArray(data, dims=(*self.kept.dims, *modes.dims), attrs=attrs)
        return found.assign_coords(self.kept.coords).assign_coords(modes.coords)

    def weights(self, sample_weight: Any) -> NDArray[np.float64]:
        """Return the weights of the samples with values."""
        if isinstance(sample_weight, xr.DataArray):
            if set(sample_weight.dims) != set(self.kept.dims):
                raise ValueError(
                    f"sample_weight has the dimensions {sample_weight.dims}; one weight for each sample has "
                    f"{self.kept.dims}"
                )
            try:
                _, sample_weight = xr.align(self.kept, sample_weight, join="exact", copy=False)
            except ValueError as error:
                raise ValueError(f"sample_weight has other coordinates than the samples: {error}") from None
            sample_weight = sample_weight.transpose(*self.kept.dims)
        weights = np.asarray(sample_weight, dtype=np.float64)
        if weights.size != self.kept.size:
            raise ValueError(f"sample_weight has {weights.size} entries; the field has {self.kept.size} samples")
        return weights.ravel()[self.kept.values.ravel()]


@dataclass(frozen=True, eq=False)
class Field:
    """A field as rows of numbers: rows are samples, columns the points of all variables that have values."""

    rows: Any
    samples: Samples
    grids: Grids
    #: Number of values that are missing at some samples only.
    n_missing: int


def variables(X: Any) -> tuple[Kind, list[tuple[str, xr.DataArray]]]:
    """Return the variables of a field with names for messages.

    Raises
    ------
    TypeError, ValueError
        If it is not an object of xarray, or has no variable.
    """
    if isinstance(X, xr.DataArray):
        return "array", [("X" if X.name is None else str(X.name), X)]
    if isinstance(X, xr.Dataset):
        if not X.data_vars:
            raise ValueError("the Dataset has no variables")
        return "dataset", [(str(name), array) for name, array in X.data_vars.items()]
    if isinstance(X, (list, tuple)) and X and all(isinstance(array, xr.DataArray) for array in X):
        labels = [f"X[{i}]" if array.name is None else f"X[{i}] ({array.name})" for i, array in enumerate(X)]
        return "list", list(zip(labels, X, strict=True))
    raise TypeError(
        f"give an xarray DataArray, a Dataset, or a list of DataArrays, not {type(X).__name__}; karhunen.PCA fits "
        "arrays and tables"
    )


def dimensions(dim: Any) -> tuple[Hashable, ...]:
    """Return the dimensions of the samples."""
    dims = tuple(dim) if isinstance(dim, (list, tuple)) else (dim,)
    if not dims or len(set(dims)) < len(dims):
        raise ValueError(f"dim = {dim!r} is not allowed: give the dimension of the samples, such as 'time', or several")
    return dims


def read(X: Any, dim: Any, *, missing_allowed: bool) -> Field:
    """Read a field for a fit.

    Parameters
    ----------
    X : DataArray, Dataset or list of DataArray
        The field.
    dim : hashable or sequence of hashable
        Dimensions of the samples.
    missing_allowed : bool
        True if values may be missing at some samples only.

    Returns
    -------
    Field
        The field without points that are missing at all samples, and without samples that are missing at all points.

    Raises
    ------
    ValueError
        If a dimension is absent, the variables have other samples, or values cannot be used (the message says where).
    """
    kind, given = variables(X)
    dims = dimensions(dim)
    if not all(array.size for _, array in given):
        raise ValueError("the field has no values: the length of a dimension is 0")
    first = _coordinates(given[0][0], given[0][1], dims)
    parts, shapes = [], []
    for label, array in given:
        if "mode" in (*array.dims, *array.coords):
            raise ValueError(f"{label} has the dimension or coordinate 'mode', which maps and series have; rename it")
        own = _coordinates(label, array, dims)
        try:
            xr.align(first, own, join="exact", copy=False)
        except ValueError as error:
            raise ValueError(f"{label} has other samples than {given[0][0]}: {error}") from None
        points = [name for name in array.dims if name not in dims]
        parts.append(as_rows(array, label, dims, points))
        at_points = array.isel(dict.fromkeys(dims, 0), drop=True)
        alone = [name for name, values in array.coords.items() if set(values.dims) & set(dims)]
        shapes.append(at_points.drop_vars(alone, errors="ignore"))
    counts = count_missing(parts)
    empty = sum(by_row for _, by_row, _ in counts) == sum(rows.shape[1] for rows in parts)
    n = int((~empty).sum())
    if n == 0:
        raise ValueError("all values of the field are missing")
    grids, n_missing, found = [], 0, ""
    for (label, array), rows, shape, (by_column, _, infinite) in zip(given, parts, shapes, counts, strict=True):
        left = by_column - int(empty.sum())
        kept = xr.DataArray(
            (left < n).reshape(shape.shape), dims=shape.dims, coords=shape.coords, name=array.name, attrs={}
        )
        grid = Grid(label, array.name, dict(array.attrs), kept)
        grids.append(grid)
        if infinite.any():
            raise ValueError(_infinite(grid, rows, infinite, first, dims))
        isolated = np.flatnonzero((left > 0) & (left < n))
        if len(isolated):
            n_missing += int(left[isolated].sum())
            found = found or _isolated(grid, rows, isolated, left, first, empty)
    if n_missing and not missing_allowed:
        raise ValueError(
            f"{found}. Points and samples without any value are left out by themselves, but not these: fill them, drop "
            "their points, or fit EOF(..., missing='auto'), which estimates components from the values that are there"
        )
    samples = Samples(first.copy(data=~empty.reshape(first.shape)))
    layout = Grids(kind, dict(X.attrs) if kind == "dataset" else {}, grids)
    rows = side_by_side([grid.take(samples.take(part)) for grid, part in zip(grids, parts, strict=True)])
    return Field(rows, samples, layout, n_missing)


def read_new(X: Any, grids: Grids, *, missing_allowed: bool) -> Field:
    """Read a field at the points of a fit; its other dimensions belong to the samples.

    Raises
    ------
    ValueError
        If it is not on the grid of the fit, or values of chunks in memory are missing where the fit had values.
    """
    kind, given = variables(X)
    if kind != grids.kind:
        names = {"array": "a DataArray", "dataset": "a Dataset", "list": "a list of DataArrays"}
        raise ValueError(f"the fit was to {names[grids.kind]}, this is {names[kind]}")
    if kind == "dataset":
        arrays = dict(given)
    elif len(given) == len(grids.grids):
        arrays = {grid.label: array for grid, (_, array) in zip(grids.grids, given, strict=True)}
    else:
        raise ValueError(f"the fit was to {len(grids.grids)} arrays, these are {len(given)}")
    first: xr.DataArray | None = None
    parts = []
    for grid in grids.grids:
        if grid.label not in arrays:
            raise ValueError(f"the Dataset has no variable {grid.label!r}; the fit had it")
        array = grid.on_points(arrays[grid.label], grid.label)
        dims = tuple(name for name in array.dims if name not in grid.kept.dims)
        own = _coordinates(grid.label, array, dims if first is None else first.dims)
        first = own if first is None else first
        if set(dims) != set(first.dims) or own.shape != first.shape:
            raise ValueError(f"{grid.label} has other samples than {grids.grids[0].label}")
        parts.append(grid.take(as_rows(array, grid.label, first.dims, grid.kept.dims)))
    assert first is not None
    rows = side_by_side(parts)
    empty = np.zeros(first.shape, dtype=bool)
    if isinstance(rows, np.ndarray):
        ((by_column, by_row, infinite),) = count_missing([rows])
        empty = (by_row == rows.shape[1]).reshape(first.shape)
        n_missing = int(by_column.sum()) - int(empty.sum()) * rows.shape[1]
        if infinite.any():
            raise ValueError(f"{int(infinite.sum())} values of the field are infinite")
        if n_missing and not missing_allowed:
            raise ValueError(
                f"{n_missing} values of the field are missing at points where the fit had values; fill them, or fit "
                "EOF(..., missing='auto')"
            )
    samples = Samples(first.copy(data=~empty))
    return Field(samples.take(rows), samples, grids, 0)


def _coordinates(label: str, array: xr.DataArray, dims: Sequence[Hashable]) -> xr.DataArray:
    """Return an array of the samples, with their coordinates."""
    for dim in dims:
        if dim not in array.dims:
            has = ", ".join(map(str, array.dims)) or "none"
            raise ValueError(f"{label} has no dimension {dim!r}; it has {has}")
    points = [name for name in array.dims if name not in dims]
    others = [name for name, values in array.coords.items() if set(values.dims) - set(dims) or not values.dims]
    found = array.isel(dict.fromkeys(points, 0), drop=True).drop_vars(others, errors="ignore").transpose(*dims)
    shape = tuple(array.sizes[dim] for dim in dims)
    return xr.DataArray(np.ones(shape, dtype=bool), dims=dims).assign_coords(found.coords)


def _isolated(
    grid: Grid,
    rows: Any,
    points: NDArray[np.intp],
    left: NDArray[np.intp],
    first: xr.DataArray,
    empty: NDArray[np.bool_],
) -> str:
    """Describe values that are missing at some samples only."""
    column = np.isnan(np.asarray(rows[:, int(points[0])])) & ~empty
    sample = np.unravel_index(int(np.flatnonzero(column)[0]), first.shape)
    at = describe(first, {dim: int(i) for dim, i in zip(first.dims, sample, strict=True)})
    where = grid.describe(int(points[0]))
    return (
        f"{grid.label} has {int(left[points].sum())} missing values at {len(points)} of its {grid.n_kept} points with "
        f"values, such as {', '.join(filter(None, (where, at)))}"
    )


def _infinite(grid: Grid, rows: Any, infinite: NDArray[np.intp], first: xr.DataArray, dims: Sequence[Hashable]) -> str:
    """Describe infinite values."""
    point = int(np.flatnonzero(infinite)[0])
    column = np.isinf(np.asarray(rows[:, point]))
    sample = np.unravel_index(int(np.flatnonzero(column)[0]), first.shape)
    at = describe(first, {dim: int(i) for dim, i in zip(dims, sample, strict=True)})
    where = ", ".join(filter(None, (grid.describe(point), at)))
    return f"{grid.label} has {int(infinite.sum())} infinite values, such as at {where}; mask them as NaN"


def by_variable(given: Any, grids: Grids, what: str) -> list[Any]:
    """Return one option for each variable: `given` itself, or its entry in a mapping, a Dataset or a list.

    Parameters
    ----------
    given : Any
        The option.
    grids : Grids
        The variables.
    what : str
        Name of the option in messages.

    Returns
    -------
    list
        Options in the order of the variables.

    Raises
    ------
    ValueError
        If a variable has none.
    """
    if grids.kind == "dataset" and isinstance(given, Mapping):
        names = [grid.name for grid in grids.grids]
        missing = [name for name in names if name not in given]
        strange = [name for name in given if name not in names]
        if missing or strange:
            more = f"; the field has no variable {strange[0]!r}" if strange else ""
            raise ValueError(f"{what} has an entry for each variable; missing: {missing}{more}")
        return [given[name] for name in names]
    if grids.kind == "list" and isinstance(given, (list, tuple)):
        if len(given) != len(grids.grids):
            raise ValueError(f"{what} has {len(given)} entries; the field has {len(grids.grids)} variables")
        return list(given)
    return [given] * len(grids.grids)
