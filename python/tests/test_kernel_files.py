"""Kernel models in files."""

import subprocess

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from karhunen import PCA, KernelPCA
from sklearn.base import clone


@pytest.mark.parametrize(
    "pca",
    [
        KernelPCA(3),
        KernelPCA(3, kernel="poly", degree=2, gamma="scale", coef0=0.5),
        KernelPCA(2, kernel="additive_chi2", solver="tiles", max_iter=50, tol=1e-6),
        KernelPCA(2, kernel="sigmoid", gamma=0.0005),
        KernelPCA(2, kernel="rbf", gamma="median", fit_inverse_transform=True, memory_limit=10**9),
        KernelPCA(2, kernel="rbf", fit_inverse_transform=True, alpha=0.5, random_state=3),
        KernelPCA(2, kernel="chi2", solver="nystrom", landmarks="kmeans++", n_features=20),
        KernelPCA(2, kernel="cosine", solver="nystrom", landmarks="leverage", strict=True),
        KernelPCA(2, kernel="laplacian", solver="fourier", n_features=32),
    ],
)
def test_models_come_back(table, pca, tmp_path):
    x = pd.DataFrame(np.abs(table), columns=[f"m{j}" for j in range(8)])
    fitted = clone(pca).fit(x)
    path = tmp_path / "kernel.model"
    fitted.save(path)
    again = KernelPCA.load(path)
    np.testing.assert_array_equal(again.transform(x), fitted.transform(x))
    np.testing.assert_array_equal(again.eigenvalues_, fitted.eigenvalues_)
    assert again.convergence_ == fitted.convergence_
    assert list(again.feature_names_in_) == list(x.columns)
    assert again.n_features_in_ == 8
    if pca.fit_inverse_transform:
        scores = fitted.transform(x)
        np.testing.assert_array_equal(again.inverse_transform(scores), fitted.inverse_transform(scores))
    # The options are the same as in the fit: fitting again gives the same model.
    np.testing.assert_array_equal(clone(again).fit(x).eigenvalues_, fitted.eigenvalues_)
    differing = {"random_state", "pre_image", "max_iter", "tol"}
    for name, value in pca.get_params().items():
        if name not in differing:
            assert again.get_params()[name] == value, name


def test_sparse_and_precomputed(table, tmp_path):
    path = tmp_path / "kernel.model"
    x = sp.random(100, 20, density=0.2, random_state=0, format="csr")
    sparse = KernelPCA(2, kernel="cosine").fit(x)
    sparse.save(path)
    np.testing.assert_array_equal(KernelPCA.load(path).transform(x), sparse.transform(x))
    gram = table @ table.T
    given = KernelPCA(2, kernel="precomputed").fit(gram)
    given.save(path)
    np.testing.assert_array_equal(KernelPCA.load(path).transform(gram), given.transform(gram))


def dot_plus(X, Y, plus=0.0):
    return X @ Y.T + plus


def test_a_function_is_given_again(table, tmp_path):
    path = tmp_path / "kernel.model"
    fitted = KernelPCA(2, kernel=dot_plus, kernel_params={"plus": 2.0}).fit(table)
    fitted.save(path)
    again = KernelPCA.load(path, kernel=dot_plus, kernel_params={"plus": 2.0})
    np.testing.assert_array_equal(again.transform(table), fitted.transform(table))
    with pytest.raises(ValueError, match="give it as `kernel`"):
        KernelPCA.load(path)
    KernelPCA(2).fit(table).save(path)
    with pytest.raises(ValueError, match="no function"):
        KernelPCA.load(path, kernel=dot_plus)


def test_models_of_another_kind_are_refused(table, tmp_path):
    path = tmp_path / "linear.model"
    PCA(2).fit(table).save(path)
    with pytest.raises(ValueError, match="kernel"):
        KernelPCA.load(path)
    with pytest.raises(FileNotFoundError):
        KernelPCA.load(tmp_path / "nothing")


def test_the_command_line_reads_our_files_and_we_its(table, program, tmp_path):
    x = pd.DataFrame(table, columns=[f"m{j}" for j in range(8)])
    x.to_csv(tmp_path / "x.csv", index=False)
    run = lambda *words: subprocess.run([program, *words], cwd=tmp_path, check=True, capture_output=True)  # noqa: E731
    ours = KernelPCA(3, kernel="rbf", gamma="median", fit_inverse_transform=True).fit(x)
    ours.save(tmp_path / "ours.model")
    run("transform", "ours.model", "x.csv", "-o", "scores.csv")
    scores = pd.read_csv(tmp_path / "scores.csv").to_numpy()[:, -3:]
    assert_allclose(scores, ours.transform(x), rtol=0, atol=1e-12)
    run(
        "fit",
        "x.csv",
        "--kernel",
        "rbf",
        "--gamma",
        "median",
        "-k",
        "3",
        "--pre-image",
        "fixed-point",
        "-o",
        "its.model",
    )
    its = KernelPCA.load(tmp_path / "its.model")
    # Means are summed in another order: pandas stores columns contiguously, files store rows.
    assert_allclose(its.transform(x), ours.transform(x), rtol=0, atol=1e-12)
    assert_allclose(its.inverse_transform(scores), ours.inverse_transform(scores), rtol=0, atol=1e-6)
    assert list(its.feature_names_in_) == list(x.columns)
    its.save(tmp_path / "again.model")
    run("transform", "again.model", "x.csv", "-o", "scores.csv", "--force")
