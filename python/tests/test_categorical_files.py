"""MCA and FAMD in files and pickles, and between Python and the command line."""

import datetime
import json
import pickle
import subprocess
from io import StringIO

import numpy as np
import pandas as pd
import pytest
from compare import assert_allclose
from karhunen import PCA, NotConvergedError, diagnostics, plot
from karhunen._categorical import encoding
from karhunen.categorical import FAMD, MCA
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

#: Fitted arrays of both analyses.
ARRAYS = (
    *("explained_variance_", "explained_variance_ratio_", "category_shares_", "category_coordinates_"),
    *("category_contributions_", "category_cos2_", "category_v_tests_", "variable_eta2_"),
)
OF_NUMBERS = ("number_correlations_", "number_contributions_")


@pytest.fixture
def answers():
    """Return texts, whole numbers, Booleans and missing values: integers with missing values are floats in pandas."""
    rng = np.random.default_rng(5)
    return pd.DataFrame(
        {
            "town": rng.choice(["north", "south", "east"], 40),
            "people": rng.choice([1, 2, 10], 40),
            "owns": rng.choice([True, False], 40),
            "cars": rng.choice([0.0, 1.0, 2.0, np.nan], 40),
        }
    )


@pytest.fixture
def mixed(answers):
    rng = np.random.default_rng(6)
    return answers.assign(people=rng.normal(3, 1, 40), cars=rng.choice(["none", "one", None], 40))


def fitted(analysis, answers, mixed):
    """Return a weighted fit and its table."""
    table = answers if analysis is MCA else mixed
    weights = np.arange(1, len(table) + 1)
    return analysis(3, tol=1e-9, random_state=7).fit(table, sample_weight=weights), table


def run(program, *words):
    done = subprocess.run([program, *map(str, words)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def scores_of(text):
    return pd.read_csv(StringIO(text)).to_numpy()


def assert_same(found, expected, rtol=0.0, atol=0.0):
    names = ARRAYS + (OF_NUMBERS if isinstance(expected, FAMD) else ())
    for name in names:
        assert_allclose(getattr(found, name), getattr(expected, name), rtol=rtol, atol=atol, err_msg=name)
    assert found.category_names_.tolist() == expected.category_names_.tolist()
    assert found.feature_names_in_.tolist() == expected.feature_names_in_.tolist()
    assert (found.n_components_, found.n_features_in_) == (expected.n_components_, expected.n_features_in_)


@pytest.mark.parametrize("analysis", [MCA, FAMD])
def test_models_come_back_from_files_and_pickles(analysis, answers, mixed, tmp_path):
    expected, table = fitted(analysis, answers, mixed)
    path = tmp_path / "m.model"
    expected.save(path)
    loaded, copy = analysis.load(path), pickle.loads(pickle.dumps(expected))
    for found in (loaded, copy, pickle.loads(pickle.dumps(loaded))):
        assert_same(found, expected)
        np.testing.assert_array_equal(found.transform(table), expected.transform(table))
        np.testing.assert_array_equal(found.row_cos2(table), expected.row_cos2(table))
        np.testing.assert_array_equal(found.pca_.components_, expected.pca_.components_)
        assert found.pca_.feature_names_in_.tolist() == expected.pca_.feature_names_in_.tolist()
        assert found.get_params() == expected.get_params()
    assert copy.categories_ == expected.categories_
    # Files hold the names of categories.
    texts = {name: [f"{category}" for category in found] for name, found in expected.categories_.items()}
    assert loaded.categories_ == texts
    # The options are the same as in the fit.
    again = clone(loaded).fit(table, sample_weight=np.arange(1, len(table) + 1))
    np.testing.assert_array_equal(again.category_coordinates_, expected.category_coordinates_)
    # A loaded model is written as it was read.
    loaded.save(tmp_path / "again.model")
    assert (tmp_path / "again.model").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("analysis", [MCA, FAMD])
def test_the_command_line_reads_models_of_python(program, analysis, answers, mixed, tmp_path):
    expected, table = fitted(analysis, answers, mixed)
    model, data = tmp_path / "m.model", tmp_path / "t.csv"
    expected.save(model)
    table.to_csv(data, index=False)
    assert_allclose(scores_of(run(program, "transform", model, data)), expected.transform(table), atol=1e-12)
    described = json.loads(run(program, "inspect", model, "--json"))
    assert described["analysis"] == analysis.__name__.lower()
    assert [category["name"] for category in described["categories"]] == expected.category_names_.tolist()
    for name in ("coordinates", "contributions", "cos2", "v_tests"):
        values = [category[name] for category in described["categories"]]
        assert_allclose(values, getattr(expected, f"category_{name}_"), rtol=1e-12, atol=1e-12)
    assert described["feature_names"] == expected.feature_names_in_.tolist()
    assert "fitted to 40 rows x 4 columns" in " ".join(run(program, "inspect", model).split())


@pytest.mark.parametrize("analysis", [MCA, FAMD])
def test_python_reads_models_of_the_command_line(program, analysis, answers, mixed, tmp_path):
    # Whole numbers of a column with missing values, and Booleans, as other programs write them.
    answers["cars"] = answers["cars"].map("{:g}".format, na_action="ignore")
    table = (answers if analysis is MCA else mixed).assign(w=np.arange(1, 41))
    data, model, scores = (tmp_path / name for name in ("t.csv", "m.model", "s.csv"))
    table.assign(owns=[f"{owns}".lower() for owns in table["owns"]]).to_csv(data, index=False)
    options = ("--weights", "w", "-k", "3", "--tol", "1e-9", "--seed", "3", "--max-iter", "77", "--strict")
    run(program, "fit", data, f"--{analysis.__name__.lower()}", *options, "-o", model, "--scores", scores, "-q")
    found, read = analysis.load(model), pd.read_csv(data)
    weights = read.pop("w")
    params = {"n_components": 3, "tol": 1e-9, "random_state": 3, "max_iter": 77, "strict": True}
    assert {name: found.get_params()[name] for name in params} == params
    assert_allclose(found.transform(read), pd.read_csv(scores).to_numpy(), atol=1e-12)
    # The same as a fit in Python, where pandas reads numbers and Booleans, with other names.
    expected = analysis(3, tol=1e-9, random_state=3).fit(read, sample_weight=weights)
    for name in ARRAYS:
        assert_allclose(getattr(found, name), getattr(expected, name), atol=1e-10, err_msg=name)
    assert_allclose(found.row_contributions(read, weights), expected.row_contributions(read, weights), atol=1e-10)
    assert found.categories_["owns"] == ["false", "true"]
    # What later calls and files need of the fitted file is kept.
    found.save(tmp_path / "again.model")
    assert_allclose(
        scores_of(run(program, "transform", tmp_path / "again.model", data)), pd.read_csv(scores).to_numpy(), atol=0
    )
    # The PCA of the indicators is whole.
    assert_allclose(diagnostics.features(found.pca_).contributions[-2:], found.category_contributions_[-2:], atol=1e-10)
    report = found.pca_.report(tmp_path / "page.html")
    assert "owns=true" in report.read_text(encoding="utf-8")
    assert plot.categories(found) is not None


def test_values_belong_to_the_category_that_they_read_as(program, tmp_path):
    data, model = tmp_path / "t.csv", tmp_path / "m.model"
    data.write_text(
        "n,owns,day\n1,TRUE,2026-01-05\n2,FALSE,2026-01-06\n10,TRUE,2026-01-06\n2,TRUE,\n1,FALSE,2026-01-05\n"
    )
    run(program, "fit", data, "--mca", "-o", model, "-q")
    mca = MCA.load(model)
    assert mca.categories_ == {
        "n": ["1", "2", "10"],
        "owns": ["FALSE", "TRUE"],
        "day": ["2026-01-05", "2026-01-06", "missing"],
    }
    expected = scores_of(run(program, "transform", model, data))
    days = [datetime.date(2026, 1, day) if day else None for day in (5, 6, 6, 0, 5)]
    for numbers in ([1, 2, 10, 2, 1], [1.0, 2.0, 10.0, 2.0, 1.0], ["1", "2", "10", "2", "1"]):
        for owns in ([True, False, True, True, False], ["TRUE", "FALSE", "TRUE", "TRUE", "FALSE"]):
            table = pd.DataFrame({"n": numbers, "owns": owns, "day": days})
            assert_allclose(mca.transform(table), expected, atol=1e-12)
    for column, value in (("n", 3), ("n", 1.5), ("owns", "yes"), ("day", "missing")):
        with pytest.raises(ValueError, match=f"column '{column}': row 1 is '{value}', which no row of the fit was"):
            mca.transform(table.assign(**{column: [table[column][0], value, *table[column][2:]]}))
    with pytest.raises(ValueError, match=r"column 'n': row 0 is \[1\], which is not a category"):
        mca.transform(table.assign(n=[[1]] * 5))


def test_categories_keep_their_values(answers, tmp_path):
    days = [datetime.date(2026, 1, 1 + i % 3) for i in range(40)]
    table = answers.assign(day=days)
    mca = MCA(2).fit(table)
    assert mca.categories_["people"] == [1, 2, 10]
    assert mca.categories_["owns"] == [False, True]
    assert mca.categories_["day"] == days[:3]
    assert mca.categories_["cars"] == [0.0, 1.0, 2.0, "missing"]
    assert "day=2026-01-02" in mca.category_names_
    assert "people=10" in mca.category_names_
    # A float is the integer that it equals.
    np.testing.assert_array_equal(mca.transform(table.assign(people=table["people"] * 1.0)), mca.transform(table))
    mca.save(tmp_path / "m")
    np.testing.assert_array_equal(MCA.load(tmp_path / "m").transform(table), mca.transform(table))


def test_tables_without_names_are_matched_by_place(program, tmp_path):
    rows = [["red", "big"], ["red", "small"], ["blue", "big"], ["blue", "small"], ["green", "big"], ["red", "big"]]
    data, model = tmp_path / "t.csv", tmp_path / "m"
    data.write_text("\n".join(map(",".join, rows)))
    mca = MCA().fit(rows)
    mca.save(model)
    assert_allclose(scores_of(run(program, "transform", model, data, "--header=no")), mca.transform(rows), atol=1e-12)
    run(program, "fit", data, "--mca", "--header=no", "-o", model, "--force", "-q")
    loaded = MCA.load(model)
    assert loaded.feature_names_in_.tolist() == ["x1", "x2"]
    assert_allclose(loaded.transform(rows), mca.transform(rows), atol=1e-12)
    assert_allclose(loaded.transform(pd.DataFrame(rows, columns=["a", "b"])), mca.transform(rows), atol=1e-12)
    with pytest.raises(ValueError, match="X has 1 columns, the fit had 2"):
        loaded.transform([["red"]])
    # Columns with names are not matched by place.
    with pytest.raises(ValueError, match="column 0 is 'x0', and was 'a'"):
        MCA().fit(pd.DataFrame(rows, columns=["a", "b"])).transform(rows)


def test_other_models_are_refused(answers, mixed, tmp_path):
    paths = {analysis: tmp_path / analysis.__name__ for analysis in (MCA, FAMD, PCA)}
    for analysis in (MCA, FAMD):
        fitted(analysis, answers, mixed)[0].save(paths[analysis])
    PCA(1).fit(np.eye(3)).save(paths[PCA])
    with pytest.raises(ValueError, match=r"holds a model of FAMD; read it with karhunen\.categorical\.FAMD\.load"):
        MCA.load(paths[FAMD])
    with pytest.raises(ValueError, match=r"holds a model of MCA; read it with karhunen\.categorical\.MCA\.load"):
        FAMD.load(paths[MCA])
    with pytest.raises(ValueError, match="categorical-pca"):
        MCA.load(paths[PCA])
    with pytest.raises(ValueError, match="categorical-pca"):
        PCA.load(paths[MCA])


class _WithoutModel:
    """An estimator as a version wrote it that kept results instead of the model."""

    def __init__(self, kind):
        self.kind = kind

    def __reduce__(self):
        state = {"n_components": 2, "_encoding": encoding.Encoding(), "category_shares_": np.ones(2)}
        return self.kind, (), state


def test_pickles_without_a_model_are_refused():
    assert encoding.Variable is encoding.Encoding
    for kind in (MCA, FAMD):
        with pytest.raises(ValueError, match=f"the pickle holds an {kind.__name__} of a version of karhunen that did"):
            pickle.loads(pickle.dumps(_WithoutModel(kind)))
    with pytest.raises(AttributeError, match="has no attribute 'Codes'"):
        _ = encoding.Codes


def test_options_reach_the_engine(answers):
    weights = np.arange(1, 41)
    expected = MCA().fit(answers, sample_weight=weights)
    for options in ({"n_threads": 1}, {"n_threads": 3}, {"memory_limit": 10**9}):
        found = MCA(**options).fit(answers, sample_weight=weights)
        np.testing.assert_array_equal(found.category_coordinates_, expected.category_coordinates_)
        assert found.pca_.n_threads == options.get("n_threads")
    shares = np.cumsum(expected.explained_variance_ratio_)
    assert MCA(0.5).fit(answers, sample_weight=weights).n_components_ == 1 + np.flatnonzero(shares > 0.5)[0]
    assert MCA("50%").fit(answers, sample_weight=weights).n_components_ == 1 + np.flatnonzero(shares > 0.5)[0]
    for solver in ("svd", "covariance", "gram", "block-krylov"):
        found = MCA(2, solver=solver).fit(answers, sample_weight=weights)
        assert found.pca_.solver_ == solver
        assert_allclose(found.explained_variance_, expected.explained_variance_[:2], rtol=1e-8)
    impatient = {"solver": "block-krylov", "max_iter": 1, "tol": 1e-14}
    with pytest.warns(ConvergenceWarning, match="raise max_iter or tol"):
        MCA(2, **impatient).fit(answers)
    with pytest.raises(NotConvergedError):
        MCA(2, **impatient, strict=True).fit(answers)
    for options, message in (
        ({"n_components": "mle"}, "n_components = 'mle' is not allowed"),
        ({"n_components": 0}, "n_components = 0 is not allowed: at least one component is needed"),
        ({"solver": "full"}, "solver = 'full' is not known"),
        ({"verbose": 2}, "verbose = 2 is not allowed"),
        ({"n_threads": 0}, "n_threads = 0 is not allowed"),
        ({"max_iter": 0}, "max_iter"),
        ({"memory_limit": 0}, "memory_limit = 0 is not allowed"),
        ({"strict": 1}, "strict = 1 is not allowed"),
    ):
        with pytest.raises(ValueError, match=message):
            MCA(**options).fit(answers)


def test_progress_is_drawn(answers, capsys):
    pytest.importorskip("tqdm")
    MCA(2, verbose=True).fit(answers).transform(answers)
    assert "MCA" in capsys.readouterr().err


def test_a_fitted_estimator_says_so(answers):
    assert repr(MCA(2)) == "MCA(n_components=2)"
    assert repr(MCA(2).fit(answers)).startswith("MCA(n_components=2) fitted to 40 x 4: 2 components, ")


@pytest.mark.parametrize("factor", [1e-300, 1e-200, 1e200, 1e300])
def test_numbers_of_any_size(mixed, factor):
    expected = FAMD().fit(mixed)
    scaled = mixed.assign(people=mixed["people"] * factor)
    found = FAMD().fit(scaled)
    assert_allclose(found.explained_variance_, expected.explained_variance_, rtol=1e-10)
    assert_allclose(found.number_correlations_, expected.number_correlations_, atol=1e-9)
    assert_allclose(found.transform(scaled), expected.transform(mixed), atol=1e-9)


def test_numbers_that_are_too_large_are_refused(mixed):
    with pytest.raises(ValueError, match="column 'people': deviations from the mean exceed the largest number"):
        FAMD().fit(mixed.assign(people=[1e308, -1e308] * 20))
