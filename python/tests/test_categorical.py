"""MCA and FAMD against FactoMineR, prince, repeated rows, and the definition in plain numpy."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from compare import assert_allclose
from karhunen import PCA, diagnostics, plot, resampling
from karhunen.categorical import FAMD, MCA
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

ROOT = Path(__file__).parents[2]
GOLDEN = json.loads((ROOT / "golden" / "factominer_categories.json").read_text())


@pytest.fixture
def titanic():
    table = pd.DataFrame(GOLDEN["titanic"]["table"])
    levels = {"Class": ["1st", "2nd", "3rd", "Crew"], "Sex": ["Male", "Female"], "Age": ["Child", "Adult"]}
    for name, order in levels.items():
        table[name] = pd.Categorical(table[name], order)
    return table


@pytest.fixture
def cars():
    return pd.DataFrame(GOLDEN["mtcars"]["table"])


def signs(found, expected):
    return np.sign(np.nansum(np.asarray(found) * np.asarray(expected), axis=0))


def assert_up_to_signs(found, expected, sign):
    assert_allclose(np.asarray(found)[:, : len(sign)] * sign, expected, atol=1e-10)


def test_mca_of_weighted_cells_matches_factominer(titanic):
    counts, expected = GOLDEN["titanic"]["counts"], GOLDEN["titanic"]["weighted"]
    mca = MCA().fit(titanic, sample_weight=counts)
    names = [name.partition("=")[2] for name in mca.category_names_]
    assert names == expected["categories"]
    assert_allclose(mca.explained_variance_, expected["eigenvalues"], rtol=1e-12)
    assert_allclose(mca.explained_variance_ratio_ * 100, expected["percentages"], rtol=1e-12)
    sign = signs(mca.category_coordinates_, expected["coord"])
    assert_up_to_signs(mca.category_coordinates_, expected["coord"], sign)
    assert_up_to_signs(mca.category_v_tests_, expected["v_test"], sign)
    assert_up_to_signs(mca.transform(titanic), expected["ind_coord"], sign)
    assert_allclose(mca.category_contributions_, expected["contrib"], atol=1e-12)
    assert_allclose(mca.category_cos2_, expected["cos2"], atol=1e-12)
    assert_allclose(mca.variable_eta2_, expected["eta2"], atol=1e-12)
    assert_allclose(mca.row_contributions(titanic, counts), expected["ind_contrib"], atol=1e-10)
    assert_allclose(mca.row_cos2(titanic), expected["ind_cos2"], atol=1e-10)
    assert_allclose(diagnostics.features(mca.pca_).contributions, mca.category_contributions_, atol=1e-10)


def test_missing_values_are_a_category(titanic):
    expected = GOLDEN["titanic"]["missing"]
    titanic.loc[GOLDEN["titanic"]["missing_age"], "Age"] = None
    mca = MCA(3).fit(titanic)
    assert mca.categories_["Age"] == ["Child", "Adult", "missing"]
    assert_allclose(mca.explained_variance_, expected["eigenvalues"][:3], rtol=1e-10)
    # FactoMineR sorts the categories where values are missing.
    theirs = dict(zip(expected["categories"], np.abs(expected["coord"]), strict=True))
    for name, values in zip(mca.category_names_, np.abs(mca.category_coordinates_), strict=True):
        label = name.partition("=")[2]
        assert_allclose(values, theirs["Age.NA" if label == "missing" else label], atol=1e-9)
    assert np.isfinite(mca.transform(titanic)).all()
    with pytest.raises(ValueError, match="column 'Sex': row 1 lacks a value; none of the fit did"):
        mca.transform(titanic.assign(Sex=[None if i == 1 else "Male" for i in range(len(titanic))]))


def test_weights_are_repeated_rows(titanic):
    counts = GOLDEN["titanic"]["counts"]
    repeated = titanic.loc[titanic.index.repeat(counts)]
    weighted, plain = MCA().fit(titanic, sample_weight=counts), MCA().fit(repeated)
    for name in ("explained_variance_", "category_coordinates_", "category_v_tests_", "category_cos2_"):
        assert_allclose(np.abs(getattr(weighted, name)), np.abs(getattr(plain, name)), rtol=1e-8, atol=1e-8)


def test_corrections_match_prince(titanic):
    # prince 0.23.0, MCA(n_components=6, correction=...) of the repeated rows.
    mca = MCA().fit(titanic, sample_weight=GOLDEN["titanic"]["counts"])
    for correction, ratio in (
        ("benzecri", [0.926256480, 0.0737435190, 8.76535274e-10]),
        ("greenacre", [0.767780563, 0.0611265257, 7.26566303e-10]),
    ):
        eigenvalues, found = mca.corrected_eigenvalues(correction)
        assert_allclose(eigenvalues[:3], [6.76551125e-02, 5.38633325e-03, 6.40234038e-11], rtol=1e-6)
        assert_allclose(found[:3], ratio, rtol=1e-6)
        assert (found[3:] == 0).all()
    with pytest.raises(ValueError, match="needs the components that n_components = 2 left out"):
        MCA(2).fit(titanic).corrected_eigenvalues()
    with pytest.raises(ValueError, match="two variables"):
        MCA().fit(titanic[["Class"]]).corrected_eigenvalues()


@pytest.mark.parametrize("case", ["plain", "weighted"])
def test_famd_matches_factominer(cars, case):
    expected = GOLDEN["mtcars"][case]
    famd = FAMD(3).fit(cars, sample_weight=GOLDEN["mtcars"]["weights"] if case == "weighted" else None)
    assert famd.number_names_.tolist() == ["mpg", "disp", "hp", "wt"]
    assert [name.partition("=")[2] for name in famd.category_names_] == expected["categories"]
    assert_allclose(famd.explained_variance_, expected["eigenvalues"][:3], rtol=1e-12)
    sign = signs(famd.category_coordinates_, expected["coord"])
    assert_up_to_signs(famd.category_coordinates_, expected["coord"], sign)
    assert_up_to_signs(famd.category_v_tests_, expected["v_test"], sign)
    assert_up_to_signs(famd.number_correlations_, expected["number_cor"], sign)
    assert_up_to_signs(famd.transform(cars), expected["ind_coord"], sign)
    assert_allclose(famd.category_contributions_, expected["contrib"], atol=1e-12)
    assert_allclose(famd.number_contributions_, expected["number_contrib"], atol=1e-12)
    assert_allclose(famd.category_cos2_, expected["cos2"], atol=1e-12)
    squares = np.vstack([famd.number_correlations_**2, famd.variable_eta2_])
    assert_allclose(squares, expected["var_coord"], atol=1e-12)


def test_supplementary_rows_match_factominer(cars):
    expected = GOLDEN["mtcars"]["supplementary"]
    rows = expected["rows"]
    famd = FAMD(3).fit(cars.drop(index=rows))
    sign = signs(famd.category_coordinates_, expected["coord"])
    assert_up_to_signs(famd.transform(cars.loc[rows]), expected["ind_sup_coord"], sign)


def test_categories_without_variance_and_rows_without_weight():
    table = pd.DataFrame({"a": list("uuvvw"), "b": list("xyxyx"), "n": [1.0, 2, 3, 5, 9]})
    weights = [1, 1, 1, 1, 0]
    for estimator, columns in ((MCA(), ["a", "b"]), (FAMD(), ["a", "b", "n"])):
        found = clone(estimator).fit(table[columns], sample_weight=weights)
        alone = clone(estimator).fit(table[columns][:4])
        kept = found.category_names_ != "a=w"
        k = alone.n_components_
        assert_allclose(found.explained_variance_[:k], alone.explained_variance_, atol=1e-12)
        assert np.isnan(found.category_coordinates_[~kept]).all()
        assert_allclose(
            np.abs(found.category_coordinates_[kept][:, :k]), np.abs(alone.category_coordinates_), atol=1e-8
        )


@pytest.mark.parametrize("library", ["polars", "pyarrow", "numpy", "nullable"])
def test_tables_of_other_libraries(cars, library):
    expected = FAMD(3).fit_transform(cars)
    if library == "numpy":
        answers = cars[["cyl", "gear"]].to_numpy()
        found, expected = MCA().fit(answers), MCA().fit(cars[["cyl", "gear"]])
        assert found.category_names_[0] == "x0=c4"
        assert_allclose(found.transform(answers), expected.transform(cars[["cyl", "gear"]]))
        return
    if library == "nullable":
        table = cars.convert_dtypes()
    else:
        module = pytest.importorskip(library)
        table = module.DataFrame(cars.to_dict("list")) if library == "polars" else module.table(cars.to_dict("list"))
    famd = FAMD(3).fit(table)
    assert famd.number_names_.tolist() == ["mpg", "disp", "hp", "wt"]
    assert_allclose(famd.transform(table), expected)


def test_scikit_learn_takes_them(titanic, cars):
    mca = MCA(2)
    assert clone(mca).get_params()["n_components"] == 2
    frame = mca.set_output(transform="pandas").fit_transform(titanic)
    assert frame.columns.tolist() == ["mca0", "mca1"]
    copy = pickle.loads(pickle.dumps(mca))
    np.testing.assert_array_equal(copy.transform(titanic), frame)
    assert make_pipeline(FAMD(3), StandardScaler()).fit_transform(cars).shape == (32, 3)
    with pytest.raises(NotFittedError):
        MCA().transform(titanic)


def test_tables_that_are_refused_and_their_messages(titanic, cars):
    mca = MCA(2).fit(titanic)
    cases = [
        (lambda: mca.transform(titanic.replace({"Survived": {"Yes": "Perhaps"}})), "'Survived': row 10 is 'Perhaps'"),
        (lambda: mca.transform(titanic[["Sex", "Class", "Age", "Survived"]]), "the fit had"),
        (lambda: MCA(9).fit(titanic), "n_components = 9 is not allowed: categories and rows have 6 dimensions"),
        (lambda: MCA().fit(titanic[["Sex", "Sex"]]), "two columns are named 'Sex'"),
        (lambda: MCA().fit(titanic[:0]), "it has no values"),
        (lambda: MCA().fit([["a", "b"], ["c"]]), "give a table of pandas"),
        (lambda: MCA().fit("table.csv"), "X is a str of 0 axes"),
        (lambda: MCA().fit(pd.DataFrame({"a": [[1], [2]]})), "holds lists or other values"),
        (lambda: MCA().fit(pd.DataFrame({"a": ["x", "x"]})), "all rows are alike"),
        (lambda: MCA().fit(titanic, sample_weight=[1, 2]), "sample_weight has 2 entries"),
        (lambda: FAMD().fit(titanic), "all columns hold categories; use MCA"),
        (lambda: FAMD().fit(cars[["mpg", "hp"]]), "all columns hold numbers; use PCA"),
        (lambda: FAMD().fit(cars.assign(mpg=1.0)), "column 'mpg' is constant"),
        (lambda: FAMD().fit(cars.assign(hp=cars.hp.where(cars.hp > 100))), "column 'hp': row 2 is nan"),
        (
            lambda: FAMD().fit(cars).transform(cars.assign(hp="a")),
            "'hp': row 0 is 'a', and the fit had numbers there",
        ),
        (lambda: PCA().fit(titanic), "karhunen.categorical.MCA and FAMD analyse categories"),
    ]
    for call, message in cases:
        with pytest.raises(ValueError, match=re.escape(message)):
            call()


def test_mca_is_the_singular_value_decomposition_of_the_definition():
    rng = np.random.default_rng(3)
    table = rng.integers(0, 4, size=(60, 5))
    weights = rng.random(60) + 0.1
    mca = MCA().fit(table, sample_weight=weights)
    indicators = np.hstack([(column[:, None] == np.unique(column)) for column in table.T]).astype(float)
    r = weights / weights.sum()
    # Correspondence analysis: P - r c' in the metrics of the masses.
    correspondence = r[:, None] * indicators / 5
    masses = correspondence.sum(axis=0)
    standardised = (correspondence - np.outer(r, masses)) / np.sqrt(np.outer(r, masses))
    left, values, right = np.linalg.svd(standardised, full_matrices=False)
    k = mca.n_components_
    assert_allclose(mca.explained_variance_, values[:k] ** 2, rtol=1e-10)
    rows = left[:, :k] * values[:k] / np.sqrt(r)[:, None]
    assert_allclose(np.abs(mca.transform(table)), np.abs(rows), atol=1e-9)
    columns = right[:k].T * values[:k] / np.sqrt(masses)[:, None]
    assert_allclose(np.abs(mca.category_coordinates_), np.abs(columns), atol=1e-9)


def test_a_refused_fit_leaves_the_fitted_estimator_as_it_was(titanic):
    mca = MCA(2).fit(titanic)
    before = mca.transform(titanic)
    other = titanic.assign(Class=pd.Categorical(titanic["Class"], ["Crew", "3rd", "2nd", "1st"]))
    with pytest.raises(ValueError, match="sample_weight must be finite and at least 0"):
        mca.fit(other, sample_weight=[-1] * len(titanic))
    np.testing.assert_array_equal(mca.transform(titanic), before)


def test_components_without_variance_are_left_out():
    # A question that only some were asked, and one that repeats it.
    rng = np.random.default_rng(0)
    owns = rng.choice(["yes", "no"], 60)
    brand = [str(rng.choice(["a", "b", "c"])) if answer == "yes" else None for answer in owns]
    table = pd.DataFrame({"owns": owns, "brand": brand, "again": owns})
    mca = MCA().fit(table)
    assert mca.n_components_ == 3
    assert (mca.explained_variance_ > 1e-3).all()
    assert np.isfinite(mca.to_frame().to_numpy()).all()
    assert_allclose(mca.row_contributions(table).sum(axis=0), np.ones(3))
    assert_allclose(mca.row_cos2(table).sum(axis=1), np.ones(60))
    with pytest.raises(ValueError, match="n_components = 5 is not allowed: categories and rows have 3 dimensions"):
        MCA(5).fit(table)
    with pytest.raises(ValueError, match="all rows are alike"):
        MCA().fit(table, sample_weight=[1] + [0] * 59)


def test_corrections_do_not_count_categories_without_weight():
    table = pd.DataFrame({"a": list("uuvvuvuvw"), "b": list("xyxyxxyyx"), "c": list("ppqqpqqpp")})
    weights = [1, 2, 3, 1, 2, 1, 1, 4, 0]
    found = MCA().fit(table, sample_weight=weights).corrected_eigenvalues("greenacre")[1]
    assert_allclose(found, MCA().fit(table[:8], sample_weight=weights[:8]).corrected_eigenvalues("greenacre")[1])


def test_weights_that_do_not_count_rows_have_no_v_tests(titanic):
    counts = np.array(GOLDEN["titanic"]["counts"])
    with pytest.warns(UserWarning, match="v-tests need two observations, and the weights count as 1; give"):
        mca = MCA(2).fit(titanic, sample_weight=counts / counts.sum())
    assert np.isnan(mca.category_v_tests_).all()
    assert_allclose(mca.explained_variance_, MCA(2).fit(titanic, sample_weight=counts).explained_variance_)


@pytest.mark.parametrize("analysis", ["mca", "famd"])
def test_the_command_line_gives_the_same(program, cars, tmp_path, analysis):
    if analysis == "mca":
        path, weights = ROOT / "examples" / "data" / "titanic.csv", "passengers"
    else:
        path, weights = tmp_path / "cars.csv", "w"
        cars.assign(w=GOLDEN["mtcars"]["weights"]).to_csv(path, index=False)
    table = pd.read_csv(path)
    people = table.pop(weights)
    # Both keep ten components, or all where there are fewer.
    expected = (MCA() if analysis == "mca" else FAMD()).fit(table, sample_weight=people)
    scores = tmp_path / "scores.csv"
    words = [program, "fit", str(path), f"--{analysis}", "--weights", weights, "--json", "--scores", str(scores)]
    found = json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)
    assert [category["name"] for category in found["categories"]] == expected.category_names_.tolist()
    assert_allclose(found["explained_variance"], expected.explained_variance_, rtol=1e-10)
    for name in ("coordinates", "contributions", "cos2", "v_tests"):
        values = [category[name] for category in found["categories"]]
        assert_allclose(values, getattr(expected, f"category_{name}_"), atol=1e-9)
    assert_allclose([variable["eta2"] for variable in found["variables"]], expected.variable_eta2_, atol=1e-10)
    assert_allclose(pd.read_csv(scores).to_numpy(), expected.transform(table), atol=1e-10)
    if analysis == "mca":
        for correction in ("benzecri", "greenacre"):
            assert_allclose(found["corrected"][correction], expected.corrected_eigenvalues(correction)[1], atol=1e-10)
    else:
        correlations = [number["correlations"] for number in found["numbers"]]
        assert_allclose(correlations, expected.number_correlations_, atol=1e-10)


def test_numbers_far_from_zero_and_constant_ones(cars):
    expected = FAMD().fit(cars)
    far = FAMD().fit(cars.assign(mpg=cars.mpg + 1e8))
    assert_allclose(far.explained_variance_, expected.explained_variance_, rtol=1e-6)
    assert_allclose(far.row_cos2(cars.assign(mpg=cars.mpg + 1e8)).sum(axis=1), np.ones(len(cars)), rtol=1e-8)
    for value in (0.1, 1 / 3, 123456.789):
        with pytest.raises(ValueError, match="column 'wt' is constant"):
            FAMD().fit(cars.assign(wt=value), sample_weight=np.arange(len(cars)) / 7)


def test_integers_keep_their_names_and_objects_are_numbers(cars):
    polars = pytest.importorskip("polars")
    table = {"a": [3, 4, 4, 1, 2, 1], "b": [2**53, 2**53 + 1, 1, 1, 2, 2]}
    for frame in (polars.DataFrame(table), pd.DataFrame(table).convert_dtypes(), pd.DataFrame(table)):
        assert MCA().fit(frame).category_names_.tolist()[:5] == ["a=1", "a=2", "a=3", "a=4", "b=1"]
        assert f"b={2**53 + 1}" in MCA().fit(frame).category_names_
    famd = FAMD(2).fit(cars.assign(hp=cars.hp.astype(object)))
    assert_allclose(famd.explained_variance_, FAMD(2).fit(cars).explained_variance_)
    with pytest.warns(UserWarning, match="column 'id' has 32 categories in 32 rows"):
        MCA(2).fit(cars[["cyl", "gear"]].assign(id=[f"car {i}" for i in range(32)]))


def test_categories_of_all_rows_and_names_of_two_categories():
    table = pd.DataFrame({"a": list("uvuv"), "b": list("xxyy"), "one": ["k"] * 4})
    mca = MCA().fit(table, sample_weight=[0.3, 0.1, 0.7, 1.9])
    assert np.isnan(mca.category_cos2_[-1]).all()
    assert np.isfinite(mca.category_coordinates_).all()
    with pytest.raises(ValueError, match="'a=b=c' names two categories"):
        MCA().fit(pd.DataFrame({"a": ["b=c", "d"], "a=b": ["c", "e"]}))


def test_the_picture_shows_every_category(titanic):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    mca = MCA().fit(titanic, sample_weight=GOLDEN["titanic"]["counts"])
    figure, ax = plt.subplots()
    assert plot.categories(mca, components=(2, 0), ax=ax) is ax
    drawn = np.vstack([marks.get_offsets() for marks in ax.collections])
    assert_allclose(drawn, mca.category_coordinates_[:, [2, 0]])
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Class", "Sex", "Age", "Survived"]
    assert {text.get_text() for text in ax.texts} <= set(mca.category_names_)
    assert len(ax.texts) >= 8
    assert ax.get_xlabel() == "PC3 (16.7 % of the variance)"
    plt.close(figure)
    with pytest.raises(TypeError, match="draws an MCA or FAMD"):
        plot.categories(PCA().fit(np.eye(3)))
    with pytest.raises(NotFittedError):
        plot.categories(MCA())


def test_v_tests_count_what_the_weights_mean(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"q{j}": rng.choice(list("abc"), 120) for j in range(4)})
    weights = 500 * np.exp(0.8 * rng.normal(size=120))
    with pytest.warns(UserWarning, match="weighting = 'importance'"):
        counted = MCA(2).fit(table, sample_weight=weights)
    survey = MCA(2, weighting="importance").fit(table, sample_weight=weights)
    kish = weights.sum() ** 2 / (weights**2).sum()
    ratio = np.sqrt((kish - 1) / (weights.sum() - 1))
    assert_allclose(survey.category_v_tests_, counted.category_v_tests_ * ratio, rtol=1e-9)
    assert_allclose(survey.category_coordinates_, counted.category_coordinates_, rtol=1e-12)
    survey.save(tmp_path / "survey.model")
    loaded = MCA.load(tmp_path / "survey.model")
    assert loaded.weighting == "importance"
    assert_allclose(loaded.category_v_tests_, survey.category_v_tests_, rtol=1e-12)
    with pytest.raises(ValueError, match="weighting"):
        MCA(2, weighting="survey").fit(table)


def test_the_pca_of_an_mca_counts_people_and_is_not_resampled(titanic, tmp_path):
    counts = np.asarray(GOLDEN["titanic"]["counts"])
    mca = MCA(2).fit(titanic, sample_weight=counts)
    indicators = pd.get_dummies(titanic, prefix_sep="=").astype(float)
    for pca in (mca.pca_, pickle.loads(pickle.dumps(mca.pca_)), pickle.loads(pickle.dumps(mca)).pca_):
        for resample in (resampling.bootstrap, resampling.jackknife):
            with pytest.raises(ValueError, match="fit MCA to them"):
                resample(pca, indicators, counts)
    page = mca.pca_.report(tmp_path / "mca.html").read_text(encoding="utf-8")
    assert re.search(r"The samples have weights, which sum to 2201\S*; they count as 2201\S* observations", page)
    assert "population weights" not in page
    age = pd.DataFrame({"age": np.arange(len(titanic))})
    of_pca = diagnostics.describe(mca.transform(titanic), age, counts, model=mca.pca_, level=1)
    of_mca = diagnostics.describe(mca.transform(titanic), age, counts, weighting="frequency", level=1)
    assert of_pca["PC1"].equals(of_mca["PC1"])


def test_unseen_categories_are_refused_or_ignored(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"a": rng.choice(list("xyz"), 60), "b": rng.choice(list("pq"), 60), "c": rng.choice(["u", "v"], 60)}
    )
    new = table.iloc[:3].copy()
    new.loc[0, "a"] = "rare"
    new.loc[1, "a"] = None
    mca = MCA(2).fit(table)
    with pytest.raises(ValueError, match=r"row 0 is 'rare'.*handle_unknown = \"ignore\" takes such rows"):
        mca.transform(new)
    mca = MCA(2, handle_unknown="ignore").fit(table)
    found = mca.transform(new)
    at = {name: place for place, name in enumerate(mca.category_names_)}
    for row in (0, 1):
        known = [at[f"{name}={new[name].iloc[row]}"] for name in ("b", "c")]
        expected = mca.category_coordinates_[known].sum(axis=0) / 3 / np.sqrt(mca.explained_variance_)
        assert_allclose(found[row], expected, atol=1e-10)
    assert_allclose(found[2], mca.transform(table)[2], atol=1e-12)
    assert np.isfinite(mca.row_cos2(new)).all()
    numbers = table.assign(number=rng.normal(size=60))
    famd = FAMD(2, handle_unknown="ignore").fit(numbers)
    scores = famd.transform(new.assign(number=numbers["number"][:3]))
    assert np.isfinite(scores).all()
    # A row with nothing known but the mean of the numbers is the mean.
    nothing = pd.DataFrame({"a": ["?"], "b": ["?"], "c": ["?"], "number": [numbers["number"].mean()]})
    assert_allclose(famd.transform(nothing), 0, atol=1e-10)
    with pytest.raises(ValueError, match="handle_unknown"):
        MCA(handle_unknown="skip").fit(table)
