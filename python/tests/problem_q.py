"""Problem Q of docs/log/reference-values.md, 40 x 12, 314 of 480 entries observed, generated from a formula."""

from collections.abc import Iterator

import numpy as np

MASK = (1 << 64) - 1


def uniforms(seed: int) -> Iterator[float]:
    """Yield the numbers of SplitMix64 in [0, 1)."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield ((z ^ (z >> 31)) >> 11) * 2.0**-53


def normals(stream: Iterator[float], *shape: int) -> np.ndarray:
    """Draw normal values, each from two numbers of the stream."""
    count = int(np.prod(shape))
    pairs = [(next(stream), next(stream)) for _ in range(count)]
    return np.array([np.sqrt(-2 * np.log1p(-u)) * np.cos(2 * np.pi * v) for u, v in pairs]).reshape(shape)


def problem() -> tuple[np.ndarray, np.ndarray]:
    """Return the data with NaN for missing entries, and the complete data."""
    stream = uniforms(2007)
    loadings = normals(stream, 12, 2) * [2, 1]
    scores, mean = normals(stream, 40, 2), normals(stream, 12)
    full = scores @ loadings.T + mean + 0.25 * normals(stream, 40, 12)
    missing = np.array([next(stream) for _ in range(480)]).reshape(40, 12) < 0.4
    return np.where(missing, np.nan, full), full
