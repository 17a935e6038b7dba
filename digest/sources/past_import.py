"""Import a reader's stars and read marks from another reader, as saved items and read marks, never as
ratings.

A star counts like a save: a weak sign of interest, while saves count, and only for readers who let the
ranking learn from reading. An article in none of the reader's feeds is stored without a feed, so only this
reader sees it, and it ends with their account.
"""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Final

import structlog
from django.db import transaction

from digest.feedback.implicit import WINDOW, implicit_leans_current, implicit_update
from digest.feeds.identity import age_date, article_hash, clamp_published, entry_guid, fingerprint, source_key
from digest.feeds.ingest import PRIVATE_KEY
from digest.models import Item, Reader, Reading, Source, Subscription
from digest.places import articles_shared, turn_give_way, turn_shared
from digest.sources.past import PastEntry, past_read
from digest.sources.private_feeds import PUBLISHER_MAX_CHARS

log = structlog.get_logger(__name__)
# Entries of one transaction. Others wait for its lock, and their pages for its end.
BATCH: Final = 100
# At most this many stars without a feed are stored per reader, with up to 64 KiB of text each.
STARS_MAX: Final = 20_000
SOURCES_SHOWN: Final = 5


@dataclass(slots=True)
class PastReport:
    """The result of an import.

    `starred` and `read` count new marks; `already` are articles that had their marks. `waiting` are read
    marks of articles that no feed has brought here, `bad` entries that could not be read, and `beyond` stars
    without a feed over the limit (`STARS_MAX`). `recent` counts stars that are young enough to count. `most`
    has the sources with the most stars, and `learned` those that now count as a little more wanted, both by
    key.
    """

    found: int = 0
    starred: int = 0
    read: int = 0
    already: int = 0
    waiting: int = 0
    bad: int = 0
    beyond: int = 0
    recent: int = 0
    most: list[tuple[str, int]] = field(default_factory=list)
    learned: list[str] = field(default_factory=list)


def past_import(*, reader: Reader, document: bytes, now: datetime) -> PastReport:
    """Mark the reader's articles as an export of another reader says; doing it again changes nothing.

    Marks that are here stay as they are. Six statements for 100 entries. Raises `NotAPast`.
    """
    past = past_read(document, now, in_steps=turn_shared)
    report = PastReport(found=len(past.entries), bad=past.bad)
    wanted = {article_hash(entry.url): entry for entry in articles_shared(reversed(past.entries))}
    articles = list(wanted)
    for start in range(0, len(articles), BATCH):
        batch = {article: wanted[article] for article in articles[start : start + BATCH]}
        with transaction.atomic():
            _store(reader, batch, report, now)
        turn_give_way()
    report.recent = sum(bool(e.starred_at and e.starred_at > now - WINDOW) for e in wanted.values())
    stars = Counter(source_of(entry) for entry in articles_shared(wanted.values()) if entry.starred_at)
    report.most = stars.most_common(SOURCES_SHOWN)
    if reader.learn_from_reading and implicit_update(reader_id=reader.pk, now=now):
        leans = implicit_leans_current(reader_ids=[reader.pk])[reader.pk]
        liked = sorted((key for key in stars if leans.source(key) > 0), key=lambda k: (-leans.source(k), k))
        report.learned = liked[:SOURCES_SHOWN] if leans.weight > 0 else []
    log.info("past_imported", user_id=str(reader.pk), starred=report.starred, read=report.read)
    return report


def source_of(entry: PastEntry) -> str:
    """Return the key of the publisher of an entry: its feed's, else its site's, else its own."""
    return next(filter(None, map(source_key, (entry.feed_url, entry.site_url, entry.url))), "")


def _store(reader: Reader, batch: dict[int, PastEntry], report: PastReport, now: datetime) -> None:
    marks = Reading.objects.select_for_update().filter(reader=reader, article__in=batch)
    known = {mark.article: mark for mark in marks}
    changed = []
    for article, mark in known.items():
        starred_at, read_at = _times(batch[article], now)
        is_star = bool(starred_at and not mark.saved_at)
        is_read = bool(read_at and not mark.read_at)
        report.starred += is_star
        report.read += is_read
        report.already += not (is_star or is_read)
        if is_star or is_read:
            mark.saved_at, mark.read_at = mark.saved_at or starred_at, mark.read_at or read_at
            changed.append(mark)
    Reading.objects.bulk_update(changed, ["saved_at", "read_at"])
    new = {article: entry for article, entry in batch.items() if article not in known}
    items = _items(reader, new, report, now)
    rows = []
    for article, entry in new.items():
        starred_at, read_at = _times(entry, now)
        if article not in items or not (starred_at or read_at):
            report.waiting += bool(read_at)
            continue
        report.starred += bool(starred_at)
        report.read += bool(read_at)
        pk = items[article]
        rows.append(Reading(reader=reader, item_id=pk, article=article, saved_at=starred_at, read_at=read_at))
    Reading.objects.bulk_create(rows, ignore_conflicts=True)


def _times(entry: PastEntry, now: datetime) -> tuple[datetime | None, datetime | None]:
    """Return when an entry was starred and read; no export says when, so it is read now."""
    return entry.starred_at, now if entry.read else None


def _items(
    reader: Reader, entries: dict[int, PastEntry], report: PastReport, now: datetime
) -> dict[int, int]:
    """Return {article: item id} of the articles in the reader's feeds, and of the stars stored here."""
    rows = Item.objects.filter(article__in=entries, feed__subscriptions__reader=reader).order_by("-pk")
    items = dict(rows.values_list("article", "pk"))
    starred = [(a, entry) for a, entry in entries.items() if entry.starred_at and a not in items]
    left = (
        max(STARS_MAX - Reading.objects.filter(reader=reader, item__feed=None).count(), 0) if starred else 0
    )
    report.beyond += len(starred[left:])
    starred = starred[:left]
    sources = _sources(reader, {source_of(entry) for _, entry in starred} - {""})
    made = Item.objects.bulk_create(
        [
            _item(article, entry, sources[source_of(entry)], now)
            for article, entry in starred
            if source_of(entry) in sources
        ]
    )
    return items | {item.article: item.pk for item in made}


def _sources(reader: Reader, publishers: Collection[str]) -> dict[str, str]:
    """Return {publisher: key of the source of its stars}. Store new sources.

    If the reader reads the publisher, its stars have its source. Otherwise they get a source of their own, as
    private feeds do, named by the host: the publisher's own source would reveal which feeds others read, and
    their titles.
    """
    read = Subscription.objects.filter(reader=reader, feed__source__in=publishers).exclude(feed__title="")
    known = set(read.values_list("feed__source_id", flat=True))
    sources = {name: name if name in known else _own_key(reader, name) for name in sorted(publishers)}
    new = [Source(key=key, title=name) for name, key in sources.items() if key != name]
    Source.objects.bulk_create(new, ignore_conflicts=True)
    return sources


def _own_key(reader: Reader, publisher: str) -> str:
    mark = sha256(f"{reader.pk} {publisher}".encode()).hexdigest()[:12]
    return f"{publisher[:PUBLISHER_MAX_CHARS]}{PRIVATE_KEY}{mark}"


def _item(article: int, entry: PastEntry, source: str, now: datetime) -> Item:
    first_seen = min(entry.starred_at or now, now)
    return Item(
        guid=entry_guid(guid=entry.url, link="", title="", text=""),
        url=entry.url,
        article=article,
        source_id=source,
        title=entry.title,
        text=entry.text,
        published_at=clamp_published(entry.published, first_seen),
        first_seen_at=first_seen,
        dated_at=age_date(entry.published, first_seen),
        fingerprint=fingerprint(entry.title, entry.text),
    )
