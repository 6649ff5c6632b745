"""Fits of `PCA` and `KernelPCA` that keep their passes and are resumed."""

import subprocess
import sys
import time
import warnings

import numpy as np
import pytest
from karhunen import PCA, KernelPCA, Scatter

OPTIONS = {"solver": "block-krylov", "n_components": 4, "tol": 1e-10}


@pytest.fixture
def x():
    return np.random.default_rng(3).normal(size=(500, 40)) / np.arange(1, 41)


@pytest.mark.parametrize(
    "estimator", [PCA(**OPTIONS), PCA(3, solver="covariance"), KernelPCA(3, kernel="rbf", solver="tiles")]
)
def test_a_checkpoint_that_ends_anywhere_gives_the_same_model(estimator, x, tmp_path):
    path = tmp_path / "c"
    expected = estimator.fit(x).transform(x)
    np.testing.assert_array_equal(estimator.fit(x, checkpoint=path).transform(x), expected)
    content = path.read_bytes()
    for share in (0.3, 0.8, 1.0):
        path.write_bytes(content[: int(len(content) * share)])
        again = estimator.fit(x, checkpoint=path, resume=True)
        np.testing.assert_array_equal(again.transform(x), expected)
        assert path.read_bytes() == content


def test_a_killed_fit_continues(tmp_path):
    options = {**OPTIONS, "tol": 1e-14, "max_iter": 60}
    x = np.random.default_rng(4).normal(size=(8000, 200))
    np.save(tmp_path / "x.npy", x)
    path = tmp_path / "c"
    program = (
        "import sys, warnings, numpy as np; from karhunen import PCA\n"
        "warnings.simplefilter('ignore')\n"
        f"PCA(**{options!r}).fit(np.load(sys.argv[1]), checkpoint=sys.argv[2])"
    )
    with subprocess.Popen([sys.executable, "-c", program, tmp_path / "x.npy", path]) as child:
        while child.poll() is None and not (path.exists() and path.stat().st_size > 100_000):
            time.sleep(0.001)
        child.kill()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the tolerance is out of reach
        expected = PCA(**options).fit(x)
        resumed = PCA(**options).fit(x, checkpoint=path, resume=True)
    np.testing.assert_array_equal(resumed.components_, expected.components_)
    assert resumed.n_iter_ == expected.n_iter_


def test_checkpoints_of_other_fits_and_files_in_use_are_refused(x, tmp_path):
    path = tmp_path / "c"
    PCA(**OPTIONS).fit(x, checkpoint=path)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="resume=True"):
        PCA(**OPTIONS).fit(x, checkpoint=path)
    with pytest.raises(ValueError, match="n_components = 4, now there is n_components = 5"):
        PCA(**{**OPTIONS, "n_components": 5}).fit(x, checkpoint=path, resume=True)
    with pytest.raises(ValueError, match="made with other values"):
        PCA(**OPTIONS).fit(x + 1, checkpoint=path, resume=True)
    with pytest.raises(ValueError, match="made with other weights of rows"):
        PCA(**OPTIONS).fit(x, sample_weight=np.ones(500), checkpoint=path, resume=True)
    with pytest.raises(ValueError, match="pass checkpoint"):
        PCA().fit(x, resume=True)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        PCA().fit(x, checkpoint=tmp_path / "none" / "c")
    with pytest.raises(ValueError, match="nothing shows whether a function is the same"):
        KernelPCA(2, kernel=lambda a, b: a @ b).fit(x, checkpoint=tmp_path / "d")
    with pytest.raises(ValueError, match="a Scatter holds none"):
        PCA().fit(Scatter().add(x), checkpoint=tmp_path / "d")
    assert path.read_bytes() == before
    assert not (tmp_path / "d").exists()


def test_a_file_is_read_only_for_the_passes_that_are_missing(x, tmp_path):
    np.save(tmp_path / "x.npy", x)
    path = tmp_path / "c"
    expected = PCA(**OPTIONS).fit(tmp_path / "x.npy", checkpoint=path)
    again = PCA(**OPTIONS).fit(tmp_path / "x.npy", checkpoint=path, resume=True)
    np.testing.assert_array_equal(again.components_, expected.components_)
    assert again.n_iter_ == expected.n_iter_


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")
def test_a_checkpoint_that_cannot_be_written_is_a_warning(x, tmp_path):
    folder = tmp_path / "f"
    folder.mkdir()
    expected = PCA(**OPTIONS).fit(x)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = PCA(**OPTIONS).fit(x, checkpoint="/proc/karhunen", resume=True)
    np.testing.assert_array_equal(found.components_, expected.components_)
    assert any("not the later ones" in str(warning.message) for warning in caught)
