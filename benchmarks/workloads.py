"""The eight workloads, their data and exact results. Everything is made from fixed seeds and kept in work/."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg

WORK = Path(__file__).parent / "cache"
BLOCK = 4_000  # rows made at a time


@dataclasses.dataclass(frozen=True)
class Workload:
    name: str
    n: int
    p: int
    dtype: str
    peers: tuple[str, ...]
    tokens: int = 0  # draws per row of a sparse workload; 0: dense
    zipf: bool = False

    @property
    def path(self) -> Path:
        return WORK / f"{self.name}-{self.n}x{self.p}"

    @property
    def is_sparse(self) -> bool:
        return self.tokens > 0


# The default of scikit-learn, and every solver of it that takes the data in reasonable time and memory.
TALL = ("sklearn-default", "sklearn-covariance", "sklearn-randomized", "sklearnex")
TALL_F32 = (*TALL, "faiss")  # float32 only
DENSE = ("sklearn-default", "sklearn-randomized", "sklearn-arpack")
SPARSE = ("sklearn-default", "sklearn-arpack")

WORKLOADS = (
    Workload("tall-f64", 100_000, 500, "float64", TALL),
    Workload("very-tall-f32", 1_000_000, 100, "float32", TALL_F32),
    Workload("large-f32", 60_000, 2_000, "float32", TALL_F32),
    Workload("wide-f64", 500, 100_000, "float64", (*DENSE, "sklearn-full", "fbpca")),
    Workload("square-f64", 5_000, 5_000, "float64", (*DENSE, "sklearn-covariance")),
    # Draws per row are set so that about 20, 20 and 11 million different entries remain.
    Workload("sparse-tall-f32", 200_000, 2_000, "float32", (*SPARSE, "sklearn-covariance"), tokens=109),
    Workload("sparse-zipf-f32", 100_000, 30_000, "float32", SPARSE, tokens=295, zipf=True),
    Workload("sparse-wide-f32", 2_000, 300_000, "float32", SPARSE, tokens=5_720),
)


def quick(workload: Workload) -> Workload:
    """Return the workload at a hundredth of its size: a check that everything runs, not a measurement."""
    tokens = max(workload.tokens // 10, 20) if workload.tokens else 0
    return dataclasses.replace(workload, n=max(workload.n // 10, 200), p=max(workload.p // 10, 100), tokens=tokens)


def prepare(workload: Workload, k: int) -> np.ndarray:
    """Make the data unless they exist; return the k largest variances, exact to rounding."""
    workload.path.mkdir(parents=True, exist_ok=True)
    if not (workload.path / "made").exists():
        rng = np.random.default_rng(20261121)
        (make_sparse if workload.is_sparse else make_dense)(workload, rng)
        (workload.path / "made").touch()
    answer = workload.path / f"exact-{k}.json"
    if not answer.exists():
        values = (exact_sparse if workload.is_sparse else exact_dense)(workload, k)
        answer.write_text(json.dumps(values.tolist()))
    return np.array(json.loads(answer.read_text()))


def make_dense(workload: Workload, rng: np.random.Generator) -> None:
    """Write normal values with standard deviations j^-1/2, rotated by four reflections, plus a mean."""
    n, p = workload.n, workload.p
    deviations = np.arange(1, p + 1) ** -0.5
    reflectors = rng.standard_normal((4, p))
    reflectors /= np.linalg.norm(reflectors, axis=1, keepdims=True)
    mean = 1.0 + rng.standard_normal(p)
    x = np.lib.format.open_memmap(workload.path / "x.npy", mode="w+", dtype=workload.dtype, shape=(n, p))
    step = max(1, min(BLOCK, 20_000_000 // p))
    for start in range(0, n, step):
        block = rng.standard_normal((min(step, n - start), p)) * deviations
        for u in reflectors:
            block -= np.outer(block @ (2.0 * u), u)
        x[start : start + step] = block + mean
    x.flush()


def make_sparse(workload: Workload, rng: np.random.Generator) -> None:
    """Write log(1 + count) of counts like those of texts: rows mix 80 topics, each with its own preferred columns.

    The popularity of columns is uniform, or falls as 1/j. The planted topics exceed the noise of the counts, so that
    the leading 50 components are meaningful.
    """
    n, p, n_topics = workload.n, workload.p, 80
    popularity = 1.0 / np.arange(1, p + 1) if workload.zipf else np.ones(p)
    preference = popularity * rng.lognormal(0.0, 1.2, (n_topics, p))
    cumulative = np.cumsum(preference, axis=1)
    cumulative /= cumulative[:, -1:]
    topic_weights = np.arange(1, n_topics + 1) ** -0.7
    blocks = []
    for start in range(0, n, BLOCK):
        rows = min(BLOCK, n - start)
        mix = rng.gamma(0.3, size=(rows, n_topics)) * topic_weights
        draws = rng.multinomial(workload.tokens, mix / mix.sum(axis=1, keepdims=True))
        row_of, column_of = [], []
        for topic in range(n_topics):
            row_of.append(np.repeat(np.arange(rows), draws[:, topic]))
            uniform = rng.random(len(row_of[-1]))
            column_of.append(np.minimum(np.searchsorted(cumulative[topic], uniform), p - 1))
        row_of, column_of = np.concatenate(row_of), np.concatenate(column_of)
        counts = sp.coo_array((np.ones(len(row_of), np.float32), (row_of, column_of)), shape=(rows, p)).tocsr()
        counts.data = np.log1p(counts.data)
        blocks.append(counts)
    x = sp.vstack(blocks, format="csr")
    x.sort_indices()
    np.save(workload.path / "indptr.npy", x.indptr.astype(np.int32))
    np.save(workload.path / "indices.npy", x.indices.astype(np.int32))
    np.save(workload.path / "values.npy", x.data.astype(workload.dtype))


def load(workload: Workload):
    """Load the data into anonymous memory, like data computed by a user."""
    if workload.is_sparse:
        arrays = [np.load(workload.path / f"{part}.npy") for part in ("values", "indices", "indptr")]
        return sp.csr_matrix(tuple(arrays), shape=(workload.n, workload.p))
    return np.load(workload.path / "x.npy")


def exact_dense(workload: Workload, k: int) -> np.ndarray:
    """Compute the eigenvalues of the centred f64 covariance, or of the Gram matrix if it is smaller (LAPACK)."""
    x = np.load(workload.path / "x.npy", mmap_mode="r")
    n, p = x.shape
    mean = sum(x[i : i + BLOCK].sum(axis=0, dtype=np.float64) for i in range(0, n, BLOCK)) / n
    if n < p:
        centred = x - mean
        gram = centred @ centred.T
    else:
        gram = np.zeros((p, p))
        for i in range(0, n, BLOCK):
            block = x[i : i + BLOCK] - mean
            gram += block.T @ block
    return np.linalg.eigvalsh(gram)[::-1][:k] / (n - 1)


def exact_sparse(workload: Workload, k: int) -> np.ndarray:
    """Compute the eigenvalues from sparse products; ARPACK to machine precision if both sides are long."""
    x = load(workload).astype(np.float64)
    n, p = x.shape
    mean = np.asarray(x.mean(axis=0, dtype=np.float64)).ravel()
    if p <= 5_000:
        gram = (x.T @ x).toarray() - n * np.outer(mean, mean)
        return np.linalg.eigvalsh(gram)[::-1][:k] / (n - 1)
    if n <= 5_000:
        projected = x @ mean
        gram = (x @ x.T).toarray() - projected[:, None] - projected[None, :] + mean @ mean
        return np.linalg.eigvalsh(gram)[::-1][:k] / (n - 1)
    xt = x.T.tocsr()
    covariance = scipy.sparse.linalg.LinearOperator(
        (p, p), matvec=lambda v: xt @ (x @ v) - n * mean * (mean @ v), dtype=np.float64
    )
    values = scipy.sparse.linalg.eigsh(covariance, k=k, tol=0, ncv=4 * k, return_eigenvectors=False)
    return np.sort(values)[::-1] / (n - 1)
