#!/usr/bin/env python3
"""Compare `karhunen.xarray.EOF` with eofs and xeofs on 40 years of daily fields: time, accuracy, peak memory.

    python3 benchmarks/climate.py [WORKLOAD ...] [--rounds N] [--threads N] [--everybody] [--quick] [--installed]

Workloads: `daily`, 14,600 days of 72 latitudes x 144 longitudes in float32, of which 30% are land without values, with
10 modes, weighted by the root of the cosine of the latitude; `coarse`, as many days of 36 x 72; `monthly`, 480 months
of 72 x 144. Fields are 60 smooth patterns of falling variance with red noise in time, and white noise. A fit begins
with a DataArray and ends with maps and series, as users ask for them: eofs decomposes all modes by LAPACK, xeofs uses
its default solver (randomized, where it chooses so). The 7,258 modes of `daily` take eofs most of an hour: it runs
there with `--everybody` only. Every fit runs in a separate process, competitors alternate, after a small fit that
starts libraries and threads. Memory is the rise of the peak of resident memory during the fit. The error is the worst
relative error among the 10 variances against the eigenvalues of the float64 covariance.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path

from incremental import begin, record
from run import environment_of

#: Number of samples, of latitudes, of longitudes, of modes.
WORKLOADS = {"daily": (14_600, 72, 144, 10), "coarse": (14_600, 36, 72, 10), "monthly": (480, 72, 144, 10)}
WHO = ("karhunen", "xeofs", "eofs")


def field(n: int, n_lat: int, n_lon: int):
    """Make a field with land from a fixed seed."""
    import numpy as np
    import xarray as xr
    from scipy.ndimage import gaussian_filter
    from scipy.signal import lfilter

    rng = np.random.default_rng(17)
    smooth = {"sigma": (0, 4, 6), "mode": ("nearest", "nearest", "wrap")}
    patterns = gaussian_filter(rng.standard_normal((60, n_lat, n_lon)), **smooth).reshape(60, -1)
    patterns *= (np.arange(1, 61) ** -0.7 / patterns.std(axis=1))[:, None]
    series = lfilter([np.sqrt(1 - 0.95**2)], [1, -0.95], rng.standard_normal((60, n + 200)))[:, 200:]
    values = series.T.astype(np.float32) @ patterns.astype(np.float32)
    values += 0.5 * rng.standard_normal(values.shape, dtype=np.float32) + 15
    heights = gaussian_filter(rng.standard_normal((1, n_lat, n_lon)), **smooth).ravel()
    values[:, heights > np.quantile(heights, 0.7)] = np.nan
    lat = np.linspace(-90 + 90 / n_lat, 90 - 90 / n_lat, n_lat, dtype=np.float32)
    lon = np.arange(n_lon, dtype=np.float32) * np.float32(360 / n_lon)
    days = np.datetime64("1981-01-01", "ns") + np.arange(n) * np.timedelta64(86_400_000_000_000, "ns")
    coords = {"time": days, "lat": lat, "lon": lon}
    return xr.DataArray(values.reshape(n, n_lat, n_lon), dims=("time", "lat", "lon"), coords=coords, name="sst")


def fitted(who: str, sst, k: int, threads: int):
    """Fit and return the variances, maps and series."""
    import numpy as np

    if who == "karhunen":
        from karhunen.xarray import EOF

        eof = EOF(k, n_threads=threads).fit(sst, dim="time", weights="coslat")
        return eof.explained_variance_.values, eof.eofs(), eof.pcs(), f"{eof.pca_.solver_}, {eof.pca_.n_iter_} passes"
    if who == "xeofs":
        from xeofs.single import EOF as Xeof

        model = Xeof(n_modes=k, use_coslat=True, random_state=0)
        model.fit(sst, dim="time")
        return model.explained_variance().values, model.components(), model.scores(normalized=False), ""
    from eofs.xarray import Eof

    # The type of the field: eofs would make it float64.
    weights = np.sqrt(np.cos(np.deg2rad(sst.lat.values)))[:, np.newaxis].astype(np.float32)
    solver = Eof(sst, weights=weights)
    return solver.eigenvalues(neigs=k).values, solver.eofs(neofs=k), solver.pcs(npcs=k), ""


def exact(sst, k: int) -> list[float]:
    """Compute the variances from the covariance in float64."""
    import numpy as np
    from scipy.linalg import eigh

    weights = np.sqrt(np.cos(np.deg2rad(sst.lat.values.astype(float))))[:, np.newaxis]
    rows = sst.values.reshape(len(sst), -1)
    there = ~np.isnan(rows[0])
    rows = rows[:, there].astype(np.float64)
    rows -= rows.mean(axis=0)
    rows *= np.broadcast_to(weights, sst.shape[1:]).ravel()[there]
    gram = (rows @ rows.T if len(rows) < rows.shape[1] else rows.T @ rows) / (len(rows) - 1)
    n = len(gram)
    return eigh(gram, eigvals_only=True, subset_by_index=(n - k, n - 1))[::-1].tolist()


def one(who: str, workload: str, options: dict) -> dict:
    """Fit in this process."""
    import warnings

    from peer import memory_kb

    warnings.simplefilter("ignore")
    n, n_lat, n_lon, k = options["size"]
    if who == "exact":
        return {"variances": exact(field(n, n_lat, n_lon), k)}
    # Libraries load and threads start before the timer.
    fitted(who, field(60, 12, 18), 3, options["threads"])
    sst = field(n, n_lat, n_lon)
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before, cpu = memory_kb("VmRSS"), time.process_time()
    start = time.perf_counter()
    variances, maps, series, said = fitted(who, sst, k, options["threads"])
    checked = float(maps.sum()) + float(series.sum())
    found = {"seconds": time.perf_counter() - start, "processor": time.process_time() - cpu}
    assert checked == checked
    growth = (memory_kb("VmHWM") - before) / 1024
    return found | {"growth_mb": growth, "variances": variances.tolist(), "said": said}


def alone(who: str, workload: str, options: dict) -> dict:
    """Fit in a separate process."""
    environment = environment_of(options["threads"])
    command = [sys.executable, Path(__file__), "--one", who, workload, json.dumps(options)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise SystemExit(f"{who} failed on {workload}:\n{done.stderr}")
    return json.loads(done.stdout.splitlines()[-1])


def measure(workload: str, options: argparse.Namespace) -> list[dict]:
    """Measure all competitors on one workload."""
    n, n_lat, n_lon, k = WORKLOADS[workload]
    size = (n // 10, n_lat // 2, n_lon // 2, k) if options.quick else (n, n_lat, n_lon, k)
    settings = {"threads": options.threads, "size": size}
    truth = alone("exact", workload, settings)["variances"]
    runs = {who: [] for who in WHO if who != "eofs" or workload != "daily" or options.everybody or options.quick}
    for _ in range(options.rounds):
        for who in runs:
            runs[who].append(alone(who, workload, settings))
    lines = []
    for who, fits in runs.items():
        pairs = list(zip(fits, runs["karhunen"], strict=True))
        line = {"workload": workload, "n": size[0], "lat": size[1], "lon": size[2], "k": k, "competitor": who}
        line["version"] = import_module(who).__version__
        line["median_s"] = statistics.median(fit["seconds"] for fit in fits)
        line["median_processor_s"] = statistics.median(fit["processor"] for fit in fits)
        line["time_ratio"] = statistics.median(a["seconds"] / b["seconds"] for a, b in pairs)
        line["growth_mb"] = statistics.median(fit["growth_mb"] for fit in fits)
        line["worst_error"] = max(abs(a / b - 1) for a, b in zip(fits[-1]["variances"], truth, strict=True))
        line["said"] = fits[-1]["said"]
        lines.append(line)
        print(
            f"{workload:>8} {who:<9} {line['median_s']:>8.2f} s ({line['time_ratio']:.1f} x) "
            f"{line['median_processor_s']:>8.2f} s of processor {line['growth_mb']:>6.0f} MB, "
            f"error {line['worst_error']:.1e} {line['said']}",
            flush=True,
        )
    return lines


def main() -> None:
    """Measure the requested workloads."""
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(one(sys.argv[2], sys.argv[3], json.loads(sys.argv[4]))))
        return
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), metavar="WORKLOAD", help="default: all")
    parser.add_argument("--rounds", type=int, default=3, help="fits by each, alternating (default 3)")
    parser.add_argument("--threads", type=int, default=2, help="threads of each (default 2)")
    parser.add_argument("--everybody", action="store_true", help="measure eofs on `daily`, too")
    parser.add_argument("--quick", action="store_true", help="a tenth of the samples: checks that everything runs")
    parser.add_argument("--installed", action="store_true", help="do not build the package: it is installed")
    options = parser.parse_args()
    started = begin(parser, options, WORKLOADS)
    lines = [line for workload in options.workloads for line in measure(workload, options)]
    if lines and not options.quick:
        print(f"record: {record('climate', lines, options, started)}")


if __name__ == "__main__":
    main()
