"""Contexts of the lists of all items: the request, the rows, the side list, and addresses."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from digest.daily.best import best_ids, best_key, best_page
from digest.daily.first_fetch_notice import notice_list
from digest.daily.presentation import ScoredItem, ShownItem, items_score, items_shown
from digest.entities import UNREAD_DAYS, counts_unread
from digest.items.listing import (
    CATEGORY_ITEMS_MAX,
    ListFilter,
    ListKey,
    ReadFeed,
    Span,
    feeds_among,
    feeds_read,
    filter_current,
    filter_feeds,
    list_ids,
    list_items,
    list_key,
    list_read,
    unread_counts,
)
from digest.items.own_names import own_names
from digest.items.reading import items_read
from digest.items.search import Order, order_of
from digest.items.search_counts import CountedSearch, searches_unread
from digest.items.search_query import TextPart
from digest.items.selectors import mutes_in_force
from digest.items.unread import UnreadCounts
from digest.models import Reader
from digest.searches.forms import filters_stored
from digest.searches.selectors import SearchLine, search_lines, searches_saved
from digest.web.pages.marked import page_stamp

NAME_CHARS = 200
# The buttons' fields in a list's form. No filter may have one of these names: the form sends both.
ACTIONS = ("read_item", "unread_item", "above", "below", "all", "older", "these")
# "Mark as read what is older than": days.
OLDER_DAYS = (1, 3, 7, 14)


@dataclass(frozen=True, slots=True)
class ListRequest:
    """A list as its address names it; `before` is the key that the page begins after, as it was typed."""

    chosen: ListFilter
    order: Order = "newest"
    before: str = ""

    @property
    def fields(self) -> dict[str, str]:
        """Return the query of the address, without defaults."""
        chosen = self.chosen
        found = {
            "source": chosen.source,
            "feed": str(chosen.feed or ""),
            "unread": "1" if chosen.unread else "",
            "saved": "1" if chosen.saved else "",
            "category": chosen.category,
            "order": "" if self.order == "newest" else self.order,
            "before": self.before,
        }
        folder = {} if chosen.folder is None else {"folder": chosen.folder}
        return folder | {name: value for name, value in found.items() if value}

    def address(self) -> str:
        """Return the address of the list."""
        query = urlencode(self.fields)
        return reverse("digest:all") + (f"?{query}" if query else "")

    def other(self, *, order: Order | None = None, **chosen: Any) -> str:
        """Return the address of the first page of a list that differs in `order` or `chosen`."""
        changed = replace(self.chosen, **chosen)
        return ListRequest(changed, order or self.order).address()


@dataclass(frozen=True, slots=True)
class ListRow:
    """One item of a list, its key there, and whether it counts as unread until it is read.

    `feed` is its feed if the row shows the name of the feed and not that of the source. What a search found
    has no key, but a title and a snippet with the matches marked.
    """

    shown: ShownItem
    key: str
    counts: bool
    feed: ReadFeed | None = None
    title: tuple[TextPart, ...] = ()
    snippet: tuple[TextPart, ...] = ()


@dataclass(frozen=True, slots=True)
class SideLine:
    """A link to a list beside another: its name, its address, its unread count, and whether it is shown.

    `feed` is the id of its feed if it lists only one. `muted`: a mute hides all of its source. `tail` tells
    it apart from others of its name.
    """

    name: str
    href: str
    unread: int
    current: bool
    feed: int | None = None
    muted: bool = False
    tail: str = ""


@dataclass(frozen=True, slots=True)
class SideFolder:
    """A folder of the side list with its feeds. `line` is `None` if the reader has no folders."""

    line: SideLine | None
    feeds: tuple[SideLine, ...]
    open: bool


@dataclass(frozen=True, slots=True)
class ListPage:
    """One page of a list: the scored items with their keys, and the key of the next page ("" for none)."""

    scored: Sequence[ScoredItem]
    keys: Sequence[str]
    older: str


def list_request(query: Mapping[str, str]) -> ListRequest:
    """Return the list that a query or a form names. A field that cannot be read counts as missing."""
    feed = query.get("feed", "")
    chosen = ListFilter(
        source=plain_name(query.get("source", "")),
        folder=plain_name(query["folder"]) if "folder" in query else None,
        feed=int(feed) if feed.isdecimal() and len(feed) < 19 else None,
        unread=query.get("unread") == "1",
        saved=query.get("saved") == "1",
        category=plain_name(query.get("category", "")),
    )
    order = order_of(query.get("order", ""), default="newest")
    return ListRequest(filter_current(chosen=chosen), order, query.get("before", "")[:80])


def list_rows(
    reader: Reader, asked: ListRequest, feeds: Sequence[ReadFeed], size: int, now: datetime
) -> ListPage:
    """Return one page of a list; a constant number of queries."""
    muted = mutes_in_force(reader_id=reader.pk, now=now).sources
    among = filter_feeds(feeds, asked.chosen, muted)
    if asked.order == "best":
        after = best_key(asked.before, now)
        page = best_page(reader=reader, feeds=among, chosen=asked.chosen, now=now, size=size, after=after)
        return ListPage(page.items, [str(key) for key in page.keys], str(page.older or ""))
    ids = list_ids(
        reader_id=reader.pk,
        feeds=among,
        chosen=asked.chosen,
        now=now,
        limit=size + 1,
        span=Span(after=list_key(asked.before), oldest=asked.order == "oldest"),
    )
    items = list_items(ids=ids[:size])
    keys = [str(ListKey(item.dated_at, item.pk)) for item in items]
    scored = items_score(reader=reader, items=items, now=now)
    return ListPage(scored, keys, keys[-1] if len(ids) > size and keys else "")


def list_page(reader: Reader, asked: ListRequest, now: datetime) -> dict[str, Any]:
    """Return one page of a list with the side list and addresses; a constant number of queries."""
    feeds = feeds_read(reader_id=reader.pk)
    counts = unread_counts(reader_id=reader.pk, feeds=feeds, now=now)
    page = list_rows(reader, asked, feeds, reader.list_size, now)
    shown = items_shown(reader=reader, scored=page.scored, now=now, breakdown=False)
    named, chosen = feeds_named(feeds), _feeds_of(feeds, asked.chosen)
    return {
        "asked": asked,
        "chosen": asked.chosen,
        "name": list_name(feeds, asked.chosen),
        "known": not asked.chosen.narrow or bool(filter_feeds(feeds, asked.chosen)),
        "muted": bool(chosen) and all(one.source in counts.muted for one in chosen),
        "feeds": feeds,
        "rows": [
            ListRow(
                entry,
                key,
                counts=counts_unread(dated_at=entry.item.dated_at, now=now),
                feed=named.get(entry.item.feed_id),
            )
            for entry, key in zip(shown, page.keys, strict=True)
        ],
        "older": replace(asked, before=page.older).address() if page.older else "",
        "newest": asked.other() if asked.before else "",
        "here": asked.address(),
        "search_in": _search_in(asked.chosen, chosen),
        "settings": reverse("digest:source", args=[chosen[0].feed_id]) if len(chosen) == 1 else "",
        "beside": f"{asked.address()}{'&' if '?' in asked.address() else '?'}side=here",
        "fields": asked.fields,
        "with_muted": counts.with_muted,
        "unread": counts.within(**asked.chosen.names),
        "side": side_list(asked, feeds, counts),
        "searches": _searches(reader, feeds, now),
        "total": _total(asked, counts, current=not asked.chosen.narrow),
        "tabs": _tabs(asked),
        "orders": orders_switch(
            ("newest", "oldest", "best"), asked.order, lambda order: asked.other(order=order)
        ),
        "seen": page_stamp(now),
        "filling": notice_list(reader, now) if any(feed.waits for feed in feeds) else None,
    }


def lists_beside(reader: Reader, here: ListRequest | None, now: datetime) -> dict[str, Any]:
    """Return the context of the lists beside the list `here`, or beside a page that is none of them."""
    feeds = feeds_read(reader_id=reader.pk)
    counts = unread_counts(reader_id=reader.pk, feeds=feeds, now=now)
    asked = here or ListRequest(ListFilter())
    return {
        "side": side_list(asked, feeds, counts),
        "searches": _searches(reader, feeds, now),
        "total": _total(asked, counts, current=here is not None and not here.chosen.narrow),
        "with_muted": counts.with_muted,
    }


def _search_in(asked: ListFilter, feeds: Sequence[ReadFeed]) -> str:
    """Return the query with which a search begins in the folder or the source that a list is of; else ""."""
    places = {"folder": asked.folder, "source": asked.source or next((one.source for one in feeds), "")}
    named = urlencode({name: place for name, place in places.items() if place})
    return f"?{named}" if named else ""


def _searches(reader: Reader, feeds: Sequence[ReadFeed], now: datetime) -> list[SearchLine]:
    """Return the reader's saved searches as lines above the folders, with their unread counts if wanted."""
    titles = own_names(reader_id=reader.pk).over({one.source: one.source_name for one in feeds})
    saved = searches_saved(reader_id=reader.pk)
    if reader.hide_counts:
        return search_lines(saved, titles)
    counted = {pk: CountedSearch(one.query, filters_stored(one.filters, reader.zone)) for pk, one in saved}
    unread = searches_unread(reader_id=reader.pk, searches=counted, feeds=feeds, now=now)
    return search_lines(saved, titles, unread)


def _total(asked: ListRequest, counts: UnreadCounts, *, current: bool) -> SideLine:
    href = asked.other(source="", folder=None, feed=None, category="")
    return SideLine(_("All items"), href, counts.total, current)


def list_mark_read(
    reader: Reader,
    asked: ListRequest,
    *,
    above: str = "",
    below: str = "",
    seen_by: datetime,
    now: datetime,
    older_days: int = 0,
) -> int | None:
    """Mark a list as read, or its rows `above` or `below` the row with this key.

    Return how many, or `None` if there is no such row. With `older_days`, mark only what is dated earlier, in
    any order of the list. Items that came after `seen_by`, the moment the page was made, stay unread.
    """
    muted = mutes_in_force(reader_id=reader.pk, now=now).sources
    among = feeds_among(reader_id=reader.pk, chosen=asked.chosen, muted=muted)
    row = above or below
    if asked.order == "best" and not older_days:
        key = best_key(row, now) if row else None
        if row and key is None:
            return None
        side = {"above": key} if above else {"below": key}
        ids = best_ids(reader=reader, feeds=among, chosen=asked.chosen, as_of=seen_by, now=now, **side)
        return items_read(reader=reader, item_ids=ids, now=now)
    place = list_key(row) if row else None
    if row and place is None:
        return None
    is_newer = bool(above) == (asked.order == "newest")
    newer_than = place if is_newer else None
    older_than = ListKey(now - timedelta(days=older_days), 0) if older_days else None if is_newer else place
    if not asked.chosen.category:
        return list_read(
            reader=reader,
            feeds=among,
            chosen=asked.chosen,
            now=now,
            seen_by=seen_by,
            newer_than=newer_than,
            older_than=older_than,
        )
    span = Span(after=older_than, since=now - timedelta(days=UNREAD_DAYS), seen_by=seen_by)
    limit = CATEGORY_ITEMS_MAX
    ids = list_ids(reader_id=reader.pk, feeds=among, chosen=asked.chosen, now=now, limit=limit, span=span)
    if newer_than:
        ids = [item.pk for item in list_items(ids=ids) if newer_than.is_older_than(item)]
    return items_read(reader=reader, item_ids=ids, now=now)


def list_name(feeds: Sequence[ReadFeed], chosen: ListFilter) -> str:
    """Return the name of a list: its category, its feed, its source, its folder, or "All items"."""
    if chosen.category:
        return _("Category: {category}").format(category=chosen.category)
    of_it = _feeds_of(feeds, chosen)
    if chosen.feed is not None:
        return of_it[0].label if of_it else _("A feed")
    if chosen.source:
        own = [one.name for one in of_it if one.named and len(of_it) == 1]
        return next(iter([*own, *(one.source_name for one in of_it)]), chosen.source)
    if chosen.folder is not None:
        return chosen.folder or _("In no folder")
    return _("All items")


def feeds_named(feeds: Sequence[ReadFeed]) -> dict[int | None, ReadFeed]:
    """Return {feed id: feed} of the feeds whose items show the feed's name and not that of the source.

    The reader gave the feed a name, or reads several feeds of its source.
    """
    shared = Counter(one.source for one in feeds)
    return {pk: one for one in feeds if one.named or shared[one.source] > 1 for pk in one.ids}


def _feeds_of(feeds: Sequence[ReadFeed], chosen: ListFilter) -> list[ReadFeed]:
    """Return the feed that a list is of, or the feeds of its source; [] for other lists."""
    if chosen.feed is not None:
        return [one for one in feeds if one.feed_id == chosen.feed]
    return [one for one in feeds if chosen.source and one.source == chosen.source]


def side_list(asked: ListRequest, feeds: Sequence[ReadFeed], counts: UnreadCounts) -> list[SideFolder]:
    """Return the reader's folders with their feeds and unread counts. Feeds without a folder come last."""
    chosen = asked.chosen
    ordered = sorted(feeds, key=lambda one: (not one.folder, one.folder.casefold(), one.folder))
    filed = any(one.folder for one in feeds)
    # A source is led to by its name; of one feed, it is the same list.
    of_source = [one.feed_id for one in feeds if chosen.feed is None and one.source == chosen.source]
    current = chosen.feed or (of_source[0] if len(of_source) == 1 else None)
    # To make each address anew would take as long as half of the list.
    before, _feed, after = asked.other(source="", folder=None, feed=-1).partition("feed=-1")
    found = []
    for folder, group in groupby(ordered, key=lambda one: one.folder):
        rows = list(group)
        lines = tuple(
            SideLine(
                one.name,
                f"{before}feed={one.feed_id}{after}",
                counts.feeds.get(one.feed_id, 0),
                current == one.feed_id,
                one.feed_id,
                one.source in counts.muted,
                one.tail,
            )
            for one in rows
        )
        line = SideLine(
            folder or _("In no folder"),
            asked.other(source="", folder=folder, feed=None),
            counts.folders.get(folder, 0),
            chosen.folder == folder and chosen.feed is None,
        )
        is_open = not filed or any(one.current for one in lines)
        is_open = is_open or any(one.feed_id in of_source for one in rows)
        found.append(SideFolder(line if filed else None, lines, is_open))
    return found


def _tabs(asked: ListRequest) -> list[SideLine]:
    chosen = asked.chosen
    return [
        SideLine(_("All"), asked.other(unread=False, saved=False), 0, not chosen.unread and not chosen.saved),
        SideLine(_("Unread"), asked.other(unread=True, saved=False), 0, chosen.unread and not chosen.saved),
        SideLine(_("Saved"), asked.other(unread=False, saved=True), 0, chosen.saved),
    ]


def orders_switch(orders: Sequence[Order], chosen: Order, address: Callable[[Order], str]) -> list[SideLine]:
    """Return the links that choose one of the `orders` of a list; `address` returns where an order leads."""
    names: dict[Order, str] = {"newest": _("Newest"), "oldest": _("Oldest"), "best": _("Best")}
    return [SideLine(names[order], address(order), 0, order == chosen) for order in orders]


def plain_name(typed: str) -> str:
    """Return a typed name without NUL, which PostgreSQL cannot compare, cut to `NAME_CHARS`."""
    return typed.replace("\0", "")[:NAME_CHARS]
