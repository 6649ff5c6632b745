"""Pages of fitted models, and their use in a browser."""

import json
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from karhunen import PCA, IncompletePCA, IncrementalPCA, KernelPCA, Observed, TruncatedSVD, diagnostics, rotation
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


@pytest.fixture
def opened(browser):
    """Open a page with a width and a colour scheme; errors that it prints fail the test."""
    contexts, said = [], []

    def open_page(path, width=1280, scheme="light"):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda line: said.append(line.text) if line.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: said.append(str(error)))
        page.goto(path.as_uri())
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert said == []


@pytest.fixture(scope="module")
def pages(wine, ozone, tmp_path_factory):
    """Write reports of models of each kind."""
    folder = tmp_path_factory.mktemp("pages")
    weights = np.arange(1.0, len(wine) + 1.0)
    weighted = PCA(3, scale=True).fit(wine, sample_weight=weights)
    return {
        "complete": PCA(4, scale=True).fit(wine).report(folder / "a.html", wine),
        "weighted": weighted.report(folder / "b.html", wine, sample_weight=weights),
        "rotated": rotation.oblimin(weighted, n_components=3).report(folder / "c.html", wine),
        "missing": IncompletePCA(2, method="ppca").fit(ozone).report(folder / "d.html", ozone),
        "kernel": KernelPCA(3, kernel="rbf", gamma=1e-5).fit(wine).report(folder / "e.html", wine),
        "alone": PCA(4, scale=True).fit(wine).report(folder / "f.html"),
    }


@pytest.mark.parametrize("kind", ["complete", "weighted", "rotated", "missing", "kernel", "alone"])
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (1280, "dark"), (390, "light")])
def test_a_checker_of_accessibility_finds_nothing(opened, pages, kind, width, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    page = opened(pages[kind], width, scheme)
    if kind != "alone":
        # Marked and selected rows have the least contrast.
        page.locator("#sample-table tbody input[type=checkbox]").first.check()
    found = axe.run(page).response
    problems = [(one["id"], one["impact"], one["nodes"][0]["html"][:200]) for one in found["violations"]]
    assert problems == []
    # The checker has seen the page, and the contrast of its text but for columns that are scrolled away.
    assert len(found["passes"]) > 20
    assert {one["id"] for one in found["incomplete"]} <= {"color-contrast"}


def test_pictures_have_their_numbers_in_words_and_tables(opened, pages):
    page = opened(pages["complete"])
    tree = {image.get_attribute("id"): image.get_attribute("aria-label") for image in page.locator("[role=img]").all()}
    assert set(tree) == {"scree", "rules", "bars", "scores", "distances"}
    assert "PC1 36.2%, PC2 19.2%" in tree["scree"]
    assert re.search(r"flavanoids .?0\.9175, ", tree["bars"])
    assert tree["scores"].startswith("Points. Scores of 178 samples on PC1 (36.2%) and PC2 (19.2%)")
    assert all("hold" in text for text in tree.values())
    page.select_option("#bar-component", index=1)
    assert page.locator("#bars").get_attribute("aria-label") != tree["bars"]


def wait(page, condition):
    """Wait for a condition; the page forbids what Playwright waits with."""
    for _ in range(100):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(condition)


def focus(page, selector, most=80):
    """Press the tabulator key until an element has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            assert style != "none", selector
            return
    raise AssertionError(f"no focus on {selector}")


def test_the_page_works_by_keyboard_alone(opened, pages):
    page = opened(pages["complete"])
    focus(page, "a.skip", most=1)
    page.keyboard.press("Enter")
    focus(page, "#bar-component")
    before = page.locator("#bar-caption").text_content()
    page.keyboard.press("ArrowDown")
    assert page.locator("#bar-caption").text_content() != before
    focus(page, "#feature-table input[type=search]")
    page.keyboard.type("phenols")
    assert page.locator("#feature-table [role=status]").text_content() == "2 of 13 features found."
    focus(page, "#feature-table th button")
    page.keyboard.press("Enter")
    assert page.locator("#feature-table th[aria-sort=ascending]").text_content().startswith("Feature")
    assert page.evaluate("document.activeElement.closest('th').getAttribute('aria-sort')") == "ascending"
    focus(page, "#find")
    focus(page, "#sample-table tbody input")
    page.keyboard.press("Space")
    assert page.locator("#selected").text_content().startswith("1 of 178 samples selected")
    focus(page, "#sample-table .pages button")
    page.keyboard.press("Enter")
    assert "26 to 50 of 178" in page.locator("#sample-table caption").text_content()
    focus(page, "#calls pre")


def test_a_row_under_the_pointer_is_shown_in_the_pictures(opened, pages):
    page = opened(pages["complete"])
    emphasised = """id => window.karhunenReport.charts[id].getZr().storage.getDisplayList(true)
        .filter((shape) => shape.parent && shape.parent.currentStates.includes("emphasis")
            || shape.currentStates.includes("emphasis")).length"""
    assert [page.evaluate(emphasised, id) for id in ("scores", "distances")] == [0, 0]
    page.locator("#sample-table tbody tr").first.hover()
    assert [page.evaluate(emphasised, id) > 0 for id in ("scores", "distances")] == [True, True]
    page.locator("h1").hover()
    assert [page.evaluate(emphasised, id) for id in ("scores", "distances")] == [0, 0]


def test_paper_is_white_and_wide_enough(opened, pages):
    page = opened(pages["complete"], scheme="dark")
    # Read from a copy, which the browser keeps in memory for that.
    corner = """id => {
        const copy = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        copy.drawImage(document.querySelector(`#${id} canvas`), 0, 0);
        return [...copy.getImageData(2, 2, 1, 1).data];
    }"""
    assert page.evaluate(corner, "scores")[:3] == [0x14, 0x17, 0x1B]
    page.emulate_media(media="print", color_scheme="dark")
    wait(page, "document.querySelector('#scree canvas').clientWidth === 700")
    for id in ("scree", "rules", "bars", "scores", "distances"):
        assert page.evaluate(corner, id)[:3] == [255, 255, 255]
    page.set_viewport_size({"width": 718, "height": 1000})
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    page.emulate_media(media="screen", color_scheme="dark")
    wait(page, "document.querySelector('#scree canvas').clientWidth !== 700")


def test_tables_keep_the_names_of_rows_on_a_phone(opened, pages):
    page = opened(pages["complete"], 390)
    page.evaluate("document.querySelector('#sample-table .scroll').scrollLeft = 150")
    box = page.locator("#sample-table tbody th").first.bounding_box()
    assert box["x"] >= 0
    assert box["x"] + box["width"] < 390
    # Sentences are not cut.
    for table in ("#rule-table", "#odd-table"):
        wide = page.locator(table).evaluate("table => table.scrollWidth > table.parentElement.clientWidth")
        assert not wide, table


def test_rows_count_as_the_fitted_rows_with_its_weights(wine, tmp_path):
    weights = np.random.default_rng(0).integers(1, 5, len(wine)).astype(float)
    pca = PCA(3, scale=True).fit(wine, sample_weight=weights)
    path = pca.report(tmp_path / "a.html", wine, sample_weight=weights)
    monitor = diagnostics.Monitor(pca, wine, weights, level=0.95)
    assert numbers(path)["rows"]["spe"]["limit"] == pytest.approx(monitor.limits(fitted=True)[1], rel=1e-4)
    text = path.read_text(encoding="utf-8")
    limits = f"{monitor.t2_limit:.4g} and {monitor.spe_limit:.4g}"
    assert f"T² and SPE of new samples have the limits {limits}" in text
    assert "178 samples are given: the samples of the fit." in text
    assert "sample_weight=weights, level=0.95" in text
    text = pca.report(tmp_path / "b.html", wine).read_text(encoding="utf-8")
    assert "without the weights of the fit" in text
    text = pca.report(tmp_path / "c.html", wine * 1.1, sample_weight=weights).read_text(encoding="utf-8")
    assert "but with other scores" in text
    with pytest.raises(ValueError, match="sample_weight needs X"):
        pca.report(tmp_path / "d.html", sample_weight=weights)
    with pytest.raises(ValueError, match="sample_weight has 3 entries; X has 178 rows"):
        pca.report(tmp_path / "d.html", wine, sample_weight=weights[:3])


@pytest.fixture(scope="module", name="ozone")
def table_with_missing():
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
    np.testing.assert_allclose(page["missing"]["share"], ozone.isna().mean(), rtol=1e-4)
    assert page["rows"]["names"][5] == "day 5"
    text = path.read_text(encoding="utf-8")
    assert HOSTILE not in text
    assert "pca = karhunen.IncompletePCA(" in text
    assert re.search(r'<table id="odd-table".*?<tbody[^>]*><tr[^>]*><th[^>]*>day 5</th>.*?d \(\d', text, re.S)
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
    assert (page.locator("#missing-table tbody tr").count() == 7) == (kind == "missing")
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
    wait(page, "window.karhunenReport.selected.size > 20")
    # The keyboard continues from the row that it selected.
    first = page.locator("#sample-table tbody input[type=checkbox]").first
    first.focus()
    page.keyboard.press("Space")
    assert page.evaluate("document.activeElement.dataset.row") == first.get_attribute("data-row")
    page.select_option("#up", index=0)
    page.emulate_media(media="print")
    assert page.pdf()[:4] == b"%PDF"
    assert said == []
    context.close()
