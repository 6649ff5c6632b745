"""Links between the pages of the repository, and citations of pages in the code."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "python/README.md", "benchmarks/README.md", "examples/**/README.md")
    for path in ROOT.glob(pattern)
)
SOURCES = [
    path
    for pattern in (
        "crates/**/*.rs",
        "python/src/*.rs",
        "python/py_src/**/*.py",
        "python/tests/*.py",
        "python/docs/*.rst",
    )
    for path in ROOT.glob(pattern)
]


def anchors(page: Path) -> set[str]:
    """Return the anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    text = re.sub(r"```.*?```", "", page.read_text(), flags=re.DOTALL)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith(("https://", "http://", "mailto:")):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), link
        assert not anchor or anchor in anchors(target), link


def test_there_are_pages():
    names = {str(page.relative_to(ROOT)) for page in PAGES}
    assert {"README.md", "CONTRIBUTING.md", "docs/map.md", "docs/missing-values.md"} <= names


def test_pages_that_the_code_cites_exist():
    cited = {
        (page, source.relative_to(ROOT))
        for source in SOURCES
        for page in re.findall(r"\bdocs/[a-z/-]+\.md\b", source.read_text())
    }
    assert len(cited) > 10
    missing = [f"{source}: {page}" for page, source in sorted(cited) if not (ROOT / page).exists()]
    assert not missing
