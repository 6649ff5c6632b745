"""Empirical orthogonal functions of xarray objects: equal to eofs and xeofs, and to PCA of rows of points."""

import json
import pickle
from pathlib import Path

import karhunen
import numpy as np
import pytest
from compare import assert_allclose
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

xr = pytest.importorskip("xarray")

from karhunen.xarray import EOF  # noqa: E402

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "golden/xarray.json").read_text())
#: Nine digits are written.
DIGITS = 1e-8


@pytest.fixture(scope="module")
def sst():
    """Return sea surface temperature with land."""
    with xr.open_dataset(ROOT / "examples/data/sst_ndjfm_anom.nc", engine="scipy") as data:
        return data.sst.load()


def tair(decode_times=False):
    """Return air temperature on a grid with two-dimensional coordinates, from the tests of xeofs (MIT)."""
    pytest.importorskip("netCDF4")
    path = Path(__file__).parent / "data/xeofs_sample.nc"
    with xr.open_dataset(path, decode_times=decode_times, engine="netcdf4") as data:
        return data.Tair.load()


def field(seed=0, n=30, shape=(4, 5), dtype=np.float64, name="t"):
    """Return a field with coordinates."""
    rng = np.random.default_rng(seed)
    p = int(np.prod(shape))
    values = rng.normal(size=(n, 6)) * [6, 5, 4, 3, 2, 1] @ rng.normal(size=(6, p)) + rng.normal(size=(n, p)) + 3
    coords = {"time": np.arange(1980, 1980 + n), "lat": np.linspace(-60.0, 60.0, shape[0]), "lon": np.arange(shape[1])}
    attrs = {"units": "K", "long_name": "temperature"}
    values = values.reshape(n, *shape).astype(dtype)
    return xr.DataArray(values, dims=("time", "lat", "lon"), coords=coords, name=name, attrs=attrs)


def flat(maps):
    """Return the points with values, (n, n_kept)."""
    rows = maps.values.reshape(len(maps), -1)
    return rows[:, ~np.isnan(rows[0])]


@pytest.mark.parametrize("name", ["sst", "tair"])
def test_results_match_eofs_and_xeofs(name, sst):
    array = sst if name == "sst" else tair()
    latitude = array.latitude if name == "sst" else array.yc
    golden, xeofs = GOLDEN[name]["eofs"], GOLDEN[name]["xeofs"]
    weights = "coslat" if name == "sst" else np.sqrt(np.cos(np.deg2rad(latitude)))
    eof = EOF(3).fit(array, dim="time", weights=weights)
    assert eof.eofs().dims == ("mode", *array.dims[1:])
    missing = np.isnan(array.values[0])
    assert missing.any()
    assert np.array_equal(np.isnan(eof.eofs().values), np.broadcast_to(missing, (3, *missing.shape)))
    size = golden["eigenvalues"][0] ** 0.5
    assert_allclose(flat(eof.eofs()), golden["eofs"], rtol=0, atol=DIGITS)
    assert_allclose(eof.pcs().values, golden["pcs"], rtol=0, atol=DIGITS * size)
    fourth = (eof.pcs(scaling=1) ** 4).sum("time")
    assert_allclose(fourth.values, golden["pcs_1_sum_of_fourth_powers"], rtol=10 * DIGITS)
    correlation = flat(eof.eofs_as_correlation())[0, ::5]
    assert_allclose(correlation, golden["correlation_first_of_every_fifth"], rtol=0, atol=DIGITS)
    covariance = eof.eofs_as_covariance()
    assert_allclose(flat(covariance)[0], golden["covariance_first"], rtol=0, atol=DIGITS * size)
    assert_allclose(eof.explained_variance_.values, golden["eigenvalues"][:3], rtol=DIGITS)
    assert_allclose(eof.explained_variance_ratio_.values, golden["variance_fraction"][:3], rtol=DIGITS)
    assert_allclose(eof.total_variance_, golden["total"], rtol=DIGITS)
    anomalies = eof.reconstruct() - eof.mean_
    last = flat(anomalies.isel(time=[-1]))[0, ::5]
    assert_allclose(last, golden["reconstructed_last_of_every_fifth"], rtol=0, atol=DIGITS * size)
    north = EOF().fit(array, weights=weights).north()
    k = len(golden["north"])
    assert_allclose(north.standard_error.values[:k], golden["north"], rtol=DIGITS)
    assert_allclose(north.standard_error_ratio.values[:k], golden["north_of_shares"], rtol=DIGITS)
    assert_allclose(eof.singular_values_.values, xeofs["singular_values"], rtol=DIGITS)
    assert_allclose(eof.scores_.sel(mode=1).values, xeofs["scores_first"], rtol=0, atol=DIGITS * size)
    rotated = eof.rotate("varimax")
    # The criterion is flat at its maximum: rotations agree to the square root of rounding.
    assert_allclose(flat(rotated.eofs()), xeofs["varimax"]["components"], rtol=0, atol=1e-6)
    assert_allclose(rotated.explained_variance_.values, xeofs["varimax"]["explained_variance"], rtol=1e-6)
    assert_allclose(rotated.pcs().values, xeofs["varimax"]["scores"], rtol=0, atol=1e-6 * size)


def test_a_latitude_of_two_dimensions_is_found_by_its_name_or_its_attributes():
    array = tair()
    expected = EOF(2).fit(array, weights=np.sqrt(np.cos(np.deg2rad(array.yc))))
    for changed in (array.rename(yc="lat"), array.assign_coords(yc=array.yc.assign_attrs(standard_name="latitude"))):
        found = EOF(2).fit(changed, weights="coslat")
        assert_allclose(flat(found.eofs()), flat(expected.eofs()), rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match=r"needs the latitude of Tair, and none is among its coordinates"):
        EOF(2).fit(array.drop_vars(["xc", "yc"]), weights="coslat")


def test_maps_and_series_have_coordinates_and_attributes():
    array = field().assign_coords(region=(("lat", "lon"), np.arange(20).reshape(4, 5)), level=500.0)
    array = array.assign_coords(month=("time", np.arange(30) % 12))
    eof = EOF(2).fit(array)
    maps, series = eof.eofs(), eof.pcs()
    assert set(maps.coords) == {"mode", "lat", "lon", "region", "level"}
    assert set(series.coords) == {"mode", "time", "month"}
    assert maps.mode.values.tolist() == series.mode.values.tolist() == [1, 2]
    assert maps.name == "t"
    assert "units" not in maps.attrs
    for values in (eof.mean_, eof.eofs_as_covariance(), eof.reconstruct()):
        assert values.attrs["units"] == "K"
    back = eof.reconstruct()
    assert back.dims == array.dims
    assert set(back.coords) == set(array.coords)
    for name in array.coords:
        assert back[name].equals(array[name]), name
    one = eof.transform(array.isel(time=3, drop=True))
    assert one.dims == ("mode",)
    assert_allclose(one.values, series[3].values, rtol=0, atol=1e-12 * float(abs(series).max()))


@given(
    seed=st.integers(0, 10**6),
    n=st.integers(3, 12),
    shape=st.tuples(st.integers(1, 4), st.integers(1, 4)),
    order=st.permutations(["time", "lat", "lon"]),
    single=st.booleans(),
    weighted=st.booleans(),
    scale=st.sampled_from([False, "std", "variable"]),
    land=st.booleans(),
)
@settings(max_examples=60, deadline=None)
def test_all_modes_give_the_field_back(seed, n, shape, order, single, weighted, scale, land):
    array = field(seed, n, shape, np.float32 if single else np.float64)
    if land and array[0].size > 1:
        array = array.where((array.lat > array.lat[0]) | (array.lon > 0))
    array = array.transpose(*order)
    eof = EOF(scale=scale).fit(array, weights="coslat" if weighted else None)
    back = eof.reconstruct().transpose(*order)
    # Rounding of the values, which are below 200.
    tolerance = 200 * (2e-6 if single else 1e-13)
    assert back.dtype == array.dtype == eof.eofs().dtype == eof.pcs().dtype
    assert np.array_equal(np.isnan(back.values), np.isnan(array.values))
    xr.testing.assert_allclose(back, array, rtol=0, atol=tolerance)
    assert_allclose(eof.transform(array).values, eof.pcs().values, rtol=0, atol=tolerance)
    # Maps are of unit length, and their products with the series add up to the weighted anomalies.
    lengths = (eof.eofs() ** 2).sum(["lat", "lon"])
    assert_allclose(lengths.values, 1.0, rtol=1e-5)
    anomalies = (array - eof.mean_) * eof.weights_
    if scale != "std":
        made = (eof.eofs(scaling=2) * eof.pcs(scaling=1)).sum("mode", skipna=False)
        xr.testing.assert_allclose(made.transpose(*order), anomalies, rtol=0, atol=tolerance)
        first = (anomalies * eof.eofs()[0]).sum(["lat", "lon"])
        assert_allclose(first.values, eof.pcs()[:, 0].values, rtol=0, atol=10 * tolerance)


def test_the_fit_equals_rows_of_points():
    array = field()
    weights = np.sqrt(np.cos(np.deg2rad(array.lat)))
    counts = np.random.default_rng(1).integers(0, 3, 30)
    given_weights = xr.DataArray(counts, dims="time", coords={"time": array.time})
    eof = EOF(3, scale=True).fit(array, weights=weights, sample_weight=given_weights)
    rows = array.values.reshape(30, -1)
    area = np.repeat(weights.values**2, 5)
    pca = karhunen.PCA(3, scale=True).fit(rows, sample_weight=counts, feature_weight=area)
    assert np.array_equal(eof.eofs().values.reshape(3, -1), pca.components_)
    assert np.array_equal(eof.pcs().values, pca.transform(rows))
    assert np.array_equal(eof.explained_variance_.values, pca.explained_variance_)
    again = EOF(3, scale=True).fit(array, weights=weights, sample_weight=counts)
    assert np.array_equal(again.eofs().values, eof.eofs().values)
    with pytest.raises(ValueError, match="sample_weight has other coordinates than the samples"):
        EOF(3).fit(array, sample_weight=given_weights.assign_coords(time=np.arange(30)))
    with pytest.raises(ValueError, match="sample_weight has 29 entries; the field has 30 samples"):
        EOF(3).fit(array, sample_weight=counts[1:])


def test_points_and_samples_without_values_are_left_out_and_come_back():
    array = field()
    incomplete = array.where((array.lat != array.lat[0]) & (array.time != 1984))
    eof = EOF(2).fit(incomplete)
    assert (eof.n_points_, eof.n_samples_) == (15, 29)
    expected = EOF(2).fit(array.isel(lat=slice(1, None)).drop_sel(time=1984))
    assert_allclose(eof.eofs()[:, 1:].values, expected.eofs().values, rtol=0, atol=1e-12)
    assert np.isnan(eof.eofs()[:, 0]).all()
    assert np.isnan(eof.pcs().sel(time=1984)).all()
    assert_allclose(eof.pcs().drop_sel(time=1984).values, expected.pcs().values, rtol=0, atol=1e-12)
    back = eof.reconstruct()
    assert np.array_equal(np.isnan(back.values), np.isnan(incomplete.values))
    # Values at points that the fit left out are ignored.
    assert_allclose(eof.transform(array).drop_sel(time=1984).values, expected.pcs().values, rtol=0, atol=1e-12)
    assert np.isnan(eof.transform(incomplete).sel(time=1984)).all()


def test_isolated_missing_values_are_refused_or_estimated():
    array = field(n=60)
    incomplete = array.copy()
    incomplete[4, 1, 2] = incomplete[9, 1, 2] = incomplete[7, 3, 0] = np.nan
    message = r"t has 3 missing values at 2 of its 20 points with values, such as lat=-20.0, lon=2, time=1984"
    with pytest.raises(ValueError, match=message):
        EOF(2).fit(incomplete)
    eof = EOF(3, missing="vb-full").fit(incomplete, weights="coslat")
    complete = EOF(3).fit(array, weights="coslat")
    assert isinstance(eof.pca_, karhunen.IncompletePCA)
    cosines = abs((eof.eofs() * complete.eofs()).sum(["lat", "lon"]))
    assert float(cosines.min()) > 0.99
    found = eof.reconstruct()
    assert not found.isnull().any()
    assert abs(float(found[4, 1, 2] - array[4, 1, 2])) < 5
    assert eof.transform(incomplete).shape == (60, 3)
    correlations = eof.eofs_as_correlation()
    assert float(abs(correlations).max()) <= 1
    # A complete field is fitted as such.
    assert isinstance(EOF(3, missing="auto").fit(array).pca_, karhunen.PCA)
    with pytest.raises(ValueError, match="the number of modes must be given as an int"):
        EOF(missing="auto").fit(incomplete)
    with pytest.raises(ValueError, match="solver = 'gram' has no effect on a field with missing values"):
        EOF(3, missing="auto", solver="gram").fit(incomplete)
    with pytest.raises(ValueError, match="2 values of the field are missing at points where the fit had values"):
        complete.transform(incomplete[[4, 7]])


def test_infinite_values_are_refused():
    array = field()
    array[3, 0, 1] = np.inf
    with pytest.raises(ValueError, match=r"t has 1 infinite values, such as at lat=-60.0, lon=1, time=1983"):
        EOF(2, missing="auto").fit(array)


def test_several_variables_count_as_they_are_weighted():
    a, b = field(0), 1000 * field(1, shape=(3, 4), name="p").rename(lat="y", lon="x")
    b = b.where(b.x > 0).assign_attrs(units="Pa")
    data = xr.Dataset({"t": a, "p": b}, attrs={"title": "two"})
    eof = EOF(3, scale="variable").fit(data, weights={"t": "coslat", "p": None})
    rows = np.hstack([a.values.reshape(30, -1), b.values.reshape(30, -1)[:, ~np.isnan(b.values[0].ravel())]])
    area = np.concatenate([np.repeat(np.cos(np.deg2rad(a.lat.values)), 5), np.ones(9)])
    share = np.var(rows, axis=0, ddof=1) * area
    area[:20] /= share[:20].sum()
    area[20:] /= share[20:].sum()
    pca = karhunen.PCA(3).fit(rows, feature_weight=area)
    assert isinstance(eof.eofs(), xr.Dataset)
    assert eof.eofs().attrs == {"title": "two"}
    assert eof.eofs().p.dims == ("mode", "y", "x")
    assert_allclose(flat(eof.eofs().t), pca.components_[:, :20], rtol=0, atol=1e-12)
    assert_allclose(flat(eof.eofs().p), pca.components_[:, 20:], rtol=0, atol=1e-12)
    assert_allclose(eof.explained_variance_.values, pca.explained_variance_, rtol=1e-12)
    assert_allclose(eof.total_variance_, 2.0, rtol=1e-12)
    assert eof.reconstruct().p.attrs["units"] == "Pa"
    assert_allclose(eof.transform(data).values, eof.pcs().values, rtol=0, atol=1e-12)
    every = EOF(scale="std").fit(data).reconstruct()
    xr.testing.assert_allclose(every, data, rtol=0, atol=1e-7)
    with pytest.raises(ValueError, match=r"weights has an entry for each variable; missing: \['p'\]"):
        EOF(3).fit(data, weights={"t": "coslat"})
    with pytest.raises(ValueError, match=r"X\[1\] \(p\) has other samples than X\[0\] \(t\)"):
        EOF(3).fit([a, b.assign_coords(time=np.arange(30))])
    with pytest.raises(ValueError, match="the Dataset has no variable 'p'"):
        eof.transform(data[["t"]])


def test_a_list_holds_arrays_of_different_grids():
    arrays = [field(0), field(1, shape=(3, 2)), field(2).isel(lat=0, lon=0, drop=True)]
    eof = EOF().fit(arrays, weights=["coslat", "coslat", None])
    maps = eof.eofs()
    assert [part.sizes.get("lat") for part in maps] == [4, 3, None]
    for back, array in zip(eof.reconstruct(), arrays, strict=True):
        xr.testing.assert_allclose(back, array, rtol=0, atol=1e-10)
    with pytest.raises(ValueError, match="one Dataset cannot hold these maps"):
        eof.to_dataset()
    with pytest.raises(ValueError, match="the fit was to a list of DataArrays, this is a DataArray"):
        eof.transform(arrays[0])


def test_several_dimensions_and_stacked_ones_are_samples_or_points():
    array = field(n=24)
    members = array.assign_coords(time=np.arange(24)).coarsen(time=4).construct(time=("year", "member"))
    eof = EOF(2).fit(members, dim=("year", "member"), weights="coslat")
    plain = EOF(2).fit(array, weights="coslat")
    assert eof.pcs().dims == ("year", "member", "mode")
    assert_allclose(eof.pcs().values.reshape(24, 2), plain.pcs().values, rtol=0, atol=1e-12)
    assert eof.reconstruct().dims == ("year", "member", "lat", "lon")
    stacked = members.drop_vars("time", errors="ignore").assign_coords(year=range(6), member=range(4))
    stacked = stacked.stack(sample=("year", "member"), point=("lat", "lon"))
    both = EOF(2).fit(stacked, dim="sample", weights="coslat")
    assert_allclose(
        both.eofs().unstack("point").transpose("mode", "lat", "lon").values, plain.eofs().values, atol=1e-12
    )
    assert both.reconstruct().indexes["sample"].names == ["year", "member"]
    xr.testing.assert_allclose(
        both.reconstruct().unstack(),
        EOF(2)
        .fit(stacked.unstack(), dim=("year", "member"), weights="coslat")
        .reconstruct()
        .transpose("year", "member", "lat", "lon"),
        atol=1e-10,
    )


def test_fields_of_another_grid_are_refused_and_others_aligned():
    array = field()
    eof = EOF(2).fit(array)
    expected = eof.pcs()
    turned = array.isel(lat=slice(None, None, -1)).transpose("lon", "time", "lat")
    assert_allclose(eof.transform(turned).values, expected.values, rtol=0, atol=1e-12)
    single = array.assign_coords(lat=array.lat.astype(np.float32) + np.float32(1e-6))
    assert_allclose(eof.transform(single).values, expected.values, rtol=0, atol=1e-12)
    with pytest.raises(ValueError, match="t has other values of 'lat' than the fit; interpolate it"):
        eof.transform(array.assign_coords(lat=array.lat + 1))
    with pytest.raises(ValueError, match="t has 3 points along 'lat', the fit had 4"):
        eof.transform(array.isel(lat=slice(3)))
    with pytest.raises(ValueError, match="t has no dimension 'lon'"):
        eof.transform(array.isel(lon=0))


def test_modes_are_chosen_by_number():
    eof = EOF(4).fit(field())
    scores = eof.pcs()
    part = eof.inverse_transform(scores.sel(mode=[4, 2]))
    expected = eof.reconstruct([2, 4])
    xr.testing.assert_allclose(part, expected, rtol=0, atol=0)
    sums = eof.reconstruct(2) + eof.reconstruct([3, 4]) - eof.mean_
    xr.testing.assert_allclose(sums, eof.reconstruct(), rtol=0, atol=1e-12)
    future = scores.drop_vars("time").rename(time="step")[:3]
    assert eof.inverse_transform(future).dims == ("step", "lat", "lon")
    assert eof.inverse_transform(scores[0]).dims == ("lat", "lon")
    for modes in (0, 5, [1, 5], []):
        with pytest.raises(ValueError, match="there are the modes 1 to 4"):
            eof.reconstruct(modes)
    with pytest.raises(ValueError, match="each must be one of 1 to 4"):
        eof.inverse_transform(scores.assign_coords(mode=[0, 1, 2, 3]))
    with pytest.raises(ValueError, match="scaling = 3 is not known"):
        eof.eofs(scaling=3)


@pytest.mark.parametrize("method", ["varimax", "quartimax", "promax", "oblimin"])
def test_rotated_modes_keep_the_field(method):
    array = field().where(field().lon > 0)
    eof = EOF(4).fit(array, weights="coslat")
    rotated = eof.rotate(method, n_components=3)
    rotation = getattr(karhunen.rotation, method)(eof.pca_, n_components=3)
    rows = array.values.reshape(30, -1)[:, ~np.isnan(array.values[0].ravel())]
    assert_allclose(rotated.pcs(scaling=1).values, rotation.transform(rows), rtol=0, atol=1e-10)
    assert_allclose(rotated.explained_variance_.values, rotation.explained_variance, rtol=1e-12)
    xr.testing.assert_allclose(rotated.reconstruct(), eof.reconstruct(3), rtol=0, atol=1e-10)
    assert_allclose(rotated.transform(array).values, rotated.pcs().values, rtol=0, atol=1e-10)
    made = (rotated.eofs() * rotated.pcs()).sum("mode", skipna=False) / eof.weights_ + eof.mean_
    xr.testing.assert_allclose(made.transpose(*array.dims), eof.reconstruct(3), rtol=0, atol=1e-10)
    series = rotated.pcs(scaling=1)
    anomalies = array - eof.mean_
    covariance = (anomalies * series).sum("time", skipna=False) / 29
    xr.testing.assert_allclose(covariance.transpose("mode", ...), rotated.eofs_as_covariance(), rtol=0, atol=1e-10)
    correlation = covariance / anomalies.std("time", ddof=1, skipna=False)
    xr.testing.assert_allclose(correlation.transpose("mode", ...), rotated.eofs_as_correlation(), rtol=0, atol=1e-10)
    assert set(rotated.to_dataset()) == {"components", "scores", "explained_variance", "explained_variance_ratio"}


def test_north_groups_modes_that_samples_do_not_distinguish(sst):
    eof = EOF(5).fit(sst, weights="coslat")
    north = eof.north()
    found = karhunen.selection.north(eof.pca_)
    assert_allclose(north.standard_error.values, found.standard_errors, rtol=0, atol=0)
    assert [list(group) for group in found.groups] == [
        [mode - 1 for mode in north.mode.values[north.group.values == number]] for number in np.unique(north.group)
    ]
    assert_allclose(eof.north(25).standard_error.values, np.sqrt(2) * north.standard_error.values, rtol=1e-12)


@pytest.mark.filterwarnings("ignore:.*computes the partitions of X again")
@pytest.mark.parametrize("chunks", [{"time": 7}, {"time": 7, "lat": 2, "lon": 3}, {"lat": 1}])
@pytest.mark.parametrize("scale", [False, True, "variable"])
def test_chunked_fields_are_fitted_without_loading(chunks, scale):
    dask = pytest.importorskip("dask")
    array = field().where(field().lat > -50)
    array[5] = np.nan
    weights = xr.DataArray(np.arange(30) % 3, dims="time")
    expected = EOF(3, scale=scale).fit(array, weights="coslat", sample_weight=weights.values)
    lazy = array.chunk(chunks)
    eof = EOF(3, scale=scale).fit(lazy, weights="coslat", sample_weight=weights.values)
    assert type(eof.pca_).__module__ == "karhunen.dask"
    size = float(expected.explained_variance_[0]) ** 0.5
    assert_allclose(flat(eof.eofs()), flat(expected.eofs()), rtol=0, atol=1e-10)
    assert_allclose(eof.explained_variance_.values, expected.explained_variance_.values, rtol=1e-10)
    for found, known in (
        (eof.pcs(), expected.pcs()),
        (eof.reconstruct(), expected.reconstruct()),
        (eof.transform(lazy.drop_isel(time=5)), expected.transform(array.drop_isel(time=5))),
        (expected.transform(lazy.drop_isel(time=5)), expected.transform(array.drop_isel(time=5))),
        (eof.rotate().pcs(), expected.rotate().pcs()),
        (eof.rotate().reconstruct(2), expected.rotate().reconstruct(2)),
    ):
        assert dask.is_dask_collection(found.data)
        xr.testing.assert_allclose(found, known, rtol=0, atol=1e-10 * max(size, 200))
    xr.testing.assert_allclose(eof.eofs_as_correlation(), expected.eofs_as_correlation(), rtol=0, atol=1e-10)


def test_every_pass_reads_each_chunk_once():
    dask = pytest.importorskip("dask")
    array, read = field(), []

    def load(rows, block_info=None):
        read.append(block_info[0]["chunk-location"][0])
        return rows

    lazy = array.chunk(time=10)
    lazy = lazy.copy(data=lazy.data.map_blocks(load, dtype=float, meta=np.empty((0, 0, 0))))
    with dask.config.set(scheduler="synchronous"):
        eof = EOF(2, solver="covariance").fit(lazy, weights="coslat")
        # Missing values, then the sums.
        assert sorted(read) == [0, 0, 1, 1, 2, 2]
        eof.pcs()
        eof.reconstruct()
        assert len(read) == 6
        eof.pcs().compute()
        assert len(read) == 9


@pytest.mark.filterwarnings("ignore:.*computes the partitions of X again")
def test_chunked_variables_and_missing_values():
    pytest.importorskip("dask")
    data = xr.Dataset({"t": field(0, dtype=np.float32), "p": field(1, dtype=np.float32).rename(lat="y", lon="x")})
    eof = EOF(2).fit(data.chunk(time=10))
    expected = EOF(2).fit(data)
    assert eof.eofs().t.dtype == eof.pcs().dtype == np.float32
    # Both are float32 copies of results in float64.
    assert_allclose(eof.eofs().p.values, expected.eofs().p.values, rtol=0, atol=1e-6)
    incomplete = data.t.astype(float)
    incomplete[3, 2, 2] = np.nan
    with pytest.raises(ValueError, match="t has 1 missing values at 1 of its 20 points"):
        EOF(2).fit(incomplete.chunk(time=10))
    one = EOF(2, missing="als").fit(incomplete.chunk(time=10))
    assert one.eofs().dims == ("mode", "lat", "lon")
    assert one.pcs().compute().shape == (30, 2)
    with pytest.raises(ValueError, match="weights are not available for a chunked field"):
        EOF(2, missing="als").fit(incomplete.chunk(time=10), weights="coslat")


@pytest.mark.parametrize("suffix", ["nc", "zarr"])
def test_files_keep_everything(tmp_path, suffix, sst):
    pytest.importorskip("netCDF4" if suffix == "nc" else "zarr")
    two = xr.Dataset({"t": field(0, dtype=np.float32), "p": field(1).rename(lat="y", lon="x")}, attrs={"title": "two"})
    stacked = field().stack(point=("lat", "lon"))
    for number, (array, options) in enumerate(
        [
            (sst, {"weights": "coslat"}),
            (two, {"weights": {"t": "coslat", "p": None}}),
            (stacked, {"weights": "coslat"}),
            *([(tair(decode_times=True), {})] if suffix == "nc" else []),
            (field().where(field().time != 1983), {}),
        ]
    ):
        eof = EOF(3, scale="std").fit(array, **options)
        path = tmp_path / f"{number}.{suffix}"
        eof.save(path)
        again = EOF.load(path)
        assert again.get_params() == eof.get_params()
        for name in ("eofs", "pcs", "eofs_as_correlation", "eofs_as_covariance", "reconstruct", "north"):
            xr.testing.assert_identical(getattr(again, name)(), getattr(eof, name)())
        xr.testing.assert_identical(again.transform(array), eof.transform(array))
        assert (again.n_samples_, again.n_points_, again.dims_) == (eof.n_samples_, eof.n_points_, eof.dims_)
        assert again.total_variance_ == eof.total_variance_
    other = tmp_path / f"other.{suffix}"
    field().to_netcdf(other) if suffix == "nc" else field().to_zarr(other, consolidated=False)
    with pytest.raises(ValueError, match=r"holds no fitted karhunen\.xarray\.EOF"):
        EOF.load(other)


def test_pickles_and_clones(sst):
    eof = EOF(3).fit(sst, weights="coslat")
    again = pickle.loads(pickle.dumps(eof))
    xr.testing.assert_identical(again.eofs(), eof.eofs())
    xr.testing.assert_identical(again.transform(sst), eof.transform(sst))
    assert clone(eof).get_params() == eof.get_params()
    assert not hasattr(clone(eof), "pca_")
    assert repr(clone(eof)) == "EOF(n_components=3)"
    assert repr(eof) == "EOF(n_components=3) fitted to 50 x 450: 3 components, 69.0% of the variance"


def test_results_make_one_dataset(sst):
    eof = EOF(3).fit(sst, weights="coslat")
    data = eof.to_dataset()
    assert set(data) == {
        *("components", "mean", "weights", "scores"),
        *("explained_variance", "explained_variance_ratio", "singular_values"),
    }
    assert data.attrs["total_variance"] == eof.total_variance_
    assert data.components.dims == ("mode", "latitude", "longitude")
    both = EOF(2).fit(xr.Dataset({"t": field(0), "p": field(1)})).to_dataset()
    assert {"t_components", "p_components", "t_mean", "p_weights", "scores"} <= set(both)


def test_weights_are_checked(sst):
    array = field()
    with pytest.raises(ValueError, match=r"the weight of t at lat=-20.0, lon=0 is -1.0; weights are nonnegative"):
        EOF(2).fit(array, weights=xr.DataArray([1.0, -1.0, 1.0, 1.0], dims="lat"))
    with pytest.raises(ValueError, match="weights of t have the dimension 'level'"):
        EOF(2).fit(array, weights=xr.DataArray([1.0], dims="level"))
    with pytest.raises(ValueError, match="weights = 'area' is not allowed for t"):
        EOF(2).fit(array, weights="area")
    with pytest.raises(ValueError, match=r"the latitude 'lat' has the value -150"):
        EOF(2).fit(array.assign_coords(lat=array.lat * 2.5), weights="coslat")
    # The labels decide, not the order.
    weights = xr.DataArray([1.0, 2.0, 3.0, 4.0], dims="lat", coords={"lat": array.lat})
    turned = EOF(2).fit(array, weights=weights[::-1])
    assert_allclose(turned.eofs().values, EOF(2).fit(array, weights=weights).eofs().values, rtol=0, atol=0)
    # Land of the weights where the field is land.
    land = xr.ones_like(sst[0]).where(sst[0].notnull())
    assert_allclose(flat(EOF(2).fit(sst, weights=land).eofs()), flat(EOF(2).fit(sst).eofs()), rtol=0, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_poles_have_almost_no_weight(dtype):
    array = field(shape=(5, 4))
    array = array.assign_coords(lat=np.linspace(-90, 90, 5).astype(dtype))
    eof = EOF().fit(array, weights="coslat")
    assert float(eof.weights_.min()) >= 0
    assert float(abs(eof.eofs().isel(lat=[0, -1])[:5]).max()) < 1e-6
    inner = EOF(5).fit(array.isel(lat=slice(1, -1)), weights="coslat")
    assert_allclose(eof.eofs()[:5, 1:-1].values, inner.eofs().values, rtol=0, atol=1e-9)


def test_other_objects_are_refused():
    with pytest.raises(TypeError, match="give an xarray DataArray, a Dataset, or a list of DataArrays, not ndarray"):
        EOF(2).fit(np.ones((3, 4)))
    with pytest.raises(ValueError, match="t has no dimension 'month'; it has time, lat, lon"):
        EOF(2).fit(field(), dim="month")
    with pytest.raises(TypeError, match="t has values of type complex128"):
        EOF(2).fit(field().astype(complex))
    with pytest.raises(ValueError, match="all values of the field are missing"):
        EOF(2).fit(field().where(False))
    with pytest.raises(ValueError, match="the length of a dimension is 0"):
        EOF(2).fit(field().isel(lat=slice(0)))
    for options, message in (
        ({"scale": "area"}, "scale = 'area' is not known"),
        ({"missing": "drop"}, "missing = 'drop' is not known"),
        ({"center": "yes"}, "center = 'yes' is not allowed"),
        ({"n_components": 50}, "n_components"),
    ):
        with pytest.raises(ValueError, match=message):
            EOF(**options).fit(field())
    whole = EOF(2).fit(field().round().astype(int))
    assert whole.eofs().dtype == np.float64


def test_a_field_with_a_coordinate_of_modes_is_refused():
    field = xr.DataArray(np.random.default_rng(0).normal(size=(9, 4)), dims=("time", "lat"), coords={"mode": 3})
    with pytest.raises(ValueError, match="'mode'"):
        EOF(2).fit(field)


def test_latitudes_may_be_in_radians():
    rng = np.random.default_rng(1)
    lat = np.linspace(-80.0, 80.0, 9)
    degrees = xr.DataArray(rng.normal(size=(20, 9)), dims=("time", "lat"), coords={"lat": lat})
    radians = degrees.assign_coords(lat=("lat", np.deg2rad(lat), {"units": "radian"}))
    expected = EOF(3).fit(degrees, weights="coslat").explained_variance_
    found = EOF(3).fit(radians, weights="coslat").explained_variance_
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_arrays_of_numpy_are_weights():
    rng = np.random.default_rng(0)
    field = xr.DataArray(
        rng.normal(size=(30, 4, 5)),
        dims=("time", "lat", "lon"),
        coords={"lat": [-60.0, -20.0, 20.0, 60.0], "lon": np.arange(5) * 10.0},
    )
    weights = np.sqrt(np.cos(np.deg2rad(field.lat.values)))[..., np.newaxis]
    found, expected = EOF(2).fit(field, weights=weights), EOF(2).fit(field, weights="coslat")
    assert_allclose(found.explained_variance_.values, expected.explained_variance_.values, rtol=1e-12)
    with pytest.raises(
        ValueError, match=r"have the shape \(4,\), which does not broadcast to its points \(lat 4, lon 5\)"
    ):
        EOF(2).fit(field, weights=weights[:, 0])


def test_intervals_take_the_weights_of_the_areas():
    from karhunen.resampling import bootstrap

    rng = np.random.default_rng(0)
    field = xr.DataArray(rng.normal(size=(40, 6)), dims=("time", "lat"), coords={"lat": [0.0, 20, 40, 60, 70, 80]})
    eof = EOF(2).fit(field, weights="coslat")
    found = bootstrap(eof.pca_, field.values, n_draws=20).explained_variance_ratio
    assert_allclose(found.estimate, eof.explained_variance_ratio_.values, rtol=1e-10)
