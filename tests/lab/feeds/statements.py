"""Statements of feedparser's and gofeed's own tests about documents, one value per statement.

feedparser writes a Python expression into the comment at the head of a document. gofeed keeps the expected
feed beside it as JSON. We keep the statements about values that Tidings stores, too.
"""

import ast
import json
import re
import tarfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath
from typing import Any

Place = tuple[str | int, ...]
_EXPECT = re.compile(r"Expect:\s*(.*?)\s*-->", re.DOTALL)
_OTHER_LINKS = re.compile(rb"rel\s*=\s*[\"'](?!alternate)|<link[^>]*type\s*=", re.IGNORECASE)
_HEADER = re.compile(r"^Header:\s*([\w-]+):\s*(.*)$", re.MULTILINE)
# Fields of an entry in the suites, and our fields for the same value.
ENTRY_FIELDS = {
    **dict.fromkeys(("title", "title_detail.value"), "title"),
    **dict.fromkeys(
        ("summary", "description", "summary_detail.value", "content[].value", "content"), "content"
    ),
    **dict.fromkeys(("link", "links[].href"), "link"),
    **dict.fromkeys(("id", "guid", "guid.value"), "id"),
    **dict.fromkeys(("author", "author.name", "author_detail.name", "authors[].name"), "author"),
    **dict.fromkeys(("published_parsed", "updated_parsed", "created_parsed", "publishedParsed"), "date"),
    **dict.fromkeys(("pubDateParsed", "updatedParsed", "date_parsed"), "date"),
    **dict.fromkeys(
        ("tags[].term", "category", "categories[]", "categories[].value", "categories[].term"), "category"
    ),
    **dict.fromkeys(("enclosures[].href", "enclosures[].url", "enclosure.url"), "enclosure"),
}
FEED_FIELDS = {
    **dict.fromkeys(("title", "title_detail.value"), "feed title"),
    **dict.fromkeys(("link", "links[].href"), "feed link"),
}


@dataclass(frozen=True, slots=True)
class Document:
    """A document of a suite, with its stated `Content-Type`."""

    suite: str
    name: str
    body: bytes
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class Statement:
    """A value that a suite states: its entry (None: the feed), its field, and its place in the suite."""

    document: Document
    entry: int | None
    field: str
    said: str
    value: Any


def suites_read(folder: Path) -> Iterator[tuple[Document, list[Statement]]]:
    """Yield each document of the suites in `folder` with its statements."""
    for suite, archive, read in (
        ("feedparser", "feedparser-tests.tar.gz", _of_feedparser),
        ("gofeed", "gofeed-testdata.tar.gz", _of_gofeed),
    ):
        with tarfile.open(folder / archive) as files:
            found = {one.name: files.extractfile(one) for one in files if one.isfile()}
            bodies = {name: file.read() for name, file in found.items() if file}
        for name, body in sorted(bodies.items()):
            if name.endswith("_expected.json") or (name.endswith(".json") and _input_of(name, bodies)):
                continue
            document = Document(suite, name, body, _content_type(body) if suite == "feedparser" else "")
            yield document, [one for one in read(document, bodies) if one]


def _content_type(body: bytes) -> str:
    head = body[:2000].decode("utf-8", "replace")
    return next(
        (value.strip() for name, value in _HEADER.findall(head) if name.lower() == "content-type"), ""
    )


def _of_feedparser(document: Document, bodies: Mapping[str, bytes]) -> Iterator[Statement | None]:
    if document.name.endswith(".json"):
        return
    expected = _EXPECT.search(_readable(document.body))
    if not expected:
        return
    try:
        parsed = ast.parse(" ".join(expected[1].split()), mode="eval").body
    except (SyntaxError, ValueError):
        return
    for part in (
        parsed.values if isinstance(parsed, ast.BoolOp) and isinstance(parsed.op, ast.And) else [parsed]
    ):
        if isinstance(part, ast.Compare) and len(part.ops) == 1 and isinstance(part.ops[0], ast.Eq):
            try:
                value = ast.literal_eval(part.comparators[0])
            except ValueError:
                continue
            yield _statement(document, _place(part.left), value)


def _readable(body: bytes) -> str:
    """Return the head of a document, in any encoding of one, two or four bytes per letter."""
    return body[:6000].replace(b"\x00", b"").decode("latin-1")


def _place(node: ast.expr) -> Place:
    """Return the path of an expression: `entries[0]['title']` is ("entries", 0, "title")."""
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return (*_place(node.value), node.slice.value)
    if isinstance(node, ast.Attribute):
        return (*_place(node.value), node.attr)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "len":
        return ("len", *_place(node.args[0]))
    return (node.id,) if isinstance(node, ast.Name) else ("?",)


def _statement(document: Document, place: Place, value: Any) -> Statement | None:
    said = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in place).lstrip(".")
    if place == ("len", "entries"):
        return Statement(document, None, "entries", said, value)
    is_entry = len(place) > 2 and place[0] in ("entries", "items") and isinstance(place[1], int)
    rest = place[2:] if is_entry else place[1:] if place[0] == "feed" else ()
    name = "".join("[]" if isinstance(one, int) else f".{one}" for one in rest).lstrip(".")
    field = (ENTRY_FIELDS if is_entry else FEED_FIELDS).get(name)
    # The first link of several is not always one to a page.
    if name.startswith("links[]") and _OTHER_LINKS.search(document.body):
        return None
    if not field or value in (None, "") or any(isinstance(one, int) and one for one in rest):
        return None
    if field == "date":
        value = _moment(value)
    return Statement(document, int(place[1]) if is_entry else None, field, said, value)


def _moment(value: Any) -> datetime | None:
    if isinstance(value, tuple):
        return datetime(*value[:6], tzinfo=UTC)
    try:
        return datetime.fromisoformat(str(value)).astimezone(UTC)
    except ValueError:
        return None


def _input_of(name: str, bodies: Mapping[str, bytes]) -> bool:
    path = PurePosixPath(name)
    return any(str(path.with_suffix(ending)) in bodies for ending in (".xml", ".atom", ".rss"))


def _of_gofeed(document: Document, bodies: Mapping[str, bytes]) -> Iterator[Statement | None]:
    path = PurePosixPath(document.name)
    beside = bodies.get(str(path.with_suffix(".json")) if path.suffix != ".json" else "")
    beside = beside or bodies.get(f"{path.with_suffix('')}_expected.json")
    if not beside:
        return
    expected = json.loads(beside)
    entries = expected.get("entries") or expected.get("items") or []
    if entries:
        yield Statement(document, None, "entries", "len(items)", len(entries))
    for number, entry in enumerate(entries):
        for place, value in _leaves(entry):
            if value is not None:
                yield _statement(document, ("entries", number, *place), value)
    for place, value in _leaves({key: expected.get(key) for key in ("title", "link", "links")}):
        if value is not None:
            yield _statement(document, ("feed", *place), value)


def _leaves(value: Any, place: Place = ()) -> Iterator[tuple[Place, Any]]:
    if isinstance(value, dict):
        # A link has an address and a relation. Only links to a page are the entry's.
        if "href" in value and value.get("rel", "alternate") != "alternate":
            return
        for key, one in value.items():
            yield from _leaves(one, (*place, key))
    elif isinstance(value, list):
        for number, one in enumerate(value):
            yield from _leaves(one, (*place, number))
    else:
        yield place, value
