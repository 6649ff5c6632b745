"""The tables of the page on the paper, from the records of `examples/paper`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

#: The largest available record is shown.
SIZES = ("netflix", "ten-million", "million", "small")
#: Seconds of an iteration in the paper: 100 million entries in MATLAB on two AMD Opteron SE 2220.
PAPER_SECONDS = {"gradient": "57 s", "speed-up": "97 s", "EM": "25 h", "imputation": "30 h"}
#: Time of an iteration: N entries, n + p rows and columns, c components.
COSTS = {
    "gradient": "N c",
    "natural gradient": "N c + (n+p) c²",
    "speed-up": "N c",
    "EM": "N c² + (n+p) c³",
    "imputation": "N c + (n+p) c²",
    "regularised": "N c + (n+p) c²",
    "VB1": "N c + (n+p) c²",
    "VB2": "N c + (n+p) c²",
    "VB, full covariances": "N c² + (n+p) c³",
}


def write(records: Path, folder: Path) -> None:
    """Write tables as `NAME.inc` into `folder`, and copy the figures there."""
    folder.mkdir(parents=True, exist_ok=True)
    sizes = [size for size in SIZES if (records / f"{size}.json").exists()]
    if not sizes:
        raise RuntimeError(f"no record of the paper's experiments in {records}; run examples/paper/run.py")
    record = json.loads((records / f"{sizes[0]}.json").read_text())
    texts = {
        "setting": setting(record),
        "costs": costs(record),
        "claims": claims(record),
        "tables": tables(json.loads((records / "tables.json").read_text())),
        "scaling": scaling(json.loads((records / "scaling.json").read_text())),
    }
    for name, lines in texts.items():
        (folder / f"{name}.inc").write_text("\n".join([*lines, ""]))
    for path in records.glob("*.svg"):
        shutil.copy(path, folder / path.name)


def setting(record: dict) -> list[str]:
    """Describe the measurement: object, machine and time."""
    where, runs = record["setting"], record["runs"].values()
    dates = sorted(run["date"] for run in runs)
    busy = max(run["load_before"] for run in runs)
    noise = f"planted rank {record['components']}, noise {record['noise']}"
    return [
        f"Entries of {record['rows']:,} rows and {record['columns']:,} columns, {record['entries']:,} of them fitted "
        f"and {record['set_aside']:,} held out; {noise}, which no prediction can go below. {record['components']} "
        "components, float32, means as in the paper: 22 pseudo-observations of 3 for each column. "
        f"Measured {dates[0]} to {dates[-1]} UTC with {where['threads']} threads on {where['cpu']}, {where['cores']} "
        "cores, "
        f"karhunen {where['karhunen']}; up to {busy:g} processes were at work when a run began.",
    ]


def costs(record: dict) -> list[str]:
    """Write the table of cost for each iteration."""
    runs, target = record["runs"], target_of(record)
    rows = []
    for name, cost in COSTS.items():
        run = runs[name]
        reached = time_to(run, target)
        rows.append([
            name,
            f"`{run['method']}`",
            cost,
            PAPER_SECONDS.get(name, "not told"),
            seconds(run["seconds_per_iteration"]),
            "never" if reached is None else seconds(reached),
            f"{run['train'][-1][1]:.4f}",
            f"{run['test'][-1][1]:.4f}",
        ])  # fmt: skip
    header = ["algorithm", "`method`", "time", "paper, N = 10\\ :sup:`8`", "here, an iteration",
              f"here, to {target:.3f}", "fitted", "held out"]  # fmt: skip
    return list_table(header, rows, "17 12 19 11 11 11 9 10")


def claims(record: dict) -> list[str]:
    """Write the statements of the paper with our results."""
    runs, target = record["runs"], target_of(record)
    gradient, natural, speed_up = (runs[name] for name in ("gradient", "natural gradient", "speed-up"))
    times = [time_to(run, target) or float("inf") for run in (gradient, natural, speed_up)]
    each = {name: run["seconds_per_iteration"] for name, run in runs.items()}
    last = {name: run["test"][-1][1] for name, run in runs.items()}
    least = {name: min(error for _, error in run["test"]) for name, run in runs.items()}
    fitted = {name: run["train"][-1][1] for name, run in runs.items()}
    rise = {name: last[name] - least[name] for name in runs}
    unregularised = min(least[name] for name in ("gradient", "natural gradient", "speed-up"))
    ratio = times[0] / times[2]
    of_iterations = each["speed-up"] / each["gradient"]
    em, imputation = (each[name] / each["speed-up"] for name in ("EM", "imputation"))
    rows = [
        ("The speed-up is more than ten times as fast as gradient descent.",
         f"{ratio:.1f} times, to an RMSE of {target:.3f}", ratio > 10),
        ("Its iteration takes 1.7 times as long (97 s and 57 s).",
         f"{of_iterations:.1f} times", 1.2 < of_iterations < 2.2),
        ("The natural gradient is slower than the gradient.",
         f"{times[1] / times[0]:.2f} times the time", times[1] > times[0]),
        ("An iteration of EM takes 900 times one of the speed-up (25 h).", f"{em:.1f} times", em > 300),
        ("One of imputation takes 1,100 times (30 h): the data matrix is filled.",
         f"{imputation:.1f} times: it never is", imputation > 300),
        ("Least squares overfits: its error on other entries turns and rises.",
         f"speed-up: from {least['speed-up']:.4f} up to {last['speed-up']:.4f}", rise["speed-up"] > 0.005),
        ("The more so the larger the power alpha.",
         f"gradient: up by {rise['gradient']:.4f}, speed-up: by {rise['speed-up']:.4f}",
         rise["speed-up"] > rise["gradient"]),
        ("The natural gradient overfits less.", f"up by {rise['natural gradient']:.4f}",
         rise["natural gradient"] < min(rise["gradient"], rise["speed-up"])),
        ("Regularisation helps a lot.",
         f"{least['regularised']:.4f} at best, against {unregularised:.4f} without; but {last['regularised']:.4f} in "
         f"the end, as {record['components'] - runs['regularised']['components']} components vanish",
         least["regularised"] < unregularised and last["regularised"] < least["regularised"] + 0.01),
        ("Variational Bayes does not overfit.", f"VB1 up by {rise['VB1']:.4f}, VB2 by {rise['VB2']:.4f}",
         max(rise["VB1"], rise["VB2"]) < 0.002),
        ("VB2, which learns the variances, is best.",
         f"VB2 {last['VB2']:.4f}, VB1 {last['VB1']:.4f}, regularised {last['regularised']:.4f}",
         last["VB2"] < min(last["VB1"], last["regularised"])),
        ("It fits the data less closely than least squares (0.7826 and 0.7657).",
         f"{fitted['VB2']:.4f} and {fitted['speed-up']:.4f}", fitted["VB2"] > fitted["speed-up"]),
    ]  # fmt: skip
    cells = [[claim, found, "agrees" if agrees else "**not so here**"] for claim, found, agrees in rows]
    return list_table(["the paper", "here", ""], cells, "48 40 12")


def target_of(record: dict) -> float:
    """Return the error nine tenths of the way from the error of the means to the best of the gradient methods."""
    best = min(record["runs"][name]["train"][-1][1] for name in ("gradient", "natural gradient", "speed-up"))
    return round(best + 0.1 * (record["rmse_of_means"] - best), 3)


def time_to(run: dict, error: float) -> float | None:
    """Return the first time at which the error of the fitted entries was at most `error`."""
    return next((at for at, found in run["train"] if found <= error), None)


def tables(record: dict) -> list[str]:
    """Write the errors on real tables."""
    names = list(next(iter(record["tables"].values()))["errors"])
    rows = []
    for name, table in record["tables"].items():
        best = min(table["errors"].values())
        of_all = [f"**{error:.3f}**" if error == best else f"{error:.3f}" for error in table["errors"].values()]
        shape = f"{table['rows']:,} x {table['columns']}, {table['missing']:.0%} missing, c = {table['components']}"
        size = f"{name.replace('_', ' ')}, {shape}"
        rows.append([size, f"{table['means']:.3f}", *of_all])
    where = record["setting"]
    return [
        *list_table(["table", "means", *names], rows, "24 " + " ".join(["8"] * (len(names) + 1))),
        "",
        f"Medians of {record['seeds']} choices of the tenth; c components. {where['date']} UTC.",
    ]


def scaling(record: dict) -> list[str]:
    """Write slopes and times by threads."""
    methods = list(record["styles"])
    series, slopes = record["series"], record["slopes"]
    rows = []
    for method in methods:
        threads = dict(series["threads"][method])
        most = max(threads, key=int)
        last_n, last = series["entries"][method][-1]
        rows.append([
            f"`{method}`",
            *(f"{slopes[what][method]:.2f}" for what in ("entries", "components", "rows")),
            f"{threads[1] / threads[most]:.2f}",
            f"{seconds(last)} at N = {last_n:,}",
        ])  # fmt: skip
    header = ["`method`", "N", "c", "n", f"times as fast with {max(threads)} threads", "an iteration, c = 15"]
    when = sorted(where["date"] for where in record["settings"].values())
    where = next(iter(record["settings"].values()))
    busy = max(where["load_before"] for where in record["settings"].values())
    return [
        *list_table(header, rows, "14 10 10 10 24 32"),
        "",
        f"Measured {when[0]} to {when[-1]} UTC with {where['threads']} threads on {where['cpu']}; up to {busy:g} "
        "processes were at work when a run began.",
    ]


def list_table(header: list[str], rows: list[list[str]], widths: str) -> list[str]:
    """Write a table as reStructuredText."""
    lines = [".. list-table::", "   :class: figures", "   :header-rows: 1", f"   :widths: {widths}", ""]
    for first, *others in [header, *rows]:
        lines += [f"   * - {first}".rstrip(), *(f"     - {cell}".rstrip() for cell in others)]
    return lines


def seconds(time: float) -> str:
    """Write a time with its unit."""
    return f"{1000.0 * time:.1f} ms" if time < 0.1 else f"{time:.2f} s" if time < 100 else f"{time:,.0f} s"
