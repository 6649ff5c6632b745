#!/usr/bin/env python3
"""Compare `PCA(device="cuda")` with cuML, with PyTorch on the same GPU, and with the processor, one workload at a time.

    python3 benchmarks/device.py [WORKLOAD ...] [--rounds N] [--only NAME ...] [--quick] [--record FILE]

It needs a GPU of NVIDIA, PyTorch and karhunen in the Python that runs it; cuML takes part if it is installed.
The data are made on the GPU from a fixed seed and copied to arrays of numpy or scipy. A fit begins with these
and ends with components and variances on the host, so it includes the copy to the GPU. All competitors run in
one process, alternate, and have fitted once before they are timed; PyTorch's cache of memory is emptied
before each fit. `opening` is the first fit of a small matrix in this process, which opens the GPU.

- `torch-covariance`: the covariance matrix and `torch.linalg.eigh`, in float64.
- `torch-single`: the same in float32 without TF32, which is what cuML's solver "full" does with float32 data.
- `torch-lowrank`: `torch.pca_lowrank(x, q=k)`, whose two power iterations do not depend on an accuracy.

The error is the worst relative error of a variance against the eigenvalues of the covariance matrix (or of
the smaller side) in float64 of the same values. Accuracy and time belong together: a fast fit with an error
of 1e-2 found something else.
"""

from __future__ import annotations

import argparse
import csv
import os
import platform
import re
import statistics
import time
import warnings
from pathlib import Path

HERE = Path(__file__).parent
#: Rows, columns, components, type of the values, share of stored entries.
WORKLOADS = {
    "tall": (1_000_000, 200, 20, "float32", 1.0),
    "tall-double": (500_000, 200, 20, "float64", 1.0),
    "broad": (200_000, 2_000, 50, "float32", 1.0),
    "large": (100_000, 10_000, 50, "float32", 1.0),
    "wide": (1_000, 500_000, 20, "float32", 1.0),
    "sparse": (500_000, 10_000, 50, "float32", 0.01),
}
#: Rows of a part of the data that is made or multiplied at a time hold this many values.
PART = 1 << 27


def processor() -> str:
    """Return the name of the processor."""
    try:
        found = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    except OSError:
        found = None
    return found[1] if found else platform.processor()


def parts(n: int, p: int):
    """Cut rows into parts."""
    step = max(1, PART // p)
    return ((start, min(n, start + step)) for start in range(0, n, step))


def dense_of(n: int, p: int, dtype: str):
    """Make rows of 60 factors of variances 1/i, noise and means, on the GPU; return them on the host."""
    import numpy as np
    import torch

    random = torch.Generator("cuda").manual_seed(18)
    draw = lambda *shape: torch.randn(*shape, generator=random, device="cuda", dtype=torch.float64)
    rank = min(60, n, p)
    loadings = draw(rank, p) / torch.arange(1, rank + 1, device="cuda").sqrt()[:, None] * (200 / p) ** 0.5
    means, x = draw(p) + 1, np.empty((n, p), dtype)
    for start, end in parts(n, p):
        rows = draw(end - start, rank) @ loadings + 0.1 * draw(end - start, p) + means
        x[start:end] = rows.to(getattr(torch, dtype)).cpu().numpy()
    return x


def sparse_of(n: int, p: int, dtype: str, density: float):
    """Make sparse rows: positive values whose columns follow topics, so that some variances are large."""
    import numpy as np
    import scipy.sparse as sp
    import torch

    random = torch.Generator("cuda").manual_seed(18)
    topics = 80
    popular = torch.rand(topics, p, generator=random, device="cuda", dtype=torch.float64) ** 8
    blocks = []
    for start, end in parts(n, p):
        topic = torch.randint(topics, (end - start,), generator=random, device="cuda")
        chance = popular[topic] * (density * p / popular.sum(1))[topic, None]
        uniform = torch.rand(end - start, p, generator=random, device="cuda", dtype=torch.float64)
        stored = (uniform < chance).nonzero().cpu().numpy()
        del uniform, chance
        values = np.log1p(1 + np.random.default_rng(start).exponential(2, len(stored))).astype(dtype)
        shape = (end - start, p)
        blocks.append(sp.csr_matrix((values, (stored[:, 0].astype(np.int32), stored[:, 1].astype(np.int32))), shape))
    return sp.vstack(blocks, format="csr")


def on_gpu(x, dtype=None):
    """Copy rows to the GPU, sparse rows as a matrix of PyTorch."""
    import numpy as np
    import torch

    if isinstance(x, np.ndarray):
        return torch.from_numpy(x).to("cuda", dtype)
    start, column, value = (torch.from_numpy(part).to("cuda") for part in (x.indptr, x.indices, x.data))
    return torch.sparse_csr_tensor(start, column, value.to(dtype or value.dtype), size=x.shape)


def exact_variances(x, k: int):
    """Compute the leading variances (divisor n - 1) from the float64 products of the smaller side."""
    import torch

    n, p = x.shape
    mean = torch.zeros(p, device="cuda", dtype=torch.float64)
    rows = lambda start, end: on_gpu(x[start:end], torch.float64).to_dense()
    for start, end in parts(n, p):
        mean += rows(start, end).sum(0) / n
    square = torch.zeros((min(n, p),) * 2, device="cuda", dtype=torch.float64)
    if p <= n:
        for start, end in parts(n, p):
            centred = rows(start, end) - mean
            square += centred.T @ centred
    else:
        centred = rows(0, n) - mean
        square += centred @ centred.T
    return (torch.linalg.eigvalsh(square).flip(0)[:k] / (n - 1)).cpu().numpy()


def by_karhunen(device: str):
    """Fit by karhunen on a device."""

    def fit(x, k: int):
        from karhunen import PCA

        pca = PCA(k, device=device).fit(x)
        said = f"{pca.solver_}, {pca.n_iter_} passes, worst residual {pca.residuals_.max():.1e}"
        return pca.components_, pca.explained_variance_, said

    return fit


def by_covariance(dtype: str):
    """Fit by the covariance matrix, or that of the rows if they are fewer, and its eigendecomposition, of PyTorch."""

    def fit(x, k: int):
        import torch

        rows = on_gpu(x, getattr(torch, dtype))
        if rows.layout != torch.strided:
            rows = rows.to_dense()
        n, p = rows.shape
        rows = rows - rows.mean(0)
        if p <= n:
            values, vectors = torch.linalg.eigh(rows.T @ rows / (n - 1))
            components = vectors[:, -k:].flip(1).T
        else:
            values, vectors = torch.linalg.eigh(rows @ rows.T / (n - 1))
            components = vectors[:, -k:].flip(1).T @ rows
            components /= components.norm(dim=1, keepdim=True)
        return components.cpu().numpy(), values[-k:].flip(0).cpu().numpy(), ""

    return fit


def by_lowrank(x, k: int):
    """Fit by PyTorch's randomized algorithm."""
    import torch

    torch.manual_seed(18)
    rows = on_gpu(x)
    # Sparse rows are centred in this form alone.
    rows = rows if rows.layout == torch.strided else rows.to_sparse_coo()
    _, singular, vectors = torch.pca_lowrank(rows, q=k)
    return vectors.T.cpu().numpy(), (singular**2 / (x.shape[0] - 1)).cpu().numpy(), ""


def by_cuml(x, k: int):
    """Fit by cuML."""
    import cuml
    import cupy
    import numpy as np

    x = x if isinstance(x, np.ndarray) else cupy.sparse.csr_matrix(x)
    pca = cuml.PCA(n_components=k).fit(x)
    host = lambda values: values.get() if hasattr(values, "get") else np.asarray(values)
    return host(pca.components_), host(pca.explained_variance_), ""


def competitors() -> dict:
    """Return the competitors that are installed."""
    found = {"karhunen-cuda": by_karhunen("cuda")}
    try:
        import cuml  # noqa: F401

        found["cuml"] = by_cuml
    except ImportError:
        print("cuML is not installed")
    found |= {"torch-covariance": by_covariance("float64"), "torch-single": by_covariance("float32")}
    return found | {"torch-lowrank": by_lowrank, "karhunen-cpu": by_karhunen("cpu")}


def measure(workload: str, options: argparse.Namespace) -> list[dict]:
    """Measure the competitors on one workload."""
    import torch

    n, p, k, dtype, density = WORKLOADS[workload]
    if options.quick:
        n, p = max(100, n // 10), max(50, p // 10)
    x = dense_of(n, p, dtype) if density == 1 else sparse_of(n, p, dtype, density)
    exact = exact_variances(x, k)
    runs, said, errors, failed = {}, {}, {}, {}
    for turn in range(options.rounds + 1):
        for who, fit in competitors_of(options).items():
            limit = options.seconds / (5 if who == "karhunen-cpu" else 1)
            if who in failed or sum(runs.get(who, [])) > limit:
                continue
            torch.cuda.empty_cache()
            torch.cuda.synchronize()
            start = time.perf_counter()
            try:
                _, variances, said[who] = fit(x, k)
            except (RuntimeError, MemoryError, OSError) as error:
                failed[who] = str(error).partition("\n")[0][:200]
                continue
            seconds = time.perf_counter() - start
            errors[who] = float(abs(variances / exact - 1).max())
            # The first fit starts libraries; it counts where that is little of its time.
            if turn > 0 or seconds > limit:
                runs.setdefault(who, []).append(seconds)
    lines = []
    base = statistics.median(runs.get("karhunen-cuda", [float("nan")]))
    for who in competitors_of(options):
        line = {"workload": workload, "n": n, "p": p, "k": k, "dtype": dtype, "density": density, "competitor": who}
        median = statistics.median(runs[who]) if who in runs else float("nan")
        line |= {"median_s": round(median, 4), "time_ratio": round(median / base, 2), "fits": len(runs.get(who, []))}
        line |= {"worst_error": f"{errors[who]:.1e}" if who in errors else "", "said": said.get(who, "")}
        line["said"] = failed.get(who, line["said"])
        lines.append(line)
        print(
            f"{workload:>12} {who:<17} {median:>8.3f} s ({line['time_ratio']:>6} x), error {line['worst_error']:>8} "
            f"{line['said']}",
            flush=True,
        )
    return lines


def competitors_of(options: argparse.Namespace) -> dict:
    """Return the competitors that were asked for."""
    return {who: fit for who, fit in options.competitors.items() if not options.only or who in options.only}


def opening() -> float:
    """Time the first fit of this process, of a small matrix."""
    import numpy as np
    from karhunen import PCA

    x = np.random.default_rng(0).standard_normal((300, 30))
    start = time.perf_counter()
    PCA(5, device="cuda").fit(x)
    return time.perf_counter() - start


def main() -> None:
    """Measure the requested workloads."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="*", default=list(WORKLOADS), metavar="WORKLOAD", help="default: all")
    parser.add_argument("--rounds", type=int, default=3, help="timed fits by each, alternating (default 3)")
    parser.add_argument("--seconds", type=float, default=5, help="time after which a competitor stops (default 5)")
    parser.add_argument("--only", nargs="*", help="these competitors alone")
    parser.add_argument("--quick", action="store_true", help="a tenth of each side: checks that everything runs")
    parser.add_argument("--record", type=Path, help="write the record to this file, not to records/device")
    options = parser.parse_args()
    if unknown := set(options.workloads) - set(WORKLOADS):
        parser.error(f"no such workload: {', '.join(sorted(unknown))}; there are {', '.join(WORKLOADS)}")
    started = time.strftime("%Y-%m-%d-%H%M%S")
    first = opening()
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    warnings.filterwarnings("ignore", message="Sparse CSR")
    options.competitors = competitors()
    gpu = torch.cuda.get_device_name(0)
    print(f"{gpu}, {processor()}, {os.cpu_count()} cores; opening {first:.2f} s")
    lines = [line for workload in options.workloads for line in measure(workload, options)]
    if options.quick and not options.record:
        return
    setting = {
        "date": started,
        "gpu": gpu,
        "processor": processor(),
        "cores": os.cpu_count(),
        "opening_s": round(first, 2),
    }
    path = options.record or HERE / "records" / "device" / f"{started}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "x", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=[*setting, *lines[0]])
        writer.writeheader()
        writer.writerows(setting | line for line in lines)
    print(f"record: {path}")


if __name__ == "__main__":
    main()
