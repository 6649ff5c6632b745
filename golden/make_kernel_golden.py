"""Write golden/sklearn_kernel_iris.json, the results of scikit-learn's KernelPCA on iris for each of its kernels. Run
from the root of the repository:

    python golden/make_kernel_golden.py

needs numpy and scikit-learn 1.9. Numbers are written with every digit; signs are scikit-learn's own.
"""

import csv
import hashlib
import json
import platform

import numpy as np
import sklearn
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.svm import SVC

FILE = "examples/data/iris.csv"
COMPONENTS = 5

with open(FILE) as f:
    header, *rows = csv.reader(f)
x = np.array([[float(v) for v in row[:4]] for row in rows])
new = 1.1 * x[:3] + 0.1

KERNELS = {
    "linear": {},
    "poly": {"gamma": 0.3, "degree": 3, "coef0": 0.5},
    "rbf": {"gamma": 0.4},
    "rbf_default": {"kernel": "rbf"},
    "laplacian": {"gamma": 0.2},
    "sigmoid": {"gamma": 0.01, "coef0": 0.1},
    "cosine": {},
    "additive_chi2": {},
    "chi2": {"gamma": 0.7},
}

cases = {}
for name, options in KERNELS.items():
    k = 3 if name in ("linear", "sigmoid") else COMPONENTS
    if name in ("laplacian", "additive_chi2", "chi2"):
        # KernelPCA accepts these as matrices only.
        fit = KernelPCA(k, kernel="precomputed", eigen_solver="dense")
        scores = fit.fit_transform(pairwise_kernels(x, metric=name, **options))
        new_scores = fit.transform(pairwise_kernels(new, x, metric=name, **options))
        command = f"KernelPCA({k}, kernel='precomputed').fit(pairwise_kernels(x, metric={name!r}, **{options}))"
    else:
        options = {"kernel": name} | options
        fit = KernelPCA(k, eigen_solver="dense", **options)
        scores = fit.fit_transform(x)
        new_scores = fit.transform(new)
        command = f"KernelPCA({k}, eigen_solver='dense', **{options}).fit(x)"
    cases[name] = {
        "command": command,
        "eigenvalues": fit.eigenvalues_.tolist(),
        "fitted_head": scores[:3].tolist(),
        "new_scores": new_scores.tolist(),
    }

ridge = KernelPCA(3, kernel="rbf", gamma=0.4, fit_inverse_transform=True, alpha=0.1, eigen_solver="dense").fit(x)
scale = SVC(kernel="rbf", gamma="scale").fit(x, np.arange(150) % 2)

with open(FILE, "rb") as f:
    sha256 = hashlib.sha256(f.read()).hexdigest()
golden = {
    "made_by": f"golden/make_kernel_golden.py, Python {platform.python_version()}, scikit-learn {sklearn.__version__}, "
    f"numpy {np.__version__}",
    "file": FILE,
    "sha256": sha256,
    "columns": header[:4],
    "new_rows": new.tolist(),
    "kernels": cases,
    "inverse_command": "KernelPCA(3, kernel='rbf', gamma=0.4, fit_inverse_transform=True, alpha=0.1).fit(x)"
    ".inverse_transform(transform(new))",
    "inverse_rows": ridge.inverse_transform(ridge.transform(new)).tolist(),
    "gamma_scale": scale._gamma,
}
with open("golden/sklearn_kernel_iris.json", "w") as f:
    json.dump(golden, f, indent=1)
    f.write("\n")
