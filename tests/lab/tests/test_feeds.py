"""Statements of peers are read from their suites, and a wrong reading is called so."""

import io
import json
import tarfile
from pathlib import Path

import pytest

from tests.lab.feeds.command import document_read, document_titled, kind_of
from tests.lab.feeds.judge import AGREE, PEER, TASTE, judge
from tests.lab.feeds.statements import Document, Statement, suites_read

RSS = """<!--
Description: a title
Expect:      not bozo and entries[0]['title'] == {!r} and len(entries) == 1
-->
<rss version="2.0"><channel><item><title>{}</title></item></channel></rss>"""


def suites(folder: Path, files: dict[str, str], beside: dict[str, str]) -> Path:
    for name, bodies in (("feedparser-tests.tar.gz", files), ("gofeed-testdata.tar.gz", beside)):
        with tarfile.open(folder / name, "w:gz") as archive:
            for path, body in bodies.items():
                entry = tarfile.TarInfo(path)
                entry.size = len(body.encode())
                archive.addfile(entry, io.BytesIO(body.encode()))
    return folder


def test_statements_are_read_from_both_suites(tmp_path: Path):
    expected = {"items": [{"title": "Rain", "links": [{"href": "https://a.example", "rel": "self"}]}]}
    beside = {"rss/a.xml": RSS.format("", "Rain"), "rss/a.json": json.dumps(expected)}
    found = [
        (one.document.suite, one.entry, one.field, one.value)
        for _, some in suites_read(suites(tmp_path, {"w/b.xml": RSS.format("Ada", "Ada")}, beside))
        for one in some
    ]
    assert found == [
        ("feedparser", 0, "title", "Ada"),
        ("feedparser", None, "entries", 1),
        ("gofeed", None, "entries", 1),
        ("gofeed", 0, "title", "Rain"),
    ]


@pytest.mark.parametrize(
    ("stated", "written", "word"),
    [("Ada", "Ada", AGREE), ("<i>Ada</i>", "&lt;i&gt;Ada&lt;/i&gt;", AGREE), ("Ada", "Ben", PEER)],
)
def test_a_reading_that_differs_is_called_so(stated: str, written: str, word: str):
    document = Document("feedparser", "w/a.xml", RSS.format(stated, written).encode())
    read, path = document_read(document)
    statement = Statement(document, 0, "title", "entries[0].title", stated)
    assert (judge(statement, read).word, path, kind_of(statement, path)[0] in "DE") == (word, "strict", True)


def test_an_entry_that_is_left_out_is_looked_at_with_a_title():
    document = Document("gofeed", "a.xml", b"<rss><channel><item><author>Ada</author></item></channel></rss>")
    statement = Statement(document, 0, "author", "items[0].author", "Ada")
    assert judge(statement, document_read(document)[0]).word == TASTE
    assert judge(statement, document_read(document_titled(document))[0]).word == AGREE
