"""Ctrl-C, the interpreter lock, forks and memory of fits of incomplete data."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from karhunen import IncompletePCA

#: Prints its start and its end.
CHILD = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
import numpy as np
from karhunen import IncompletePCA
x = np.random.default_rng(0).normal(size=(20_000, 200))
x[x > 0.5] = np.nan
pca = IncompletePCA(2, method="em", tol=0.9).fit(x[:300])
print("ready", flush=True)
try:
    {work}
    print("finished", flush=True)
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
    print(IncompletePCA(2, method="em", tol=0.9).fit(x[:50, :5]).n_components_, flush=True)
    import os; os._exit(0)  # what is left of the work need not be waited for
"""

WORK = {
    **{
        method: f"IncompletePCA(20, method={method!r}, tol=0.0, max_iter=100_000).fit(x)"
        for method in ("vb-full", "newton", "imputation", "online")
    },
    "transform": "any(pca.transform(x) is None for _ in range(100_000))",
    "partial_fit": "any(pca.partial_fit(x) is None for _ in range(100_000))",
}


@pytest.mark.parametrize("kind", WORK)
def test_a_signal_stops_the_work_within_a_second(kind):
    source = CHILD.format(work=WORK[kind].replace("pca.partial_fit", "IncompletePCA(20).partial_fit"))
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.7)
        sent = time.time()
        os.kill(child.pid, signal.SIGINT)
        word, when = child.stdout.readline().split()
        assert word == "interrupted"
        assert float(when) - sent < 1
        # The process is intact.
        assert child.stdout.readline() == "2\n"
    assert child.returncode == 0


def test_the_interpreter_lock_is_released():
    x = np.random.default_rng(0).normal(size=(20_000, 100))
    x[x > 0.5] = np.nan
    ticks, done = [], threading.Event()

    def count() -> None:
        while not done.wait(0.005):
            ticks.append(time.perf_counter())

    counter = threading.Thread(target=count)
    counter.start()
    start = time.perf_counter()
    IncompletePCA(10, method="em", tol=1e-4).fit(x)
    took = time.perf_counter() - start
    done.set()
    counter.join()
    assert len(ticks) > 0.2 * took / 0.005


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_a_forked_child_can_fit():
    source = """
import os, warnings
import numpy as np
from karhunen import IncompletePCA
warnings.simplefilter("ignore")  # newer Pythons warn of every fork
x = np.random.default_rng(0).normal(size=(3000, 100))
x[x > 0.5] = np.nan
fit = lambda: IncompletePCA(5, method="em", tol=1e-3).fit(x)
pca = fit()
child = os.fork()
if child == 0:
    same = np.array_equal(fit().components_, pca.components_) and np.array_equal(pca.transform(x), pca.transform(x))
    os._exit(0 if same else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", source], check=True, timeout=60)


#: Prints the rise of the peak of resident memory during a fit, in bytes, and the number of entries.
MEMORY = """
import gc, re
import numpy as np, scipy.sparse as sp
from karhunen import IncompletePCA, Observed
status = lambda field: int(re.search(field + r":\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024
rng = np.random.default_rng(0)
n, p = 100_000, 200
{data}
IncompletePCA(2, method="em", tol=0.9, error_bars=False).fit(rng.normal(size=(5000, 50)))
gc.collect()
before = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")  # the peak starts again
pca = IncompletePCA(2, method="em", tol=0.9, error_bars=False).fit(x)
print(status("VmHWM") - before, entries)
"""

DENSE = "x = rng.normal(size=(n, p)).astype(np.{dtype}); x[::2] = np.nan; entries = n * p // 2"
TRIPLES = (
    "rows = np.repeat(np.arange(n, dtype=np.int32), 80); columns = np.tile(np.arange(0, 160, 2, dtype=np.int32), n);"
)
#: With the bytes of an entry: by rows and by columns, and its row once more where rows without entries are left out.
DATA = {
    "float32": (DENSE.format(dtype="float32"), 20),
    "float64": (DENSE.format(dtype="float64"), 28),
    "csr": (
        TRIPLES + "v = rng.normal(size=80 * n).astype(np.float32);"
        "x = sp.csr_array((v, columns, np.arange(0, 80 * n + 1, 80)), shape=(n, p)); entries = 80 * n",
        16,
    ),
}


@pytest.mark.parametrize("kind", DATA)
def test_a_fit_keeps_its_entries_and_nothing_else(kind):
    data, bytes_of_entry = DATA[kind]
    source = MEMORY.format(data=data)
    out = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True).stdout
    growth, entries = (int(number) for number in out.split())
    # Factors, scores and a few sums for each row are additional.
    assert 0.9 * bytes_of_entry < growth / entries < 1.25 * bytes_of_entry, out
