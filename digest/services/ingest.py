"""From documents to items: one transaction and a constant number of statements for each document."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Exists

from digest.feeds import ParsedEntry, ParsedFeed
from digest.identity import (
    canonical_url,
    dated,
    entry_guid,
    fingerprint,
    item_urn,
    published_clamped,
    source_key,
)
from digest.models import Feed, FeedEntry, Item, Source
from digest.parse import parse_document
from digest.polling import gap_of
from digest.selectors.feeds import KnownEntry, KnownItem, entries_known, items_known
from digest.services.rows import rows_add
from ranking.matching import fold

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


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What one document brought. `dropped` entries were beyond the limit, `blank` ones say nothing.

    `gap` is the time between its items, as far as their dates tell; `ttl_minutes` the pause it asks for.
    """

    items_new: int
    items_seen: int
    items_updated: int = 0
    dropped: int = 0
    blank: int = 0
    gap: timedelta | None = None
    ttl_minutes: int | None = None


@dataclass(frozen=True, slots=True)
class _Arrival:
    """An entry with its identities: `guid` inside the feed, `url` among all items."""

    entry: ParsedEntry
    guid: str
    url: str
    print: str


@dataclass(slots=True)
class _Plan:
    """What has to be written: items to create, (guid, url) entries to add, items whose words changed."""

    create: dict[str, _Arrival] = field(default_factory=dict)
    carry: dict[str, str] = field(default_factory=dict)
    update: dict[int, _Arrival] = field(default_factory=dict)
    # Addresses that were asked for within this transaction and are nobody's yet.
    unknown: set[str] = field(default_factory=set)


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
    """The source with this key, created where it is new."""
    source, _ = Source.objects.get_or_create(key=key, defaults={"title": title[:200]})
    return source


def document_ingest(*, feed: Feed, body: bytes, now: datetime, url: str = "") -> IngestResult:
    """Read a document of `feed` and keep its items; the same document again changes nothing.

    Raises `FeedProblem` where the document is refused; nothing is written then.
    """
    return parsed_ingest(feed=feed, parsed=parse_document(body, url=url or feed.url), now=now)


def parsed_ingest(*, feed: Feed, parsed: ParsedFeed, now: datetime) -> IngestResult:
    """Keep the items of a document that has been read, and what it says about the feed itself."""
    arrivals = _arrivals(parsed.entries)
    with transaction.atomic():
        _titles_keep(feed, parsed)
        known = entries_known(feed_id=feed.pk, guids=list(arrivals))
        fresh = [arrival for guid, arrival in arrivals.items() if guid not in known]
        plan = _plan(feed, fresh, items_known(feed_id=feed.pk, urls=[a.url for a in fresh]))
        for guid, entry in known.items():
            if _is_news(feed, arrivals[guid], entry):
                plan.update[entry.item_id] = arrivals[guid]
        created = _items_create(feed, plan, now)
        _items_update(feed, plan)
    return IngestResult(
        items_new=created,
        items_seen=len(parsed.entries),
        items_updated=len(plan.update),
        dropped=parsed.dropped,
        blank=parsed.blank,
        gap=gap_of((entry.published for entry in parsed.entries if entry.published), now=now),
        ttl_minutes=parsed.ttl_minutes,
    )


def _arrivals(entries: Sequence[ParsedEntry]) -> dict[str, _Arrival]:
    """Entries by identity; where a document repeats one, the first counts."""
    arrivals: dict[str, _Arrival] = {}
    for entry in entries:
        guid = entry_guid(guid=entry.guid, link=entry.link, title=entry.title, text=entry.text)
        if guid not in arrivals:
            url = canonical_url(entry.link) or item_urn(entry.title, entry.text)
            arrivals[guid] = _Arrival(entry, guid, url, fingerprint(entry.title, entry.text))
    return arrivals


def _plan(feed: Feed, fresh: Sequence[_Arrival], items: dict[str, KnownItem]) -> _Plan:
    """Decide for entries this feed never carried: a new item, or one that is already there.

    Two entries of one feed that share a link but not a title (all pointing to a home page, say) are two
    items: the later one goes by its own name instead of the link.
    """
    plan = _Plan(unknown={arrival.url for arrival in fresh} - items.keys())
    # An operator may have given the source another key; the feed's address speaks for its publisher still.
    own = {feed.source_id, source_key(feed.url)} - {""}
    for arrival in fresh:
        url = arrival.url
        item = items.get(url)
        twin = (
            plan.create[url].entry.title
            if url in plan.create
            else item.title
            if item and item.carried
            else None
        )
        if twin is not None and fold(twin) != fold(arrival.entry.title):
            url = item_urn(arrival.entry.title, arrival.entry.text)
            item = items.get(url)
        if item is None:
            plan.create.setdefault(url, arrival)
        elif item.source_id != feed.source_id and source_key(item.url) in own:
            plan.update[item.id] = arrival  # the publisher's own words beat an aggregator's
        plan.carry[arrival.guid] = url
    return plan


def _is_news(feed: Feed, arrival: _Arrival, known: KnownEntry) -> bool:
    """Whether an entry's words changed, told by the feed that brought the item and may speak for it."""
    return known.speaks and known.source_id == feed.source_id and known.fingerprint != arrival.print


def _items_create(feed: Feed, plan: _Plan, now: datetime) -> int:
    """Create the planned items and the entries that carry them; how many items are new."""
    unasked = [url for url in plan.create if url not in plan.unknown]
    before = Item.objects.filter(url__in=unasked).count() if unasked else 0
    rows = [_item_row(feed, url, arrival, now) for url, arrival in plan.create.items()]
    rows_add(model=Item, columns=ITEM_COLUMNS, rows=rows)
    if plan.carry:
        ids = dict(Item.objects.filter(url__in=set(plan.carry.values())).values_list("url", "pk"))
        carried = [(feed.pk, guid, ids[url]) for guid, url in plan.carry.items()]
        rows_add(model=FeedEntry, columns=("feed", "guid", "item"), rows=carried)
    return len(rows) - before


def _item_row(feed: Feed, url: str, arrival: _Arrival, now: datetime) -> tuple[object, ...]:
    """The values of `ITEM_COLUMNS`."""
    entry = arrival.entry
    return (
        url,
        feed.source_id,
        entry.title,
        entry.text,
        entry.author,
        entry.language,
        published_clamped(entry.published, now),
        now,
        dated(entry.published, now),
        arrival.print,
    )


def _items_update(feed: Feed, plan: _Plan) -> None:
    """Give changed items their new words; when they were published and first seen stays."""
    rows = [
        Item(pk=pk, source_id=feed.source_id, title=a.entry.title, text=a.entry.text, fingerprint=a.print)
        for pk, a in plan.update.items()
    ]
    if rows:
        Item.objects.bulk_update(rows, ["source", "title", "text", "fingerprint"], batch_size=100)


def _titles_keep(feed: Feed, parsed: ParsedFeed) -> None:
    """Keep what the document calls itself; a title a person gave the source is not overwritten.

    One feed of several does not name the source: “News - Technology” is not what the publisher is called.
    """
    site = canonical_url(parsed.site_url)
    if (feed.title, feed.site_url) != (parsed.title or feed.title, site or feed.site_url):
        feed.title, feed.site_url = parsed.title or feed.title, site or feed.site_url
        feed.save(update_fields=["title", "site_url"])
    if parsed.title:
        others = Feed.objects.filter(source=feed.source_id).exclude(pk=feed.pk)
        unnamed = Source.objects.filter(pk=feed.source_id, title="")
        unnamed.exclude(Exists(others)).update(title=parsed.title[:200])
