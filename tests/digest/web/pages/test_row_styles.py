"""In a long list, a row is restyled for itself alone: what it is stands on it, for the style sheets."""

import re
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from digest.feedback.services import feedback_set
from digest.items.reading import item_read, item_save
from digest.models import Reader
from tests.support.browser import ago, fresh_item

# The style sheets that pages with lists of items load.
SHEETS = ["tidings.css", "reading.css", "article.css", "all.css"]
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# What is looked into, as far as a space or a bracket before it, and what is looked for in it.
LOOKS = re.compile(r"([^\s,(){}]*):has\(([^)]*\)?)")
# Boxes outside of rows, or a parent and its child alone.
SMALL = [
    ("form", "+ section"),
    ("p", "> label"),
    (".join", "> select"),
    (".weeks", ".spark"),
    ("li", ".menu"),
    ("&", "> a:focus-visible"),
    ("&", "> .kicker"),
    (".progress-of-day", "> .older"),
    (".folds", ".thumb"),
]


@pytest.mark.parametrize("name", SHEETS)
def test_no_style_sheet_of_lists_looks_into_rows_or_whole_pages(name: str):
    """A browser asks each row again after each change: half a second in a list of three hundred."""
    text = COMMENT.sub("", (Path(settings.BASE_DIR) / "static" / name).read_text())
    found = [(one, what.strip(" )")) for one, what in LOOKS.findall(text)]
    assert not [one for one in found if one not in SMALL], "let the row or the page say what it is"


@pytest.mark.parametrize("address", ["/ui/all", "/"])
def test_a_row_says_what_it_is(client: Client, ada: Reader, address: str):
    plain, disliked, saved = (fresh_item(ada, hours=n + 1, title=f"Lamp {n}") for n in range(3))
    client.force_login(ada)
    client.get(address)
    feedback_set(reader=ada, item_id=disliked.pk, useful=False, now=ago(0))
    item_save(reader=ada, item_id=saved.pk, saved=True, now=ago(0))
    item_read(reader=ada, item_id=saved.pk, now=ago(0))
    page = client.get(address).content.decode()
    states = {
        int(pk): set(names.split()) - {"item", "listed"}
        for names, pk in re.findall(r'<article class="([^"]*)" id="item-(\d+)"', page)
    }
    assert states[plain.pk] == set()
    assert states[disliked.pk] >= {"disliked", "tapped", "asks"}
    assert states[saved.pk] == {"saved", "tapped", "read"}
