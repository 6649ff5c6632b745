"""The Nyström feature map: comparison with scikit-learn's."""

import pickle
import subprocess

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from compare import assert_allclose
from karhunen import KernelPCA, Nystroem
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem as SklearnNystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

KERNELS = [
    ("linear", {}),
    ("poly", {"gamma": 0.05, "degree": 2, "coef0": 0.5}),
    ("poly", {}),
    ("rbf", {"gamma": 0.01}),
    ("rbf", {}),
    ("laplacian", {"gamma": 0.02}),
    ("cosine", {}),
    ("chi2", {"gamma": 0.1}),
    ("chi2", {}),
]


@pytest.mark.parametrize(("kernel", "parameters"), KERNELS)
def test_all_rows_as_landmarks_give_the_kernel_as_in_scikit_learn(table, kernel, parameters):
    x = np.abs(table) / 5
    ours = Nystroem(kernel, n_components=60, **parameters).fit(x)
    theirs = SklearnNystroem(kernel, n_components=60, **parameters).fit(x)
    z, exact = ours.transform(x), pairwise_kernels(x, metric=kernel, **parameters)
    assert_allclose(z @ z.T, exact, rtol=0, atol=1e-6 * np.abs(exact).max())
    t = theirs.transform(x)
    assert_allclose(z @ z.T, t @ t.T, rtol=0, atol=1e-6 * np.abs(exact).max())


def test_attributes_match_scikit_learn(table):
    ours = Nystroem(gamma=0.01, n_components=15).fit(table)
    assert ours.components_.shape == (15, 8)
    assert ours.normalization_.shape == (15, 15)
    np.testing.assert_array_equal(ours.components_, table[ours.component_indices_])
    assert (np.diff(ours.component_indices_) > 0).all()
    assert ours.gamma_ == 0.01
    # scikit-learn's algorithm with our landmarks.
    theirs = rbf_kernel(table, ours.components_, gamma=0.01) @ ours.normalization_.T
    assert_allclose(ours.transform(table), theirs, rtol=0, atol=1e-9)
    inverse = np.linalg.inv(rbf_kernel(ours.components_, gamma=0.01))
    assert_allclose(ours.normalization_ @ ours.normalization_, inverse, rtol=1e-6)
    assert list(ours.get_feature_names_out()) == [f"nystroem{i}" for i in range(15)]


@pytest.mark.parametrize("landmarks", ["uniform", "kmeans++", "leverage"])
def test_more_landmarks_are_nearer(table, landmarks):
    exact = rbf_kernel(table, gamma=0.0005)
    off = []
    for n_components in (5, 15, 45):
        z = Nystroem(gamma=0.0005, n_components=n_components, landmarks=landmarks).fit_transform(table)
        off.append(np.linalg.norm(z @ z.T - exact, 2) / np.linalg.norm(exact, 2))
    assert off[0] > off[1] > off[2]
    assert off[2] < 0.02


def test_sparse_and_single_precision():
    x = sp.random(300, 40, density=0.1, random_state=0, format="csr")
    dense = Nystroem("cosine", n_components=30).fit(x.toarray())
    ours = Nystroem("cosine", n_components=30).fit(x)
    assert_allclose(ours.transform(sp.csc_array(x)), dense.transform(x.toarray()), atol=1e-9)
    np.testing.assert_array_equal(ours.components_.toarray(), dense.components_)
    single = ours.transform(x.astype(np.float32))
    assert single.dtype == np.float32
    assert_allclose(single, dense.transform(x.toarray()), atol=1e-5)


def dot_plus(X, Y, plus):
    return X @ Y.T + plus


@pytest.mark.parametrize(
    "nystroem",
    [
        Nystroem(gamma="median", n_components=10),
        Nystroem("poly", n_components=10, landmarks="leverage"),
        Nystroem(dot_plus, kernel_params={"plus": 1.0}, n_components=10),
    ],
)
def test_pickles(table, nystroem):
    fitted = clone(nystroem).fit(table)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.transform(table), fitted.transform(table))
    sparse = Nystroem("linear", n_components=5).fit(sp.csr_array(table))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(sparse)).transform(table), sparse.transform(table))


def test_parameters_by_either_name(table):
    x = Nystroem("poly", gamma=0.1, degree=2, n_components=5).fit_transform(table)
    y = Nystroem("poly", kernel_params={"gamma": 0.1, "degree": 2}, n_components=5).fit_transform(table)
    np.testing.assert_array_equal(x, y)
    of_dot = Nystroem(dot_plus, kernel_params={"plus": 1.0}, n_components=5).fit_transform(table)
    named = Nystroem("poly", gamma=1.0, degree=1, coef0=1.0, n_components=5).fit_transform(table)
    assert_allclose(of_dot @ of_dot.T, named @ named.T, rtol=1e-6)


def test_more_landmarks_than_rows_are_told(table):
    with pytest.warns(UserWarning, match="100 is more than the 60 rows"):
        nystroem = Nystroem().fit(table)
    assert nystroem.transform(table).shape == (60, 60)


def test_landmarks_are_drawn_in_proportion_to_weights(table):
    weights = np.where(np.arange(60) < 10, 1000, np.arange(60) % 2)
    heavy = 0
    for seed in range(10):
        nystroem = Nystroem(gamma="median", n_components=12, random_state=seed).fit(table, sample_weight=weights)
        assert (weights[nystroem.component_indices_] > 0).all()
        heavy += (nystroem.component_indices_ < 10).sum()
    assert heavy > 95
    # The rule for gamma uses weights as multiplicities: the result is the same as with repeated rows.
    repeated = Nystroem(gamma="median", n_components=5).fit(np.repeat(table, weights // 100, axis=0))
    counted = Nystroem(gamma="median", n_components=5).fit(table, sample_weight=weights // 100)
    assert counted.gamma_ == pytest.approx(repeated.gamma_, rel=1e-12)
    assert counted.gamma_ != Nystroem(gamma="median", n_components=5).fit(table).gamma_
    with pytest.warns(UserWarning, match="12 is more than the 10 rows of positive weight"):
        few = Nystroem(n_components=12).fit(table, sample_weight=weights // 100)
    assert list(few.component_indices_) == list(range(10))
    assert Nystroem(n_components=5).fit_transform(table, sample_weight=weights).shape == (60, 5)
    with pytest.raises(ValueError, match="not negative"):
        Nystroem(n_components=5).fit(table, sample_weight=-weights)


@pytest.mark.parametrize(
    "nystroem",
    [
        Nystroem(n_components=10),
        Nystroem("poly", gamma="scale", degree=2, coef0=0.5, n_components=10, landmarks="leverage"),
        Nystroem("chi2", gamma=0.1, n_components=5, landmarks="kmeans++", random_state=4),
        Nystroem("linear", n_components=5),
    ],
)
def test_files(table, nystroem, tmp_path):
    x = pd.DataFrame(np.abs(table), columns=[f"m{j}" for j in range(8)])
    path = tmp_path / "features.model"
    fitted = clone(nystroem).fit(x)
    fitted.save(path)
    again = Nystroem.load(path)
    np.testing.assert_array_equal(again.transform(x), fitted.transform(x))
    np.testing.assert_array_equal(again.components_, fitted.components_)
    np.testing.assert_array_equal(again.component_indices_, fitted.component_indices_)
    assert list(again.feature_names_in_) == list(x.columns)
    assert again.n_features_in_ == 8
    np.testing.assert_array_equal(clone(again).fit(x).transform(x), fitted.transform(x))
    for name, value in nystroem.get_params().items():
        if name != "random_state" and value is not None:
            assert again.get_params()[name] == value, name


def test_files_of_functions_and_sparse_rows(table, program, tmp_path):
    path = tmp_path / "features.model"
    fitted = Nystroem(dot_plus, kernel_params={"plus": 1.0}, n_components=10).fit(table)
    fitted.save(path)
    again = Nystroem.load(path, kernel=dot_plus, kernel_params={"plus": 1.0})
    np.testing.assert_array_equal(again.transform(table), fitted.transform(table))
    with pytest.raises(ValueError, match="give it as `kernel`"):
        Nystroem.load(path)
    sparse = Nystroem("cosine", n_components=5).fit(sp.csr_array(table))
    sparse.save(path)
    np.testing.assert_array_equal(Nystroem.load(path).transform(table), sparse.transform(table))
    with pytest.raises(ValueError, match="no function"):
        Nystroem.load(path, kernel=dot_plus)
    with pytest.raises(ValueError, match="`nystrom-map`; `kernel-pca` is what can be read"):
        KernelPCA.load(path)
    said = subprocess.run([program, "inspect", path], capture_output=True, text=True)
    assert said.returncode == 3
    assert "Nyström feature map, which has no components; karhunen.Nystroem.load" in said.stderr


REFUSED = [
    ({"kernel": "precomputed"}, "positive semi-definite and not precomputed"),
    ({"kernel": "sigmoid"}, "positive semi-definite"),
    ({"kernel": "additive_chi2"}, "positive semi-definite"),
    ({"kernel": "radial"}, "is not known"),
    ({"n_components": 0}, "at least 1"),
    ({"landmarks": "random"}, "'uniform', 'kmeans\\+\\+', 'leverage'"),
    ({"kernel": dot_plus, "gamma": 1.0}, "kernel_params"),
    ({"kernel_params": {"width": 1.0}}, "kernel_params has \\['width'\\]"),
    ({"kernel": lambda x, y: np.ones(2)}, "as in scikit-learn, two rows, and gives a number"),
    ({"kernel": lambda x, y: 1.0, "gamma": 1}, "Don't pass gamma, coef0 or degree to Nystroem"),
    ({"n_jobs": 2, "n_threads": 2}, "say the same"),
]


@pytest.mark.parametrize(("options", "message"), REFUSED)
def test_refuses(table, options, message):
    with pytest.raises(ValueError, match=message):
        Nystroem(**{"n_components": 5, **options}).fit(table)
    with pytest.raises(ValueError, match=r"pass X\.toarray"):
        Nystroem(dot_plus, n_components=5).fit(sp.csr_array(table))


def test_a_linear_model_of_the_features_is_a_kernel_method():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 400)
    radius = np.where(np.arange(400) % 2, 1.0, 2.0)
    x = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]) + 0.1 * rng.normal(size=(400, 2))
    search = GridSearchCV(
        make_pipeline(Nystroem(n_components=40), LogisticRegression()), {"nystroem__gamma": [0.1, 1.0]}, cv=3
    )
    assert search.fit(x, np.arange(400) % 2).best_score_ > 0.99
