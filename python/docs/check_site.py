"""Check the built site: `python docs/check_site.py FOLDER`.

Links lead to pages and anchors that exist, pages written by hand are at most two clicks away from the first one, and
nothing is loaded from elsewhere. Where playwright and chromium are installed, some pages are opened as wide as a phone
and a laptop, and must not be cut at the right.
"""

from __future__ import annotations

import shutil
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

HERE = Path(__file__).parent


class Page(HTMLParser):
    """The links of a page, the files that a browser loads with it, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect links and anchors."""
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.links.add(value)
                if name == "src" or (tag == "link" and ("rel", "canonical") not in attrs):
                    self.loaded.add(value)


def check(site: Path) -> list[str]:
    """Return what is wrong, one line each."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    problems, neighbours = [], {}
    for path, page in pages.items():
        neighbours[path] = set()
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if link in page.loaded and parts.scheme != "data":
                    problems.append(f"{path.relative_to(site)}: {link} is loaded from elsewhere")
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            neighbours[path].add(target)
            if not target.is_file():
                problems.append(f"{path.relative_to(site)}: {link} leads nowhere")
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                problems.append(f"{path.relative_to(site)}: {link} has no such anchor")
    near = {site / "index.html"}
    for _ in range(2):
        near |= {target for path in near & pages.keys() for target in neighbours[path]}
    far = [f"{source.stem}.html" for source in sorted(HERE.glob("*.rst")) if site / f"{source.stem}.html" not in near]
    return problems + [f"{name} is more than two clicks from the first page" for name in far]


#: Whether the page is wider than the window, and the tables of the API that are wider than their place.
CUT = """() => (document.documentElement.scrollWidth > document.documentElement.clientWidth ? ["the page"] : []).concat(
    [...document.querySelectorAll(".pst-scrollable-table-container:has(.autosummary)")]
        .filter(place => place.scrollWidth > place.clientWidth + 1)
        .map(place => "the table of " + place.querySelector("code").textContent))"""


def cut(site: Path) -> list[str]:
    """Return what is cut at the right in a browser; nothing without one."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        chromium = None
    if chromium is None:
        return []
    problems = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        for name in ("index", "fields", "surveys", "guides", "kernel", "api", "generated/api/karhunen.PCA"):
            page.goto((site / f"{name}.html").as_uri())
            for width in (390, 1280):
                page.set_viewport_size({"width": width, "height": 900})
                problems += [f"{name}.html: {what} is cut at {width} pixels" for what in page.evaluate(CUT)]
        browser.close()
    return problems


if __name__ == "__main__":
    folder = Path(sys.argv[1]).resolve()
    found = check(folder) + cut(folder)
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
