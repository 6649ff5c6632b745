"""Fitted estimators in the form of a pickle of an earlier version.

`python tests/pickled.py FILE` writes FILE with the installed karhunen. In `data/fitted-0.2.0.pickle`, the names of
classes include their private modules, such as `karhunen._truncated_svd`.
"""

import io
import pickle
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from karhunen import PCA, IncompletePCA, KernelPCA, Nystroem, TruncatedSVD, cross_validate_entries

FILE = Path(__file__).parent / "data/fitted-0.2.0.pickle"


def data() -> np.ndarray:
    """Return 12 x 4 numbers of two directions plus noise."""
    i, j = np.indices((12, 4))
    return np.sin(i) * (j + 1) + np.cos(2.5 * i) * (2 - j) + 0.1 * np.sin(3 * i * (j + 1)) + j


def with_missing() -> np.ndarray:
    """Return `data` without five of its entries."""
    x = data()
    x[[0, 3, 5, 8, 11], [1, 2, 0, 3, 1]] = np.nan
    return x


def fitted() -> dict[str, Any]:
    """Fit every estimator; return the results and one object of every class of convergence records."""
    x, incomplete = data(), with_missing()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        far = IncompletePCA(2, method="em", mean_prior=(1000.0, -300.0), max_iter=50, n_starts=1).fit(incomplete)
    return {
        "pca": PCA(2, scale=True).fit(x.astype(np.float32), sample_weight=np.arange(12)),
        "truncated_svd": TruncatedSVD(2).fit(x),
        "incomplete_pca": IncompletePCA(2, n_starts=2, max_iter=200).fit(incomplete),
        "streamed": IncompletePCA(1, n_starts=1).partial_fit(incomplete[:6]).partial_fit(incomplete[6:]),
        "kernel_pca": KernelPCA(2, kernel="rbf", fit_inverse_transform=True).fit(x),
        "nystroem": Nystroem(gamma=0.1, n_components=3).fit(x),
        "cross_validation": cross_validate_entries(
            IncompletePCA(method="ppca"), incomplete, n_components=[1, 2], n_folds=3
        ),
        "far_predictions": far,
    }


def write(file: str) -> None:
    """Write all fitted objects in a form that every numpy reads, whatever the names of its modules."""
    buffer = io.BytesIO()
    pickle.Pickler(buffer, protocol=3).dump(fitted())
    Path(file).write_bytes(buffer.getvalue().replace(b"cnumpy._core.", b"cnumpy.core."))


if __name__ == "__main__":
    write(sys.argv[1])
