"""Ctrl-C, progress, threads and forks."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from karhunen import PCA

#: Prints its start and its end.
CHILD = """
import signal, sys, time
# As a process that a user starts: whoever started this one may have blocked the signal, and that is inherited.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
import numpy as np
from karhunen import PCA
x = np.random.default_rng(0).normal(size=({n}, {p}))
{warm}
print("ready", flush=True)
try:
    {work}
    print("finished", flush=True)
except KeyboardInterrupt:
    print("interrupted", time.time(), flush=True)
    print(PCA(2).fit(x[:50, :5]).n_components_, flush=True)
    import os; os._exit(0)  # what is left of the work need not be waited for
"""

WORK = {
    # Many short steps.
    "iteration": (3000, 2000, "PCA(100, solver='block-krylov', tol=1e-15, max_iter=100_000).fit(x)"),
    # One long step, which cannot be stopped.
    "eigendecomposition": (3000, 3000, "PCA(solver='svd').fit(x)"),
    "transform": (200_000, 200, "any(pca.transform(x) is None for _ in range(100_000))"),
}


@pytest.mark.parametrize("kind", WORK)
def test_a_signal_stops_the_work_within_a_second(kind):
    n, p, work = WORK[kind]
    warm = "pca = PCA(100).fit(x[:1000])" if kind == "transform" else ""
    source = CHILD.format(n=n, p=p, work=work, warm=warm)
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        sent = time.time()
        os.kill(child.pid, signal.SIGINT)
        word, when = child.stdout.readline().split()
        assert word == "interrupted"
        assert float(when) - sent < 1
        # The process is intact.
        assert child.stdout.readline() == "2\n"
    assert child.returncode == 0


def test_progress_is_drawn(capsys):
    x = np.random.default_rng(0).normal(size=(4000, 600))
    PCA(20, verbose=True, solver="svd").fit(x).transform(x)
    drawn = capsys.readouterr().err
    assert "PCA: 100%" in drawn
    assert PCA(20).fit(x) is not None
    assert capsys.readouterr().err == ""


def test_an_exception_while_drawing_ends_the_work(monkeypatch):
    class Broken(Exception):
        pass

    class Bar:
        def __init__(self, **_): ...
        def __enter__(self):
            return self

        def __exit__(self, *_): ...
        def set_description_str(self, *_, **__):
            raise Broken

    monkeypatch.setattr("tqdm.auto.tqdm", Bar)
    x = np.random.default_rng(0).normal(size=(3000, 1500))
    with pytest.raises(Broken):
        PCA(100, verbose=True, solver="block-krylov", tol=1e-15, max_iter=100_000).fit(x)


def test_the_interpreter_lock_is_released():
    x = np.random.default_rng(0).normal(size=(3000, 1000))
    ticks, done = [], threading.Event()

    def count() -> None:
        while not done.wait(0.005):
            ticks.append(time.perf_counter())

    counter = threading.Thread(target=count)
    counter.start()
    start = time.perf_counter()
    PCA(50, solver="svd").fit(x)
    took = time.perf_counter() - start
    done.set()
    counter.join()
    assert len(ticks) > 0.2 * took / 0.005


def test_fits_of_several_threads_agree(table):
    x = np.random.default_rng(0).normal(size=(3000, 100))
    expected = PCA(3).fit(x).components_
    results = [None] * 4

    def fit(i: int) -> None:
        results[i] = PCA(3).fit(x).components_

    threads = [threading.Thread(target=fit, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        np.testing.assert_array_equal(result, expected)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.parametrize("n_threads", [None, 2])
def test_a_forked_child_can_fit(n_threads):
    source = f"""
import os, warnings
import numpy as np
from karhunen import PCA
warnings.simplefilter("ignore")  # newer Pythons warn of every fork
x = np.random.default_rng(0).normal(size=(3000, 300))
pca = PCA(3, n_threads={n_threads}).fit(x)
child = os.fork()
if child == 0:
    same = np.array_equal(PCA(3, n_threads={n_threads}).fit(x).components_, pca.components_)
    np.testing.assert_array_equal(pca.score_samples(x), pca.score_samples(x))
    os._exit(0 if same else 1)
assert os.waitpid(child, 0)[1] == 0
"""
    subprocess.run([sys.executable, "-c", source], check=True, timeout=60)
