"""`PCA(device="cuda")`: refusals, the error without a GPU, and fits where there is one."""

import numpy as np
import pytest
from karhunen import PCA, Scatter, cluster
from karhunen._shared.device import library_folders
from karhunen.resampling import jackknife
from scipy import sparse


@pytest.fixture
def gpu(table):
    """Skip the test where no GPU can be used."""
    try:
        PCA(2, device="cuda").fit(table)
    except OSError as error:
        pytest.skip(str(error))


def test_without_a_gpu_the_error_says_what_was_looked_for(table):
    pca = PCA(2, device="cuda")
    try:
        pca.fit(table)
    except OSError as error:
        text = str(error)
        assert text.startswith("no GPU can be used: ")
        assert text.endswith("or leave the device out")
        assert not hasattr(pca, "components_")
    else:
        assert "in f64" in pca.convergence_.reason


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"solver": "svd"}, "solver = 'svd' is not allowed: a device forms products"),
        ({"scale": "range"}, "scale = 'range' is not allowed: a device sums"),
    ],
)
def test_options_without_use_are_refused(table, options, message):
    with pytest.raises(ValueError, match=message):
        PCA(2, device="cuda", **options).fit(table)


def test_work_of_the_processor_refuses_a_device(table, tmp_path):
    pca = PCA(2, device="cuda")
    with pytest.raises(ValueError, match="checkpoint does not go with device = 'cuda'"):
        pca.fit(table, checkpoint=tmp_path / "passes")
    sums = Scatter().add(table)
    for work in (
        lambda: pca.fit(sums),
        lambda: cluster.fit(PCA(2, device="cuda"), [table]),
        lambda: jackknife(pca, table),
    ):
        with pytest.raises(ValueError, match=r"device = .cuda. is for PCA\.fit of rows"):
            work()


def test_folders_of_libraries_exist():
    folders = library_folders()
    assert all(isinstance(folder, str) for folder in folders)
    assert folders[-1:] == [] or folders[-1].endswith("lib")


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["rows", "columns", "csr", "csc"])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_fit_on_a_gpu_equals_a_fit_on_the_processor(gpu, table, dtype, kind, weighted):
    table = np.where(np.abs(table) < 2, 0, table).astype(dtype)
    x = {
        "rows": np.ascontiguousarray,
        "columns": np.asfortranarray,
        "csr": sparse.csr_array,
        "csc": sparse.csc_array,
    }[kind](table)
    weights = np.random.default_rng(1).integers(1, 4, len(table)) if weighted else None
    for scale in (False, True):
        found = PCA(3, scale=scale, device="cuda").fit(x, sample_weight=weights)
        expected = PCA(3, scale=scale, solver="covariance").fit(table.astype(float), sample_weight=weights)
        np.testing.assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-6)
        np.testing.assert_allclose(np.abs(found.components_), np.abs(expected.components_), atol=1e-4)
        assert found.components_.dtype == dtype
        assert found.transform(x).shape == (len(table), 3)
