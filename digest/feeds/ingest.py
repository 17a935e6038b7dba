"""Ingest: store feeds, sources and the items of documents, in a constant number of statements."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from digest.feeds.addresses import feed_address
from digest.feeds.arrival import arrival_dates
from digest.feeds.bodies import bodies_store, body_columns
from digest.feeds.dedupe import (
    IdentifiedEntry,
    IngestPlan,
    KnownItem,
    hosts_left,
    identify_entries,
    plan_ingest,
)
from digest.feeds.entities import IngestResult, ParsedFeed
from digest.feeds.identity import (
    FILE_PREFIX,
    address_spellings,
    article_hash,
    clamp_published,
    has_usable_date,
    source_key,
)
from digest.feeds.polling import mean_gap
from digest.feeds.selectors import (
    articles_at,
    enclosures_known,
    feeds_with_history,
    known_by_article,
    known_by_guid,
    known_by_words,
    known_unnamed,
)
from digest.feeds.titles import title_agreed
from digest.models import Feed, Item, Source
from ranking.common.rows import rows_add, rows_set
from ranking.selectors import key_current, keys_current

Documents = Sequence[tuple[Feed, ParsedFeed]]

ITEM_COLUMNS: Final = (
    "feed",
    "guid",
    "url",
    "article",
    "own",
    "source",
    "title",
    "text",
    "author",
    "language",
    "published_at",
    "first_seen_at",
    "dated_at",
    "fingerprint",
    "categories",
    "image",
    "body_hash",
    "link",
)
# The columns that a feed may change of its item. Dates stay (but see `corrected_dates`). The author changes
# with the words, because a feed may have answered from another publisher's site before.
CHANGED_COLUMNS: Final = (
    *("guid", "title", "text", "author", "language"),
    *("fingerprint", "own", "source", "link"),
)
# In the key of a private feed's own source, after its publisher's.
PRIVATE_KEY: Final = "/private-"
# Entries looked up and written at once. Databases take far more parameters (SQLite: 32,766).
BATCH_ENTRIES: Final = 2_000


def feed_get_or_create(*, url: str, now: datetime, title: str = "", state: str = Feed.State.ACTIVE) -> Feed:
    """Return the feed at `url`. If it is new, create it with its source, due at once.

    The source follows from the address, never from the document, so no feed can pass itself off as another
    publisher's.
    """
    address = url if url.startswith((FILE_PREFIX, "urn:")) else feed_address(url) or url.strip()
    source = source_get_or_create(key=source_key(address) or "unknown", title=title)
    feed, _ = Feed.objects.get_or_create(
        url=address, defaults={"source": source, "title": title[:200], "state": state, "next_check_at": now}
    )
    return feeds_current(feeds={feed.url: feed})[feed.url]


def feeds_current(*, feeds: Mapping[str, Feed]) -> dict[str, Feed]:
    """Return for each address the feed that replaced it, or the feed itself. One query per step of moves.

    If an operator has deleted the feed it moved to, the old feed is fetched again.
    """
    found, seen = dict(feeds), set(feeds)
    while moved := {f.moved_url for f in found.values() if f.state == Feed.State.MOVED} - seen:
        seen |= moved
        targets = {feed.url: feed for feed in Feed.objects.filter(url__in=moved)}
        for url, feed in found.items():
            if feed.state == Feed.State.MOVED and feed.moved_url in targets:
                found[url] = targets[feed.moved_url]
    lost = [feed for feed in found.values() if feed.state == Feed.State.MOVED]
    for feed in lost:
        feed.state, feed.next_check_at = Feed.State.ACTIVE, None
    Feed.objects.bulk_update(lost, ["state", "next_check_at"])
    return found


def source_get_or_create(*, key: str, title: str) -> Source:
    """Return the source with this key, now or in the past. Create it if it is new."""
    source, _ = Source.objects.get_or_create(key=key_current(key=key), defaults={"title": title[:200]})
    return source


def feeds_get_or_create(*, feeds: Iterable[Feed], source_titles: Mapping[str, str]) -> dict[str, Feed]:
    """Return the stored feeds at the addresses of the unsaved `feeds`, and create the new ones.

    Their sources are created too, with the titles in `source_titles`, by key. A source's former key leads to
    its present one. At most five statements, apart from batching.
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
        sources_name(keys={feed.source_id for feed in new if feed.title})
    return feeds_current(feeds=stored)


def documents_ingest(*, documents: Documents, now: datetime) -> list[IngestResult]:
    """Store the items of documents, each of another feed.

    The same document again changes nothing, and no document touches another feed's items. One transaction,
    and a constant number of statements for every 2,000 entries.
    """
    results: list[IngestResult] = []
    with transaction.atomic():
        _titles_store(documents)
        for batch in _batches(documents):
            results += _batch_ingest(batch, now)
    return results


def _titles_store(documents: Documents) -> None:
    """Store the titles of documents, and rename their sources if that changes."""
    rows: list[tuple[object, ...]] = []
    before: defaultdict[str, set[str]] = defaultdict(set)
    for feed, parsed in documents:
        values = (parsed.title or feed.title, feed_address(parsed.site_url) or feed.site_url)
        if feed.title != values[0] or not feed.title:
            before[feed.source_id].add(feed.title)
        if (feed.title, feed.site_url) != values:
            feed.title, feed.site_url = values
            rows.append((feed.pk, *values))
    rows_set(model=Feed, keys=("id",), columns=("title", "site_url"), rows=sorted(rows))
    sources_name(keys=before.keys(), before=before)


def sources_name(*, keys: Collection[str], before: Mapping[str, Collection[str]] | None = None) -> None:
    """Name each source by the words its feeds' titles begin with. If the titles disagree, name it by its key.

    A source is shared, but a feed may be private to one reader, and private feeds name only sources of their
    own. So no reader sees a word under a publisher's name that is not in the title of a feed they read. A
    name given by a person is kept: it is no beginning of a title of today or of those `before` the change. An
    unnamed source gets a name once all its feeds have titles. A named one keeps its name beside feeds that
    never brought an item. Two queries and a statement, or none without `keys`.
    """
    if not keys:
        return
    brought = Exists(Item.objects.filter(feed=OuterRef("pk")))
    naming = Q(owner=None) | Q(source__key__contains=PRIVATE_KEY)
    feeds = Feed.objects.filter(naming, source_id__in=keys).annotate(brought=brought)
    titles: defaultdict[str, dict[str, bool]] = defaultdict(dict)
    for key, title, has_items in feeds.values_list("source_id", "title", "brought"):
        titles[key][title] = titles[key].get(title, False) or has_items or bool(title)
    rows = []
    for key, name in Source.objects.filter(pk__in=keys).values_list("pk", "title"):
        known = {*titles[key], *(before or {}).get(key, ())}
        agreed = title_agreed([title for title, counts in titles[key].items() if counts or not name])
        if name != agreed and (not name or any(title.startswith(name) for title in known)):
            rows.append((key, name, agreed))
    rows_set(model=Source, keys=("key", "title"), columns=("title",), rows=sorted(rows))


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
    plans = _plans(batch)
    _articles_share(batch, plans)
    gaps = [_gap(parsed, now) for _, parsed in batch]
    rows = _new_rows(batch, plans, gaps, now)
    redated = sorted((pk, *dates) for plan in plans for pk, dates in plan.redate.items())
    rows_set(model=Item, keys=("id",), columns=("published_at", "dated_at"), rows=redated)
    rows_add(model=Item, columns=ITEM_COLUMNS, rows=rows)
    changed = [
        (pk, *_changed_values(feed, entry))
        for (feed, _), plan in zip(batch, plans, strict=True)
        for pk, entry in (plan.update | plan.rebody).items()
    ]
    rows_set(model=Item, keys=("id",), columns=CHANGED_COLUMNS, rows=sorted(changed))
    bodies_store(
        created={
            (feed.pk, entry.guid): entry
            for (feed, _), plan in zip(batch, plans, strict=True)
            for entry in plan.create
        },
        changed={
            pk: (feed.pk, entry)
            for (feed, _), plan in zip(batch, plans, strict=True)
            for pk, entry in plan.rebody.items()
        },
    )
    return [
        IngestResult(
            items_new=len(plan.create),
            items_seen=len(parsed.entries),
            items_updated=len(plan.update | plan.rebody),
            dropped=parsed.dropped,
            blank=parsed.blank,
            gap=gap,
            ttl_minutes=parsed.ttl_minutes,
            is_broken=parsed.is_broken,
        )
        for (_, parsed), plan, gap in zip(batch, plans, gaps, strict=True)
    ]


def _new_rows(
    batch: Documents, plans: Sequence[IngestPlan], gaps: Sequence[timedelta | None], now: datetime
) -> list[tuple[object, ...]]:
    """Return the values of `ITEM_COLUMNS` of all new items."""
    rows = []
    for (feed, _), plan, gap in zip(batch, plans, gaps, strict=True):
        published = [entry.entry.published for entry in plan.create]
        dates = arrival_dates(published, is_first=feed.last_new_at is None, gap=gap, now=now)
        rows += [_item_row(feed, entry, at, now) for entry, at in zip(plan.create, dates, strict=True)]
    return rows


def _gap(parsed: ParsedFeed, now: datetime) -> timedelta | None:
    dates = [e.published for e in parsed.entries if e.published and has_usable_date(e.published, now)]
    return mean_gap(dates, now=now)


def _identify(feed: Feed, parsed: ParsedFeed) -> dict[str, IdentifiedEntry]:
    return identify_entries(parsed.entries, owner=str(feed.owner_id or ""), site=parsed.site_url)


def _plans(batch: Documents) -> list[IngestPlan]:
    """Return the changes of each document. At most twelve queries for all, or one if all feeds are new."""
    entries = {feed.pk: _identify(feed, parsed) for feed, parsed in batch}
    known = feeds_with_history(feed_ids=list(entries))
    by_guid: dict[int, dict[str, KnownItem]] = {feed: {} for feed in entries}
    _look_up(by_guid, {f: {n for e in entries[f].values() for n in (e.guid, *e.precise)} for f in known})
    new = {f: [e for e in entries[f].values() if e.guid not in by_guid[f]] for f in known}
    new = {feed: some for feed, some in new.items() if some}
    _look_up(by_guid, {feed: {name for e in some for name in e.spellings()} for feed, some in new.items()})
    articles = {feed: {article for e in some for article in e.articles()} for feed, some in new.items()}
    at = known_by_article(articles=articles)
    lost = {f: [e for e in some if not _is_known(e, by_guid[f], at[f])] for f, some in new.items()}
    worded = known_by_words(words={f: {e.fingerprint for e in some} for f, some in lost.items() if some})
    _look_up_moved(by_guid, lost, worded)
    _enclosures_add(entries, by_guid, at, worded)
    dated = {f: [(e.entry.title, e.entry.published) for e in some if e.is_unnamed] for f, some in new.items()}
    unnamed = known_unnamed(posts={feed: some for feed, some in dated.items() if some})
    return [
        plan_ingest(
            entries[feed.pk],
            by_guid=by_guid[feed.pk],
            by_article=at.get(feed.pk, {}),
            unnamed=unnamed.get(feed.pk, ()),
            by_words=worded.get(feed.pk, {}),
        )
        for feed, _ in batch
    ]


def _articles_share(batch: Documents, plans: Sequence[IngestPlan]) -> None:
    """Give new items the article of other feeds with another spelling of their address. One query.

    Spellings differ in TLS, `www.` and a trailing slash. The items' own address stays.
    """
    spelt = {
        entry.article: [article_hash(one) for one in address_spellings(entry.url)]
        for plan in plans
        for entry in plan.create
    }
    at = articles_at(articles={one for some in spelt.values() for one in some})
    for (feed, _), plan in zip(batch, plans, strict=True):
        for n, entry in enumerate(plan.create):
            places = spelt[entry.article]
            if places and not at.get(entry.article):
                shared = (one for one in places if at.get(one) and feed.pk not in at[one])
                plan.create[n] = entry = replace(entry, article=next(shared, entry.article))
            at.setdefault(entry.article, []).append(feed.pk)


def _is_known(
    entry: IdentifiedEntry, by_guid: Mapping[str, KnownItem], at: Mapping[int, Sequence[KnownItem]]
) -> bool:
    """Return whether anything is stored by a name of the entry."""
    names = (*entry.precise, *entry.spellings())
    return any(name in by_guid for name in names) or any(one in at for one in entry.articles())


def _look_up_moved(
    by_guid: dict[int, dict[str, KnownItem]],
    lost: Mapping[int, Sequence[IdentifiedEntry]],
    worded: Mapping[int, Mapping[str, Sequence[KnownItem]]],
) -> None:
    """Add the items that posts had on hosts that their sites have left. No query if no site moved."""
    names: dict[int, set[str]] = {}
    for feed, found in worded.items():
        hosts = hosts_left(lost[feed], found)
        before = {name for e in lost[feed] for host in hosts.get(e.host, ()) for name in e.names_at(host)}
        if before:
            names[feed] = before
    if names:
        _look_up(by_guid, names)


def _look_up(by_guid: dict[int, dict[str, KnownItem]], guids: Mapping[int, Collection[str]]) -> None:
    """Add the stored items with these guids to `by_guid`, by feed."""
    for (feed, guid), item in known_by_guid(guids=guids).items():
        by_guid[feed][guid] = item


def _enclosures_add(
    entries: Mapping[int, Mapping[str, IdentifiedEntry]],
    by_guid: Mapping[int, dict[str, KnownItem]],
    at: Mapping[int, dict[int, list[KnownItem]]],
    worded: Mapping[int, dict[str, list[KnownItem]]],
) -> None:
    """Add the enclosures of stored items that are compared with posts by enclosure."""
    unsure = {feed: [e for e in some.values() if not e.is_named] for feed, some in entries.items()}
    listed = [items for some in (at.values(), worded.values()) for found in some for items in found.values()]
    ids = {item.id for items in listed for item in items}
    for feed, some in unsure.items():
        names = {name for e in some for name in (e.guid, *e.spellings())}
        ids |= {item.id for name in names if (item := by_guid[feed].get(name))}
    media = enclosures_known(item_ids=ids)
    for feed in by_guid:
        for guid, item in by_guid[feed].items():
            by_guid[feed][guid] = replace(item, enclosures=media.get(item.id, ()))
    for items in listed:
        items[:] = [replace(item, enclosures=media.get(item.id, ())) for item in items]


def _item_row(
    feed: Feed, identified: IdentifiedEntry, dated_at: datetime, now: datetime
) -> tuple[object, ...]:
    """Return the values of `ITEM_COLUMNS`."""
    entry = identified.entry
    return (
        feed.pk,
        identified.guid,
        identified.url,
        identified.article,
        _is_own(feed, identified),
        feed.source_id,
        entry.title,
        entry.text,
        entry.author,
        entry.language,
        clamp_published(entry.published, now),
        now,
        dated_at,
        identified.fingerprint,
        *body_columns(identified),
        "" if identified.link == identified.url else identified.link,
    )


def _is_own(feed: Feed, identified: IdentifiedEntry) -> bool:
    """Return whether the feed belongs to the publisher of the entry's address.

    An operator may have given the source another key. The address still belongs to its publisher, unless
    another host answers there.
    """
    keys = {feed.source_id, "" if feed.answered_by else source_key(feed.address)} - {""}
    return source_key(identified.url) in keys


def _changed_values(feed: Feed, identified: IdentifiedEntry) -> tuple[object, ...]:
    """Return the values of `CHANGED_COLUMNS`."""
    entry = identified.entry
    return (
        identified.guid,
        entry.title,
        entry.text,
        entry.author,
        entry.language,
        identified.fingerprint,
        _is_own(feed, identified),
        feed.source_id,
        identified.link,
    )
