"""From documents to items: one transaction and a constant number of statements, however many documents."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from django.db import transaction
from django.db.models import Count

from digest.arrivals import Delivery, NewItem, Plan, arrivals_of, plan
from digest.feeds import ParsedFeed
from digest.identity import canonical_url, dated, published_clamped, source_key
from digest.models import Feed, FeedEntry, Item, Source
from digest.parse import parse_document
from digest.polling import gap_of
from digest.reports import IngestResult
from digest.selectors.feeds import entries_known, items_known
from digest.services.rows import rows_add, rows_set
from ranking.selectors import key_now, keys_now

ITEM_COLUMNS = (
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
PORTION_ENTRIES = 2_000


def feed_ensure(*, url: str, now: datetime, title: str = "", state: str = Feed.State.ACTIVE) -> Feed:
    """The feed at `url`, created with its source where nobody reads it yet; due at once.

    The source follows from the address, not from what the document claims, so that no feed can pass
    itself off as another publisher's.
    """
    address = url if url.startswith(("file:", "urn:")) else canonical_url(url) or url.strip()
    source = source_ensure(key=source_key(address) or "unknown", title=title)
    feed, _ = Feed.objects.get_or_create(
        url=address, defaults={"source": source, "title": title[:200], "state": state, "next_check_at": now}
    )
    return feed


def source_ensure(*, key: str, title: str) -> Source:
    """The source with this key, or that once had it; created where it is new."""
    source, _ = Source.objects.get_or_create(key=key_now(key=key), defaults={"title": title[:200]})
    return source


def sources_ensure(*, titles: Mapping[str, str]) -> dict[str, str]:
    """The sources with these keys, or that once had them, created with their titles where they are new.

    The key that each goes by now, by the key asked for.
    """
    keys = {key: key for key in titles} | keys_now(keys=list(titles))
    rows = [Source(key=keys[key], title=title[:200]) for key, title in sorted(titles.items())]
    Source.objects.bulk_create(rows, ignore_conflicts=True)
    return keys


def document_ingest(*, feed: Feed, body: bytes, now: datetime, url: str = "") -> IngestResult:
    """Read a document of `feed` and keep its items; the same document again changes nothing.

    Raises `FeedProblem` where the document is refused; nothing is written then.
    """
    return parsed_ingest(feed=feed, parsed=parse_document(body, url=url or feed.url), now=now)


def parsed_ingest(*, feed: Feed, parsed: ParsedFeed, now: datetime) -> IngestResult:
    """Keep the items of a document that has been read, and what it says about the feed itself."""
    return documents_keep(documents=[(feed, parsed)], now=now)[0]


def documents_keep(*, documents: Sequence[tuple[Feed, ParsedFeed]], now: datetime) -> list[IngestResult]:
    """Keep the items of documents that have been read, each of another feed, as if one came after the other.

    One transaction, and a constant number of statements for every 2,000 entries.
    """
    results: list[IngestResult] = []
    with transaction.atomic():
        _titles_keep(documents)
        for some in _portions(documents):
            results += _portion_keep(some, now)
    return results


def _portions(documents: Sequence[tuple[Feed, ParsedFeed]]) -> Iterator[list[tuple[Feed, ParsedFeed]]]:
    """Documents in runs of at most 2,000 entries, or of one."""
    some: list[tuple[Feed, ParsedFeed]] = []
    entries = 0
    for feed, parsed in documents:
        if some and entries + len(parsed.entries) > PORTION_ENTRIES:
            yield some
            some, entries = [], 0
        some.append((feed, parsed))
        entries += len(parsed.entries)
    if some:
        yield some


def _portion_keep(documents: Sequence[tuple[Feed, ParsedFeed]], now: datetime) -> list[IngestResult]:
    deliveries = [
        Delivery(feed.pk, feed.url, feed.source_id, arrivals_of(parsed.entries)) for feed, parsed in documents
    ]
    entries = entries_known(guids={d.feed_id: d.arrivals.keys() for d in deliveries})
    fresh = {a.url for d in deliveries for a in d.arrivals.values() if (d.feed_id, a.guid) not in entries}
    items = items_known(feed_ids=[d.feed_id for d in deliveries], urls=fresh)
    made = plan(deliveries, entries=entries, items=items)
    there = _items_create(made, now)
    _items_update(made)
    return [
        IngestResult(
            items_new=sum(url not in there for url in created),
            items_seen=len(parsed.entries),
            items_updated=updated,
            dropped=parsed.dropped,
            blank=parsed.blank,
            gap=gap_of((entry.published for entry in parsed.entries if entry.published), now=now),
            ttl_minutes=parsed.ttl_minutes,
        )
        for (_, parsed), created, updated in zip(documents, made.created, made.updated, strict=True)
    ]


def _items_create(made: Plan, now: datetime) -> set[str]:
    """Create the planned items and the entries that carry them; urls of those that were there unasked."""
    there: set[str] = set()
    if made.unasked:
        there = set(Item.objects.filter(url__in=made.unasked).values_list("url", flat=True))
    rows = [_item_row(url, item, now) for url, item in made.create.items()]
    rows_add(model=Item, columns=ITEM_COLUMNS, rows=rows)
    if made.carry:
        urls = {url for _, _, url in made.carry}
        ids = dict(Item.objects.filter(url__in=urls).values_list("url", "pk"))
        carried = [(feed, guid, ids[url]) for feed, guid, url in made.carry]
        rows_add(model=FeedEntry, columns=("feed", "guid", "item"), rows=carried)
    return there


def _item_row(url: str, item: NewItem, now: datetime) -> tuple[object, ...]:
    """The values of `ITEM_COLUMNS`."""
    entry, words = item.first.entry, item.words.entry
    return (
        url,
        item.source_id,
        words.title,
        words.text,
        entry.author,
        entry.language,
        published_clamped(entry.published, now),
        now,
        dated(entry.published, now),
        item.words.print,
    )


def _items_update(made: Plan) -> None:
    """Give changed items their new words; when they were published and first seen stays."""
    rows = [
        (pk, source, a.entry.title, a.entry.text, a.print) for pk, (source, a) in sorted(made.update.items())
    ]
    rows_set(model=Item, keys=("id",), columns=("source", "title", "text", "fingerprint"), rows=rows)


def _titles_keep(documents: Sequence[tuple[Feed, ParsedFeed]]) -> None:
    """Keep what documents call themselves; a title a person gave the source is not overwritten.

    One feed of several does not name the source: “News - Technology” is not what the publisher is called.
    """
    rows: list[tuple[object, ...]] = []
    for feed, parsed in documents:
        named = (parsed.title or feed.title, canonical_url(parsed.site_url) or feed.site_url)
        if (feed.title, feed.site_url) != named:
            feed.title, feed.site_url = named
            rows.append((feed.pk, *named))
    rows_set(model=Feed, keys=("id",), columns=("title", "site_url"), rows=sorted(rows))
    titles = {feed.source_id: parsed.title[:200] for feed, parsed in documents if parsed.title}
    unnamed = Source.objects.filter(pk__in=titles, title="").annotate(count=Count("feeds")).filter(count=1)
    names = [(key, "", titles[key]) for key in sorted(unnamed.values_list("pk", flat=True))]
    rows_set(model=Source, keys=("key", "title"), columns=("title",), rows=names)
