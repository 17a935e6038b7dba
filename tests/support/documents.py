"""Feed documents to try a parser on: the open collections, made ones, and seeded mutations of both."""

import gzip
import os
import random
import tarfile
from collections.abc import Collection, Iterator
from pathlib import Path

MADE = (
    b'<?xml version="1.0"?><rss version="2.0"><channel><title>Rivers</title><link>https://r.example/</link>'
    b"<item><title>Rain &amp;amp; floods</title><link>/a</link><guid>g1</guid><description><![CDATA[<p>It"
    b" <b>rained</b><img src=x></p>]]></description><pubDate>Wed, 18 Mar 2026 09:30:00 +0100</pubDate></item>"
    b"<item><title>Sun</title><link>/b</link></item></channel></rss>",
    b'<feed xmlns="http://www.w3.org/2005/Atom"><title>Rivers</title><link href="https://r.example/"/><entry>'
    b'<id>tag:1</id><title type="html">&lt;b&gt;Rain&lt;/b&gt;</title><link href="/a"/><updated>2026-03-18T08'
    b":30:0"
    b'0Z</updated><content type="xhtml"><div xmlns="http://www.w3.org/1999/xhtml"><p>It rained.</p></div>'
    b"</content></entry></feed>",
    b'<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel'
    b' rdf:about="x"><title>Rivers</title></channel><item rdf:about="https://r.example/a"><title>Rain</title>'
    b"</item></rdf:RDF>",
    b'{"version":"https://jsonfeed.org/version/1.1","title":"Rivers","items":[{"id":7,"url":"https://r.example/a"'
    b',"title":"Rain","content_html":"<p>It rained.</p>","date_published":"2026-03-18T08:30:00Z"}]}',
)
# One document in this many is read if every change is tested. `make test-mutations` reads all.
SPARED = 1 if os.environ.get("TIDINGS_MUTATIONS") == "all" else 5
# Pieces that break parsers: openings without an end, ends without a start, bombs, wrong encodings.
TOKENS = (
    b"<![CDATA[",
    b"]]>",
    b"<!--",
    b"-->",
    b"<",
    b">",
    b"&",
    b"&#0;",
    b"&#xD800;",
    b"&bogus;",
    b'<!ENTITY a "b">',
    b'<!DOCTYPE x [<!ENTITY a "&b;&b;"><!ENTITY b "x">]>',
    b"<?xml version='1.0' encoding='utf-16'?>",
    b"<?xml-stylesheet href='x'?>",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xe2\x80\xae",
    b"\x1f\x8b\x08",
    b"</item>",
    b"<item>",
    b"<entry>",
    b"</channel>",
    b"<script>alert(1)</script>",
    b"&lt;script&gt;",
    b"<x:y>",
    b' xmlns:a="',
    b"99999999999999999999",
    b"0000-00-00T99:99:99Z",
    b"{",
    b"[",
    b"\\u0000",
    b"<guid isPermaLink='",
)
BULKY = (
    b"<div>",
    b"&lt;div&gt;",
    b"<item><title>x</title></item>",
    b"&amp;",
    b"[",
    b"<a b='c'",
    b" ",
    b"\x80",
)


def documents(data: Path | None) -> dict[str, bytes]:
    """Return every document below `data`/feeds by name, with suites unpacked, or the made ones without
    `data`."""
    found = {f"made-{n}": body for n, body in enumerate(MADE)}
    if data is None:
        return found
    for path in sorted(data.glob("feeds/*/*")):
        if path.name.endswith(".tar.gz"):
            found |= suite(path)
        else:
            raw = path.read_bytes()
            found[f"{path.parent.name}/{path.name}"] = gzip.decompress(raw) if path.suffix == ".gz" else raw
    return found


def spared(names: Collection[str], *, seed: int) -> list[str]:
    """Return the `names` to read here, in order: a random sample by the seed, or all (`SPARED`)."""
    return sorted(random.Random(seed).sample(sorted(names), len(names) // SPARED))


def suite(path: Path) -> dict[str, bytes]:
    """Return the documents of one archive of a test suite by name; expectations in JSON are no documents."""
    name = path.name.split("-")[0]
    with tarfile.open(path) as archive:
        files = [member for member in archive.getmembers() if member.isfile()]
        return {f"{name}/{member.name}": archive.extractfile(member).read() for member in files}


def mutations(bodies: dict[str, bytes], *, n: int, seed: int) -> Iterator[tuple[str, bytes]]:
    """`n` mutated documents, always the same ones for a seed."""
    names = sorted(bodies)
    for index in range(n):
        draw = random.Random(f"{seed}/{index}")
        name = draw.choice(names)
        body = bodies[name]
        for _ in range(draw.choice((1, 1, 2, 3, 5, 8))):
            body = _mutated(body, bodies[draw.choice(names)], draw)
        yield f"{name}#{index}", body


def _mutated(body: bytes, other: bytes, draw: random.Random) -> bytes:
    at = draw.randrange(len(body) + 1)
    to = min(len(body), at + draw.choice((1, 2, 8, 64, 1024)))
    match draw.randrange(8):
        case 0:
            return body[:at] + draw.randbytes(draw.choice((1, 4, 16))) + body[to:]
        case 1:
            return body[:at] + body[to:]
        case 2:
            return body[:to] + body[at:to] * draw.choice((1, 3, 50)) + body[to:]
        case 3 | 4:
            return body[:at] + draw.choice(TOKENS) + body[at:]
        case 5:
            return body[:at]
        case 6:
            return body[:at] + other[draw.randrange(len(other) + 1) :]
        case _:
            return body[:at] + draw.choice(BULKY) * draw.choice((10, 300, 5_000, 60_000)) + body[at:]
