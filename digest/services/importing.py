"""Readers' histories from JSON Lines, a batch at a time: constant memory, the latest word wins."""

import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Protocol

from django.contrib.auth.hashers import UNUSABLE_PASSWORD_PREFIX
from django.db import transaction
from django.db.models.fields.tuple_lookups import Tuple, TupleIn
from django.utils.crypto import get_random_string

from digest.days import utc_day
from digest.history import BadLine, Thumb, thumb_read
from digest.identity import URN_PREFIX, dated, fingerprint, published_clamped
from digest.models import Feed, Feedback, FeedbackTag, Item, Reader, Source, Subscription
from digest.taxonomy import reason_tags_map, taxonomy_table
from ranking.selectors import keys_now

BATCH = 2_000
# Sources and subscriptions remembered as already there; forgetting one costs a statement, nothing else.
REMEMBERED_MAX = 50_000
REJECTS_LISTED_MAX = 20
# SQLite knows no lists of pairs: Django writes them as ORs, of which it takes fewer than 1,000.
PAIRS_MAX = 400


@dataclass(slots=True)
class ImportReport:
    """What an import did. Of `rejects`, the first 20 are listed as (line number, code, reason)."""

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
        """The object scripts rely on, without the rejects file and the time it took."""
        counts = (
            "lines",
            "imported",
            "updated",
            "unchanged",
            "rejected",
            "sources",
            "items",
            "unmapped_tags",
        )
        return {name: getattr(self, name) for name in counts} | {
            "readers": len(self.reader_ids),
            "reader_ids": self.reader_ids,
            "rejects": [{"line": n, "code": code, "reason": reason} for n, code, reason in self.rejects],
        }


class Rejects(Protocol):
    """Where rejected lines go: anything to which text can be written."""

    def write(self, text: str, /) -> object:
        """Append `text`."""


def _quiet(lines: int) -> None:
    """No progress is shown."""


def feedback_import(
    *,
    lines: Iterable[str],
    now: datetime,
    rejects: Rejects | None = None,
    progress: Callable[[int], None] = _quiet,
) -> ImportReport:
    """Import a history; running it again changes nothing, and a later thumb on the same item wins.

    Readers, sources, items, one never-fetched feed per source and the subscriptions are created as needed.
    A bad line is counted and written to `rejects` with its reason; the rest goes in.
    """
    importer = _Importer(now=now, report=ImportReport(), table=taxonomy_table())
    numbered = enumerate(lines, start=1)
    while batch := list(islice(numbered, BATCH)):
        thumbs = list(_checked(batch, importer.report, now, rejects))
        if thumbs:
            importer.keep(thumbs)
        progress(importer.report.lines)
    return importer.report


def _checked(
    batch: Sequence[tuple[int, str]], report: ImportReport, now: datetime, rejects: Rejects | None
) -> Iterator[Thumb]:
    for number, line in batch:
        if not line.strip():
            continue
        report.lines += 1
        try:
            thumb = thumb_read(line)
            if thumb.at > now:
                raise BadLine("bad_at", "“at” lies in the future")
            yield thumb
        except BadLine as bad:
            report.rejected += 1
            if len(report.rejects) < REJECTS_LISTED_MAX:
                report.rejects.append((number, bad.code, bad.reason))
            if rejects is not None:
                rejects.write(f"{number}\t{bad.code}\t{bad.reason}\t{line.rstrip()[:2000]}\n")


@dataclass(slots=True)
class _Importer:
    """One import under way: what it has already made sure of."""

    now: datetime
    report: ImportReport
    table: dict[str, str]
    readers: dict[str, uuid.UUID] = field(default_factory=dict)
    feeds: dict[str, int] = field(default_factory=dict)
    subscribed: set[tuple[uuid.UUID, int]] = field(default_factory=set)

    def keep(self, thumbs: Sequence[Thumb]) -> None:
        """Write one batch in one transaction, with a constant number of statements."""
        renamed = keys_now(keys={thumb.source for thumb in thumbs})
        thumbs = [replace(thumb, source=renamed.get(thumb.source, thumb.source)) for thumb in thumbs]
        with transaction.atomic():
            self._readers_ensure({thumb.reader for thumb in thumbs})
            self._sources_ensure({thumb.source: thumb.source_title for thumb in thumbs})
            self._subscriptions_ensure({(self.readers[t.reader], self.feeds[t.source]) for t in thumbs})
            items = self._items_ensure(thumbs)
            self._feedback_write(thumbs, items)

    def _readers_ensure(self, names: set[str]) -> None:
        if new := names - self.readers.keys():
            rows = [Reader(username=name, password=_unusable_password()) for name in sorted(new)]
            Reader.objects.bulk_create(rows, ignore_conflicts=True)
            found = Reader.objects.filter(username__in=new).values_list("username", "pk")
            self.readers.update(found)
            self.report.reader_ids.update({name: str(self.readers[name]) for name in sorted(new)})

    def _sources_ensure(self, titles: dict[str, str]) -> None:
        if len(self.feeds) > REMEMBERED_MAX:
            self.feeds.clear()
        if new := titles.keys() - self.feeds.keys():
            known = set(Source.objects.filter(key__in=new).values_list("key", flat=True))
            rows = [Source(key=key, title=titles[key]) for key in sorted(new - known)]
            Source.objects.bulk_create(rows, ignore_conflicts=True)
            self.report.sources += len(rows)
            urls = {f"{URN_PREFIX}source:{key}": key for key in new}
            Feed.objects.bulk_create(
                [
                    Feed(url=url, source_id=key, title=titles[key], state=Feed.State.IMPORTED)
                    for url, key in sorted(urls.items())
                ],
                ignore_conflicts=True,
            )
            found = Feed.objects.filter(url__in=urls).values_list("url", "pk")
            self.feeds.update({urls[url]: pk for url, pk in found})

    def _subscriptions_ensure(self, pairs: set[tuple[uuid.UUID, int]]) -> None:
        if len(self.subscribed) > REMEMBERED_MAX:
            self.subscribed.clear()
        if new := pairs - self.subscribed:
            rows = [Subscription(reader_id=r, feed_id=f, created_at=self.now) for r, f in sorted(new)]
            Subscription.objects.bulk_create(rows, ignore_conflicts=True)
            self.subscribed |= new

    def _items_ensure(self, thumbs: Sequence[Thumb]) -> dict[str, int]:
        first = {thumb.url: thumb for thumb in reversed(thumbs)}
        known = _item_ids(first)
        rows = [_item(thumb) for url, thumb in first.items() if url not in known]
        if rows:
            Item.objects.bulk_create(rows, ignore_conflicts=True)
            self.report.items += len(rows)
            known |= _item_ids([row.url for row in rows])
        return known

    def _feedback_write(self, thumbs: Sequence[Thumb], items: dict[str, int]) -> None:
        latest: dict[tuple[uuid.UUID, int], Thumb] = {}
        for thumb in thumbs:
            key = (self.readers[thumb.reader], items[thumb.url])
            if key not in latest or latest[key].at <= thumb.at:
                latest[key] = thumb
        stored = _thumbs_stored(latest)
        new = {key: thumb for key, thumb in latest.items() if key not in stored}
        newer = {key: t for key, t in latest.items() if key in stored and stored[key] < t.at}
        self.report.imported += len(new)
        self.report.updated += len(newer)
        self.report.unchanged += len(thumbs) - len(new) - len(newer)
        if new or newer:
            self._thumbs_upsert(new | newer, replaced=set(newer))

    def _thumbs_upsert(
        self, thumbs: dict[tuple[uuid.UUID, int], Thumb], replaced: set[tuple[uuid.UUID, int]]
    ) -> None:
        rows, slugs_by_key = [], {}
        for key, thumb in thumbs.items():
            slugs, others = reason_tags_map(thumb.reasons, self.table) if thumb.reasons else ((), ())
            self.report.unmapped_tags += len(others)
            slugs_by_key[key] = slugs
            rows.append(_feedback(key, thumb, bool(slugs or others), others))
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


def _unusable_password() -> str:
    """A password nobody can sign in with (see `AbstractBaseUser.set_unusable_password`)."""
    return UNUSABLE_PASSWORD_PREFIX + get_random_string(40)


def _item_ids(urls: Iterable[str]) -> dict[str, int]:
    return dict(Item.objects.filter(url__in=list(urls)).values_list("url", "pk"))


def _thumbs_stored(keys: Iterable[tuple[uuid.UUID, int]]) -> dict[tuple[uuid.UUID, int], datetime]:
    """When the thumbs among `keys` that are already there were given, asked for by exact pairs."""
    stored: dict[tuple[uuid.UUID, int], datetime] = {}
    ordered = list(keys)
    for start in range(0, len(ordered), PAIRS_MAX):
        pairs = TupleIn(Tuple("reader", "item"), ordered[start : start + PAIRS_MAX])
        rows = Feedback.objects.filter(pairs).values_list("reader_id", "item_id", "at")
        stored |= {(reader, item): at for reader, item, at in rows}
    return stored


def _item(thumb: Thumb) -> Item:
    """The item of a thumb, first seen when it was rated: nothing earlier is known of it."""
    return Item(
        url=thumb.url,
        source_id=thumb.source,
        title=thumb.title,
        text=thumb.text,
        published_at=published_clamped(thumb.published, thumb.at),
        first_seen_at=thumb.at,
        dated_at=dated(thumb.published, thumb.at),
        fingerprint=fingerprint(thumb.title, thumb.text),
    )


def _feedback(
    key: tuple[uuid.UUID, int], thumb: Thumb, has_reason: bool, others: tuple[str, ...]
) -> Feedback:
    return Feedback(
        reader_id=key[0],
        item_id=key[1],
        useful=thumb.useful,
        at=thumb.at,
        day=utc_day(thumb.at),
        has_reason=has_reason,
        other_reasons=list(others),
    )
