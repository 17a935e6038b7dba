"""`python -m tests.lab feeds [--json] [--kind KIND] [--all]`: compare peers' test statements with our
reading.

Data: the suites of feedparser and gofeed in `feeds/suites` below `TIDINGS_DATA`. Every statement counts as
agree, another taste (docs/feeds.md has the reason of each), or the peer is right, by field and by kind of
fault. The exit code is 1 if fewer than 98 of 100 agree or are tastes, or if a peer is right in a kind that
loses posts or words. With `--all` it prints every document and the path by which it was read.
"""

import argparse
import json
import os
import re
import sys
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path

from digest.feeds.entities import FeedProblem, ParsedFeed
from digest.feeds.feed_xml import LOOSE, REPAIRED, feed_xml_read
from digest.feeds.parse import document_text, parse_checked
from digest.feeds.prechecks import decompress
from tests.lab.command import fail
from tests.lab.feeds.judge import AGREE, PEER, TASTE, Verdict, judge
from tests.lab.feeds.statements import Document, Statement, suites_read

# The address from which feedparser's own tests are served.
URL = "http://127.0.0.1:8097/feed"
GOAL = 0.98
# Posts taken for one or two, links, words, names, bases, encodings, joiners, dates, broken documents.
STRICT_KINDS = frozenset("ABCDEFGHIOS")
_BY_FIELD = {"entries": "A", "link": "C", "id": "C", "feed link": "C", "date": "O", "author": "N"}
_BY_FIELD |= {"enclosure": "J", "category": "K"}


def main() -> int:
    """Print the table; 1 if the goal is missed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--all", action="store_true", help="every document, with its path")
    options = parser.parse_args()
    if not os.environ.get("TIDINGS_DATA"):
        fail("Set TIDINGS_DATA to the folder of open data.", 2)
    folder = Path(os.environ["TIDINGS_DATA"]) / "feeds" / "suites"
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    kinds: dict[str, Counter[str]] = defaultdict(Counter)
    tastes, paths, wrong = Counter[str](), Counter[str](), []
    for document, statements in suites_read(folder):
        read, path = document_read(document)
        # An entry without words and link is left out, so read a copy with titles to see the rest.
        titled = document_read(document_titled(document))[0] if _has_blank(read) else read
        paths[path] += 1
        if options.all:
            print(f"{path:9} {document.suite}/{document.name}")
        for statement in statements:
            is_whole = statement.field in ("title", "entries", "feed title", "feed link")
            verdict, kind = judge(statement, read if is_whole else titled), kind_of(statement, path)
            counts[statement.field][verdict.word] += 1
            kinds[kind][verdict.word] += 1
            tastes[verdict.taste] += verdict.word == TASTE
            if verdict.word == PEER:
                wrong.append((kind, path, statement, verdict))
    return report(counts, kinds, tastes, paths, wrong, as_json=options.json)


def document_read(document: Document) -> tuple[ParsedFeed | FeedProblem, str]:
    """Return the feed read from a document, or the reason for its refusal, and the path by which it was
    read."""
    try:
        text = document_text(decompress(document.body), content_type=document.content_type)
        path = "json" if text[:1] in "{[" else feed_xml_read(text, url=URL, entries_max=9)[1]
        return parse_checked(text, url=URL), path
    except FeedProblem as problem:
        return problem, "refused"


def _has_blank(read: ParsedFeed | FeedProblem) -> bool:
    return not isinstance(read, FeedProblem) and bool(read.blank)


def document_titled(document: Document) -> Document:
    """Return a copy of a document in which every entry has a title, replacing empty ones."""
    started = re.sub(
        rb"(<(\w+:)?(?:entry|item)(?=[\s>])[^>]*[^/]>|<(?:entry|item)>)", _with_title, document.body
    )
    return replace(document, body=started)


def _with_title(found: re.Match[bytes]) -> bytes:
    prefix = found[2] or b""
    return found[0] + b"<%stitle>Added</%stitle>" % (prefix, prefix)


def kind_of(statement: Statement, path: str) -> str:
    """Return the letter of the kind of fault that a wrong answer would be."""
    name = statement.document.name
    if "encoding/" in name or "chardet" in name:
        return "H"
    if "/base/" in name or "xml_base" in name:
        return "G"
    if path in (REPAIRED, LOOSE) or "illformed" in name:
        return "S"
    if statement.field in _BY_FIELD:
        return _BY_FIELD[statement.field]
    return "D" if "<" in str(statement.value) or "&" in str(statement.value) else "E"


def report(
    counts: dict[str, Counter[str]],
    kinds: dict[str, Counter[str]],
    tastes: Counter[str],
    paths: Counter[str],
    wrong: list[tuple[str, str, Statement, Verdict]],
    *,
    as_json: bool,
) -> int:
    """Print the results. Return the exit code."""
    total = sum(sum(one.values()) for one in counts.values())
    right = total - len(wrong)
    strict = [one for one in wrong if one[0] in STRICT_KINDS]
    if as_json:
        body = {
            "statements": total,
            "share": round(right / total, 4),
            "fields": {name: dict(one) for name, one in sorted(counts.items())},
            "kinds": {name: dict(one) for name, one in sorted(kinds.items())},
            "tastes": dict(tastes),
            "paths": dict(paths),
        }
        print(json.dumps(body))
    else:
        for title, table in (("field", counts), ("kind", kinds)):
            print(f"{title:12}{AGREE:>8}{TASTE:>8}{PEER:>12}")
            for name, one in sorted(table.items()):
                print(f"{name:12}{one[AGREE]:>8}{one[TASTE]:>8}{one[PEER]:>12}")
        for kind, path, statement, verdict in wrong:
            where, value = f"{statement.document.suite}/{statement.document.name}", str(statement.value)[:90]
            print(f"{kind} {path:8} {where} {statement.said} = {value!r}; {verdict.ours[:90]!r}")
        print(f"{total} statements, {right / total:.2%} agree or another taste; tastes {dict(tastes)}")
        print(f"documents by path: {dict(paths)}")
    return 0 if right / total >= GOAL and not strict else 1


if __name__ == "__main__":
    sys.exit(main())
