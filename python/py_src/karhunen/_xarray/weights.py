"""Weights of points: given, or the roots of the areas of a regular grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import NDArray

from karhunen._xarray.fields import by_variable
from karhunen._xarray.grid import Grid, Grids

#: Names of latitudes, in lower case.
_LATITUDES = ("lat", "latitude", "nav_lat", "lats", "latitudes")
#: Rounding of a latitude of 90 degrees in float32.
_BEYOND_POLE = 1e-4


def weights_of_points(weights: Any, grids: Grids) -> NDArray[np.float64] | None:
    """Return the numbers that multiply the anomalies at the points with values, of all variables.

    Parameters
    ----------
    weights : None, "coslat", DataArray, ndarray, or one of these for each variable
        Weights.
    grids : Grids
        The points.

    Returns
    -------
    ndarray of shape (n_kept,) or None
        Weights; None if they are all one.

    Raises
    ------
    ValueError
        If a weight is negative or missing, has no place on the grid, or no latitude is found.
    """
    each = by_variable(weights, grids, "weights")
    if all(given is None for given in each):
        return None
    return np.concatenate([_of_variable(given, grid) for given, grid in zip(each, grids.grids, strict=True)])


def _of_variable(weights: Any, grid: Grid) -> NDArray[np.float64]:
    """Return the weights of the points of a variable."""
    if weights is None:
        return np.ones(grid.n_kept)
    if isinstance(weights, str) and weights == "coslat":
        weights = _root_of_cosine(_latitude(grid))
    if isinstance(weights, np.ndarray):
        weights = _labelled(weights, grid)
    if not isinstance(weights, xr.DataArray):
        shown = repr(weights) if isinstance(weights, str) else type(weights).__name__
        raise ValueError(
            f"weights = {shown} is not allowed for {grid.label}: give 'coslat', None, a DataArray with dimensions "
            "of the points, or an array that broadcasts to them"
        )
    strange = [dim for dim in weights.dims if dim not in grid.kept.dims]
    if strange:
        raise ValueError(f"weights of {grid.label} have the dimension {strange[0]!r}; its points have {grid.kept.dims}")
    # Dimensions that the weights lack take the labels of the points.
    lacking = {dim: grid.kept.sizes[dim] for dim in grid.kept.dims if dim not in weights.dims}
    ordered = grid.on_points(weights.expand_dims(lacking), f"weights of {grid.label}").transpose(*grid.kept.dims)
    values = np.asarray(ordered.values, dtype=np.float64).reshape(1, -1)
    taken = grid.take(values)[0]
    wrong = ~(np.isfinite(taken) & (taken >= 0))
    if wrong.any():
        point = int(np.flatnonzero(grid.kept.values.ravel())[np.flatnonzero(wrong)[0]])
        raise ValueError(
            f"the weight of {grid.label} at {grid.describe(point)} is {values[0, point]}; weights are nonnegative "
            "numbers"
        )
    return np.array(taken)


def _labelled(weights: NDArray[Any], grid: Grid) -> xr.DataArray:
    """Return an array of numpy with the dimensions and labels of the points, to whose shape it broadcasts."""
    try:
        return grid.kept.copy(data=np.array(np.broadcast_to(weights, grid.kept.shape), dtype=np.float64))
    except ValueError:
        sizes = ", ".join(f"{dim} {size}" for dim, size in grid.kept.sizes.items())
        raise ValueError(
            f"weights of {grid.label} have the shape {weights.shape}, which does not broadcast to its points ({sizes})"
        ) from None


def _root_of_cosine(latitude: xr.DataArray) -> xr.DataArray:
    """Return the square root of the cosine of a latitude, as eofs and xeofs weight: in radians if its units say so."""
    degrees = latitude.astype(np.float64)
    if str(latitude.attrs.get("units", "")).lower().startswith("rad"):
        degrees = degrees * (180.0 / np.pi)
    if float(np.abs(degrees).max()) > 90.0 + _BEYOND_POLE:
        largest = float(degrees.values.ravel()[np.nanargmax(np.abs(degrees.values))])
        raise ValueError(f"the latitude {latitude.name!r} has the value {largest}; degrees from -90 to 90 are needed")
    # At a pole the cosine may be a small negative number.
    return np.sqrt(np.cos(np.deg2rad(degrees.clip(-90.0, 90.0))).clip(0.0))


def _latitude(grid: Grid) -> xr.DataArray:
    """Find the latitude among the coordinates of a variable."""
    coordinates = grid.kept.coords
    found = [name for name, values in coordinates.items() if values.attrs.get("standard_name") == "latitude"]
    found = found or [name for name in coordinates if str(name).lower() in _LATITUDES]
    found = found or [
        name
        for name, values in coordinates.items()
        if str(values.attrs.get("units")) in ("degrees_north", "degree_north")
    ]
    if len(found) != 1:
        which = f"several ({', '.join(map(str, found))})" if found else "none"
        raise ValueError(
            f"weights='coslat' needs the latitude of {grid.label}, and {which} is among its coordinates "
            f"({', '.join(map(str, coordinates)) or 'it has none'}); name it 'lat' or 'latitude', or give weights as a "
            "DataArray"
        )
    latitude = coordinates[found[0]]
    if not latitude.dims:
        raise ValueError(f"the latitude {found[0]!r} of {grid.label} is one number; give weights as a DataArray")
    return latitude.reset_coords(drop=True)
