"""Columns that colour rows in plots."""

from collections.abc import Iterator

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from karhunen import PCA, plot, resampling, rotation
from sklearn.decomposition import PCA as SklearnPCA


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


@pytest.fixture
def frame() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = pd.DataFrame(rng.normal(size=(40, 4)) * [4, 3, 2, 1], columns=list("abcd"))
    x.insert(1, "Class", np.tile(["u", "v"], 20))
    x["note"] = [f"row {i}" for i in range(40)]
    return x


def entries(ax) -> list[str]:
    return [text.get_text() for text in ax.get_legend().get_texts()]


def places(ax) -> np.ndarray:
    """Return the points of all groups in one order."""
    points = np.vstack([found.get_offsets() for found in ax.collections if len(found.get_offsets())])
    return points[np.lexsort(points.T)]


@pytest.mark.parametrize("form", [lambda x: x, pl.DataFrame, pa.Table.from_pandas, lambda x: pl.DataFrame(x).lazy()])
@pytest.mark.parametrize("draw", [plot.scores, plot.biplot, plot.scores_3d])
def test_a_column_of_the_table_colours_rows(frame, form, draw):
    x = frame[list("abcd")]
    pca = PCA(3).fit(x)
    ax = draw(pca, form(frame), color_by="Class")
    assert entries(ax) == ["u", "v"]
    assert ax.get_legend().get_title().get_text() == "Class"
    same = draw(pca, x, color_by=frame["Class"].to_numpy())
    np.testing.assert_allclose(places(ax), places(same), atol=1e-12)


@pytest.mark.parametrize("form", [lambda x: x, pl.DataFrame, pa.Table.from_pandas])
@pytest.mark.parametrize("draw", [plot.scores, plot.biplot, plot.scores_3d])
def test_a_column_of_a_separate_table_colours_rows(frame, form, draw):
    x = frame[list("abcd")].to_numpy()
    ax = draw(PCA(3).fit(x), x, color_by="Class", data=form(frame[["Class", "note"]]))
    assert entries(ax) == ["u", "v"]
    assert ax.get_legend().get_title().get_text() == "Class"


def test_columns_are_found_for_every_model(frame):
    x = frame[list("abcd")]
    fitted = SklearnPCA(2).fit(x)
    assert entries(plot.scores(fitted, frame, color_by="Class")) == ["u", "v"]
    assert entries(plot.scores(rotation.varimax(PCA(2).fit(x)), frame, color_by="Class")) == ["u", "v"]
    nameless = PCA(2).fit(x.to_numpy())
    table = frame[["a", "b", "c", "d", "Class"]]
    with pytest.warns(UserWarning, match="X has feature names"):
        assert entries(plot.scores(nameless, table, color_by="Class")) == ["u", "v"]
    # A feature colours rows as before, and rows of `new` have columns of their own.
    ax = plot.scores(PCA(2).fit(x), x, color_by="a")
    assert ax.figure.axes[1].get_ylabel() == "a"
    ax = plot.scores(PCA(2).fit(x), x, new=frame[:10], color_by="Class")
    assert entries(ax) == ["u", "v"]
    found = resampling.bootstrap(PCA(2), x, n_draws=20, keep=True)
    assert entries(plot.bootstrap(found, frame, color_by="Class")) == ["u", "v"]
    assert entries(plot.bootstrap(found, pa.Table.from_pandas(frame), color_by="Class", n_ellipses=5)) == ["u", "v"]


def test_names_that_no_table_has_are_refused(frame):
    x = frame[list("abcd")]
    pca = PCA(2).fit(x)
    with pytest.raises(ValueError, match=r"color_by is 'Clas'; X has no such column, it has 'a', 'Class', 'b'"):
        plot.scores(pca, frame, color_by="Clas")
    with pytest.raises(ValueError, match=r"color_by is 'Class'; data has no such column, it has 'note'; give one"):
        plot.scores(pca, x, color_by="Class", data=frame[["note"]])
    with pytest.raises(ValueError, match=r"color_by is 'Class'; give one value for each of the 40 rows of X, or"):
        plot.scores(PCA(2).fit(x.to_numpy()), x.to_numpy(), color_by="Class")
    with pytest.raises(ValueError, match="color_by has 10 entries; X has 40 rows"):
        plot.scores(pca, x, color_by="Class", data=frame[:10])
    with pytest.raises(ValueError, match="data is a table of which color_by names a column"):
        plot.scores(pca, x, color_by=frame["Class"], data=frame)
    # Columns that are not asked for belong to another table.
    with pytest.raises(ValueError, match="feature names"):
        plot.scores(pca, frame[["a", "b", "c"]], color_by="a")
