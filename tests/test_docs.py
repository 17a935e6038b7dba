"""Links between README, CONTRIBUTING and docs lead to files and headings that exist."""

import re
from pathlib import Path

import pytest

from tests.support.documented import PAGES, ROOT

LINK = re.compile(r"\]\(([^)\s]+)\)")


def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path):
    broken = []
    for link in LINK.findall(page.read_text(encoding="utf-8")):
        name, _, anchor = link.partition("#")
        target = (page.parent / name).resolve() if name else page
        if "://" in link or link.startswith("mailto:"):
            continue
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors_of(target)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_opens_with_a_heading_and_a_sentence(page: Path):
    first, second, third = page.read_text(encoding="utf-8").splitlines()[:3]
    assert first.startswith("# ") and not second and re.match(r"[A-Z]", third), (first, third)


def test_the_pages_are_all_linked_from_the_readme():
    linked = {(ROOT / link.partition("#")[0]).resolve() for link in LINK.findall(PAGES[0].read_text())}
    assert set(PAGES[1:]) - linked == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_each_fence_of_code_stands_on_a_line_of_its_own_and_is_closed(page: Path):
    lines = page.read_text(encoding="utf-8").splitlines()
    fences = [line for line in lines if "```" in line]
    glued = [line for line in fences if not re.fullmatch(r" *```\w*", line)]
    assert (glued, len(fences) % 2) == ([], 0)
