"""The first page of real feeds: `python -m tests.lab bench.first_page [--draws N] [--json]`.

Data: the documents of `feeds/real-*` below `TIDINGS_DATA`, one feed each, fetched for the first time at one
moment. They were captured in different years, so the dates of each document are shifted together: its newest
entry is then 0 to 30 hours old, drawn by the seed. One reader of all feeds, and readers of 3, 6, 12, 30, 60
and 120 drawn feeds, get a digest each. Figures are means over the readers of a size. No reader has rated or
set anything, so the order is that of a new reader.
"""

import argparse
import json
import os
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import groupby
from pathlib import Path
from statistics import mean, median
from tempfile import TemporaryDirectory

from tests.lab.bench.engine import engine, where
from tests.lab.bench.ingest import unpack

SEED = 42
NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
NEWEST_HOURS = 30
SIZES = (3, 6, 12, 30, 60, 120)
DRAWS = 10
FIRST, WHOLE = 10, 30
# No feed's entries are older than the web's first. Earlier dates come from an unset clock.
YEAR_MIN = 1995
Row = dict[str, float | int | str]


@dataclass(frozen=True, slots=True)
class Shown:
    """One item of a digest as it is measured."""

    source: str
    title: str
    dated: bool
    hours: float
    sources: int


def main() -> None:
    """Print the table, or one JSON object."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--draws", type=int, default=DRAWS, help="readers of each size")
    options = parser.parse_args()
    with engine(), TemporaryDirectory(prefix="tidings-feeds-") as name:
        dated = ingested(unpack(Path(name)))
        rows = measured(dated, options.draws)
    report = {"command": "python -m tests.lab bench.first_page", **where(), "seed": SEED, "rows": rows}
    print(json.dumps(report) if options.json else table(rows))


def addresses() -> dict[str, str]:
    """Return the address of each document, by file name, if the data set tells it."""
    import csv  # noqa: PLC0415

    path = Path(os.environ["TIDINGS_DATA"]) / "feeds" / "MANIFEST.csv"
    with path.open(newline="", encoding="utf-8") as lines:
        return {
            f"{row['collection']}-{row['file'].removesuffix('.gz')}": row["note"]
            for row in csv.DictReader(lines)
            if row["note"].startswith("http")
        }


def address_of(name: str, site: str) -> str:
    """Return an address for a document without a known one, at its publisher's host or at one of its own."""
    from digest.feeds.identity import canonical_url, web_url  # noqa: PLC0415

    host = web_url(canonical_url(site)).rstrip("/") or f"https://{name.casefold().replace('_', '-')}.example"
    return f"{host}/{name}"


def ingested(folder: Path) -> set[int]:
    """Store all documents as first fetches at one moment; the ids of the items with a publisher's date."""
    from digest.feeds.entities import FeedProblem  # noqa: PLC0415
    from digest.feeds.ingest import documents_ingest, feed_get_or_create  # noqa: PLC0415
    from digest.feeds.parse import parse_document  # noqa: PLC0415
    from digest.items.stories import stories_update  # noqa: PLC0415
    from digest.models import Item  # noqa: PLC0415

    known, drawn = addresses(), random.Random(SEED)
    documents, undated = {}, set()
    for path in sorted(folder.iterdir()):
        newest = timedelta(hours=drawn.random() * NEWEST_HOURS)
        try:
            parsed = parse_document(path.read_bytes(), url=known.get(path.name, ""))
        except FeedProblem:
            continue
        if not parsed.entries:
            continue
        url = known.get(path.name) or address_of(path.name, parsed.site_url)
        feed = feed_get_or_create(url=url, now=NOW, title=parsed.title)
        dates = [e.published for e in parsed.entries if e.published and e.published.year >= YEAR_MIN]
        shift = NOW - newest - max(dates) if dates else timedelta()
        entries = tuple(
            replace(e, published=e.published + shift)
            if e.published and e.published.year >= YEAR_MIN
            else replace(e, published=None)
            for e in parsed.entries
        )
        documents[feed.pk] = (feed, replace(parsed, entries=entries))
        undated |= {(feed.pk, e.title) for e in entries if e.published is None}
    documents_ingest(documents=list(documents.values()), now=NOW)
    stories_update(now=NOW)
    rows = Item.objects.values_list("pk", "feed_id", "title")
    return {pk for pk, feed, title in rows if (feed, title) not in undated}


def measured(dated: set[int], draws: int) -> list[Row]:
    """Return the rows: one reader of all feeds, then `draws` readers of each size."""
    from digest.models import Feed  # noqa: PLC0415

    feeds = list(Feed.objects.filter(items__isnull=False).distinct().order_by("url"))
    rng = random.Random(SEED)
    rows = [averaged(len(feeds), [page_of_feeds(feeds, dated)])]
    for size in reversed(SIZES):
        pages = [page_of_feeds(rng.sample(feeds, size), dated) for _ in range(draws)]
        rows.append(averaged(size, [page for page in pages if page]))
    return rows


def page_of_feeds(feeds: Sequence[object], dated: set[int]) -> list[Shown]:
    """Return the first page of a reader of just these feeds."""
    from digest.daily.services import digest_build  # noqa: PLC0415
    from digest.models import Item, Reader, Subscription  # noqa: PLC0415

    reader = Reader.objects.create(username=f"r{Reader.objects.count()}")
    Subscription.objects.bulk_create(
        Subscription(reader=reader, feed=feed, created_at=NOW - timedelta(minutes=1)) for feed in feeds
    )
    digest = digest_build(reader=reader, date=NOW.date(), now=NOW)
    items = [row.item for row in digest.impressions.select_related("item").order_by("rank")]
    stories = [item.story_id for item in items if item.story_id]
    mates = Item.objects.filter(story__in=stories, feed__subscriptions__reader=reader)
    of_story: dict[int, set[str]] = {}
    for story, source in mates.values_list("story", "source"):
        of_story.setdefault(story, set()).add(source)
    return [
        Shown(
            item.source_id,
            item.title,
            item.pk in dated,
            (NOW - item.dated_at) / timedelta(hours=1),
            len(of_story.get(item.story_id, {item.source_id})),
        )
        for item in items
    ]


def averaged(feeds: int, pages: Sequence[Sequence[Shown]]) -> Row:
    """Return the means of the figures of some readers' pages."""
    figures = [figures_of(page) for page in pages]
    means = {name: round(mean(one[name] for one in figures), 2) for name in figures[0]}
    return {"feeds": feeds, "readers": len(pages), **means}


def figures_of(page: Sequence[Shown]) -> Mapping[str, float]:
    """Return the figures of one page, for its first ten places and for all thirty."""
    first = page[:FIRST]
    return {
        "items": len(page),
        "largest_10": largest(first),
        "largest_30": largest(page),
        "sources_10": len({one.source for one in first}),
        "sources_30": len({one.source for one in page}),
        "run_10": longest_run(first),
        "undated_10": sum(not one.dated for one in first),
        "undated_30": sum(not one.dated for one in page),
        "again_30": len(page) - len({one.title.casefold() for one in page}),
        "reported_10": sum(one.sources > 1 for one in first),
        "reported_30": sum(one.sources > 1 for one in page),
        "hours_10": median(one.hours for one in first),
    }


def largest(page: Sequence[Shown]) -> int:
    """Return the most places that one source has."""
    return max(Counter(one.source for one in page).values())


def longest_run(page: Sequence[Shown]) -> int:
    """Return the most places in a row that one source has."""
    return max(len(list(run)) for _, run in groupby(one.source for one in page))


def table(rows: Sequence[Row]) -> str:
    """Return the rows as text."""
    heads = list(rows[0])
    lines = ["".join(f"{head:>13}" for head in heads)]
    return "\n".join([*lines, *("".join(f"{row[head]:>13}" for head in heads) for row in rows)])


if __name__ == "__main__":
    main()
