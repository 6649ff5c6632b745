"""Write golden/process_improve.json, the results of process-improve on wine, whole and with entries missing.

Run from the root of the repository, with pandas and process-improve:

    python golden/make_process_improve.py

The columns are the first 11 of wine, scaled to unit variance; rows are kept at every 17th place. The missing entries
are those whose row and column satisfy (7 i + 3 j) mod 19 = 0. Squared prediction errors are stored as process-improve
returns them: their square roots.
"""

import hashlib
import json
import platform
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd
from process_improve.multivariate.methods import PCA, MCUVScaler

FILE = "examples/data/wine.csv"
ACTIVE, K, HEAD = 11, 3, slice(None, None, 17)
LEVELS = (0.9, 0.95, 0.99)

table = pd.read_csv(FILE).iloc[:, :ACTIVE]
x = table.to_numpy(dtype=float)
i, j = np.indices(x.shape)
holes = (7 * i + 3 * j) % 19 == 0
scaler = MCUVScaler().fit(x)
z = np.asarray(scaler.transform(x))


def lists(values):
    """Return an array or frame as lists; null stands for NaN."""
    values = np.asarray(values, dtype=float)
    return np.where(np.isnan(values), None, values.astype(object)).tolist()


pca = PCA(K, algorithm="svd").fit(z)
complete = {
    "explained_variance": lists(pca.explained_variance_),
    "loadings": lists(pca.loadings_),
    "scores": lists(pca.scores_.iloc[HEAD]),
    "r2_per_component": lists(pca.r2_per_component_),
    "r2_per_variable": lists(pca.r2_per_variable_),
    "root_spe": lists(pca.spe_.iloc[HEAD]),
    "t2": lists(pca.hotellings_t2_.iloc[HEAD]),
    "vip": lists(pca.vip()),
    "cos2": lists(pca.squared_cosine().iloc[HEAD]),
    "observation_contributions": lists(pca.observation_contributions().iloc[HEAD]),
    "t2_contributions": lists(pca.t2_contributions(z).iloc[HEAD]),
    "spe_contributions": lists(pca.spe_contributions(z).iloc[HEAD]),
    "t2_limits": [float(pca.hotellings_t2_limit(level)) for level in LEVELS],
    "root_spe_limits": [float(pca.spe_limit(level)) for level in LEVELS],
    "score_limits": [lists(pca.score_limit(level)) for level in LEVELS],
    "parallel_eigenvalues": lists(PCA.parallel_analysis(x, random_state=0).observed_eigenvalues),
    "parallel_n_components": PCA.parallel_analysis(x, n_simulations=200, random_state=0).n_components,
}

# New rows with missing entries, under the model of complete rows.
broken = np.where(holes, np.nan, z)[HEAD]
projected = {}
for method in ("pmp", "tsr", "scp"):
    found = pca.project(broken, method=method)
    projected[method] = {"scores": lists(found.scores), "root_spe": lists(found.spe)}
    projected[method]["spe_contributions"] = lists(pca.spe_contributions(broken, method=method))

# One component of a table with missing entries, scaled by what is observed.
observed = np.where(holes, np.nan, x)
scaled = MCUVScaler().fit(observed)
one = PCA(1, algorithm="nipals", tol=1e-14, max_iter=5000).fit(scaled.transform(observed))
nipals = {
    "center": lists(scaled.center_),
    "scale": lists(scaled.scale_),
    "loadings": lists(one.loadings_),
    "scores": lists(one.scores_.iloc[HEAD]),
    "root_spe": lists(one.spe_.iloc[HEAD]),
    "r2_per_component": lists(one.r2_per_component_),
}

case = {
    "made_by": f"golden/make_process_improve.py, Python {platform.python_version()}, process-improve "
    f"{version('process-improve')}, numpy {np.__version__}, pandas {pd.__version__}",
    "file": FILE,
    "sha256": hashlib.sha256(Path(FILE).read_bytes()).hexdigest(),
    "n_components": K,
    "levels": LEVELS,
    "complete": complete,
    "projected": projected,
    "nipals": nipals,
}
Path("golden/process_improve.json").write_text(json.dumps(case) + "\n")
