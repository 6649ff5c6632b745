"""Principal component analysis computed plainly, by dense numpy in double precision, and cases to compare with it.

Weights `w` of rows have one of three meanings, weights `u` of columns multiply mapped columns by their square roots.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.io
import scipy.sparse as sp
from karhunen import PCA

#: Names of storages, and the functions that make them.
STORAGES = {"dense": np.asarray, "fortran": np.asfortranarray, "csr": sp.csr_array, "csc": sp.csc_array}
WEIGHTINGS = ("none", "frequency", "importance", "population")
SCALES = ("none", "std", "pareto", "range", "given")
N_COLUMNS = 12


@dataclass
class Plain:
    """A fit to all components with variance.

    Rows `m` are centred, scaled and weighted by column; `v` are the shares of the rows, `n` the observations that they
    count as, `divisor` the factor from population variances to those reported.
    """

    m: np.ndarray
    x: np.ndarray
    v: np.ndarray
    n: float
    divisor: float
    mean: np.ndarray
    scale: np.ndarray
    u: np.ndarray
    components: np.ndarray
    variances: np.ndarray
    total: float
    centred: bool

    def first(self, k):
        """Return components, variances and scores of the first `k`."""
        return self.components[:k], self.variances[:k], self.m @ self.components[:k].T

    def loadings(self, k):
        """Return the first `k` components times the roots of their variances, (n_features, k)."""
        return self.components[:k].T * np.sqrt(self.variances[:k])


def plain_fit(x, weighting="none", w=None, u=None, scale=False, center=True):
    """Fit by the eigenvectors of the covariance matrix; the largest entry of each component is positive."""
    x = np.asarray(x.toarray() if sp.issparse(x) else x, dtype=np.float64)
    w = np.ones(len(x)) if w is None else np.asarray(w, dtype=np.float64)
    u = np.ones(x.shape[1]) if u is None else np.asarray(u, dtype=np.float64)
    total, v = w.sum(), w / w.sum()
    effective = 1.0 / (v**2).sum()
    n = effective if weighting in ("importance", "population") else total
    divisor = 1.0 if weighting == "population" else n / (n - 1.0)
    centre = v @ x if center is True else np.zeros(x.shape[1]) if center is False else np.asarray(center)
    deviation = np.sqrt(divisor * (v @ (x - centre) ** 2))
    kept = x[w > 0.0]
    if isinstance(scale, str):
        factor = {"std": deviation, "pareto": np.sqrt(deviation), "range": kept.max(axis=0) - kept.min(axis=0)}[scale]
    else:
        factor = {True: deviation, False: np.ones(x.shape[1])}[scale] if isinstance(scale, bool) else np.asarray(scale)
    m = (x - centre) / factor * np.sqrt(u)
    covariance = divisor * (m.T * v) @ m
    values, vectors = np.linalg.eigh(covariance)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = int((values > 1e-12 * values[0]).sum())
    largest = np.take_along_axis(vectors, np.abs(vectors).argmax(axis=0)[None], axis=0)
    components = (vectors * np.sign(largest)).T[:rank]
    trace = np.trace(covariance)
    return Plain(m, x, v, n, divisor, centre, factor, u, components, values[:rank], trace, center is True)


def observations(weighting, w, kept):
    """Return the number of observations that the rows `kept` count as in tests."""
    if weighting == "none" or w is None:
        return float(len(kept))
    part = w[kept]
    return part.sum() if weighting == "frequency" else part.sum() ** 2 / (part**2).sum()


def plain_correlation(a, b, w):
    """Return the weighted correlation of two vectors."""
    a, b = a - np.average(a, weights=w), b - np.average(b, weights=w)
    return (w * a * b).sum() / np.sqrt((w * a * a).sum() * (w * b * b).sum())


@dataclass
class Case:
    """Logarithms of counts of words on pages of the Rust documentation, with weights, one storage and one type."""

    x: object
    weighting: str
    w: np.ndarray | None
    u: np.ndarray | None
    scale: object
    #: Relative error of values of the type of the data.
    rounding: float

    def plain(self):
        """Fit plainly."""
        return plain_fit(self.x, self.weighting, self.w, self.u, self.scale)

    def pca(self, k=None, **options):
        """Fit by karhunen."""
        weighting = "frequency" if self.weighting == "none" else self.weighting
        pca = PCA(k, scale=self.scale, weighting=weighting, **options)
        return pca.fit(self.x, sample_weight=self.w, feature_weight=self.u)


def words():
    """Return logarithms of one more than the counts of the commonest words on pages, (150, 12); most are zero."""
    counts = scipy.io.mmread(Path(__file__).parents[2] / "golden/rust_docs_150x200.mtx").toarray()
    commonest = np.argsort(-(counts > 0).sum(axis=0), kind="stable")[:N_COLUMNS]
    return np.log1p(counts[:, np.sort(commonest)].astype(np.float64))


def case_of(storage="dense", dtype="float64", weighting="none", columns="alike", scale="none"):
    """Return the data with these weights, scales, storage and type."""
    x = words()
    n, p = x.shape
    i = np.arange(n)
    w = {
        "none": None,
        "frequency": (i * 7 % 5).astype(np.float64),
        "importance": 0.05 + (i * 11 % 17) / 10.0,
        "population": 0.5 + (i * 5 % 13) / 3.0,
    }[weighting]
    u = None if columns == "alike" else 0.25 + (np.arange(p) * 5 % 7) / 3.0
    scales = {"none": False, "std": True, "pareto": "pareto", "range": "range", "given": 0.5 + np.arange(p) % 4}
    rounding = 1e-9 if dtype == "float64" else 2e-5
    return Case(STORAGES[storage](x.astype(dtype)), weighting, w, u, scales[scale], rounding)
