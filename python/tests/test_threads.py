"""Threads that read, feed and fit one estimator, and forks meanwhile."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from karhunen import PCA, IncrementalPCA

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 60)) + np.arange(400)[:, None] * 0.1


def at_once(n, work):
    start = threading.Barrier(n)

    def one(i):
        start.wait()
        work(i)

    threads = [threading.Thread(target=one, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture
def quick_switches():
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("quick_switches")
@pytest.mark.parametrize("size", [5, 50])
def test_rows_of_several_threads_are_all_added(size):
    for _ in range(10):
        pca = IncrementalPCA(3)
        at_once(8, lambda i, pca=pca: pca.partial_fit(X[size * i : size * (i + 1)]))
        assert pca.n_samples_seen_ == pca._fit.n_samples_seen == 8 * size
        np.testing.assert_allclose(pca.mean_, X[: 8 * size].mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("size", [5, 20])
def test_a_reader_leaves_no_results_of_fewer_rows(size):
    expected = X.mean(axis=0)
    for _ in range(10):
        pca, done = IncrementalPCA(3).partial_fit(X[:20]), threading.Event()

        def read(pca=pca, done=done):
            while not done.is_set():
                _ = pca.explained_variance_

        reader = threading.Thread(target=read)
        reader.start()
        for first in range(20, 400, size):
            pca.partial_fit(X[first : first + size])
        done.set()
        reader.join()
        np.testing.assert_allclose(pca.mean_, expected, rtol=1e-12)


@pytest.mark.usefixtures("quick_switches")
def test_a_reader_writes_no_mixture_of_two_fits():
    tables = X[:40] + 100, X[40:80] * 3
    fits = [PCA(5).fit(x) for x in tables]
    scores = [fit.transform(tables[0]) for fit in fits]
    pca, done = PCA(5).fit(tables[0]), threading.Event()
    wrong = []

    def read():
        while not done.is_set():
            found = pca.transform(tables[0])
            wrong.extend([1] * (not any(np.allclose(found, expected) for expected in scores)))

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for i in range(600):
        pca.fit(tables[i % 2])
    done.set()
    for reader in readers:
        reader.join()
    assert not wrong
    for name in ("components_", "mean_", "explained_variance_", "noise_variance_"):
        np.testing.assert_array_equal(getattr(pca, name), getattr(fits[1], name))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_of_a_fit_that_takes_rows_does_not_wait():
    rows = RNG.normal(size=(3000, 600))
    pca, done = IncrementalPCA(5).partial_fit(rows[:50]), threading.Event()

    def feed():
        while not done.is_set():
            pca.partial_fit(rows)

    thread = threading.Thread(target=feed)
    thread.start()
    time.sleep(0.05)
    try:
        for call in (lambda: pca.components_, lambda: pca.transform(rows[:5]), lambda: pca.partial_fit(rows[:5])):
            child = os.fork()
            if child == 0:
                try:
                    call()
                finally:
                    os._exit(0)
            end = time.monotonic() + 20
            while os.waitpid(child, os.WNOHANG)[0] == 0:
                if time.monotonic() > end:
                    os.kill(child, signal.SIGKILL)
                    os.waitpid(child, 0)
                    pytest.fail("the child of a fork waits")
                time.sleep(0.01)
    finally:
        done.set()
        thread.join()


FIT_AT_EXIT = """
import threading
import numpy as np
from karhunen import KernelPCA
X, begun = np.random.default_rng(0).normal(size=(1000, 400)), threading.Event()

def kernel(a, b):
    begun.set()
    return a @ b.T

def work():
    while True:
        KernelPCA(3, kernel=kernel).fit(X)

threading.Thread(target=work, daemon=True).start()
assert begun.wait(20)
"""


def test_a_kernel_function_that_runs_while_the_interpreter_ends_does_not_abort():
    # The errors of the thread are its own.
    ends = [subprocess.run([sys.executable, "-c", FIT_AT_EXIT], stderr=subprocess.PIPE, timeout=60) for _ in range(5)]
    assert [end.returncode for end in ends] == [0] * 5, ends[0].stderr
