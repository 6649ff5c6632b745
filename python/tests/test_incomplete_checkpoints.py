"""Killed or interrupted fits resume and end with the same model."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings

import numpy as np
import pytest
from karhunen import IncompletePCA
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

#: Fits until it is stopped, and prints its start and its end.
CHILD = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGINT])
import numpy as np
from karhunen import IncompletePCA
x = np.load("x.npy")
print("ready", flush=True)
try:
    IncompletePCA(3, method={method!r}, tol=0.0, max_iter=1_000_000).fit(x, checkpoint="c", checkpoint_every={every})
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""
METHODS = ["vb-full", "em"]


@pytest.fixture
def x():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(300, 3)) @ rng.normal(size=(3, 20)) + 0.5 * rng.normal(size=(300, 20))
    x[rng.random(x.shape) < 0.4] = np.nan
    return x


def child(folder, method, every):
    source = CHILD.format(method=method, every=every)
    return subprocess.Popen([sys.executable, "-c", source], cwd=folder, stdout=subprocess.PIPE, text=True)


def same_model(one, other):
    for name in ("components_", "mean_", "scores_", "explained_variance_", "noise_variance_", "score_covariances_"):
        assert_array_equal(getattr(one, name), getattr(other, name), err_msg=name)
    assert_array_equal(one.convergence_.costs, other.convergence_.costs)


def continues(x, folder, method):
    """Return the iterations of the checkpoint, after comparing the resumed fit with an uninterrupted one."""
    options = {"method": method, "tol": 0.0}
    # One more iteration reveals the iteration of the checkpoint.
    with pytest.warns(match="max_iter"):
        begun = IncompletePCA(3, max_iter=1, **options).fit(x, checkpoint=folder / "c", resume=True)
    limit = begun.n_iter_ + 20
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        resumed = IncompletePCA(3, max_iter=limit, **options).fit(x, checkpoint=folder / "c", resume=True)
        whole = IncompletePCA(3, max_iter=limit, **options).fit(x)
    assert resumed.n_iter_ == whole.n_iter_ == limit
    same_model(resumed, whole)
    return begun.n_iter_ - 1


@pytest.mark.parametrize("method", METHODS)
def test_a_fit_that_was_killed_continues_to_the_same_model(x, tmp_path, method):
    np.save(tmp_path / "x.npy", x)
    with child(tmp_path, method, 0) as process:
        assert process.stdout.readline() == "ready\n"
        while not (tmp_path / "c").exists():
            assert process.poll() is None
            time.sleep(0.01)
        time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    assert continues(x, tmp_path, method) >= 1


@pytest.mark.parametrize("method", METHODS)
def test_ctrl_c_writes_a_checkpoint_that_was_not_due(x, tmp_path, method):
    np.save(tmp_path / "x.npy", x)
    with child(tmp_path, method, 3600) as process:
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.5)
        assert not (tmp_path / "c").exists()
        os.kill(process.pid, signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
        # The checkpoint was written before the exception was raised.
        assert (tmp_path / "c").exists()
    assert process.returncode == 0
    assert continues(x, tmp_path, method) >= 1


def test_a_fit_that_ended_is_found_again(x, tmp_path):
    pca = IncompletePCA(3)
    whole = pca.fit(x, checkpoint=tmp_path / "c", checkpoint_every=0)
    same_model(whole, IncompletePCA(3).fit(x))
    same_model(whole, IncompletePCA(3).fit(x, checkpoint=str(tmp_path / "c"), resume=True))
    # Without `resume` the file is not overwritten. If there is no file, the fit starts.
    state = (tmp_path / "c").read_bytes()
    with pytest.raises(FileExistsError, match=r"c exists; pass resume=True to continue from it, or remove it"):
        IncompletePCA(3).fit(x, checkpoint=tmp_path / "c")
    assert (tmp_path / "c").read_bytes() == state
    same_model(whole, IncompletePCA(3).fit(x, checkpoint=tmp_path / "d", resume=True))


def test_a_state_that_cannot_be_written_is_a_warning(x, tmp_path):
    folder, gone = tmp_path / "sub", tmp_path / "gone"
    folder.mkdir()
    # The folder is removed during the fit.
    mover = threading.Timer(0.7, folder.rename, [gone])
    mover.start()
    pca = IncompletePCA(3, method="em", tol=0.0, max_iter=10_000_000, time_limit=2.5)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        pca.fit(x, checkpoint=folder / "c", checkpoint_every=0)
    mover.join()
    told = [entry for entry in told if entry.category is RuntimeWarning]
    assert [str(entry.message).split(":")[0] for entry in told[:1]] == ["no checkpoint was kept"]
    assert "the last checkpoint that was kept is of iteration" in str(told[-1].message)
    assert all(entry.filename == __file__ for entry in told)
    assert len(told) == 2
    assert np.isfinite(pca.components_).all()
    assert (gone / "c").exists()


def test_what_is_write_protected_is_not_replaced(x, tmp_path):
    path = tmp_path / "m"
    IncompletePCA(1).fit(x).save(path)
    before = path.read_bytes()
    path.chmod(0o444)
    with pytest.raises(PermissionError, match="the file is write-protected; give another name, or remove it first"):
        IncompletePCA(2).fit(x).save(path)
    assert path.read_bytes() == before


def test_weights_and_starts_combine_with_checkpoints(x, tmp_path):
    weights = np.random.default_rng(0).integers(0, 3, 300)
    fit = {"sample_weight": weights, "checkpoint": tmp_path / "c", "checkpoint_every": 0}
    whole = IncompletePCA(2).fit(x, **fit)
    same_model(whole, IncompletePCA(2).fit(x, resume=True, **fit))
    with pytest.raises(ValueError, match="made with other data"):
        IncompletePCA(2).fit(x, checkpoint=tmp_path / "c", resume=True)
    # A resumed fit ignores the start.
    start = (whole.components_, whole.scores_)
    begun = IncompletePCA(2, method="als").fit(x, start=start, checkpoint=tmp_path / "s", checkpoint_every=0)
    again = IncompletePCA(2, method="als").fit(x, start=start, checkpoint=tmp_path / "s", resume=True)
    same_model(begun, again)


def test_it_is_not_a_parameter(x, tmp_path):
    # A file belongs to one fit: clones that are fitted in parallel must not share it.
    pca = IncompletePCA(2).fit(x, checkpoint=tmp_path / "c")
    assert not {"checkpoint", "resume"} & set(pca.get_params())
    clone(pca).fit(x)


def test_refusals(x, tmp_path):
    path = tmp_path / "c"
    IncompletePCA(2).fit(x, checkpoint=path, checkpoint_every=0)
    with pytest.raises(ValueError, match=r"made with random_state = 0, now there is random_state = 5;"):
        IncompletePCA(2, random_state=5).fit(x, checkpoint=path, resume=True)
    for arguments, message in [
        ({"resume": True}, "resume = True needs the file to continue from"),
        ({"checkpoint": path, "checkpoint_every": -1}, "checkpoint_every = -1 is not allowed"),
        ({"checkpoint": path, "checkpoint_every": "1"}, "checkpoint_every = '1' is not allowed"),
        ({"checkpoint": path, "resume": 2}, "resume = 2"),
    ]:
        with pytest.raises(ValueError, match=message):
            IncompletePCA(2).fit(x, **arguments)
    with pytest.raises(FileNotFoundError, match="make it first"):
        IncompletePCA(2).fit(x, checkpoint=tmp_path / "no" / "c")
    damaged = tmp_path / "damaged"
    damaged.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match="damaged"):
        IncompletePCA(2).fit(x, checkpoint=damaged, resume=True)
