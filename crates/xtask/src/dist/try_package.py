"""Tries an installed karhunen next to scikit-learn: `python -I try_package.py VERSION`, in an empty folder."""

import platform
import sys
from importlib.metadata import distributions

import numpy as np
import scipy
import scipy.sparse
import sklearn
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA as Peer
from sklearn.preprocessing import StandardScaler

import karhunen

# The dependencies of karhunen and theirs, and the packages of a new environment.
KNOWN = {
    "karhunen",
    "numpy",
    "scipy",
    "scikit-learn",
    "joblib",
    "cloudpickle",
    "threadpoolctl",
    "narwhals",
    "pip",
    "setuptools",
}


def main(version: str) -> None:
    """Fit data of each kind; fail where a result differs from another way to it."""
    assert karhunen.__version__ == version, karhunen.__version__
    others = {distribution.metadata["Name"].lower() for distribution in distributions()} - KNOWN
    assert not others, f"the environment is not clean: {others}"

    wine = load_wine().data
    pca = karhunen.PCA(n_components=5, scale=True).fit(wine)
    peer = Peer(n_components=5).fit(StandardScaler().fit_transform(wine) * np.sqrt((len(wine) - 1) / len(wine)))
    np.testing.assert_allclose(pca.explained_variance_, peer.explained_variance_, rtol=1e-10)

    rng = np.random.default_rng(0)
    sparse = scipy.sparse.random(2000, 300, density=0.02, format="csr", rng=rng)
    of_sparse = karhunen.PCA(n_components=3).fit(sparse)
    of_dense = karhunen.PCA(n_components=3).fit(sparse.toarray())
    np.testing.assert_allclose(of_sparse.explained_variance_, of_dense.explained_variance_, rtol=1e-8)

    full = rng.normal(size=(300, 2)) @ rng.normal(size=(2, 20))
    observed = rng.random(full.shape) > 0.3
    filled = (
        karhunen.IncompletePCA(n_components=2)
        .fit(np.where(observed, full, np.nan))
        .impute(np.where(observed, full, np.nan))
    )
    assert np.corrcoef(filled[~observed], full[~observed])[0, 1] > 0.99

    kernel = karhunen.KernelPCA(n_components=4, kernel="rbf", gamma="median").fit(wine)
    assert kernel.transform(wine).shape == (178, 4)

    pca.save("wine.model")
    assert np.array_equal(karhunen.PCA.load("wine.model").components_, pca.components_)
    assert pca.report("wine.html", wine).stat().st_size > 10_000

    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    print(f"tried with Python {platform.python_version()}, {versions}")


main(sys.argv[1])
