"""Write golden/xarray.json: empirical orthogonal functions by eofs and xeofs of the two sample files.

    python3 golden/make_xarray_golden.py

Run from the root of the repository, with the packages eofs 2.0.0, xeofs 3.0.6 and netCDF4. Signs are those of
karhunen: the entry with the largest absolute value of each map is positive. Maps hold the points with values, in
row-major order. Fields are weighted by the square root of the cosine of the latitude; `tair` has two-dimensional
coordinates.
"""

import json
import warnings
from importlib.metadata import version

import numpy as np
import xarray as xr
from eofs.xarray import Eof
from xeofs.single import EOF, EOFRotator

K = 3
DIGITS = 9


def signs(maps):
    """Return 1 or -1 for each map (k, points)."""
    return np.array([np.sign(row[np.argmax(np.abs(row))]) for row in maps])


def flat(maps):
    """Return the points with values, (k, points)."""
    rows = maps.values.reshape(len(maps), -1)
    return rows[:, ~np.isnan(rows[0])]


def numbers(values):
    """Return nested lists with enough digits for a comparison at 1e-8."""
    array = np.asarray(values, dtype=float)
    return json.loads(json.dumps(array.tolist()), parse_float=lambda text: float(f"{float(text):.{DIGITS}g}"))


def by_eofs(field, weights):
    """Return results of eofs."""
    solver = Eof(field, weights=weights)
    maps = flat(solver.eofs(neofs=K))
    sign = signs(maps)
    return {
        "eofs": numbers(maps * sign[:, None]),
        "pcs": numbers(solver.pcs(npcs=K).values * sign),
        "pcs_1_sum_of_fourth_powers": numbers((solver.pcs(pcscaling=1, npcs=K).values ** 4).sum(axis=0)),
        "correlation_first_of_every_fifth": numbers(flat(solver.eofsAsCorrelation(neofs=1))[0, ::5] * sign[0]),
        "covariance_first": numbers(flat(solver.eofsAsCovariance(neofs=1))[0] * sign[0]),
        "eigenvalues": numbers(solver.eigenvalues(neigs=10).values),
        "variance_fraction": numbers(solver.varianceFraction(neigs=10).values),
        "total": float(solver.totalAnomalyVariance()),
        "north": numbers(solver.northTest(neigs=10).values),
        "north_of_shares": numbers(solver.northTest(neigs=10, vfscaled=True).values),
        "reconstructed_last_of_every_fifth": numbers(flat(solver.reconstructedField(K)[-1:])[0, ::5]),
    }


def by_xeofs(field, weights):
    """Return results of xeofs."""
    # xeofs needs labels along every dimension, and no coordinate of two dimensions.
    labels = {dim: np.arange(n) for dim, n in field.sizes.items() if dim not in field.coords}
    if labels:
        field = field.reset_coords(drop=True).assign_coords(labels)
        weights = weights.reset_coords(drop=True).assign_coords({dim: labels[dim] for dim in weights.dims})
    model = EOF(n_modes=K, solver="full")
    model.fit(field, dim="time", weights=weights)
    sign = signs(flat(model.components()))
    found = {
        "singular_values": numbers(model.singular_values().values),
        "explained_variance": numbers(model.explained_variance().values),
        "ratio": numbers(model.explained_variance_ratio().values),
        "scores_first": numbers(model.scores(normalized=False).sel(mode=1).values * sign[0]),
    }
    rotator = EOFRotator(n_modes=K, power=1, rtol=1e-14, max_iter=20000)
    rotator.fit(model)
    maps = flat(rotator.components())
    sign = signs(maps)
    found["varimax"] = {
        "components": numbers(maps * sign[:, None]),
        "explained_variance": numbers(rotator.explained_variance().values),
        "scores": numbers(rotator.scores().transpose("time", "mode").values * sign),
    }
    return found


def main():
    warnings.simplefilter("ignore")
    found = {
        "made_by": f"golden/make_xarray_golden.py, eofs {version('eofs')}, xeofs {version('xeofs')}, "
        f"xarray {version('xarray')}, numpy {version('numpy')}"
    }
    sst = xr.open_dataset("examples/data/sst_ndjfm_anom.nc", decode_times=False).sst
    tair = xr.open_dataset("python/tests/data/xeofs_sample.nc", decode_times=False).Tair
    for field, latitude in ((sst, "latitude"), (tair, "yc")):
        field = field.load()
        weights = np.sqrt(np.cos(np.deg2rad(field[latitude].astype(float))))
        whole = weights.broadcast_like(field.isel(time=0)).values
        found[field.name.lower()] = {"eofs": by_eofs(field, whole), "xeofs": by_xeofs(field, weights)}
    with open("golden/xarray.json", "w") as file:
        json.dump(found, file, indent=None, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main()
