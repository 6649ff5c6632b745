"""Fits one workload by one peer in this process and prints the result as JSON. Started by run.py."""

import json
import re
import sys
import time

import numpy as np

import workloads


def memory_kb(field: str) -> int:
    with open("/proc/self/status") as status:
        return int(re.search(rf"{field}:\s+(\d+)", status.read()).group(1))


def sklearn_pca(solver, is_sparse):
    from sklearn.decomposition import PCA

    return lambda x, k: PCA(k, svd_solver=solver, random_state=0).fit(x).explained_variance_


def sklearnex(_):
    from sklearnex.decomposition import PCA

    return lambda x, k: PCA(k, svd_solver="covariance_eigh").fit(x).explained_variance_


def fbpca(_):
    import fbpca as package

    # Rows less their mean, as fbpca does by itself unless `raw`.
    return lambda x, k: package.pca(x, k, raw=False)[1] ** 2 / (len(x) - 1)


PEERS = {
    "sklearn-covariance": lambda s: sklearn_pca("covariance_eigh", s),
    "sklearn-randomized": lambda s: sklearn_pca("randomized", s),
    "sklearn-arpack": lambda s: sklearn_pca("arpack", s),
    "sklearn-full": lambda s: sklearn_pca("full", s),
    "sklearnex": sklearnex,
    "fbpca": fbpca,
}


def main(peer: str, description: str, k: int) -> None:
    workload = workloads.Workload(**json.loads(description))
    fit = PEERS[peer](workload.is_sparse)
    # Libraries load and threads start outside of the timer.
    small = np.random.default_rng(0).standard_normal((60, 30)).astype(workload.dtype)
    fit(workloads.sp.csr_matrix(small) if workload.is_sparse else small, 5)
    x = workloads.load(workload)
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = memory_kb("VmRSS")
    start = time.perf_counter()
    variance = fit(x, k)
    seconds = time.perf_counter() - start
    growth = (memory_kb("VmHWM") - before) / 1024
    print(json.dumps({"seconds": seconds, "growth_mb": growth, "explained_variance": np.sort(variance)[::-1].tolist()}))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
