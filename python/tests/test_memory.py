"""Memory of a fit without the data, as reported by the system."""

import subprocess
import sys

import pytest

#: Prints the rise of the peak of resident memory during a fit, in bytes, after a warm-up of the engine.
CHILD = """
import gc, re
import numpy as np, scipy.sparse as sp
from karhunen import PCA
status = lambda field: int(re.search(field + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
rng = np.random.default_rng(0)
{data}
PCA(2).fit(rng.normal(size=(5000, 100)))
gc.collect()
before = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")  # the peak starts again
pca = PCA(2).fit(x)
print(status("VmHWM") - before, size, pca.solver_)
"""

DENSE = "n, p = 400_000, 60; x = np.{make}; x[:] = 1; x[rng.integers(n, size=9999), rng.integers(p, size=9999)] = 2"
SPARSE = (
    "n = 100_000; columns = np.tile(np.arange(0, 1000, 10), n) + np.repeat(rng.integers(0, 10, n), 100);"
    "x = sp.csr_array((rng.normal(size=100 * n), columns, np.arange(0, 100 * n + 1, 100)), shape=(n, 1000));"
    "size = x.data.nbytes; x = x.{form};"
)
DATA = {
    "c order": (DENSE.format(make="empty((n, p))") + "; size = x.nbytes"),
    "fortran order": (DENSE.format(make="empty((n, p), order='F')") + "; size = x.nbytes"),
    "float32": (DENSE.format(make="empty((n, 2 * p), np.float32)") + "; size = x.nbytes"),
    "strides": (DENSE.format(make="empty((n, p))") + "; x = x[::-1, ::2]; size = x.size * 8"),
    "read-only": (DENSE.format(make="empty((n, p))") + "; x.flags.writeable = False; size = x.nbytes"),
    "csr": SPARSE.format(form="tocsr()"),
    "csc of int64": SPARSE.format(form="tocsc()")
    + "x.indices = x.indices.astype(np.int64); x.indptr = x.indptr.astype(np.int64)",
}


@pytest.mark.parametrize("kind", DATA)
def test_a_fit_does_not_copy_its_data(kind):
    source = CHILD.format(data=DATA[kind])
    out = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    growth, size = (int(number) for number in out.split()[:2])
    assert size > 70e6
    assert growth < 0.3 * size, out


def test_a_copy_would_be_noticed():
    source = CHILD.format(data=DATA["strides"]).replace("fit(x)\nprint", "fit(x.copy())\nprint")
    out = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    growth, size = (int(number) for number in out.split()[:2])
    assert growth > 0.8 * size, out
