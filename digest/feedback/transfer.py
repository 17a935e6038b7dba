"""Import and export ratings as JSON Lines, in batches of constant memory. The latest rating wins."""

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import islice
from typing import Final, Protocol
from uuid import UUID

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import transaction
from django.db.models import Q
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
from digest.feeds.identity import URN_PREFIX, age_date, article_hash, clamp_published, entry_guid, fingerprint
from digest.feeds.ingest import sources_name
from digest.models import Feed, Feedback, FeedbackTag, Item, Reader, Source, Subscription
from ranking.selectors import keys_current

BATCH = 2_000
READER_EXISTS: Final = "this account exists; name it with --reader if the ratings are its own"
# How many sources and subscriptions are remembered as existing. Forgetting one costs one statement.
CACHE_MAX = 50_000
REJECTS_LISTED_MAX = 20
# SQLite has no lists of pairs. Django writes them as ORs, and SQLite takes fewer than 1,000.
PAIRS_MAX = 400
HISTORY_ROWS = 10
QUESTIONS_MAX = 5
# A record's candidate is dated an hour after the last rating of its history.
CANDIDATE_DELAY = timedelta(hours=1)
COUNTS = ("lines", "imported", "updated", "unchanged", "rejected", "sources", "items", "unmapped_tags")

# (reader, article): at most one rating each.
Key = tuple[UUID, int]


class Rejects(Protocol):
    """The destination of rejected lines: anything that text can be written to."""

    def write(self, text: str, /) -> object:
        """Append `text`."""


@dataclass(slots=True)
class ImportReport:
    """Counts of an import. `rejects` lists the first 20 rejected lines as (line number, code, reason)."""

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
        """Return the JSON object for scripts, without the rejects file and the duration."""
        return {name: getattr(self, name) for name in COUNTS} | {
            "readers": len(self.reader_ids),
            "reader_ids": self.reader_ids,
            "rejects": [{"line": n, "code": code, "reason": reason} for n, code, reason in self.rejects],
        }


@dataclass(slots=True)
class RecordsReport:
    """Counts of an import of records. `thumbs` counts their ratings; `rejects` is as in `ImportReport`."""

    lines: int = 0
    records: int = 0
    rejected: int = 0
    rejects: list[tuple[int, str, str]] = field(default_factory=list)
    thumbs: ImportReport = field(default_factory=ImportReport)


def feedback_import(
    *,
    lines: Iterable[str],
    now: datetime,
    readers: Collection[str] = (),
    rejects: Rejects | None = None,
    progress: Callable[[int], object] = lambda lines: None,
) -> ImportReport:
    """Import history lines. Importing them again changes nothing. A later rating of the same item wins.

    Readers and sources are created as needed. So is one feed for each reader and source, which is never
    fetched and holds the reader's own items. An import therefore shows nobody which items others read, and
    its texts to nobody else.

    Ratings of an account that somebody can sign in to are rejected (`reader_exists`) unless it is in
    `readers`. A bad line is counted and written to `rejects` with its reason; all others are imported.
    `progress` is called after each batch with the number of lines read so far.
    """
    importer = _Importer(now=now, report=ImportReport(), spellings=reason_tag_spellings())
    numbered = enumerate(lines, start=1)
    while batch := list(islice(numbered, BATCH)):
        parsed = list(_parse_batch(batch, importer.report, now, rejects))
        closed = _accounts_in_use({rating.reader for _, _, rating in parsed} - {*readers})
        for number, line, rating in parsed:
            if rating.reader in closed:
                _reject(importer.report, rejects, number, line, BadLine("reader_exists", READER_EXISTS))
        ratings = [rating for _, _, rating in parsed if rating.reader not in closed]
        if ratings:
            importer.store(ratings)
        progress(importer.report.lines)
    return importer.report


def records_export(
    *, reader_id: UUID, history: int = HISTORY_ROWS, questions: int = QUESTIONS_MAX
) -> Iterator[str]:
    """Yield the reader's newest `questions` ratings as records, oldest first; two queries.

    Each record asks about one rating, with the `history` ratings before it. A reader with too few gets none.
    """
    rated = feedback_recent(reader_id=reader_id, limit=history + questions)[::-1]
    rows = [record_row(item.at, item.source, item.title, liked=item.useful) for item in rated]
    for n in range(history, len(rated)):
        asked, before = rated[n], tuple(rows[n - history : n])
        yield record_render(Record(before, asked.title, asked.source, liked=asked.useful))


def _accounts_in_use(names: Collection[str]) -> set[str]:
    """Return which of the names are accounts that somebody signs in to, or could request a password for."""
    made_by_import = Q(password__startswith=UNUSABLE_PASSWORD_PREFIX, email="", last_login=None)
    rows = Reader.objects.filter(username__in=names).exclude(made_by_import)
    return set(rows.values_list("username", flat=True))


def records_import(*, lines: Iterable[str], now: datetime, rejects: Rejects | None = None) -> RecordsReport:
    """Import the histories of preference records, and their candidates if the answer is known.

    A reader is named after the hash of the history. Rows without a date get the latest times before `now`
    that fit. A bad line is counted and written to `rejects` with its reason; all others are imported.
    """
    report = RecordsReport()
    history = _history_lines(lines, now, report, rejects)
    report.thumbs = feedback_import(lines=history, now=now, rejects=rejects)
    return report


def _parse_batch(
    batch: Sequence[tuple[int, str]], report: ImportReport, now: datetime, rejects: Rejects | None
) -> Iterator[tuple[int, str, HistoryLine]]:
    for number, line in batch:
        if not line.strip():
            continue
        report.lines += 1
        try:
            rating = history_parse(line)
            if rating.at > now:
                raise BadLine("bad_at", "“at” lies in the future")
            yield number, line, rating
        except BadLine as bad:
            _reject(report, rejects, number, line, bad)


def _history_lines(
    lines: Iterable[str], now: datetime, report: RecordsReport, rejects: Rejects | None
) -> Iterator[str]:
    """Yield the ratings of each record as history lines."""
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
    """Return one history line without URL, because records have none. The title identifies the item."""
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
    """One import: its report, and caches of rows that are known to exist."""

    now: datetime
    report: ImportReport
    spellings: dict[str, str]
    readers: dict[str, UUID] = field(default_factory=dict)
    sources: set[str] = field(default_factory=set)
    feeds: dict[tuple[UUID, str], int] = field(default_factory=dict)

    def store(self, ratings: Sequence[HistoryLine]) -> None:
        """Store one batch in one transaction with a constant number of statements."""
        renamed = keys_current(keys={rating.source for rating in ratings})
        ratings = [replace(rating, source=renamed.get(rating.source, rating.source)) for rating in ratings]
        with transaction.atomic():
            self._readers_ensure({rating.reader for rating in ratings})
            self._sources_ensure({rating.source: rating.source_title for rating in ratings})
            self._feeds_ensure({(self.readers[r.reader], r.source): r.source_title for r in ratings})
            items = self._items_ensure(ratings)
            self._feedback_store(ratings, items)

    def _readers_ensure(self, names: set[str]) -> None:
        if new := names - self.readers.keys():
            rows = [
                # As `set_unusable_password`, which handles only one row at a time.
                Reader(username=name, password=UNUSABLE_PASSWORD_PREFIX + get_random_string(40))
                for name in sorted(new)
            ]
            Reader.objects.bulk_create(rows, ignore_conflicts=True)
            self.readers.update(Reader.objects.filter(username__in=new).values_list("username", "pk"))
            self.report.reader_ids.update({name: str(self.readers[name]) for name in sorted(new)})

    def _sources_ensure(self, titles: dict[str, str]) -> None:
        if len(self.sources) > CACHE_MAX:
            self.sources.clear()
        if new := titles.keys() - self.sources:
            known = set(Source.objects.filter(key__in=new).values_list("key", flat=True))
            rows = [Source(key=key, title=titles[key]) for key in sorted(new - known)]
            Source.objects.bulk_create(rows, ignore_conflicts=True)
            self.report.sources += len(rows)
            self.sources |= new

    def _feeds_ensure(self, titles: dict[tuple[UUID, str], str]) -> None:
        """Create each reader's own feed for each source, and the subscription to it."""
        if len(self.feeds) > CACHE_MAX:
            self.feeds.clear()
        if not (new := titles.keys() - self.feeds.keys()):
            return
        urls = {f"{URN_PREFIX}source:{reader}:{source}": (reader, source) for reader, source in new}
        feeds = [
            Feed(url=url, source_id=key[1], title=titles[key], state=Feed.State.IMPORTED)
            for url, key in sorted(urls.items())
        ]
        Feed.objects.bulk_create(feeds, ignore_conflicts=True)
        sources_name(keys={source for _, source in new})
        for url, pk in Feed.objects.filter(url__in=urls).values_list("url", "pk"):
            self.feeds[urls[url]] = pk
        rows = [
            Subscription(reader_id=key[0], feed_id=self.feeds[key], created_at=self.now)
            for key in sorted(new)
        ]
        Subscription.objects.bulk_create(rows, ignore_conflicts=True)

    def _items_ensure(self, ratings: Sequence[HistoryLine]) -> dict[Key, int]:
        """Return {(reader, article): item id}, creating missing items.

        A new item is first seen when it was rated.
        """
        first = {(self.readers[r.reader], article_hash(r.url)): r for r in reversed(ratings)}
        known = _item_ids(first)
        rows = [
            Item(
                feed_id=self.feeds[reader, rating.source],
                guid=entry_guid(guid=rating.url, link="", title="", text=""),
                url=rating.url,
                article=article,
                source_id=rating.source,
                title=rating.title,
                text=rating.text,
                published_at=clamp_published(rating.published, rating.at),
                first_seen_at=rating.at,
                dated_at=age_date(rating.published, rating.at),
                fingerprint=fingerprint(rating.title, rating.text),
            )
            for (reader, article), rating in first.items()
            if (reader, article) not in known
        ]
        if rows:
            Item.objects.bulk_create(rows, ignore_conflicts=True)
            self.report.items += len(rows)
            known |= _item_ids(first)
        return known

    def _feedback_store(self, ratings: Sequence[HistoryLine], items: dict[Key, int]) -> None:
        latest: dict[Key, HistoryLine] = {}
        for rating in ratings:
            key = (self.readers[rating.reader], article_hash(rating.url))
            if key not in latest or latest[key].at <= rating.at:
                latest[key] = rating
        stored = _stored_times(list(latest))
        new = {key: rating for key, rating in latest.items() if key not in stored}
        newer = {key: rating for key, rating in latest.items() if key in stored and stored[key] < rating.at}
        self.report.imported += len(new)
        self.report.updated += len(newer)
        self.report.unchanged += len(ratings) - len(new) - len(newer)
        if new or newer:
            self._feedback_upsert(new | newer, items, replaced=set(newer))

    def _feedback_upsert(
        self, ratings: dict[Key, HistoryLine], items: dict[Key, int], replaced: set[Key]
    ) -> None:
        rows, slugs_by_key = [], {}
        for key, rating in ratings.items():
            slugs, others = reason_tags_map(rating.reasons, self.spellings)
            self.report.unmapped_tags += len(others)
            slugs_by_key[key] = slugs
            rows.append(
                Feedback(
                    reader_id=key[0],
                    item_id=items[key],
                    article=key[1],
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
            unique_fields=["reader", "article"],
            update_fields=["useful", "at", "day", "has_reason", "other_reasons", "origin", "propensity"],
        )
        ids = {(row.reader_id, row.article): row.pk for row in saved}
        if replaced:
            FeedbackTag.objects.filter(feedback_id__in=[ids[key] for key in replaced]).delete()
        tags = [
            FeedbackTag(feedback_id=ids[key], tag_id=s) for key, slugs in slugs_by_key.items() for s in slugs
        ]
        FeedbackTag.objects.bulk_create(tags, ignore_conflicts=True)


def _item_ids(keys: Collection[Key]) -> dict[Key, int]:
    """Return the first item of each (reader, article) in `keys` that the reader's feeds carry."""
    rows = Item.objects.filter(
        article__in={article for _, article in keys},
        feed__subscriptions__reader__in={reader for reader, _ in keys},
    )
    fields = ("feed__subscriptions__reader_id", "article", "pk")
    found: dict[Key, int] = {}
    for reader, article, pk in rows.order_by("pk").values_list(*fields):
        found.setdefault((reader, article), pk)
    return {key: pk for key, pk in found.items() if key in keys}


def _stored_times(keys: Sequence[Key]) -> dict[Key, datetime]:
    """Return the time of each stored rating among `keys`, queried by exact pairs."""
    stored: dict[Key, datetime] = {}
    for start in range(0, len(keys), PAIRS_MAX):
        pairs = TupleIn(Tuple("reader", "article"), keys[start : start + PAIRS_MAX])
        rows = Feedback.objects.filter(pairs).values_list("reader_id", "article", "at")
        stored |= {(reader, article): at for reader, article, at in rows}
    return stored
