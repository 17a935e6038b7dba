"""Real feed documents as a stream of items that come out over 25 days.

Documents below `TIDINGS_DATA/feeds/real-*` go through the product's parser. Each English feed gives its
newest sixty items. They keep their order, and square roots of their gaps; a feed without dates gets random
gaps in the document's order.
"""

import gzip
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np

from digest.feeds.entities import FeedProblem, ParsedEntry
from digest.feeds.parse import parse_document
from digest.items.meanings import meanings_of
from ranking.common.text import fold
from ranking.entities import Candidate
from ranking.meaning.table import Vectors, is_english, vectors_of
from ranking.pool import Floats, Ids
from ranking.similarity import HASH_BUCKETS, Vector, document_counts_add, term_counts, tfidf_vector

# The morning of the first page, and how many days have one. Items of the week before are there already.
BEGIN = datetime(2026, 3, 2, 7, 0, tzinfo=UTC)
DAYS, DAYS_BEFORE = 18, 7
FEED_ITEMS_MAX = 60
# Titles up to this length may be the same by chance ("Links", "Weekly news").
TITLE_CHARS_MIN = 12
_NO_WORD = re.compile(r"\W+")


@dataclass(frozen=True, slots=True)
class Stream:
    """All items as candidates, with their places as ids, and the rows of each feed, newest first.

    `terms` and `meanings` are their vectors as made by ingest, and `stamps` their times in seconds.
    """

    items: Sequence[Candidate]
    feeds: Sequence[Ids]
    stamps: Floats
    terms: Sequence[Vector]
    meanings: Vectors


def stream_read(folder: Path, *, limit: int | None = None, seed: int = 1) -> Stream:
    """Read the documents below `folder` (at most `limit`) and give their items new dates."""
    rng = np.random.default_rng(seed)
    items: list[Candidate] = []
    feeds: list[Ids] = []
    names: Counter[str] = Counter()
    languages: list[str] = []
    for site, entries in _english(_documents(folder, limit)):
        names[site] += 1
        source = site if names[site] == 1 else f"{site}-{names[site]}"
        ages = _ages([entry.published for entry in entries], rng)
        if all(entry.published for entry in entries):
            entries = sorted(entries, key=lambda entry: entry.published or BEGIN, reverse=True)
        feeds.append(np.arange(len(items), len(items) + len(entries), dtype=np.int64))
        languages += [entry.language for entry in entries]
        items += [
            Candidate(
                len(items) + n, source, _title(entry), entry.text,
                BEGIN + timedelta(days=DAYS - 1 - age), entry.author, entry.link, entry.categories,
            )
            for n, (entry, age) in enumerate(zip(entries, ages, strict=True))
        ]  # fmt: skip
    counted = [term_counts(item.title, item.text) for item in items]
    counts = document_counts_add(np.zeros(HASH_BUCKETS, np.uint32), counted)
    terms = [tfidf_vector(one, counts, len(counted)) for one in counted]
    texts = zip(items, languages, strict=True)
    meanings = vectors_of(meanings_of([(item.title, item.text, language) for item, language in texts]))
    return Stream(items, feeds, np.array([item.dated_at.timestamp() for item in items]), terms, meanings)


def _documents(folder: Path, limit: int | None) -> Iterator[tuple[str, list[ParsedEntry]]]:
    """Return the site and the newest items of each document that is a feed; each item once."""
    links, titles = set[str](), set[str]()
    for path in sorted(folder.glob("real-*/*"))[:limit]:
        body = path.read_bytes()
        try:
            parsed = parse_document(gzip.decompress(body) if path.suffix == ".gz" else body)
        except FeedProblem:
            continue
        found = []
        for entry in parsed.entries:
            title = _NO_WORD.sub(" ", fold(_title(entry))).strip()
            link = entry.link or entry.guid
            if not title or link in links or (title in titles and len(title) > TITLE_CHARS_MIN):
                continue
            links |= {link} - {""}
            titles.add(title)
            found.append(entry)
        if found:
            hosts = Counter(urlsplit(entry.link).netloc for entry in found if entry.link)
            host = hosts.most_common(1)[0][0] if hosts else ""
            yield urlsplit(parsed.site_url).netloc or host or path.stem, found[:FEED_ITEMS_MAX]


def _english(
    feeds: Iterator[tuple[str, list[ParsedEntry]]],
) -> Iterator[tuple[str, list[ParsedEntry]]]:
    for site, entries in feeds:
        if sum(is_english(f"{one.title} {one.text}", one.language) for one in entries) * 2 > len(entries):
            yield site, entries


def _title(entry: ParsedEntry) -> str:
    return entry.title or entry.text[:80]


def _ages(published: Sequence[datetime | None], rng: np.random.Generator) -> list[float]:
    """Return how many days before the last morning each item comes out, ascending."""
    times = -np.sort([-one.timestamp() for one in published if one])
    if len(times) == len(published) > 2:
        gaps = np.sqrt(np.maximum(times[:-1] - times[1:], 60.0))
    else:
        gaps = rng.exponential(1, len(published) - 1) + 0.1
    usual = gaps.mean() if len(gaps) else 1.0
    ends = rng.exponential(usual, 2)
    all_gaps = np.concatenate([ends[:1], gaps, ends[1:]])
    found = np.cumsum(all_gaps)[:-1] / all_gaps.sum() * (DAYS + DAYS_BEFORE - 1)
    return [float(age) for age in found]
