"""Pages of fitted models, and their use in a browser."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from karhunen import PCA, IncompletePCA, IncrementalPCA, KernelPCA, Observed, TruncatedSVD, diagnostics
from sklearn.datasets import load_wine

HOSTILE = "</script><img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def wine():
    wine = load_wine(as_frame=True).data
    return wine.rename(columns={"hue": HOSTILE})


def numbers(path):
    page = path.read_text(encoding="utf-8")
    return json.loads(re.search(r'type="application/json"[^>]*>(.*?)</script>', page, re.S)[1])


def test_pages_hold_the_numbers_of_the_diagnostics(wine, tmp_path):
    wine = wine.set_axis([f"bottle {i}" for i in range(len(wine))])
    for pca in (PCA(3, scale=True), TruncatedSVD(3), IncrementalPCA(3)):
        path = pca.fit(wine).report(tmp_path / "wine.html", wine, title="Wine")
        found, page = diagnostics.samples(pca, wine), numbers(path)
        np.testing.assert_allclose(page["rows"]["t2"]["values"], found.t2, rtol=1e-4)
        np.testing.assert_allclose(page["rows"]["spe"]["values"], found.spe, rtol=1e-4)
        assert page["rows"]["names"][5] == "bottle 5"
        assert HOSTILE in page["features"]["names"]
        assert HOSTILE not in path.read_text(encoding="utf-8")
        assert f"pca = karhunen.{type(pca).__name__}(" in path.read_text(encoding="utf-8")
    assert "<h1>Wine</h1>" in path.read_text(encoding="utf-8")
    alone = pca.report(str(tmp_path / "alone.html"))
    assert numbers(alone)["rows"] is None


def test_unsuitable_arguments_are_named(wine, tmp_path):
    pca = PCA(2).fit(wine)
    with pytest.raises(ValueError, match="level = 95 is not allowed"):
        pca.report(tmp_path / "a.html", wine, level=95)
    with pytest.raises(ValueError, match=r"level = 0\.9 needs X"):
        pca.report(tmp_path / "a.html", level=0.9)
    with pytest.raises(TypeError, match="title is a int"):
        pca.report(tmp_path / "a.html", title=1)
    with pytest.raises(ValueError, match="feature names"):
        pca.report(tmp_path / "a.html", pd.DataFrame({"a": [1.0, 2.0]}))
    with pytest.raises(OSError, match="nowhere"):
        pca.report(tmp_path / "nowhere" / "a.html")
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def browser():
    api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("chromium is not installed")
    with api.sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_page_works_in_a_browser(browser, wine, tmp_path, width, scheme):
    path = PCA(4, scale=True).fit(wine).report(tmp_path / "wine.html", wine)
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, said, requests = context.new_page(), [], []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("request", lambda request: requests.append(request.url))
    page.on("dialog", lambda dialog: said.append(dialog.message))
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # Components: the picture and the table follow the choice.
    before = page.locator("#bar-caption").text_content()
    page.select_option("#bar-component", index=1)
    assert page.locator("#bar-caption").text_content() != before
    assert page.locator("#feature-component").text_content() == "PC2"
    # Search and sorting.
    features = page.locator("#feature-table tbody tr")
    assert features.count() == 13
    page.locator("#feature-table input[type=search]").fill("</script>")
    assert features.count() == 1
    assert features.first.locator("th").text_content() == HOSTILE
    page.locator("#sample-table thead button", has_text="SPE").click()
    assert page.locator("#sample-table th[aria-sort=descending]").text_content().startswith("SPE")
    # A sample that is selected in the table is selected in the pictures.
    page.locator("#sample-table tbody input[type=checkbox]").first.check()
    assert page.locator("#selected").text_content().startswith("1 of 178 samples selected: ")
    page.click("#clear")
    page.fill("#find", "17")
    assert page.locator("#selected").text_content().startswith(tuple("123456789"))
    assert len(page.screenshot()) > 10_000
    assert said == []
    assert [url for url in requests if not url.startswith(("file:", "data:", "blob:"))] == []
    context.close()


@pytest.fixture(scope="module", name="ozone")
def table_with_holes():
    rng = np.random.default_rng(3)
    x = rng.standard_normal((120, 2)) @ rng.standard_normal((2, 7)) + 0.3 * rng.standard_normal((120, 7))
    x[rng.random(x.shape) < 0.2] = np.nan
    x[5, 3] = 6.0
    return pd.DataFrame(x, columns=[HOSTILE, *"bcdefg"], index=[f"day {i}" for i in range(120)])


def test_pages_of_missing_values(ozone, tmp_path):
    pca = IncompletePCA(2, method="ppca", scale=True).fit(ozone)
    path = pca.report(tmp_path / "ozone.html", ozone)
    page, found = numbers(path), diagnostics.samples(pca, ozone)
    ratio = found.spe / found.spe_limits(0.95, found.spe_scale())
    np.testing.assert_allclose(page["rows"]["spe"]["values"], ratio, rtol=1e-4)
    np.testing.assert_allclose(page["holes"]["missing"], ozone.isna().mean(), rtol=1e-4)
    assert page["rows"]["names"][5] == "day 5"
    text = path.read_text(encoding="utf-8")
    assert HOSTILE not in text
    assert "pca = karhunen.IncompletePCA(" in text
    assert re.search(r'<table id="odd-table">.*?<tbody><tr><th scope="row">day 5</th>.*?d \(\d', text, re.S)
    with pytest.raises(ValueError, match="level"):
        pca.report(tmp_path / "a.html", ozone, level=0.0)
    with pytest.raises(ValueError, match="feature names"):
        pca.report(tmp_path / "a.html", ozone.iloc[:, :3])
    rows, columns = np.nonzero(ozone.notna().to_numpy())
    observed = Observed([f"d{i}" for i in rows], columns, ozone.to_numpy()[rows, columns])
    names = numbers(IncompletePCA(2).fit(observed).report(tmp_path / "b.html", observed))["rows"]["names"]
    assert sorted(names) == sorted(f"d{i}" for i in range(120))


def test_pages_of_kernels(wine, tmp_path):
    for kernel in ("rbf", lambda x, y: x @ y):
        pca = KernelPCA(3, kernel=kernel, gamma=1e-5 if kernel == "rbf" else None).fit(wine)
        path = pca.report(tmp_path / "kernel.html", wine, title="Kernel")
        np.testing.assert_allclose(
            np.transpose(numbers(path)["rows"]["scores"]), pca.transform(wine), rtol=1e-4, atol=1e-8
        )
        assert "<h1>Kernel</h1>" in path.read_text(encoding="utf-8")
    assert numbers(pca.report(tmp_path / "alone.html"))["rows"] is None
    with pytest.raises(ValueError, match="feature names"):
        pca.report(tmp_path / "a.html", wine.iloc[:, :3])


@pytest.mark.parametrize("kind", ["missing", "kernel"])
@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1280, "light")])
def test_pages_of_other_models_work_in_a_browser(browser, ozone, wine, tmp_path, kind, width, scheme):
    if kind == "missing":
        path = IncompletePCA(2).fit(ozone).report(tmp_path / "a.html", ozone)
    else:
        path = KernelPCA(3, kernel="rbf", gamma=1e-5).fit(wine).report(tmp_path / "a.html", wine)
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, said = context.new_page(), []
    page.on("console", lambda message: said.append(message.text) if message.type in ("error", "warning") else None)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(path.as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert (page.locator("#hole-table tbody tr").count() == 7) == (kind == "missing")
    assert (page.locator("#features").count() == 0) == (kind == "kernel")
    page.locator("#sample-table tbody input[type=checkbox]").first.check()
    assert "samples selected" in page.locator("#selected").text_content()
    page.click("#clear")
    # A box over the whole picture selects all points, in pictures with and without limits.
    page.click("#box")
    picture = page.locator("#scores")
    picture.scroll_into_view_if_needed()
    box = picture.bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.15 * box["height"])
    page.mouse.down()
    page.mouse.move(box["x"] + 0.95 * box["width"], box["y"] + 0.8 * box["height"], steps=8)
    page.mouse.up()
    page.wait_for_function("window.karhunenReport.selected.size > 20")
    # The keyboard goes on from the row that it selected.
    first = page.locator("#sample-table tbody input[type=checkbox]").first
    first.focus()
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.dataset.row") == first.get_attribute("data-row")
    page.select_option("#up", index=0)
    page.emulate_media(media="print")
    assert page.pdf()[:4] == b"%PDF"
    assert said == []
    context.close()
