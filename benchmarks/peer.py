"""Fit one workload with one competitor in this process and print the result as JSON. Started by run.py."""

import importlib.metadata
import json
import os
import re
import sys
import time

import numpy as np
from threadpoolctl import threadpool_info

import workloads


def memory_kb(field: str) -> int:
    with open("/proc/self/status") as status:
        return int(re.search(rf"{field}:\s+(\d+)", status.read()).group(1))


def karhunen(_):
    from karhunen import PCA

    return lambda x, k: PCA(k, n_threads=int(os.environ["OMP_NUM_THREADS"])).fit(x)


def sklearn_pca(solver, is_sparse):
    from sklearn.decomposition import PCA

    return lambda x, k: PCA(k, svd_solver=solver, random_state=0).fit(x)


def sklearnex(_):
    from sklearnex.decomposition import PCA

    return lambda x, k: PCA(k, svd_solver="covariance_eigh").fit(x)


def fbpca(_):
    import fbpca as package

    class Fit:
        """Centred rows, as fbpca centres them unless `raw`."""

        def __init__(self, x, k):
            self.explained_variance_ = package.pca(x, k, raw=False)[1] ** 2 / (len(x) - 1)

    return Fit


def faiss(_):
    import faiss as package

    class Fit:
        """PCAMatrix trained on all rows; its default is 1000 rows for each column."""

        def __init__(self, x, k):
            pca = package.PCAMatrix(x.shape[1], k)
            pca.max_points_per_d = len(x)
            pca.train(x)
            self.explained_variance_ = package.vector_to_array(pca.eigenvalues)[:k].astype(float) / (len(x) - 1)

    return Fit


# Name: the measured package, and a function that makes its fit.
COMPETITORS = {
    "karhunen": ("karhunen", karhunen),
    "sklearn-default": ("scikit-learn", lambda s: sklearn_pca("auto", s)),
    "sklearn-covariance": ("scikit-learn", lambda s: sklearn_pca("covariance_eigh", s)),
    "sklearn-randomized": ("scikit-learn", lambda s: sklearn_pca("randomized", s)),
    "sklearn-arpack": ("scikit-learn", lambda s: sklearn_pca("arpack", s)),
    "sklearn-full": ("scikit-learn", lambda s: sklearn_pca("full", s)),
    "sklearnex": ("scikit-learn-intelex", sklearnex),
    "fbpca": ("fbpca", fbpca),
    "faiss": ("faiss-cpu", faiss),
}


def main(who: str, description: str, k: int) -> None:
    workload = workloads.Workload(**json.loads(description))
    package, maker = COMPETITORS[who]
    fit = maker(workload.is_sparse)
    # Libraries load and threads start before the timer.
    small = np.random.default_rng(0).standard_normal((60, 30)).astype(workload.dtype)
    fit(workloads.sp.csr_matrix(small) if workload.is_sparse else small, 5)
    x = workloads.load(workload)
    with open("/proc/self/clear_refs", "w") as peak:
        peak.write("5")
    before = memory_kb("VmRSS")
    start = time.perf_counter()
    fitted = fit(x, k)
    seconds = time.perf_counter() - start
    growth = (memory_kb("VmHWM") - before) / 1024
    # The kernels that the libraries of linear algebra chose for this processor.
    blas = {f"{found['internal_api']} {found.get('architecture', '')}".strip() for found in threadpool_info()}
    result = {
        "seconds": seconds,
        "growth_mb": growth,
        "explained_variance": np.sort(fitted.explained_variance_)[::-1].tolist(),
        "route": getattr(fitted, "solver_", ""),
        "n_passes": getattr(fitted, "n_iter_", 0),
        "version": f"{package} {importlib.metadata.version(package)}",
        "blas": ", ".join(sorted(blas)),
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
