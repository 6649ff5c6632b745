"""Tables in files whose content has two readings, read by the options that their errors name."""

import re

import karhunen
import numpy as np
import pandas as pd
import pytest
from karhunen import PCA, IncompletePCA, IncrementalPCA, Scatter


def write(folder, text, name="t.csv"):
    path = folder / name
    path.write_text(text)
    return path


ROWS = np.random.default_rng(0).normal(size=(12, 3)).round(2)
LINES = "".join(",".join(map(str, row)) + "\n" for row in ROWS)


def follow(path, message):
    """Evaluate the first advice of an error."""
    advice = re.search(r"karhunen\.read\(path, (\w+=(?:\[[^]]*\]|\([^)]*\)|[^)]*))\)", message)
    assert advice, message
    return eval(f"karhunen.read(path, {advice.group(1)})", {"karhunen": karhunen, "path": path})


@pytest.mark.parametrize(
    "text",
    [
        "Means of a year\na,b,c\n" + LINES,
        "a,b,c\nm,kg,s\n" + LINES,
        "id,412,443,490\n" + "".join(f"s{i},{line}" for i, line in enumerate(LINES.splitlines(True))),
        "a,b,c,class\n" + "".join(f"{line},{'xy'[i % 2]}\n" for i, line in enumerate(LINES.splitlines())),
    ],
)
def test_advice_is_followed_to_the_fit(tmp_path, text):
    path = write(tmp_path, text)
    with pytest.raises(ValueError, match=r"karhunen\.read") as error:
        PCA().fit(path)
    pca = PCA().fit(follow(path, str(error.value)))
    np.testing.assert_allclose(pca.explained_variance_, PCA().fit(ROWS).explained_variance_, rtol=1e-12)


def test_words_for_missing_values_are_named_by_the_error(tmp_path):
    path = write(tmp_path, "a,b,c\n" + LINES + "n.d.,1,2\n")
    with pytest.raises(ValueError, match=r"karhunen\.read") as error:
        IncompletePCA(1).fit(path)
    pca = IncompletePCA(1).fit(follow(path, str(error.value)))
    assert pca.n_samples_ == 13


def test_labels_weights_and_names_are_kept(tmp_path):
    lines = "".join(f"r{i},{i + 1},{'xy'[i % 2]},{line}" for i, line in enumerate(LINES.splitlines(True)))
    table = karhunen.read(write(tmp_path, "id,w,class,a,b,c\n" + lines), labels="class", weights="w")
    assert table.feature_names == ["a", "b", "c"]
    assert table.sample_names[:2] == ["r0", "r1"]
    assert table.labels["class"][:2] == ["x", "y"]
    weights = np.arange(1.0, 13.0)
    np.testing.assert_array_equal(table.sample_weight, weights)
    pca = PCA().fit(table, sample_weight=table.sample_weight)
    expected = PCA().fit(ROWS, sample_weight=weights)
    np.testing.assert_allclose(pca.explained_variance_, expected.explained_variance_, rtol=1e-12)
    np.testing.assert_allclose(pca.transform(table), expected.transform(ROWS), atol=1e-12)


def test_columns_are_chosen_and_tables_turned(tmp_path):
    path = write(tmp_path, "a,b,c\n" + LINES)
    pca = PCA().fit(karhunen.read(path, columns=["a", "c"]))
    np.testing.assert_allclose(pca.mean_, ROWS[:, [0, 2]].mean(axis=0), rtol=1e-12)
    turned = "gene," + ",".join(f"s{i}" for i in range(12)) + "\n"
    turned += "".join(f"g{j}," + ",".join(map(str, ROWS[:, j])) + "\n" for j in range(3))
    pca = PCA().fit(karhunen.read(write(tmp_path, turned, "g.csv"), transpose=True))
    np.testing.assert_allclose(pca.mean_, ROWS.mean(axis=0), rtol=1e-12)
    assert list(pca.feature_names_in_) == ["g0", "g1", "g2"]


def test_arrays_are_chosen(tmp_path):
    path = tmp_path / "two.npz"
    np.savez(path, X=ROWS, y=ROWS[:, 0])
    with pytest.raises(ValueError, match=r"choose one with karhunen\.read\(path, array=\.\.\.\): `X`, `y`"):
        PCA().fit(path)
    assert PCA().fit(karhunen.read(path, array="X")).n_samples_ == 12


def test_files_of_one_table_have_the_same_options(tmp_path):
    path = write(tmp_path, "a,b,c\n" + LINES)
    with pytest.raises(ValueError, match="the same options"):
        PCA().fit([karhunen.read(path), karhunen.read(path, header=True)])
    with pytest.raises(TypeError, match="path must be"):
        karhunen.read([path])


def test_options_of_other_kinds_are_refused():
    for options, message in [
        ({"header": "no"}, "header = 'no' is not allowed: it must be True or False"),
        ({"transpose": "no"}, "transpose = 'no' is not allowed"),
        ({"skip": -1}, "skip = -1 is not allowed: give the number of lines"),
        ({"skip": "2-3"}, "skip = '2-3' is not allowed"),
        ({"skip": [2, 3]}, r"for lines 2 and 3 give \(2, 3\)"),
        ({"labels": None}, "labels = None is not allowed: give a str"),
    ]:
        with pytest.raises(ValueError, match=message):
            karhunen.read("t.csv", **options)
    assert karhunen.read("t.csv", skip=np.int64(1), na=np.int64(-99)).options["na"] == ["-99"]
    assert karhunen.read("t.csv", skip=[1, (3, 4)]).options["skip"] == [(1, 1), (3, 4)]
    assert karhunen.read("t.csv", skip=0).options["skip"] == []


@pytest.mark.parametrize("kind", [PCA, IncompletePCA])
def test_what_a_fit_leaves_out_is_left_out_of_later_files(tmp_path, kind):
    rows = np.random.default_rng(0).normal(size=(20, 3)).round(3)
    lines = [f"{a},{b},{c},{'xyz'[i % 3]},{i % 4 + 1}" for i, (a, b, c) in enumerate(rows)]
    path = write(tmp_path, "a,b,c,class,times\n" + "\n".join(lines) + "\n")
    pca = kind(2).fit(karhunen.read(path, labels="class", weights="times"))
    frame = pd.DataFrame(rows, columns=list("abc"))
    expected = pca.transform(frame)
    np.testing.assert_allclose(pca.transform(path), expected, rtol=1e-12)
    pca.save(tmp_path / "m")
    np.testing.assert_allclose(kind.load(tmp_path / "m").transform(path), expected, rtol=1e-12)
    chosen = kind(2).fit(karhunen.read(path, columns=["c", "a"]))
    np.testing.assert_allclose(chosen.transform(path), chosen.transform(frame[["a", "c"]]), rtol=1e-12)
    assert not kind(2).fit(rows)._columns_of_file


def test_weights_words_and_names_that_were_chosen_are_those_of_the_fit(tmp_path):
    rows = np.random.default_rng(1).normal(size=(20, 3)).round(3)
    lines = [f"{100 + i},{a},{b},{-999 if i == 4 else c},{i % 4 + 1}" for i, (a, b, c) in enumerate(rows)]
    path = write(tmp_path, "id,a,b,c,times\n" + "\n".join(lines) + "\n")
    table = karhunen.read(path, row_names="id", weights="times", na=-999)
    values = rows.copy()
    values[4, 2] = np.nan
    times = np.arange(20) % 4 + 1
    fit = IncompletePCA(1, n_starts=1).fit(table)
    expected = IncompletePCA(1, n_starts=1).fit(values, sample_weight=times)
    np.testing.assert_allclose(fit.explained_variance_, expected.explained_variance_, rtol=1e-12)
    fit.save(tmp_path / "m")
    frame = pd.DataFrame(values, columns=list("abc"))
    for later in (fit, IncompletePCA.load(tmp_path / "m")):
        np.testing.assert_allclose(later.transform(path), fit.transform(frame), rtol=1e-9)
    complete = write(tmp_path, "id,a,b,c,times\n" + "\n".join(lines).replace("-999", "0.5") + "\n", "c.csv")
    values[4, 2] = 0.5
    table = karhunen.read(complete, row_names="id", weights="times")
    expected = PCA(2).fit(values, sample_weight=times)
    for kind in (PCA(2), IncrementalPCA(2)):
        kind.fit(table)
        np.testing.assert_allclose(kind.explained_variance_, expected.explained_variance_, rtol=1e-12)
        np.testing.assert_allclose(abs(kind.transform(complete)), abs(expected.transform(values)), rtol=1e-9)
    sums = PCA(2).fit(Scatter().add(table))
    np.testing.assert_allclose(sums.explained_variance_, expected.explained_variance_, rtol=1e-12)
    plain = PCA(2).fit(table, sample_weight=np.ones(20)).explained_variance_
    np.testing.assert_allclose(plain, PCA(2).fit(values).explained_variance_, rtol=1e-12)


@pytest.mark.parametrize("kind", [PCA, IncompletePCA])
def test_columns_in_another_order_are_matched_by_name(tmp_path, kind):
    frame = pd.DataFrame(np.random.default_rng(2).normal(size=(20, 3)).round(3), columns=list("abc"))
    pca = kind(2).fit(write(tmp_path, frame.to_csv(index=False)))
    moved = write(tmp_path, frame[["c", "a", "b"]].to_csv(index=False), "moved.csv")
    np.testing.assert_array_equal(pca.transform(moved), pca.transform(frame))
    other = write(tmp_path, frame.rename(columns={"b": "d"}).to_csv(index=False), "other.csv")
    with pytest.raises(ValueError, match="column 1 is 'd', but the estimator was fitted with 'b' there"):
        pca.transform(other)


def test_a_square_file_without_names_under_a_fit_of_columns_is_asked_about(tmp_path):
    rows = np.random.default_rng(3).normal(size=(3, 3)).round(3)
    path = write(tmp_path, "".join(",".join(map(str, row)) + "\n" for row in rows))
    pca = PCA(1).fit(karhunen.read(path, transpose=True))
    pca.save(tmp_path / "m")
    for model in (pca, PCA.load(tmp_path / "m")):
        with pytest.raises(
            ValueError, match="its samples in columns, and this one has as many rows as columns"
        ) as error:
            model.transform(path)
        np.testing.assert_array_equal(model.transform(follow(path, str(error.value))), pca.transform(rows.T))


def test_several_names_may_be_any_collection():
    for given in ({"a"}, ("a",), iter(["a"]), {"a": 1}.keys()):
        assert karhunen.read("t.csv", labels=given).options["labels"] == ["a"]
    for wrong in (None, True):
        with pytest.raises(ValueError, match="labels"):
            karhunen.read("t.csv", labels=wrong)
