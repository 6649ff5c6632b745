"""Warnings of columns that are probably ids or classes."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from karhunen import PCA, IncompletePCA, IncrementalPCA, KernelPCA, RowBlocks, TruncatedSVD
from sklearn.datasets import load_iris

EXAMPLES = Path(__file__).parents[2] / "examples" / "data"
ESTIMATORS = [PCA(1), IncrementalPCA(1), IncompletePCA(1), KernelPCA(1), TruncatedSVD(1)]


def frame(name: str, values: np.ndarray) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    n = len(values)
    return pd.DataFrame({"a": rng.normal(size=n), name: values, "b": rng.normal(size=n)})


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_fit_names_ids_and_classes(estimator):
    counted = frame("Unnamed: 0", np.arange(60))
    text = "column 'Unnamed: 0' counts the rows and is fitted as a feature; if it only numbers them, leave"
    for x in (counted, pl.DataFrame(counted), counted.astype(np.float32)):
        with pytest.warns(UserWarning, match=text) as told:
            estimator.fit(x)
        assert [warning.filename for warning in told] == [__file__]
    scattered = np.random.default_rng(1).permutation(60) * 37
    with pytest.warns(UserWarning, match=r"column 'patient_id' holds whole numbers that all differ .* if they are ids"):
        estimator.fit(frame("patient_id", scattered))
    with pytest.warns(UserWarning, match=r"column 'Class' holds 3 whole numbers .*; if they denote classes, leave"):
        estimator.fit(frame("Class", np.arange(60) // 5 % 3))


def test_files_name_them_too(tmp_path):
    frame("row", np.arange(1, 61)).to_csv(tmp_path / "t.csv", index=False)
    for estimator in (PCA(1), IncompletePCA(1)):
        with pytest.warns(UserWarning, match="column 'row' counts the rows"):
            estimator.fit(tmp_path / "t.csv")


def test_results_and_other_calls_are_as_without():
    x = frame("id", np.arange(60))
    with pytest.warns(UserWarning, match="column 'id' counts the rows"):
        pca = PCA(2).fit(x)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_array_equal(pca.components_, PCA(2).fit(x.to_numpy()).components_)
        pca.transform(x)
        PCA(1).fit(sp.csr_array(x.to_numpy()))
        PCA(1).fit(RowBlocks(lambda: [x]))
        PCA(1).fit(frame("steps", np.random.default_rng(0).permutation(60) * 7))
        PCA(1).fit(frame("children", np.arange(60) % 4))
        PCA(1).fit(frame("id", np.arange(60)).iloc[:9])


def test_examples_have_no_false_alarm():
    sets = {
        "iris.csv": ["class"],
        "wine.csv": ["class"],
        "breast_cancer.csv": ["class"],
        "decathlon.csv": ["Competition"],
        "midwest_counties.csv": ["county", "state"],
        "usarrests.csv": ["State"],
        "house_votes_84.csv": ["Class"],
        "bfi_items.csv": [],
        "metabolite_complete.csv": [],
        "metabolite_missing.csv": [],
        "worldbank_fertility.csv": ["iso3", "2012", "2013"],
        "titanic.csv": ["class", "sex", "age", "survived"],
    }
    for name, dropped in sets.items():
        x = pd.read_csv(EXAMPLES / name).drop(columns=dropped)
        with warnings.catch_warnings():
            warnings.filterwarnings("error", message=".*is fitted as a feature")
            (IncompletePCA(1) if x.isna().any(axis=None) or x.shape[1] == 1 else PCA(1)).fit(x)
    assert {path.name for path in Path(EXAMPLES).glob("*.csv")} <= set(sets)
    with pytest.warns(UserWarning, match="column 'target' holds 3 whole numbers"):
        PCA(2).fit(load_iris(as_frame=True).frame)


def test_symmetric_tables_are_named_and_the_advice_fits_them(tmp_path):
    rows = pd.DataFrame(np.random.default_rng(3).normal(size=(50, 4)), columns=list("abcd"))
    rows["b"] += rows["a"]
    table = rows.corr()
    table.to_csv(tmp_path / "r.csv", index=False)
    for estimator, given in ((PCA(2), table), (IncompletePCA(1), table), (PCA(2), tmp_path / "r.csv")):
        with pytest.warns(UserWarning, match=r"symmetric, .* use PCA\.from_covariance\(table, n_samples=\.\.\.\)"):
            estimator.fit(given)
    fit = PCA.from_covariance(table, n_samples=50, n_components=2)
    expected = PCA(2, scale=True).fit(rows).explained_variance_
    np.testing.assert_allclose(fit.explained_variance_, expected, rtol=1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        KernelPCA(2, kernel="precomputed").fit(table)
