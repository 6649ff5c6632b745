"""Write golden/sklearn_*.json, the results of scikit-learn. Run from the root of the repository:

    python golden/make_golden.py

needs numpy, scipy and scikit-learn 1.9. Also cuts golden/rust_docs_150x200.mtx, the sparse case, out of
examples/data/rust_docs_bow.mtx.gz. Numbers are written with every digit; signs of vectors are scikit-learn's own.
"""

import csv
import hashlib
import json
import platform

import numpy as np
import scipy
import scipy.io
import sklearn
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

MADE_BY = (
    f"golden/make_golden.py, Python {platform.python_version()}, scikit-learn {sklearn.__version__}, "
    f"numpy {np.__version__}, scipy {scipy.__version__}"
)


def write_case(name, command, file, columns, pca, scale, scores):
    with open(file, "rb") as f:
        sha256 = hashlib.sha256(f.read()).hexdigest()
    case = {
        "made_by": MADE_BY,
        "command": command,
        "file": file,
        "sha256": sha256,
        "columns": columns,
        "mean": list(map(float, scale.mean_ if scale is not None else pca.mean_)),
        "scale": list(map(float, scale.scale_ if scale is not None else np.ones(pca.n_features_in_))),
        "explained_variance": pca.explained_variance_.tolist(),
        "explained_variance_ratio": pca.explained_variance_ratio_.tolist(),
        "components": pca.components_.tolist(),
        "scores_head": scores[:3].tolist(),
    }
    with open(f"golden/{name}.json", "w") as f:
        json.dump(case, f, indent=1)
        f.write("\n")


def dense_case(name, file, drop, scaled):
    with open(file) as f:
        header, *rows = csv.reader(f)
    kept = [j for j, column in enumerate(header) if column not in drop]
    x = np.array([[float(row[j]) for j in kept] for row in rows])
    scaler = StandardScaler().fit(x) if scaled else None
    if scaled:
        x = scaler.transform(x)
    pca = PCA(svd_solver="full").fit(x)
    command = "PCA(svd_solver='full').fit(" + ("StandardScaler().fit_transform(x))" if scaled else "x)")
    write_case(name, command, file, [header[j] for j in kept], pca, scaler, pca.transform(x))


def sparse_case():
    """The first 150 pages, with the words of rank 200 to 399 by the number of these pages that contain them."""
    whole = scipy.io.mmread("examples/data/rust_docs_bow.mtx.gz").tocsc()[:150]
    pages = np.diff(whole.indptr)
    words = np.sort(np.argsort(-pages, kind="stable")[200:400])
    x = whole[:, words].tocsr().astype(np.float64)
    file = "golden/rust_docs_150x200.mtx"
    comment = " Word counts of Rust documentation pages (MIT or Apache-2.0), cut by golden/make_golden.py"
    scipy.io.mmwrite(file, x.astype(np.int64), comment=comment, field="integer")
    pca = PCA(5, svd_solver="arpack", tol=0.0, random_state=0).fit(x)
    command = "PCA(5, svd_solver='arpack', tol=0.0, random_state=0).fit(x)"
    write_case("sklearn_rust_docs", command, file, [], pca, None, pca.transform(x))


dense_case("sklearn_usarrests_scaled", "examples/data/usarrests.csv", {"State"}, True)
dense_case("sklearn_iris", "examples/data/iris.csv", {"class"}, False)
dense_case("sklearn_wine_scaled", "examples/data/wine.csv", {"class"}, True)
dense_case("sklearn_breast_cancer_scaled", "examples/data/breast_cancer.csv", {"class"}, True)
sparse_case()
