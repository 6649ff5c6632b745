"""
Every solver, one answer
========================

Four solvers for the components of the same data, their times, and the differences of their variances. The automatic
choice takes the cheapest for the shape.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from karhunen import PCA

rng = np.random.default_rng(0)
shapes = {"tall": (20_000, 100), "square": (1_500, 1_500), "wide": (150, 20_000)}
routes = ["svd", "covariance", "gram", "block-krylov"]
times = {}
for name, (n, p) in shapes.items():
    x = rng.standard_normal((n, p)) * np.arange(1, p + 1) ** -0.7
    chosen = PCA(10).fit(x).solver_
    exact = PCA(10, solver="gram" if n < p else "covariance").fit(x).explained_variance_
    for route in routes:
        if (route == "gram" and n > 10_000) or (route == "covariance" and p > 10_000) or (route == "svd" and n == p):
            continue  # seconds to minutes: the wrong side of the matrix
        start = time.perf_counter()
        pca = PCA(10, solver=route).fit(x)
        times[name, route] = time.perf_counter() - start
        error = np.max(np.abs(pca.explained_variance_ / exact - 1))
        mark = "<- auto" if route == chosen else ""
        print(f"{name:<7} {route:<13} {1000 * times[name, route]:8.1f} ms   differs by {error:.0e} {mark}")

# %%
# Time by shape and solver. It depends on the machine; the order hardly does.
colours = dict(zip(routes, ["#0072B2", "#E69F00", "#009E73", "#CC79A7"], strict=True))
figure, ax = plt.subplots(figsize=(7, 3.6), layout="constrained")
for i, name in enumerate(shapes):
    for j, route in enumerate(r for r in routes if (name, r) in times):
        ax.bar(i + 0.22 * j, 1000 * times[name, route], 0.2, color=colours[route], label=route if i == 0 else None)
ax.set_xticks(np.arange(3) + 0.22, [f"{name}\n{n:,} x {p:,}" for name, (n, p) in shapes.items()])
ax.set(yscale="log", ylabel="milliseconds")
ax.yaxis.set_major_formatter("{x:g}")
ax.yaxis.set_minor_formatter("")
handles = [plt.Rectangle((0, 0), 1, 1, color=colours[route]) for route in routes]
ax.legend(handles, routes, frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.5, 1.15))
ax.spines[["top", "right"]].set_visible(False)
plt.show()
