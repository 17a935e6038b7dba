"""Ingest: store feeds, sources and the items of documents, in a constant number of statements."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Final

from django.db import transaction
from django.db.models import Count

from digest.feeds.dedupe import FeedDocument, IngestPlan, NewItem, identify_entries, plan_ingest
from digest.feeds.entities import IngestResult, ParsedFeed
from digest.feeds.identity import age_date, canonical_url, clamp_published, source_key
from digest.feeds.polling import mean_gap
from digest.feeds.selectors import known_entries, known_items
from digest.models import Feed, FeedEntry, Item, Source
from ranking.common.rows import rows_add, rows_set
from ranking.selectors import key_current, keys_current

Documents = Sequence[tuple[Feed, ParsedFeed]]

ITEM_COLUMNS: Final = (
    "url",
    "source",
    "title",
    "text",
    "author",
    "language",
    "published_at",
    "first_seen_at",
    "dated_at",
    "fingerprint",
)
# Entries looked up and written at once; far from what any database takes as parameters (SQLite: 32,766).
BATCH_ENTRIES: Final = 2_000


def feed_get_or_create(*, url: str, now: datetime, title: str = "", state: str = Feed.State.ACTIVE) -> Feed:
    """Return the feed at `url`; create it with its source, due at once, where nobody reads it yet.

    The source follows from the address, not from what the document claims, so that no feed can pass
    itself off as another publisher's.
    """
    address = url if url.startswith(("file:", "urn:")) else canonical_url(url) or url.strip()
    source = source_get_or_create(key=source_key(address) or "unknown", title=title)
    feed, _ = Feed.objects.get_or_create(
        url=address, defaults={"source": source, "title": title[:200], "state": state, "next_check_at": now}
    )
    return feed


def source_get_or_create(*, key: str, title: str) -> Source:
    """Return the source with this key, or that once had it; create it where it is new."""
    source, _ = Source.objects.get_or_create(key=key_current(key=key), defaults={"title": title[:200]})
    return source


def feeds_get_or_create(*, feeds: Iterable[Feed], source_titles: Mapping[str, str]) -> dict[str, Feed]:
    """Return the stored feeds at the addresses of the unsaved `feeds`; create those that are new.

    Their sources are created too, with the titles in `source_titles`, by key; a key that a source once had
    leads to the key it has now. At most five statements, apart from what a database takes at once.
    """
    rows = {feed.url: feed for feed in feeds}
    stored = {feed.url: feed for feed in Feed.objects.filter(url__in=list(rows))}
    new = [feed for url, feed in rows.items() if url not in stored]
    if new:
        keys = {feed.source_id for feed in new}
        renamed = keys_current(keys=keys)
        sources = [
            Source(key=renamed.get(key, key), title=source_titles.get(key, "")) for key in sorted(keys)
        ]
        Source.objects.bulk_create(sources, ignore_conflicts=True)
        for feed in new:
            feed.source_id = renamed.get(feed.source_id, feed.source_id)
        Feed.objects.bulk_create(new, ignore_conflicts=True)
        stored |= {feed.url: feed for feed in Feed.objects.filter(url__in=[feed.url for feed in new])}
    return stored


def documents_ingest(*, documents: Documents, now: datetime) -> list[IngestResult]:
    """Store the items of documents, each of another feed, as if one came after the other.

    The same document again changes nothing. One transaction, and a constant number of statements for every
    2,000 entries.
    """
    results: list[IngestResult] = []
    with transaction.atomic():
        _titles_store(documents)
        for batch in _batches(documents):
            results += _batch_ingest(batch, now)
    return results


def _titles_store(documents: Documents) -> None:
    """Store the titles of documents; a title a person gave the source is not overwritten.

    One feed of several does not name the source: “News - Technology” is not what the publisher is called.
    """
    rows: list[tuple[object, ...]] = []
    for feed, parsed in documents:
        values = (parsed.title or feed.title, canonical_url(parsed.site_url) or feed.site_url)
        if (feed.title, feed.site_url) != values:
            feed.title, feed.site_url = values
            rows.append((feed.pk, *values))
    rows_set(model=Feed, keys=("id",), columns=("title", "site_url"), rows=sorted(rows))
    titles = {feed.source_id: parsed.title[:200] for feed, parsed in documents if parsed.title}
    unnamed = Source.objects.filter(pk__in=titles, title="").annotate(count=Count("feeds")).filter(count=1)
    names = [(key, "", titles[key]) for key in sorted(unnamed.values_list("pk", flat=True))]
    rows_set(model=Source, keys=("key", "title"), columns=("title",), rows=names)


def _batches(documents: Documents) -> Iterator[Documents]:
    """Yield documents in runs of at most 2,000 entries, or of one document."""
    start, entries = 0, 0
    for n, (_, parsed) in enumerate(documents):
        if n > start and entries + len(parsed.entries) > BATCH_ENTRIES:
            yield documents[start:n]
            start, entries = n, 0
        entries += len(parsed.entries)
    if documents:
        yield documents[start:]


def _batch_ingest(batch: Documents, now: datetime) -> list[IngestResult]:
    documents = [
        FeedDocument(feed.pk, feed.url, feed.source_id, identify_entries(parsed.entries))
        for feed, parsed in batch
    ]
    entries = known_entries(guids={d.feed_id: d.entries.keys() for d in documents})
    urls = {e.url for d in documents for e in d.entries.values() if (d.feed_id, e.guid) not in entries}
    items = known_items(feed_ids=[d.feed_id for d in documents], urls=urls)
    plan = plan_ingest(documents, entries=entries, items=items)
    stored = _items_create(plan, now)
    changed = [(pk, src, e.entry.title, e.entry.text, e.fingerprint) for pk, (src, e) in plan.update.items()]
    columns = ("source", "title", "text", "fingerprint")  # dates stay
    rows_set(model=Item, keys=("id",), columns=columns, rows=sorted(changed))
    return [
        IngestResult(
            items_new=sum(url not in stored for url in created),
            items_seen=len(parsed.entries),
            items_updated=updated,
            dropped=parsed.dropped,
            blank=parsed.blank,
            gap=mean_gap((entry.published for entry in parsed.entries if entry.published), now=now),
            ttl_minutes=parsed.ttl_minutes,
        )
        for (_, parsed), created, updated in zip(batch, plan.created, plan.updated, strict=True)
    ]


def _items_create(plan: IngestPlan, now: datetime) -> set[str]:
    """Create items and the entries that carry them; return the unchecked urls that were stored already."""
    stored: set[str] = set()
    if plan.unchecked:
        stored = set(Item.objects.filter(url__in=plan.unchecked).values_list("url", flat=True))
    rows = [_item_row(url, item, now) for url, item in plan.create.items()]
    rows_add(model=Item, columns=ITEM_COLUMNS, rows=rows)
    if plan.entries:
        urls = {url for _, _, url in plan.entries}
        ids = dict(Item.objects.filter(url__in=urls).values_list("url", "pk"))
        entries = [(feed, guid, ids[url]) for feed, guid, url in plan.entries]
        rows_add(model=FeedEntry, columns=("feed", "guid", "item"), rows=entries)
    return stored


def _item_row(url: str, item: NewItem, now: datetime) -> tuple[object, ...]:
    """Return the values of `ITEM_COLUMNS`."""
    entry, content = item.first.entry, item.content.entry
    return (
        url,
        item.source_id,
        content.title,
        content.text,
        entry.author,
        entry.language,
        clamp_published(entry.published, now),
        now,
        age_date(entry.published, now),
        item.content.fingerprint,
    )
