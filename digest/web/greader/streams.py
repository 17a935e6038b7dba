"""Streams: the ids each has for its reader, page by page; items, feeds and counts as clients read them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import OuterRef, QuerySet, Subquery
from django.urls import reverse
from django.utils.html import linebreaks

from digest.articles.render import addresses_render
from digest.daily.selectors import digest_impressions
from digest.daily.services import digest_current
from digest.daily.store import exposures_log
from digest.days import day_of
from digest.entities import counts_unread
from digest.errors import CursorInvalid
from digest.feedback.selectors import feedback_by_items
from digest.feeds.addresses import feed_address
from digest.feeds.bodies import contents_each
from digest.feeds.entities import ItemContent
from digest.feeds.identity import web_url
from digest.feeds.twins import feed_place
from digest.items.listing import (
    ListFilter,
    ListKey,
    ReadFeed,
    Span,
    feeds_among,
    feeds_read,
    list_ids,
    list_items,
    list_key,
    marked_ids,
    unread_counts,
)
from digest.items.reading import NOT_READ, readings_for, readings_of
from digest.items.selectors import item_is_hidden, items_hidden, items_visible, mutes_in_force
from digest.models import Exposure, Feedback, Impression, Item, Reader, Reading, Subscription
from digest.web.greader.codec import (
    FEED,
    LABEL,
    LABELS,
    NOT_USEFUL,
    STATE,
    TODAY,
    USEFUL,
    Kind,
    Stream,
    StreamRequest,
    folder_write,
    item_write,
    microseconds,
)
from digest.web.greader.searches import search_keys, searches_labelled

Shape = dict[str, Any]
THUMBS = {Kind.USEFUL: True, Kind.NOT_USEFUL: False}
TITLES = {Kind.ALL: "All items", Kind.READ: "Read", Kind.UNREAD: "Unread", Kind.STARRED: "Starred"}
# A feed's id has fewer digits than this; a longer number is in no database.
ID_DIGITS = 19
# Of the articles in one answer, but for its first.
ANSWER_MAX_CHARS = 8_000_000


@dataclass(frozen=True, slots=True)
class StreamPage:
    """The ids of one page, in its order, and the continuation of the next page, "" on the last."""

    ids: Sequence[int]
    continuation: str = ""


def stream_page(*, reader: Reader, asked: StreamRequest, now: datetime) -> StreamPage:
    """Return a page of a stream, in a constant number of queries. Build today's digest if it is stale.

    A page begins after the last item of the page before, even if items came in between. Muted items are on no
    page, apart from starred ones. Raises `CursorInvalid`.
    """
    if asked.stream.kind == Kind.OTHER or (asked.read and asked.unread):
        return StreamPage([])
    if asked.stream.kind == Kind.TODAY:
        return _states_left(reader, _today(reader, asked, now), asked)
    after = list_key(asked.after)
    if asked.after and after is None:
        raise CursorInvalid("This continuation is not valid here. Begin without one.")
    if asked.stream.kind == Kind.SEARCH:
        keys = search_keys(reader=reader, asked=asked, after=after, now=now)
        shown = keys[: asked.limit]
        return StreamPage([key.item_id for key in shown], str(shown[-1]) if len(keys) > asked.limit else "")
    chosen = stream_filter(reader=reader, asked=asked)
    if chosen is None:
        return StreamPage([])
    ids = _ids(reader, asked, chosen, after, now)
    page, more = ids[: asked.limit], len(ids) > asked.limit
    last = list_items(ids=page[-1:]) if more else []
    key = "".join(str(ListKey(item.dated_at, item.pk)) for item in last)
    if asked.read or asked.stream.kind in THUMBS:
        hidden = items_hidden(mutes=mutes_in_force(reader_id=reader.pk, now=now), item_ids=page)
        page = [pk for pk in page if pk not in hidden]
    if asked.stream.kind in THUMBS or Kind.STARRED in asked.without:
        return _states_left(reader, StreamPage(page, key), asked)
    return StreamPage(page, key)


def stream_filter(*, reader: Reader, asked: StreamRequest) -> ListFilter | None:
    """Return the list that a stream is; `None` for a feed its reader does not read. One query at most."""
    stream = asked.stream
    feed = None
    if stream.kind == Kind.FEED:
        found = _feed_of(reader, stream)
        if found is None:
            return None
        feed = found.feed_id
    folder = stream.name if stream.kind == Kind.FOLDER else None
    return ListFilter(folder=folder, feed=feed, unread=asked.unread, saved=asked.starred)


def _feed_of(reader: Reader, stream: Stream) -> ReadFeed | None:
    by_id = stream.name.isascii() and stream.name.isdecimal() and len(stream.name) < ID_DIGITS
    feed_ids = [int(stream.name)] if by_id else None
    return feed_named(feeds=feeds_read(reader_id=reader.pk, feed_ids=feed_ids), stream=stream)


def feed_named(*, feeds: Sequence[ReadFeed], stream: Stream) -> ReadFeed | None:
    """Return the reader's feed that a stream names by its id or its address; one that moved is found too.

    The address may be one with or without TLS or `www.`, since feeds move there later.
    """
    if stream.name.isascii() and stream.name.isdecimal():
        feed_id = int(stream.name[:20])
        return next((one for one in feeds if feed_id in one.ids), None)
    url = feed_address(stream.name) or stream.name
    found = next((one for one in feeds if one.url == url), None)
    place = feed_place(url)
    return found or next((one for one in feeds if place and feed_place(one.url) == place), None)


def stream_title(*, reader: Reader, stream: Stream) -> str:
    """Return the name of a stream; one query at most."""
    if stream.kind == Kind.FEED:
        found = _feed_of(reader, stream)
        return found.name if found else stream.name
    return stream.name or TITLES.get(stream.kind, stream.kind.value)


def _ids(
    reader: Reader, asked: StreamRequest, chosen: ListFilter, after: ListKey | None, now: datetime
) -> list[int]:
    """Return the ids of a page, and one more if there is one."""
    muted = mutes_in_force(reader_id=reader.pk, now=now).sources
    among = feeds_among(reader_id=reader.pk, chosen=chosen, muted=muted)
    span = Span(after, seen_by=asked.seen_by, seen_from=asked.seen_from, oldest=asked.oldest)
    if asked.stream.kind not in THUMBS and not asked.read:
        return list_ids(
            reader_id=reader.pk,
            feeds=among,
            chosen=chosen,
            now=now,
            limit=asked.limit + 1,
            span=span,
        )
    useful = THUMBS.get(asked.stream.kind)
    thumbs = Feedback.objects.filter(reader=reader, useful=useful is True)
    return marked_ids(
        rows=_read(reader, chosen, among) if useful is None else thumbs,
        limit=asked.limit + 1,
        span=span,
    )


def _read(reader: Reader, chosen: ListFilter, among: list[int] | None) -> QuerySet[Reading]:
    rows = Reading.objects.filter(reader=reader, read_at__isnull=False)
    rows = rows.filter(saved_at__isnull=False) if chosen.saved else rows
    return rows if among is None else rows.filter(item__feed_id__in=among)


def _today(reader: Reader, asked: StreamRequest, now: datetime) -> StreamPage:
    """Return today's digest in its order, which no wish changes; a continuation is the last rank."""
    digest = digest_current(reader=reader, date=day_of(now, reader.zone), now=now)
    if digest is None:
        return StreamPage([])
    exposures_log(digest=digest, door=Exposure.Door.API, now=now)
    start = int(asked.after) if asked.after.isascii() and asked.after.isdecimal() else 0
    rows = [
        row
        for row in digest_impressions(digest=digest, now=now)
        if row.rank > start
        and (asked.seen_from is None or row.item.first_seen_at >= asked.seen_from)
        and (asked.seen_by is None or row.item.first_seen_at <= asked.seen_by)
    ]
    page = rows[: asked.limit]
    return StreamPage([row.item_id for row in page], str(page[-1].rank) if len(rows) > asked.limit else "")


def _states_left(reader: Reader, page: StreamPage, asked: StreamRequest) -> StreamPage:
    """Return the page without items in other states than those asked for. One query."""
    states = readings_for(reader_id=reader.pk, item_ids=page.ids)
    found = []
    for pk in page.ids:
        state = states.get(pk, NOT_READ)
        refusal_of = state.read_at and asked.unread, not state.read_at and asked.read
        starred = state.saved_at is not None
        if not any(refusal_of) and not (starred and Kind.STARRED in asked.without):
            found += [pk] if starred or not asked.starred else []
    return StreamPage(found, page.continuation)


@dataclass(frozen=True, slots=True)
class _States:
    """The reader's states of items: ids that are read, starred, in today's digest, rated; and feeds by id."""

    read: set[int]
    starred: set[int]
    today: set[int]
    useful: Mapping[int, bool]
    feeds: Mapping[int, ReadFeed]


def entries(*, reader: Reader, item_ids: Sequence[int], now: datetime) -> tuple[list[Shape], int]:
    """Return the visible, unmuted items in this order, and how many of `item_ids` were looked at: all of
    them, or fewer if their articles reach `ANSWER_MAX_CHARS`.

    Starred items are shown even if they are muted. Ten queries.
    """
    found = items_visible(reader_id=reader.pk).filter(pk__in=item_ids).select_related("source").in_bulk()
    items = [found[pk] for pk in item_ids if pk in found]
    states = _states(reader, items, now)
    mutes = mutes_in_force(reader_id=reader.pk, now=now)
    shown = [item for item in items if item.pk in states.starred or not item_is_hidden(mutes, item)]
    shapes: list[Shape] = []
    chars = 0
    for item, content in contents_each(items=shown):
        shape = _entry(item, content, states)
        chars += len(shape["summary"]["content"])
        if shapes and chars > ANSWER_MAX_CHARS:
            return shapes, list(item_ids).index(item.pk)
        shapes.append(shape)
    return shapes, len(item_ids)


def continuation_after(*, reader: Reader, asked: StreamRequest, item_id: int, now: datetime) -> str:
    """Return the continuation after this item; one query, or those of today's digest."""
    if asked.stream.kind == Kind.TODAY:
        digest = digest_current(reader=reader, date=day_of(now, reader.zone), now=now)
        rows = digest_impressions(digest=digest, now=now) if digest else []
        return next((str(row.rank) for row in rows if row.item_id == item_id), "")
    [item] = list_items(ids=[item_id])
    return str(ListKey(item.dated_at, item.pk))


def _states(reader: Reader, items: Sequence[Item], now: datetime) -> _States:
    ids = [item.pk for item in items]
    feed_ids = {item.feed_id for item in items if item.feed_id}
    readings = readings_of(reader_id=reader.pk, items=items)
    today = Impression.objects.filter(
        digest__reader=reader, digest__date=day_of(now, reader.zone), item_id__in=ids
    )
    ratings = feedback_by_items(reader_id=reader.pk, items=items)
    return _States(
        # Older items count as read, so that clients show the counts of the pages.
        read={
            i.pk
            for i in items
            if readings.get(i.pk, NOT_READ).read_at or not counts_unread(dated_at=i.dated_at, now=now)
        },
        starred={pk for pk, state in readings.items() if state.saved_at},
        today=set(today.order_by().values_list("item_id", flat=True)),
        useful={pk: rating.useful for pk, rating in ratings.items()},
        feeds={pk: one for one in feeds_read(reader_id=reader.pk, feed_ids=feed_ids) for pk in one.ids},
    )


def _entry(item: Item, content: ItemContent, states: _States) -> Shape:
    feed = states.feeds.get(item.feed_id or 0)
    seen = microseconds(item.first_seen_at)
    # Apps take the first link without asking whether there is one. An item without a link has its page here.
    link = item.address or f"{settings.SITE_URL}{reverse('digest:item', args=[item.pk])}"
    shape: Shape = {
        "id": item_write(item.pk),
        "crawlTimeMsec": str(seen // 1000),
        "timestampUsec": str(seen),
        "published": int(item.dated_at.timestamp()),
        "updated": int(item.dated_at.timestamp()),
        "title": item.title,
        "canonical": [{"href": link}],
        "alternate": [{"href": link, "type": "text/html"}],
        "categories": _categories(item, feed, states),
        "origin": {
            "streamId": f"{FEED}{feed.feed_id if feed else item.feed_id or 0}",
            "title": feed.name if feed else item.source_id,
            "htmlUrl": feed.site_url if feed else "",
        },
        "summary": {"content": addresses_render(content.html) or linebreaks(item.text, autoescape=True)},
    }
    if item.author:
        shape["author"] = item.author
    if content.enclosures:
        shape["enclosure"] = [
            {"href": one.url, "type": one.mime_type}
            | ({} if one.length_bytes is None else {"length": one.length_bytes})
            for one in content.enclosures
        ]
    return shape


def _categories(item: Item, feed: ReadFeed | None, states: _States) -> list[str]:
    """Return the streams that an item is in, then the publisher's own categories."""
    names = [STATE + Kind.ALL.value]
    names += [STATE + Kind.READ.value] if item.pk in states.read else []
    names += [STATE + Kind.STARRED.value] if item.pk in states.starred else []
    names += [folder_write(feed.folder)] if feed and feed.folder else []
    names += [LABEL + TODAY] if item.pk in states.today else []
    if item.pk in states.useful:
        names.append(LABEL + (USEFUL if states.useful[item.pk] else NOT_USEFUL))
    # A publisher's category must not pass for a state or a label.
    return names + [name for name in item.categories if not name.startswith("user/")]


def subscriptions(*, reader: Reader) -> list[Shape]:
    """Return the feeds the reader reads, with their folders; one query."""
    return [
        {
            "id": f"{FEED}{one.feed_id}",
            "title": one.name,
            "categories": [{"id": folder_write(one.folder), "label": one.folder}] if one.folder else [],
            "url": web_url(one.url),
            "htmlUrl": one.site_url,
            "sortid": f"{one.feed_id:08x}",
        }
        for one in feeds_read(reader_id=reader.pk)
    ]


def tags(*, reader: Reader) -> list[Shape]:
    """Return starred, the reader's folders, the three labels and saved searches; at most three queries."""
    folders = {one.folder for one in feeds_read(reader_id=reader.pk)} - {""}
    names = sorted(folders, key=lambda name: (name.casefold(), name))
    return [
        {"id": STATE + Kind.STARRED.value},
        *({"id": folder_write(name), "type": "folder"} for name in names),
        *({"id": LABEL + kind.value, "type": "tag"} for kind in LABELS),
        *({"id": label, "type": "tag"} for label in searches_labelled(reader_id=reader.pk)),
    ]


def unread(*, reader: Reader, now: datetime) -> list[Shape]:
    """Return the unread counts of all, of each folder and of each feed, and when their newest items came.

    Three queries more than `unread_counts`.
    """
    feeds = feeds_read(reader_id=reader.pk)
    counts = unread_counts(reader_id=reader.pk, feeds=feeds, now=now)
    newest = Item.objects.filter(feed=OuterRef("feed")).order_by("-dated_at", "-pk").values("first_seen_at")
    rows = Subscription.objects.filter(reader=reader).annotate(newest=Subquery(newest[:1]))
    at = {pk: microseconds(when) for pk, when in rows.values_list("feed_id", "newest") if when}
    lines = [
        (f"{FEED}{one.feed_id}", counts.feeds.get(one.feed_id, 0), max(at.get(pk, 0) for pk in one.ids))
        for one in feeds
    ]
    for folder in sorted({one.folder for one in feeds if one.folder}):
        last = max(at.get(pk, 0) for one in feeds if one.folder == folder for pk in one.ids)
        lines.append((folder_write(folder), counts.folders.get(folder, 0), last))
    lines.append((STATE + Kind.ALL.value, counts.total, max(at.values(), default=0)))
    return [{"id": name, "count": n, "newestItemTimestampUsec": str(last)} for name, n, last in lines]
