"""Import and export of ratings as JSON Lines, in batches of constant memory; the latest rating wins."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Protocol
from uuid import UUID

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import transaction
from django.db.models.fields.tuple_lookups import Tuple, TupleIn
from django.utils.crypto import get_random_string

from digest.days import utc_day
from digest.feedback.reasons import reason_tags_map
from digest.feedback.records import (
    BadLine,
    HistoryLine,
    Record,
    history_parse,
    record_parse,
    record_render,
    record_row,
    record_times,
)
from digest.feedback.selectors import feedback_recent, reason_tag_spellings
from digest.feeds.identity import URN_PREFIX, age_date, clamp_published, fingerprint
from digest.models import Feed, Feedback, FeedbackTag, Item, Reader, Source, Subscription
from ranking.selectors import keys_current

BATCH = 2_000
# Sources and subscriptions known to exist; forgetting one costs a statement, nothing else.
CACHE_MAX = 50_000
REJECTS_LISTED_MAX = 20
# SQLite has no lists of pairs: Django writes them as ORs, of which it takes fewer than 1,000.
PAIRS_MAX = 400
HISTORY_ROWS = 10
QUESTIONS_MAX = 5
# The candidate of a record is dated an hour after the last rating of its history.
CANDIDATE_DELAY = timedelta(hours=1)
COUNTS = ("lines", "imported", "updated", "unchanged", "rejected", "sources", "items", "unmapped_tags")

# A reader and an item: at most one rating each.
Key = tuple[UUID, int]


class Rejects(Protocol):
    """Where rejected lines go: anything to which text can be written."""

    def write(self, text: str, /) -> object:
        """Append `text`."""


@dataclass(slots=True)
class ImportReport:
    """Counts of an import. Of `rejects`, the first 20 are listed as (line number, code, reason)."""

    lines: int = 0
    imported: int = 0
    updated: int = 0
    unchanged: int = 0
    rejected: int = 0
    sources: int = 0
    items: int = 0
    unmapped_tags: int = 0
    reader_ids: dict[str, str] = field(default_factory=dict)
    rejects: list[tuple[int, str, str]] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        """Return the object scripts rely on, without the rejects file and the time it took."""
        return {name: getattr(self, name) for name in COUNTS} | {
            "readers": len(self.reader_ids),
            "reader_ids": self.reader_ids,
            "rejects": [{"line": n, "code": code, "reason": reason} for n, code, reason in self.rejects],
        }


@dataclass(slots=True)
class RecordsReport:
    """Counts of an import of records; `rejects` as in `ImportReport`, `thumbs` counts their ratings."""

    lines: int = 0
    records: int = 0
    rejected: int = 0
    rejects: list[tuple[int, str, str]] = field(default_factory=list)
    thumbs: ImportReport = field(default_factory=ImportReport)


def feedback_import(
    *,
    lines: Iterable[str],
    now: datetime,
    rejects: Rejects | None = None,
    progress: Callable[[int], object] = lambda lines: None,
) -> ImportReport:
    """Import a history; importing it again changes nothing, and a later rating of the same item wins.

    Readers, sources, items, one never-fetched feed per source and the subscriptions are created as needed.
    A bad line is counted and written to `rejects` with its reason; the rest is imported. `progress` gets the
    lines read so far after each batch.
    """
    importer = _Importer(now=now, report=ImportReport(), spellings=reason_tag_spellings())
    numbered = enumerate(lines, start=1)
    while batch := list(islice(numbered, BATCH)):
        ratings = list(_parsed(batch, importer.report, now, rejects))
        if ratings:
            importer.store(ratings)
        progress(importer.report.lines)
    return importer.report


def records_export(
    *, reader_id: UUID, history: int = HISTORY_ROWS, questions: int = QUESTIONS_MAX
) -> Iterator[str]:
    """Yield the reader's newest `questions` ratings as records, oldest first, in two queries.

    Each record asks about one rating, with the `history` ratings before it. None for a reader with too few.
    """
    rated = feedback_recent(reader_id=reader_id, limit=history + questions)[::-1]
    rows = [record_row(item.at, item.source, item.title, liked=item.useful) for item in rated]
    for n in range(history, len(rated)):
        asked, before = rated[n], tuple(rows[n - history : n])
        yield record_render(Record(before, asked.title, asked.source, liked=asked.useful))


def records_import(*, lines: Iterable[str], now: datetime, rejects: Rejects | None = None) -> RecordsReport:
    """Import the histories of records, and their candidates where the answer is known.

    A reader is named after the hash of the history. Rows without a date get the latest times before `now`
    that fit. A bad line is counted and written to `rejects` with its reason; the rest is imported.
    """
    report = RecordsReport()
    history = _history_lines(lines, now, report, rejects)
    report.thumbs = feedback_import(lines=history, now=now, rejects=rejects)
    return report


def _parsed(
    batch: Sequence[tuple[int, str]], report: ImportReport, now: datetime, rejects: Rejects | None
) -> Iterator[HistoryLine]:
    for number, line in batch:
        if not line.strip():
            continue
        report.lines += 1
        try:
            rating = history_parse(line)
            if rating.at > now:
                raise BadLine("bad_at", "“at” lies in the future")
            yield rating
        except BadLine as bad:
            _reject(report, rejects, number, line, bad)


def _history_lines(
    lines: Iterable[str], now: datetime, report: RecordsReport, rejects: Rejects | None
) -> Iterator[str]:
    """Yield the ratings of each record as lines of a history."""
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        report.lines += 1
        try:
            record = record_parse(line)
        except BadLine as bad:
            _reject(report, rejects, number, line, bad)
            continue
        report.records += 1
        times = record_times(record.rows, now - CANDIDATE_DELAY)
        for n, (row, at) in enumerate(zip(record.rows, times, strict=True), start=1):
            title = row.title or f"{row.source}, {n}"
            yield _history_line(record.reader, row.source, title, liked=row.liked, at=at)
        if record.liked is not None:
            at = times[-1] + CANDIDATE_DELAY if times else now - CANDIDATE_DELAY
            yield _history_line(record.reader, record.source, record.title, liked=record.liked, at=at)


def _history_line(reader: str, source: str, title: str, *, liked: bool, at: datetime) -> str:
    """Return one line of a history without a URL, which records lack: the title identifies the item."""
    line = {"reader": reader, "title": title, "source": source, "at": at.isoformat(), "useful": int(liked)}
    return json.dumps(line)


def _reject(
    report: ImportReport | RecordsReport, rejects: Rejects | None, number: int, line: str, bad: BadLine
) -> None:
    report.rejected += 1
    if len(report.rejects) < REJECTS_LISTED_MAX:
        report.rejects.append((number, bad.code, bad.reason))
    if rejects is not None:
        rejects.write(f"{number}\t{bad.code}\t{bad.reason}\t{line.rstrip()[:2000]}\n")


@dataclass(slots=True)
class _Importer:
    """One import: its report, and the rows that are known to exist."""

    now: datetime
    report: ImportReport
    spellings: dict[str, str]
    readers: dict[str, UUID] = field(default_factory=dict)
    feeds: dict[str, int] = field(default_factory=dict)
    subscribed: set[Key] = field(default_factory=set)

    def store(self, ratings: Sequence[HistoryLine]) -> None:
        """Store one batch in one transaction, with a constant number of statements."""
        renamed = keys_current(keys={rating.source for rating in ratings})
        ratings = [replace(rating, source=renamed.get(rating.source, rating.source)) for rating in ratings]
        with transaction.atomic():
            self._readers_ensure({rating.reader for rating in ratings})
            self._sources_ensure({rating.source: rating.source_title for rating in ratings})
            self._subscriptions_ensure({(self.readers[r.reader], self.feeds[r.source]) for r in ratings})
            items = self._items_ensure(ratings)
            self._feedback_store(ratings, items)

    def _readers_ensure(self, names: set[str]) -> None:
        if new := names - self.readers.keys():
            rows = [
                # As `set_unusable_password` does, which makes one for a row at a time.
                Reader(username=name, password=UNUSABLE_PASSWORD_PREFIX + get_random_string(40))
                for name in sorted(new)
            ]
            Reader.objects.bulk_create(rows, ignore_conflicts=True)
            self.readers.update(Reader.objects.filter(username__in=new).values_list("username", "pk"))
            self.report.reader_ids.update({name: str(self.readers[name]) for name in sorted(new)})

    def _sources_ensure(self, titles: dict[str, str]) -> None:
        if len(self.feeds) > CACHE_MAX:
            self.feeds.clear()
        if new := titles.keys() - self.feeds.keys():
            known = set(Source.objects.filter(key__in=new).values_list("key", flat=True))
            rows = [Source(key=key, title=titles[key]) for key in sorted(new - known)]
            Source.objects.bulk_create(rows, ignore_conflicts=True)
            self.report.sources += len(rows)
            urls = {f"{URN_PREFIX}source:{key}": key for key in new}
            feeds = [
                Feed(url=url, source_id=key, title=titles[key], state=Feed.State.IMPORTED)
                for url, key in sorted(urls.items())
            ]
            Feed.objects.bulk_create(feeds, ignore_conflicts=True)
            found = Feed.objects.filter(url__in=urls).values_list("url", "pk")
            self.feeds.update({urls[url]: pk for url, pk in found})

    def _subscriptions_ensure(self, pairs: set[Key]) -> None:
        if len(self.subscribed) > CACHE_MAX:
            self.subscribed.clear()
        if new := pairs - self.subscribed:
            rows = [Subscription(reader_id=r, feed_id=f, created_at=self.now) for r, f in sorted(new)]
            Subscription.objects.bulk_create(rows, ignore_conflicts=True)
            self.subscribed |= new

    def _items_ensure(self, ratings: Sequence[HistoryLine]) -> dict[str, int]:
        """Return the ids of the items by URL; a new item counts as first seen when it was rated."""
        first = {rating.url: rating for rating in reversed(ratings)}
        known = _item_ids(first)
        rows = [
            Item(
                url=rating.url,
                source_id=rating.source,
                title=rating.title,
                text=rating.text,
                published_at=clamp_published(rating.published, rating.at),
                first_seen_at=rating.at,
                dated_at=age_date(rating.published, rating.at),
                fingerprint=fingerprint(rating.title, rating.text),
            )
            for url, rating in first.items()
            if url not in known
        ]
        if rows:
            Item.objects.bulk_create(rows, ignore_conflicts=True)
            self.report.items += len(rows)
            known |= _item_ids(row.url for row in rows)
        return known

    def _feedback_store(self, ratings: Sequence[HistoryLine], items: dict[str, int]) -> None:
        latest: dict[Key, HistoryLine] = {}
        for rating in ratings:
            key = (self.readers[rating.reader], items[rating.url])
            if key not in latest or latest[key].at <= rating.at:
                latest[key] = rating
        stored = _stored_times(list(latest))
        new = {key: rating for key, rating in latest.items() if key not in stored}
        newer = {key: rating for key, rating in latest.items() if key in stored and stored[key] < rating.at}
        self.report.imported += len(new)
        self.report.updated += len(newer)
        self.report.unchanged += len(ratings) - len(new) - len(newer)
        if new or newer:
            self._feedback_upsert(new | newer, replaced=set(newer))

    def _feedback_upsert(self, ratings: dict[Key, HistoryLine], replaced: set[Key]) -> None:
        rows, slugs_by_key = [], {}
        for key, rating in ratings.items():
            slugs, others = reason_tags_map(rating.reasons, self.spellings)
            self.report.unmapped_tags += len(others)
            slugs_by_key[key] = slugs
            rows.append(
                Feedback(
                    reader_id=key[0],
                    item_id=key[1],
                    useful=rating.useful,
                    at=rating.at,
                    day=utc_day(rating.at),
                    has_reason=bool(slugs or others),
                    other_reasons=list(others),
                )
            )
        saved = Feedback.objects.bulk_create(
            rows,
            update_conflicts=True,
            unique_fields=["reader", "item"],
            update_fields=["useful", "at", "day", "has_reason", "other_reasons"],
        )
        ids = {(row.reader_id, row.item_id): row.pk for row in saved}
        if replaced:
            FeedbackTag.objects.filter(feedback_id__in=[ids[key] for key in replaced]).delete()
        tags = [
            FeedbackTag(feedback_id=ids[key], tag_id=s) for key, slugs in slugs_by_key.items() for s in slugs
        ]
        FeedbackTag.objects.bulk_create(tags, ignore_conflicts=True)


def _item_ids(urls: Iterable[str]) -> dict[str, int]:
    return dict(Item.objects.filter(url__in=list(urls)).values_list("url", "pk"))


def _stored_times(keys: Sequence[Key]) -> dict[Key, datetime]:
    """Return when the stored ratings among `keys` were given, queried by exact pairs."""
    stored: dict[Key, datetime] = {}
    for start in range(0, len(keys), PAIRS_MAX):
        pairs = TupleIn(Tuple("reader", "item"), keys[start : start + PAIRS_MAX])
        rows = Feedback.objects.filter(pairs).values_list("reader_id", "item_id", "at")
        stored |= {(reader, item): at for reader, item, at in rows}
    return stored
