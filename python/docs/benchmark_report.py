"""The table and the plot of the page on performance, from the newest benchmark record of each workload."""

from __future__ import annotations

import csv
from pathlib import Path

OURS = "karhunen"
#: Label of each competitor, in the order and with the colour and marker of the plot.
NAMES = {
    "sklearn-covariance": ("scikit-learn, covariance_eigh", "#E69F00", "s"),
    "sklearn-full": ("scikit-learn, full", "#CC79A7", "D"),
    "sklearn-randomized": ("scikit-learn, randomized", "#D55E00", "^"),
    "sklearn-arpack": ("scikit-learn, arpack", "#009E73", "v"),
    "sklearnex": ("scikit-learn-intelex", "#56B4E9", "P"),
    "faiss": ("faiss", "#7f7f7f", "X"),
    "fbpca": ("fbpca", "#000000", "*"),
}
#: Results with larger errors are not comparable: hollow in the plot.
ACCURATE = 1e-3
BUSY = "The machine was busy: ratios are rough."
#: Workloads of the landing page.
HIGHLIGHTS = {
    "tall-f64": "many rows",
    "wide-f64": "many columns",
    "square-f64": "both sides long",
    "sparse-tall-f32": "sparse, many rows",
    "sparse-wide-f32": "sparse, many columns",
}


def write(records: Path, folder: Path) -> None:
    """Write `report.inc`, `highlights.inc` and `ratios.svg` into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    rows = newest(records)
    draw(rows, folder / "ratios.svg")
    (folder / "report.inc").write_text(text(rows))
    (folder / "highlights.inc").write_text(highlights(rows))


def newest(records: Path) -> list[dict]:
    """Return the rows of each workload from the newest record that measured it through Python."""
    found: dict[str, list[dict]] = {}
    for path in sorted(records.glob("*.csv")):
        with open(path, newline="") as file:
            rows = [row | {"record": path.name} for row in csv.DictReader(file)]
        # Records older than the package name no versions; records of reading files have no variances.
        rows = [row for row in rows if row.get("version") is not None and row.get("worst_error")]
        for workload in dict.fromkeys(row["workload"] for row in rows):
            found[workload] = [row for row in rows if row["workload"] == workload]
    if not found:
        raise RuntimeError(f"no record of a benchmark through Python in {records}; run `cargo xtask bench`")
    return [row for rows in found.values() for row in rows]


def text(rows: list[dict]) -> str:
    """Write the setting, the plot and the table as reStructuredText."""
    ours = [row for row in rows if row["competitor"] == OURS]
    machines = sorted({f"{row['threads']} threads of {row['cpu']} ({row['cores']} cores)" for row in rows})
    dates = sorted({row["date"] for row in rows})
    when = dates[0] if len(dates) == 1 else f"{dates[0]} to {dates[-1]}"
    versions = sorted({row["version"] for row in rows if row["version"]}, key=str.lower)
    names = ", ".join(f"`{name}`" for name in sorted({row["record"] for row in rows}))
    lines = [
        f"Fits of {ours[0]['components']} components through Python, measured {when} UTC on {'; '.join(machines)}, "
        f"medians of {ours[0]['rounds']} rounds, with up to {load(rows):g} other processes at work when a run began "
        f"(records {names} in `benchmarks/records`).",
        f"Versions: {', '.join(versions)}.",
        *(["", BUSY] if load(rows) > float(rows[0]["cores"]) / 2 else []),
        "",
        ".. figure:: /generated/performance/ratios.svg",
        "   :alt: Time of each peer relative to karhunen, by workload",
        "   :width: 100%",
        "",
        "   How many times as long as karhunen each peer takes. Hollow: variances off by more than 0.1 %.",
        "",
        ".. list-table::",
        "   :class: figures",
        "   :header-rows: 1",
        "   :widths: 25 32 11 9 9 10 8",
        "",
        *_cells("data", "competitor", "time", "ratio", "error", "memory", "of floor"),
    ]
    shown = None
    for row in rows:
        if row["competitor"] not in NAMES and row["competitor"] != OURS:
            continue
        data = f"{row['workload']}, {int(row['n']):,} x {int(row['p']):,}"
        name = f"**karhunen** ({row['route']})" if row["competitor"] == OURS else NAMES[row["competitor"]][0]
        lines += _cells(
            data if data != shown else "",
            name,
            _seconds(float(row["median_s"])),
            f"{float(row['time_ratio']):.1f}",
            f"{float(row['worst_error']):.0e}",
            f"{float(row['growth_mb']):,.0f} MB",
            f"{float(row['median_s']) / float(row['floor_s']):.1f}" if row.get("floor_s") else "",
        )
        shown = data
    return "\n".join([*lines, ""])


def load(rows: list[dict]) -> float:
    """Return the largest number of other processes at work when a run began."""
    return max(float(row["load_before"]) for row in rows)


def highlights(rows: list[dict]) -> str:
    """Write the table of the landing page: karhunen and the fastest accurate solver of scikit-learn."""
    lines = [
        ".. list-table::",
        "   :class: figures",
        "   :header-rows: 1",
        "   :widths: 40 14 32 14",
        "",
        *_cells("data", "karhunen", "fastest accurate solver of scikit-learn", "ratio"),
    ]
    shown = []
    for name, words in HIGHLIGHTS.items():
        mine = [row for row in rows if row["workload"] == name]
        ours = next(row for row in mine if row["competitor"] == OURS)
        theirs = [row for row in mine if row["competitor"].startswith("sklearn-")]
        best = min(
            (row for row in theirs if float(row["worst_error"]) <= ACCURATE), key=lambda row: float(row["median_s"])
        )
        solver = best["competitor"].removeprefix("sklearn-").replace("covariance", "covariance_eigh")
        lines += _cells(
            f"{words}, {int(ours['n']):,} x {int(ours['p']):,}",
            _seconds(float(ours["median_s"])),
            f"{_seconds(float(best['median_s']))} ({solver})",
            f"{float(best['time_ratio']):.1f}",
        )
        shown += [ours, best]
    worst = max(float(row["worst_error"]) for row in shown)
    dates = sorted({row["date"].split()[0] for row in shown})
    before = (
        f"Whole fits of {shown[0]['components']} components on {shown[0]['threads']} threads, variances right to "
        f"{worst:.0e} or better, medians of {shown[0]['rounds']} rounds, measured {' and '.join(dates)}. "
        + (f"{BUSY} " if load(shown) > float(shown[0]["cores"]) / 2 else "")
        + ":doc:`performance` has all workloads and other packages, errors, memory, and how it is measured.",
    )
    return "\n".join([*before, "", *lines, ""])


def draw(rows: list[dict], path: Path) -> None:
    """Draw the time ratios on a logarithmic axis, with a line for each workload."""
    import matplotlib.pyplot as plt

    workloads = list(dict.fromkeys(row["workload"] for row in rows))
    figure, ax = plt.subplots(figsize=(6.2, 1.6 + 0.46 * len(workloads)), layout="constrained")
    ax.axvline(1.0, color="#0072B2", linewidth=2.5)
    for who, (name, colour, marker) in NAMES.items():
        mine = [row for row in rows if row["competitor"] == who]
        for row in mine:
            hollow = float(row["worst_error"]) > ACCURATE
            at = (float(row["time_ratio"]), workloads.index(row["workload"]))
            face = "white" if hollow else colour
            ax.plot(*at, marker, markersize=7.5, markerfacecolor=face, markeredgecolor=colour, markeredgewidth=1.3)
        if mine:
            ax.plot([], [], marker, color=colour, label=name)
    sizes = {row["workload"]: f"{row['workload']}\n{int(row['n']):,} x {int(row['p']):,}" for row in rows}
    ax.set_yticks(range(len(workloads)), [sizes[name] for name in workloads], fontsize=9)
    ax.invert_yaxis()
    ax.set_xscale("log")
    low, high = ax.get_xlim()
    ax.set_xlim(min(low, 0.8), high)
    ticks = [t for t in (0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500) if ax.get_xlim()[0] <= t <= ax.get_xlim()[1]]
    ax.set_xticks(ticks, [f"{t:g}" for t in ticks])
    ax.set_xticks([], minor=True)
    ax.set_xlabel("time relative to karhunen (right of the line: slower)")
    ax.grid(color="#d9dce1", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[:].set_visible(False)
    ax.tick_params(length=0)
    figure.legend(loc="outside upper center", ncols=2, frameon=False, fontsize=9)
    # A reproducible plot: no date, no random identifiers.
    with plt.rc_context({"svg.hashsalt": "karhunen"}):
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


def _cells(*cells: str) -> list[str]:
    """Write a row of a list-table."""
    first, *others = cells
    return [f"   * - {first}".rstrip(), *(f"     - {cell}" for cell in others)]


def _seconds(time: float) -> str:
    """Write a time with its unit."""
    return f"{time:.2f} s" if time >= 0.1 else f"{1000.0 * time:.1f} ms"
