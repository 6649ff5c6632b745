"""Write golden/missing_optima.json: the optima of PCA with missing values on a problem of 40 x 12 entries, 314 of them
observed. Run from the root of the repository:

    python golden/make_missing_optima.py

needs numpy. It shares no code with karhunen and uses a method that karhunen does not have: all unknowns of

    F(A, S, mu) = sum over observed (j, i) of (x_ji - mu_i - a_i.s_j)^2 + sum dA_i |a_i|^2 + sum dS_j |s_j|^2

are changed at once by damped Newton steps, from several random starts. dA and dS are

    least_squares   0                                     0
    ridge           1                                     1
    weighted        0.02 times the entries of column i    0.02 times the entries of row j
"""

import json
import platform

import numpy as np

COMPONENTS = 2
STARTS = 8
MASK = (1 << 64) - 1


def uniforms(seed):
    """The numbers of SplitMix64 in [0, 1)."""
    state = seed
    while True:
        state = (state + 0x9E3779B97F4A7C15) & MASK
        z = state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        yield ((z ^ (z >> 31)) >> 11) * 2.0**-53


def normals(stream, *shape):
    """Box-Muller normal values, each from two numbers of the stream."""
    pairs = [(next(stream), next(stream)) for _ in range(int(np.prod(shape)))]
    return np.array([np.sqrt(-2 * np.log1p(-u)) * np.cos(2 * np.pi * v) for u, v in pairs]).reshape(shape)


def problem():
    """The complete data, and a mask of the observed entries."""
    stream = uniforms(2007)
    loadings = normals(stream, 12, 2) * [2, 1]
    scores, mean = normals(stream, 40, 2), normals(stream, 12)
    complete = scores @ loadings.T + mean + 0.25 * normals(stream, 40, 12)
    observed = np.array([next(stream) for _ in range(480)]).reshape(40, 12) >= 0.4
    return complete, observed


def minimise(x, observed, row_penalty, column_penalty, seed):
    """A minimum of F: its value, loadings, scores and mean; None if the iteration does not converge."""
    n, p = x.shape
    c = COMPONENTS
    rows, columns = np.nonzero(observed)
    entries = np.arange(rows.size)
    # Unknowns in one vector: loadings (p, c), scores (n, c), mean (p).
    penalty = np.sqrt(np.concatenate([np.repeat(column_penalty, c), np.repeat(row_penalty, c), np.zeros(p)]))

    def parts(theta):
        return theta[: p * c].reshape(p, c), theta[p * c : (p + n) * c].reshape(n, c), theta[(p + n) * c :]

    def residuals(theta):
        a, s, mu = parts(theta)
        e = x[rows, columns] - mu[columns] - np.einsum("ek,ek->e", a[columns], s[rows])
        return np.concatenate([e, penalty * theta])

    def jacobian(theta):
        a, s, _ = parts(theta)
        j = np.zeros((rows.size, theta.size))
        for k in range(c):
            j[entries, columns * c + k] = -s[rows, k]
            j[entries, p * c + rows * c + k] = -a[columns, k]
        j[entries, (p + n) * c + columns] = -1
        return np.concatenate([j, np.diag(penalty)])

    theta = 0.5 * np.random.default_rng(seed).normal(size=(p + n) * c + p)
    damping, r = 1.0, residuals(theta)
    for _ in range(500):
        j = jacobian(theta)
        gradient, curvature = j.T @ r, j.T @ j
        # Half the second derivatives of F, before those of the products a_ik s_jk are added.
        for k in range(c):
            at = columns * c + k, p * c + rows * c + k
            curvature[at] -= r[entries]
            curvature[at[::-1]] -= r[entries]
        if np.abs(gradient).max() < 1e-11:
            break
        values, vectors = np.linalg.eigh(curvature)
        # Rotations of the components leave F unchanged, and curvature may be negative far from the minimum.
        along = vectors.T @ gradient
        step = -vectors @ (along / (np.abs(values) + damping))
        proposed = residuals(theta + step)
        # Close to the minimum, F is constant to rounding, but the gradient still gives a descent direction.
        if proposed @ proposed <= (r @ r) * (1 + 1e-14):
            theta, r, damping = theta + step, proposed, max(damping / 4, 1e-6)
        else:
            damping = 4 * max(damping, 1e-3)
    else:
        return None
    return r @ r, *parts(theta)


def optimum(complete, observed, row_penalty, column_penalty):
    """The lowest minimum of several starts, in the form that the test compares."""
    found = [minimise(complete, observed, row_penalty, column_penalty, seed) for seed in range(STARTS)]
    found = [one for one in found if one is not None]
    cost, a, s, mu = min(found, key=lambda one: one[0])
    fit = s @ a.T + mu
    error = complete - fit
    centred = fit - fit.mean(axis=0)
    return {
        "cost": cost,
        "rmse": np.sqrt(np.mean(error[observed] ** 2)),
        "hidden_rmse": np.sqrt(np.mean(error[~observed] ** 2)),
        "singular_values": np.linalg.svd(centred, compute_uv=False)[:COMPONENTS].tolist(),
        "starts_that_end_there": int(sum(abs(other[0] - cost) < 1e-8 * cost for other in found)),
    }


complete, observed = problem()
n, p = complete.shape
assert observed.sum() == 314
means = np.where(observed, complete, 0).sum(axis=0) / observed.sum(axis=0)
off = complete - means
golden = {
    "made_by": f"golden/make_missing_optima.py, Python {platform.python_version()}, numpy {np.__version__}",
    "starts": STARTS,
    "mean_alone": {
        "rmse": np.sqrt(np.mean(off[observed] ** 2)),
        "hidden_rmse": np.sqrt(np.mean(off[~observed] ** 2)),
    },
    "least_squares": optimum(complete, observed, np.zeros(n), np.zeros(p)),
    "ridge": optimum(complete, observed, np.ones(n), np.ones(p)),
    "weighted": optimum(complete, observed, 0.02 * observed.sum(axis=1), 0.02 * observed.sum(axis=0)),
}
with open("golden/missing_optima.json", "w") as f:
    json.dump(golden, f, indent=1)
    f.write("\n")
