"""Write golden/eofs_sst.json, the results of eofs and xeofs on anomalies of the sea surface temperature.

Run from the root of the repository, with numpy, scipy, eofs and xeofs:

    python golden/make_eofs.py

Grid points of land are missing in every winter; eofs leaves them out. Maps are kept at every 23rd grid point of water,
scores of every 9th winter. Signs are those of the programs. The data are public data of NOAA/NCEP.
"""

import hashlib
import json
import platform
from pathlib import Path

import eofs
import numpy as np
import xarray as xr
import xeofs
from eofs.standard import Eof
from scipy.io import netcdf_file

FILE = "examples/data/sst_ndjfm_anom.nc"
MODES = 3
POINTS, WINTERS = slice(None, None, 23), slice(None, None, 9)

with netcdf_file(FILE, mmap=False) as file:
    sst = file.variables["sst"]
    x = np.array(sst.data, dtype=np.float64)
    x[x == sst.missing_value] = np.nan
    latitude = np.array(file.variables["latitude"].data, dtype=np.float64)
    longitude = np.array(file.variables["longitude"].data, dtype=np.float64)
water = ~np.isnan(x[0])
assert (np.isnan(x) == ~water).all()
cosine = np.clip(np.cos(np.deg2rad(latitude)), 0.0, 1.0)
WEIGHTS = {"none": None, "cosine": cosine[:, None], "root-cosine": np.sqrt(cosine)[:, None]}


def at_water(maps):
    """Return maps at the grid points of water that are kept, one row for each map."""
    return np.asarray(maps)[:, water][:, POINTS].tolist()


def of_eofs(weights, center, ddof):
    solver = Eof(x, weights=WEIGHTS[weights], center=center, ddof=ddof)
    new = x[WINTERS] * 1.5 - 0.25
    case = {"weights": weights, "center": center, "ddof": ddof}
    case["eigenvalues"] = solver.eigenvalues(MODES).tolist()
    case["fractions"] = solver.varianceFraction(MODES).tolist()
    case["total"] = float(solver.totalAnomalyVariance())
    case["north"] = solver.northTest(MODES).tolist()
    case["north_of_fractions"] = solver.northTest(MODES, vfscaled=True).tolist()
    for scaling in (0, 1, 2):
        case[f"pcs_{scaling}"] = solver.pcs(pcscaling=scaling, npcs=MODES)[WINTERS].tolist()
        case[f"eofs_{scaling}"] = at_water(solver.eofs(eofscaling=scaling, neofs=MODES))
        case[f"projected_{scaling}"] = solver.projectField(new, neofs=MODES, eofscaling=scaling).tolist()
    if center:
        case["correlations"] = at_water(solver.eofsAsCorrelation(neofs=MODES))
        # A solver for each: eofs 2.0 divides its own data by the weights, in every call.
        for scaling in (0, 1, 2):
            alone = Eof(x, weights=WEIGHTS[weights], ddof=ddof)
            case[f"covariances_{scaling}"] = at_water(alone.eofsAsCovariance(neofs=MODES, pcscaling=scaling))
    case["reconstructed"] = at_water(solver.reconstructedField(MODES)[WINTERS])
    return case


def of_xeofs(standardize):
    coordinates = {"time": np.arange(len(x)), "lat": latitude, "lon": longitude}
    field = xr.DataArray(x, dims=("time", "lat", "lon"), coords=coordinates)
    model = xeofs.single.EOF(n_modes=MODES, standardize=standardize, use_coslat=True, solver="full")
    model.fit(field, dim="time")
    return {
        "standardize": standardize,
        "eigenvalues": model.explained_variance().values.tolist(),
        "fractions": model.explained_variance_ratio().values.tolist(),
        "singular_values": model.singular_values().values.tolist(),
        "components": at_water(model.components().transpose("mode", "lat", "lon").values),
        "scores": model.scores(normalized=False).transpose("time", "mode").values[WINTERS].tolist(),
    }


case = {
    "made_by": f"golden/make_eofs.py, Python {platform.python_version()}, eofs {eofs.__version__}, "
    f"xeofs {xeofs.__version__}, xarray {xr.__version__}, numpy {np.__version__}",
    "file": FILE,
    "sha256": hashlib.sha256(Path(FILE).read_bytes()).hexdigest(),
    "eofs": [of_eofs("none", True, 1), of_eofs("cosine", True, 0), of_eofs("root-cosine", True, 1)],
    "eofs_about_zero": [of_eofs("root-cosine", False, 1)],
    "xeofs": [of_xeofs(False), of_xeofs(True)],
}
Path("golden/eofs_sst.json").write_text(json.dumps(case) + "\n")
