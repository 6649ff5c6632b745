"""The figures of the paper, and those of scaling."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

#: Colour, line and marker of each curve.
STYLES = {
    "gradient": ("#56B4E9", "-"),
    "natural gradient": ("#E69F00", "-"),
    "speed-up": ("#0072B2", "-"),
    "EM": ("#7f7f7f", "--"),
    "imputation": ("#000000", ":"),
    "regularised": ("#CC79A7", "-"),
    "VB1": ("#009E73", "--"),
    "VB2": ("#009E73", "-"),
    "VB, full covariances": ("#D55E00", "-"),
}
#: Curves of the left and right figures of the paper.
TRAINING = ["gradient", "natural gradient", "speed-up", "EM", "imputation"]
HELD_OUT = ["gradient", "natural gradient", "speed-up", "regularised", "VB1", "VB2", "VB, full covariances"]


def learning_curves(record: dict, folder: Path) -> None:
    """Draw the errors of the fitted and of the held-out entries against time."""
    runs = record["runs"]
    for file, names, curve, label in [
        ("training.svg", TRAINING, "train", "RMSE of the entries fitted"),
        ("held_out.svg", HELD_OUT, "test", "RMSE of the entries set aside"),
    ]:
        figure, ax = axes()
        names = [name for name in names if name in runs]
        for name in names:
            seconds, errors = np.array(runs[name][curve]).T
            colour, line = STYLES[name]
            late = seconds > 0
            marker = "o" if curve == "test" else None
            ax.plot(seconds[late], errors[late], line, color=colour, label=name, marker=marker, markersize=3.5)
        points = np.concatenate([np.array(runs[name][curve]) for name in names])
        top = 1.02 * record["rmse_of_means"]
        ax.set_ylim(points[:, 1].min() - 0.01, top)
        ax.set_xlim(left=0.7 * points[(points[:, 1] < top) & (points[:, 0] > 0), 0].min())
        ax.axhline(record["rmse_of_means"], color="#b0b0b0", linewidth=1)
        ax.annotate("means only", (1, record["rmse_of_means"]), xycoords=("axes fraction", "data"), fontsize=8.5,
                    xytext=(-4, 3), textcoords="offset points", ha="right", color="#606060")  # fmt: skip
        ax.set_xscale("log")
        ax.set_xlabel("seconds")
        ax.set_ylabel(label)
        ax.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
        save(figure, folder / file)


def scaling(record: dict, folder: Path) -> None:
    """Draw the time of an iteration against each size, with the slope of a line through the larger half."""
    labels = {"entries": "entries N", "components": "components c", "rows": "rows n, same N"}
    figure, all_axes = plt.subplots(1, 3, figsize=(10.5, 3.9), layout="constrained", sharey=False)
    for ax, (what, label) in zip(all_axes, labels.items(), strict=True):
        tidy(ax)
        for method, points in record["series"][what].items():
            sizes, seconds = np.array(points).T
            colour, marker = record["styles"][method]
            slope = record["slopes"][what][method]
            ax.loglog(sizes, 1e3 * seconds, marker=marker, color=colour, label=f"{method}: {slope:.2f}", markersize=5)
        if what != "entries":
            shown = [2, 4, 8, 16, 32, 64] if what == "components" else sizes[::2]
            ax.set_xticks(shown, [f"{size:,.0f}" for size in shown])
            ax.set_xticks([], minor=True)
        ax.set_xlabel(label)
        # Space for the legend, so that no line crosses it.
        bottom, top = ax.get_ylim()
        ax.set_ylim(bottom, top * (top / bottom) ** 0.3)
        ax.legend(
            loc="upper left", frameon=False, fontsize=8.5, title="method: slope", title_fontsize=8.5, alignment="left"
        )
    all_axes[0].set_ylabel("milliseconds for an iteration")
    save(figure, folder / "scaling.svg")


def axes() -> tuple[plt.Figure, plt.Axes]:
    """Make a figure with one Axes."""
    figure, ax = plt.subplots(figsize=(7.4, 4.2), layout="constrained")
    tidy(ax)
    return figure, ax


def tidy(ax: plt.Axes) -> None:
    """Remove spines and ticks that carry no data."""
    ax.grid(color="#e3e5e9", linewidth=0.6)
    ax.set_axisbelow(True)
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(length=0, which="both")


def save(figure: plt.Figure, path: Path) -> None:
    """Write a reproducible file: no date, no random identifiers."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with plt.rc_context({"svg.hashsalt": "karhunen"}):
        figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
