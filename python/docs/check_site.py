"""Check the built site: `python docs/check_site.py FOLDER`.

Links lead to pages and anchors that exist, and pages written by hand are at most two clicks away from the first one.
"""

from __future__ import annotations

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

HERE = Path(__file__).parent


class Page(HTMLParser):
    """The links of a page, those to files it needs, and its anchors."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Collect links and anchors."""
        for name, value in attrs:
            if name == "id" or (name == "name" and tag == "a"):
                self.anchors.add(value or "")
            elif name in ("href", "src") and value:
                self.links.add(value)


def check(site: Path) -> list[str]:
    """Return what is wrong, one line each."""
    pages = {path: Page(path) for path in sorted(site.rglob("*.html")) if "_static" not in path.parts}
    problems, neighbours = [], {}
    for path, page in pages.items():
        neighbours[path] = set()
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
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


if __name__ == "__main__":
    found = check(Path(sys.argv[1]).resolve())
    print("\n".join(found), end="\n" if found else "")
    sys.exit(bool(found))
