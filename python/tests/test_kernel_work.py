"""Long fits of kernel PCA: Ctrl-C, progress, threads, memory."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from karhunen import KernelPCA, Nystroem

#: Prints its start and its end.
INTERRUPTED = """
import signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
import numpy as np
from karhunen import KernelPCA
x = np.random.default_rng(0).normal(size=(20_000, 20))
{warm}
print("ready", flush=True)
try:
    {work}
    print("finished", flush=True)
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
    import os; os._exit(0)  # what is left of the work need not be waited for
"""

WORK = {
    "tiles": ("", "KernelPCA(50, kernel='rbf', solver='tiles', tol=1e-14).fit(x)"),
    "function": ("", "KernelPCA(9, kernel=lambda X, Y: np.exp(-abs(X @ Y.T)), solver='tiles').fit(x)"),
    "transform": (
        "pca = KernelPCA(50, kernel='laplacian').fit(x[:3000])",
        "any(pca.transform(x) is None for _ in range(100_000))",
    ),
}


@pytest.mark.parametrize("kind", WORK)
def test_a_signal_stops_the_work_within_two_seconds(kind):
    warm, work = WORK[kind]
    source = INTERRUPTED.format(warm=warm, work=work)
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        sent = time.time()
        os.kill(child.pid, signal.SIGINT)
        word, when = child.stdout.readline().split()
        assert word == "interrupted"
        assert float(when) - sent < 2
    assert child.returncode == 0


def test_progress_is_drawn(capsys):
    x = np.random.default_rng(0).normal(size=(3000, 20))
    pca = KernelPCA(5, kernel="rbf", verbose=True, solver="tiles", fit_inverse_transform=True).fit(x)
    pca.inverse_transform(pca.transform(x[:100]))
    assert "KernelPCA: 100%" in capsys.readouterr().err


@pytest.mark.parametrize(
    "estimator", [KernelPCA(4, kernel="rbf"), KernelPCA(4, kernel="rbf", solver="nystrom"), Nystroem()]
)
def test_threads_change_no_bit(estimator):
    x = np.random.default_rng(0).normal(size=(900, 5))
    one, three = (type(estimator)(**{**estimator.get_params(), "n_threads": n}).fit(x) for n in (1, 3))
    np.testing.assert_array_equal(one.transform(x), three.transform(x))


#: Prints the rises of the peak of resident memory during a fit and a transform, in bytes.
MEMORY = """
import gc, re
import numpy as np
from karhunen import KernelPCA
status = lambda field: int(re.search(field + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
def growth(work):
    gc.collect()
    before = status("VmRSS")
    open("/proc/self/clear_refs", "w").write("5")  # the peak starts again
    work()
    return status("VmHWM") - before
x = np.random.default_rng(0).normal(size=({n}, 5)).astype(np.float32)
KernelPCA(2, kernel="rbf").fit(x[:1000])
pca = KernelPCA(2, kernel="rbf", solver="{solver}", max_iter=6)
import warnings; warnings.simplefilter("ignore")
print(growth(lambda: pca.fit(x)), growth(lambda: pca.transform(x)), pca.solver_)
"""


def test_tiles_and_transform_hold_no_matrix_of_all_pairs():
    n = 10_000
    grown = {}
    for solver in ("stored", "tiles"):
        source = MEMORY.format(n=n, solver=solver)
        out = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout.split()
        assert out[2] == solver
        grown[solver] = [int(number) for number in out[:2]]
    triangle = 4 * n * n / 2
    assert grown["stored"][0] > 0.9 * triangle
    assert grown["tiles"][0] < 0.15 * triangle
    assert grown["tiles"][1] < 0.1 * triangle
