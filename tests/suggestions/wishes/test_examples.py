"""Every wish that a page or a guide prints as an example is read whole, and asks nothing back."""

import ast
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.utils.translation import gettext, override

from ranking.entities import Candidate
from suggestions.wishes.reading import wishes_read
from suggestions.wishes.searches import searches_read
from suggestions.wishes.wish import Names
from tests.support.wish_words import TODAY

ROOT = Path(__file__).parents[3]
FORM = ROOT / "templates" / "suggestions" / "_wish_form.html"
GUIDE = ROOT / "docs" / "suggestions.md"
# Every example names this source, or has a guide's quotation marks.
SOURCE = "Gazette"
TITLES = ("Crypto falls again", "Football tonight", "Chess in Oslo", "The harbour", "Krypto", "Fußball")
ITEMS = [Candidate(n, "g", title, "", datetime(2026, 11, 27, tzinfo=UTC)) for n, title in enumerate(TITLES)]
NAMES = Names({"g": SOURCE}, items=tuple(ITEMS))
# They are no wishes: a day that the guide explains, and one whose answer is a question or a switch.
ASKED = ("this week", "mute football after Friday")
SWITCHED = "Keep Gazette out of Today"


def _printed() -> Iterator[str]:
    """Yield the texts of pages that may hold an example, as they are translated."""
    yield from re.findall(r'{% translate "([^"]*)" %}', FORM.read_text("utf-8"))
    for module in sorted((ROOT / "suggestions" / "wishes").glob("*.py")):
        text = module.read_text("utf-8")
        for node in ast.walk(ast.parse(text)) if SOURCE in text else ():
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and SOURCE in node.value:
                yield node.value


def _of_pages() -> list[str]:
    found, printed = [], [*_printed()]
    for language in ("en", "de"):
        with override(language):
            texts = [gettext(text) for text in printed]
        quoted = [one for text in texts for one in re.findall("[“„]([^“”„]*)[”“]", text)]
        found += [one for one in quoted if SOURCE in one]
    return list(dict.fromkeys(found))


def _of_guide() -> list[str]:
    section = GUIDE.read_text("utf-8").partition("## In words\n")[2].partition("\n## ")[0]
    return [one for one in re.findall('"([^"]*)"', " ".join(section.split())) if one not in ASKED]


@pytest.mark.parametrize("example", [*_of_pages(), *_of_guide()])
def test_a_printed_example_is_read_whole(example: str):
    searches, rest = searches_read(example)
    if searches:
        assert not rest
        return
    reading = wishes_read(example, NAMES, TODAY)
    parts = len(re.findall(",(?! das)", example)) + 1
    assert reading.question is None
    if example == SWITCHED:
        assert "switch off" in reading.notes[0]
    else:
        assert reading.notes == () or "next seven days" in reading.notes[0]
        assert len(reading.wishes) == parts


def test_examples_of_both_languages_are_found():
    pages = _of_pages()
    assert any(one.startswith("Less crypto") for one in pages)
    assert any(one.startswith("Weniger Krypto") for one in pages) and len(_of_guide()) >= 8
