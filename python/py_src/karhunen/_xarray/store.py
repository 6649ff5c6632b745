"""Fitted modes as a Dataset, and as a file in NetCDF or Zarr."""

from __future__ import annotations

import json
import os
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from karhunen._xarray.fields import Samples
from karhunen._xarray.grid import Grid, Grids
from karhunen._xarray.modes import Modes

#: Attribute with what a Dataset of results does not say by itself, and variable with the bytes of the model file.
_ABOUT, _MODEL = "karhunen", "karhunen_model"


def results(modes: Modes[Any]) -> xr.Dataset:
    """Return maps, series and variances of a fit or its rotation in one Dataset.

    Raises
    ------
    ValueError
        If the arrays of a list have coordinates that one Dataset cannot hold together.
    """
    found: dict[str, xr.DataArray] = {}
    for part, maps in _maps(modes).items():
        for prefix, array in zip(_prefixes(modes._grids), _apart(maps), strict=True):
            found[prefix + part] = array.rename(None)
    found["scores"] = modes.scores_.rename(None)
    for name in ("explained_variance", "explained_variance_ratio", "singular_values"):
        if hasattr(modes, f"{name}_"):
            found[name] = getattr(modes, f"{name}_")
    try:
        data = xr.merge(
            [array.to_dataset(name=name) for name, array in found.items()], join="exact", compat="identical"
        )
    except (ValueError, xr.MergeError) as error:
        raise ValueError(f"one Dataset cannot hold these maps; rename the dimensions of the arrays: {error}") from None
    return data.assign_attrs(total_variance=modes.total_variance_)


def save(eof: Any, path: str | os.PathLike[str]) -> None:
    """Write a fitted estimator to NetCDF, or to Zarr if the name ends in .zarr."""
    data = results(eof)
    grids: Grids = eof._grids
    levels: dict[str, list[str]] = {}
    for dim, index in data.indexes.items():
        if index.nlevels > 1 and dim in data.dims:
            levels[str(dim)] = [str(name) for name in index.names]
    options = eof.get_params()
    if options["random_state"] is not None and not isinstance(options["random_state"], int):
        options["random_state"] = None
    about = {
        "version": 1,
        "estimator": type(eof.pca_).__name__,
        "options": options,
        "kind": grids.kind,
        "variables": [_name_in_file(grid) for grid in grids.grids],
        "dims": [str(dim) for dim in eof.dims_],
        "levels": levels,
        "weighted": eof._factors is not None,
    }
    # Signed, because NetCDF 3 has no other bytes.
    data[_MODEL] = xr.DataArray(np.frombuffer(_model_file(eof.pca_), dtype=np.int8), dims=f"{_MODEL}_byte")
    data = data.reset_index(list(levels)) if levels else data
    data.attrs[_ABOUT] = json.dumps(about)
    if grids.kind == "dataset":
        data.attrs.update({key: value for key, value in grids.attrs.items() if key not in data.attrs})
    # Encodings of the file that was read may round.
    data = data.drop_encoding()
    data[_MODEL].encoding = {"_FillValue": None}
    if str(os.fspath(path)).endswith(".zarr"):
        data.to_zarr(path, mode="w", consolidated=False)
    else:
        data.to_netcdf(path)


def load(kind: type[Any], path: str | os.PathLike[str]) -> Any:
    """Read an estimator of this kind that :func:`save` wrote."""
    name = str(os.fspath(path))
    opened = xr.open_zarr(name, chunks=None, consolidated=False) if name.endswith(".zarr") else xr.open_dataset(name)
    with opened:
        data = opened.load()
    if _ABOUT not in data.attrs or _MODEL not in data:
        raise ValueError(f"{name} holds no fitted karhunen.xarray.EOF: the attribute {_ABOUT!r} is not there")
    about = json.loads(data.attrs.pop(_ABOUT))
    if about["version"] != 1:
        raise ValueError(f"{name} is of a later version of karhunen")
    model = data[_MODEL].values.tobytes()
    data.attrs.pop("total_variance")
    eof = kind(**about["options"])
    dims = about["dims"]
    if about["levels"]:
        data = data.set_index(about["levels"])
    template = _without(data["scores"].isel(mode=0, drop=True)).transpose(*dims)
    there = template.notnull()
    there.attrs = {}
    samples = Samples(there)
    grids = []
    for i, variable in enumerate(about["variables"]):
        prefix = _prefix(about["kind"], variable, i)
        mean = _without(data[f"{prefix}mean"])
        kept = mean.notnull()
        kept.attrs = {}
        grids.append(Grid(_label(about["kind"], variable, i), variable, dict(mean.attrs), kept))
    layout = Grids(about["kind"], dict(data.attrs) if about["kind"] == "dataset" else {}, grids)
    factors = None
    if about["weighted"]:
        names = [f"{_prefix(about['kind'], variable, i)}weights" for i, variable in enumerate(about["variables"])]
        parts = [grid.take(data[name].values.reshape(1, -1))[0] for grid, name in zip(grids, names, strict=True)]
        factors = np.concatenate(parts)
    eof._adopt(_estimator(about["estimator"], model), layout, samples, factors)
    eof.dims_ = tuple(dims)
    scores = data["scores"].transpose(*dims, "mode").values.reshape(samples.kept.size, -1)
    eof._scores = samples.take(scores)
    return eof


def _maps(modes: Modes[Any]) -> dict[str, Any]:
    """Return the maps of a fit, or of a rotation, which has neither mean nor weights of its own."""
    found = {"components": modes.components_}
    return found | {name: getattr(modes, f"{name}_") for name in ("mean", "weights") if hasattr(modes, f"{name}_")}


def _apart(maps: Any) -> list[xr.DataArray]:
    """Return maps of each variable."""
    if isinstance(maps, xr.DataArray):
        return [maps]
    return list(maps.data_vars.values()) if isinstance(maps, xr.Dataset) else list(maps)


def _prefix(kind: str, name: Any, number: int) -> str:
    """Return the beginning of the names of a variable's maps."""
    if kind == "array":
        return ""
    return f"{name}_" if kind == "dataset" else f"x{number}_"


def _prefixes(grids: Grids) -> list[str]:
    """Return the beginnings of the names of all variables' maps."""
    return [_prefix(grids.kind, grid.name, i) for i, grid in enumerate(grids.grids)]


def _label(kind: str, name: Any, number: int) -> str:
    """Return the name of a variable in messages."""
    if kind == "list":
        return f"X[{number}]" if name is None else f"X[{number}] ({name})"
    return "X" if name is None else str(name)


def _name_in_file(grid: Grid) -> str | None:
    return None if grid.name is None else str(grid.name)


def _without(array: xr.DataArray) -> xr.DataArray:
    """Return an array without the coordinate of the modes."""
    return array.drop_vars("mode", errors="ignore")


def _model_file(pca: Any) -> bytes:
    """Return the bytes of the file of a fitted estimator."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pca.model")
        pca.save(path)
        return path.read_bytes()


def _estimator(name: str, model: bytes) -> Any:
    """Return the estimator of rows of the bytes of its file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "pca.model")
        path.write_bytes(model)
        return getattr(import_module("karhunen"), name).load(path)
