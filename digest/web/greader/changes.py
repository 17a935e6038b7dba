"""Changes by apps: items read, starred and rated, whole streams, subscriptions and folders."""

from collections.abc import Collection
from dataclasses import replace
from datetime import datetime

from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from digest.accounts.tokens import FULL, RATE
from digest.daily.first_fetch import first_fetch_wake
from digest.errors import DigestError, FeedNotFound
from digest.feedback.selectors import feedback_by_items
from digest.feedback.services import feedback_give, feedback_take_back
from digest.feeds.address_checks import check_address
from digest.feeds.discovery import feeds_discover, site_address
from digest.items.listing import ReadFeed, feeds_read
from digest.items.reading import items_read as items_mark
from digest.items.reading import items_save, items_unmark
from digest.items.selectors import items_visible
from digest.models import Item, Reader
from digest.requests import reader_of
from digest.sources.adding import AddedFeed, feed_add
from digest.sources.subscription_changes import (
    folder_rename,
    subscriptions_move,
    subscriptions_remove,
    subscriptions_rename,
)
from digest.throttling import LOOKUP, limit_count
from digest.web.greader.codec import (
    FEED,
    IDS_MAX,
    LABEL,
    LABELS,
    Kind,
    Stream,
    StreamRequest,
    items_read,
    moment_read,
    stream_read,
)
from digest.web.greader.door import COST_ITEM, COST_TAG, OK, Fields, charge, json, plain, token_required
from digest.web.greader.streams import THUMBS, feed_named, stream_filter, stream_page
from digest.web.pages.lists import ListRequest, list_mark_read

# Each thumb needs its own learning step. No app was seen to send more.
THUMBS_MAX = 200
# Each is looked for among all that the reader has.
FEEDS_MAX = 1_000
# Each stream needs its own statements.
STREAMS_MAX = 50
NO_LABEL = "Labels are Useful and Not useful; no other can be given."


@token_required("POST", scope=RATE, cost=COST_TAG)
def edit_tag(request: HttpRequest) -> HttpResponse:
    """Mark items as read or unread, star them, or rate them by a label. Other states, and Today, stay.

    Items the reader may not see are left out.
    """
    reader, now, sent = reader_of(request), timezone.now(), Fields(request)
    ids = items_read(sent.all("i"))
    if not ids or len(ids) > IDS_MAX:
        raise ValueError(f"Name 1 to {IDS_MAX:,} items by i.")
    charge(request, (len(ids) - 1) * COST_ITEM)
    added, removed = _tags(sent.all("a")), _tags(sent.all("r"))
    rated = (added | removed) & THUMBS.keys()
    if rated and len(ids) > THUMBS_MAX:
        raise ValueError(f"Rate {THUMBS_MAX} items at a time.")
    items = list(items_visible(reader_id=reader.pk).filter(pk__in=ids).defer("text"))
    seen = [item.pk for item in items]
    if Kind.READ in added:
        items_mark(reader=reader, item_ids=seen, now=now)
    elif Kind.READ in removed or Kind.UNREAD in added:
        items_unmark(reader=reader, item_ids=seen)
    if Kind.STARRED in added | removed:
        items_save(reader=reader, item_ids=seen, saved=Kind.STARRED in added, now=now)
    if rated:
        _rate(reader, items, added, removed, now)
    return plain(OK)


def _tags(texts: Collection[str]) -> set[Kind]:
    """Return the states and labels of these ids. Raises `ValueError` for a label that nobody can give."""
    kinds = {stream_read(text.strip()).kind for text in texts if text.strip()}
    if kinds & {Kind.FOLDER, Kind.FEED, Kind.SEARCH}:
        raise ValueError(NO_LABEL)
    return kinds


def _rate(
    reader: Reader, items: Collection[Item], added: set[Kind], removed: set[Kind], now: datetime
) -> None:
    """Rate each item, or delete a rating that is the one removed."""
    wished = next((THUMBS[kind] for kind in THUMBS if kind in added), None)
    undone = {THUMBS[kind] for kind in THUMBS if kind in removed}
    ratings = feedback_by_items(reader_id=reader.pk, items=items)
    for item in items:
        rating = ratings.get(item.pk)
        if wished is not None:
            feedback_give(reader=reader, item_id=item.pk, useful=wished, now=now)
        elif rating is not None and rating.useful in undone:
            feedback_take_back(reader=reader, item_id=item.pk)


@token_required("POST", scope=RATE)
def mark_all_as_read(request: HttpRequest) -> HttpResponse:
    """Mark the items of each stream `s` as read that had come by the moment `ts`."""
    reader, now, sent = reader_of(request), timezone.now(), Fields(request)
    streams = list(dict.fromkeys(stream_read(text.strip()) for text in sent.all("s") or [""]))
    if len(streams) > STREAMS_MAX:
        raise ValueError(f"Name {STREAMS_MAX} streams at a time.")
    charge(request, len(streams) - 1)
    seen_by = min(moment_read(sent.one("ts")) or now, now)
    for stream in streams:
        _mark_read(reader, StreamRequest(stream, IDS_MAX, seen_by=seen_by), now)
    return plain(OK)


def _mark_read(reader: Reader, asked: StreamRequest, now: datetime) -> None:
    if asked.stream.kind in {*LABELS, Kind.SEARCH}:
        page = stream_page(reader=reader, asked=asked, now=now)
        items_mark(reader=reader, item_ids=page.ids, now=now)
    elif asked.stream.kind not in {Kind.OTHER, Kind.READ} and (
        chosen := stream_filter(reader=reader, asked=asked)
    ):
        wanted = ListRequest(replace(chosen, unread=False))
        list_mark_read(reader, wanted, seen_by=asked.seen_by or now, now=now)


@token_required("POST", scope=FULL)
def subscription_edit(request: HttpRequest) -> HttpResponse:
    """Subscribe to feeds, end subscriptions, or move them to the folder `a` or out of the folder `r`.

    `t` is the reader's name for a feed, one for each `s` in the same order. Alone and empty, it brings the
    feed's own name back. Of several new feeds, one with a fault does not stop the others.
    Raises `FeedNotFound`.
    """
    reader, now, sent = reader_of(request), timezone.now(), Fields(request)
    streams, action = [stream_read(text) for text in sent.all("s")], sent.one("ac")
    if not 1 <= len(streams) <= FEEDS_MAX or any(stream.kind != Kind.FEED for stream in streams):
        raise ValueError(f"Name 1 to {FEEDS_MAX:,} feeds by s, as feed/… .")
    added, removed = (folder_read(text) if (text := sent.one(key)) else "" for key in "ar")
    titles, problem = sent.all("t"), None
    if action == "subscribe":
        found, problem = _subscribe_all(reader, streams, now)
    elif action in {"edit", "unsubscribe"}:
        found = {n: feed.feed_id for n, feed in enumerate(_feeds_of(reader, streams))}
    else:
        raise ValueError("ac is subscribe, edit or unsubscribe.")
    if action == "unsubscribe":
        subscriptions_remove(reader=reader, feed_ids=found.values(), now=now)
        return plain(OK)
    if action == "edit" and not (titles or added or removed):
        raise ValueError("Send a name as t, or a folder as a or r.")
    alone = action == "edit" and not (added or removed)
    names = {found[n]: name for n, name in enumerate(titles) if n in found and (name.strip() or alone)}
    subscriptions_rename(reader=reader, names=names)
    leaving = {one.feed_id for one in feeds_read(reader_id=reader.pk) if removed and one.folder == removed}
    moving = found.values() if added else leaving.intersection(found.values())
    if moving:
        subscriptions_move(reader=reader, feed_ids=moving, folder=added)
    if problem:
        raise problem
    return plain(OK)


def _subscribe_all(
    reader: Reader, streams: Collection[Stream], now: datetime
) -> tuple[dict[int, int], DigestError | None]:
    """Subscribe to each stream. Return the feeds' ids by the places of their streams, and the first error."""
    found: dict[int, int] = {}
    problem = None
    for n, stream in enumerate(streams):
        try:
            found[n] = _subscribe(reader, stream.name, now).subscription.feed_id
        except DigestError as error:
            problem = problem or error
    return found, problem


def _feeds_of(reader: Reader, streams: Collection[Stream]) -> list[ReadFeed]:
    feeds = feeds_read(reader_id=reader.pk)
    found = [feed_named(feeds=feeds, stream=stream) for stream in streams]
    if None in found:
        raise FeedNotFound("You do not read that feed. Load your subscriptions again.")
    return [one for one in found if one]


def _folders_named(sent: Fields) -> list[str]:
    """Return the ids of the folders `s`; some clients send their names as `t` instead."""
    return sent.all("s") or [LABEL + name for name in sent.all("t")]


def folder_read(text: str) -> str:
    """Return the name of the folder with this id. Raises `ValueError` if it is no folder's, or a label's."""
    stream = stream_read(text)
    if stream.kind != Kind.FOLDER:
        raise ValueError("That is not the id of a folder, or it has the name of a label.")
    return stream.name


def _subscribe(reader: Reader, url: str, now: datetime) -> AddedFeed:
    """Subscribe to the first feed that a site or an address offers; it is fetched now, or soon."""
    check_address(url=site_address(url))
    limit_count(limit=LOOKUP, who=reader.pk, now=now)
    added = feed_add(reader=reader, found=feeds_discover(url=url, reader_id=reader.pk)[0], now=now)
    if not added.stored:
        first_fetch_wake()
    return added


@token_required("POST", scope=FULL)
def quick_add(request: HttpRequest) -> HttpResponse:
    """Subscribe to a feed by its address or its site's. An error is a text in the answer."""
    reader, typed = reader_of(request), Fields(request).one("quickadd").removeprefix(FEED)
    try:
        feed = _subscribe(reader, typed, timezone.now()).subscription.feed
    except DigestError as error:
        if error.status == 429:
            raise
        return json({"numResults": 0, "query": typed, "error": error.message})
    return json(
        {"numResults": 1, "query": feed.address, "streamId": f"{FEED}{feed.pk}", "streamName": feed.name}
    )


@token_required("POST", scope=FULL)
def rename_tag(request: HttpRequest) -> HttpResponse:
    """Rename the folder `s`, or of the name `t`, to `dest`. Answer 404 if no feed is in it."""
    sent = Fields(request)
    old, new = folder_read(next(iter(_folders_named(sent)), "")), folder_read(sent.one("dest"))
    if not folder_rename(reader=reader_of(request), folder=old, name=new):
        return plain("You have no such folder. Load your folders again.", 404)
    return plain(OK)


@token_required("POST", scope=FULL)
def disable_tag(request: HttpRequest) -> HttpResponse:
    """Delete the folders `s`, or of the names `t`; their feeds are in no folder then.

    Apps unsubscribe a folder's feeds first. The last one ends the folder, so a folder without feeds is OK.
    """
    names = {folder_read(text) for text in _folders_named(Fields(request))}
    if not names:
        raise ValueError("Name a folder by s.")
    feeds = [one.feed_id for one in feeds_read(reader_id=reader_of(request).pk) if one.folder in names]
    subscriptions_move(reader=reader_of(request), feed_ids=feeds, folder="")
    return plain(OK)
