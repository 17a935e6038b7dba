"""JSON API of items: one with its body as published, lists by filters, marking many as read, and mutes."""

from datetime import UTC, date, datetime
from typing import Annotated, Literal

from django.http import HttpRequest
from django.utils import timezone
from ninja import Query, Router, Schema
from pydantic import AfterValidator, AwareDatetime, Field

from digest.articles.render import addresses_render
from digest.daily.best import best_key
from digest.daily.item_words import score_chips
from digest.days import day_of
from digest.errors import CursorInvalid
from digest.feedback.selectors import feedback_by_items
from digest.feeds.bodies import content_of
from digest.items.listing import (
    ListFilter,
    feeds_read,
    filter_current,
    list_key,
    unread_counts,
)
from digest.items.reading import NOT_READ, items_read, readings_of, readings_undo
from digest.items.selectors import item_get as item_of_reader
from digest.items.selectors import items_visible
from digest.models import Reader
from digest.mutes.preview import mute_named, mute_preview
from digest.mutes.services import mutes_change
from digest.requests import reader_of
from digest.web.pages.lists import ListRequest, list_mark_read, list_rows, plain_name
from ranking.entities import Mute
from ranking.mutes import KINDS, mute_over
from ranking.selectors import config_effective

items_router = Router(tags=["reading"])
ItemId = Annotated[int, Field(ge=1, le=2**63 - 1)]
SIZE, SIZE_MAX, IDS_MAX = 50, 100, 1_000
CURSOR_INVALID = "This cursor is not valid here, or the order it belongs to is over. Begin without one."


class ListIn(Schema):
    """Which items, in which order. `folder` "" is that of the feeds in none; `cursor` is that of a page."""

    source: Annotated[str, Field(max_length=200)] = ""
    folder: Annotated[str, Field(max_length=200)] | None = None
    feed: ItemId | None = None
    unread: bool = False
    saved: bool = False
    order: Literal["newest", "best"] = "newest"

    def asked(self, cursor: str = "") -> ListRequest:
        """Return the list, from `cursor` on."""
        folder = None if self.folder is None else plain_name(self.folder)
        chosen = ListFilter(plain_name(self.source), folder, self.feed, self.unread, self.saved)
        return ListRequest(filter_current(chosen=chosen), self.order, cursor)


class PageIn(ListIn):
    """A list, the cursor of the page before, and how many items a page has."""

    cursor: Annotated[str, Field(max_length=80)] = ""
    limit: Annotated[int, Field(ge=1, le=SIZE_MAX)] = SIZE


class ListedOut(Schema):
    """One item of a list. `reasons` says in a few words why it would have its score now."""

    item_id: int
    url: str
    title: str
    source: str
    source_title: str
    feed_id: int | None
    author: str
    dated_at: datetime
    reasons: list[str]
    useful: bool | None
    read_at: datetime | None
    saved_at: datetime | None


class ListOut(Schema):
    """One page of a list. `cursor` asks for the next one, `null` on the last; `seen` is when it was made."""

    items: list[ListedOut]
    cursor: str | None
    unread: int
    seen: datetime


def _utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError as error:  # the year 10,000 begins early in the east
        raise ValueError("A moment lies within the years 1 to 9999.") from error


# A moment that a client sends. Without a time zone it can be compared with none of ours.
Moment = Annotated[AwareDatetime, AfterValidator(_utc)]


class ReadIn(Schema):
    """The items to mark as read: by id, or all of a `list` that were there at the moment `seen`."""

    item_ids: Annotated[list[ItemId], Field(max_length=IDS_MAX)] = []
    list: ListIn | None = None
    seen: Moment | None = None


class MarkedOut(Schema):
    """How many items were marked, and the moment `at` that undoes it, to the microsecond."""

    count: int
    at: str


class UnreadIn(Schema):
    """The moment that marking as read answered."""

    at: Moment


class CountOut(Schema):
    """How many items are unread again."""

    count: int


@items_router.get("/items", response=ListOut)
def items_get(request: HttpRequest, asked: Query[PageIn]) -> ListOut:
    """Return a page of the reader's items, each article once. Raises `CursorInvalid`."""
    reader, now = reader_of(request), timezone.now()
    parsed = best_key(asked.cursor, now) if asked.order == "best" else list_key(asked.cursor)
    if asked.cursor and parsed is None:
        raise CursorInvalid(CURSOR_INVALID)
    wanted = asked.asked(asked.cursor)
    feeds = feeds_read(reader_id=reader.pk)
    page = list_rows(reader, wanted, feeds, asked.limit, now)
    items = [entry.item for entry in page.scored]
    states = readings_of(reader_id=reader.pk, items=items)
    ratings = feedback_by_items(reader_id=reader.pk, items=items)
    counts = unread_counts(reader_id=reader.pk, feeds=feeds, now=now)
    listed = []
    for entry in page.scored:
        item, state = entry.item, states.get(entry.item.pk, NOT_READ)
        rating = ratings.get(item.pk)
        listed.append(
            ListedOut(
                item_id=item.pk,
                url=item.address,
                title=item.title,
                source=item.source_id,
                source_title=item.source_name,
                feed_id=item.feed_id,
                author=item.author,
                dated_at=item.dated_at,
                reasons=[*score_chips(entry.parts, item.source_name, entry.slot)],
                useful=rating.useful if rating else None,
                read_at=state.read_at,
                saved_at=state.saved_at,
            )
        )
    return ListOut(
        items=listed, cursor=page.older or None, unread=counts.within(**wanted.chosen.names), seen=now
    )


@items_router.post("/items/read", response=MarkedOut)
def items_read_post(request: HttpRequest, body: ReadIn) -> MarkedOut:
    """Mark up to 1,000 items, or all of a list, as read. Items the reader may not see are left out."""
    reader, now = reader_of(request), timezone.now()
    count = _read_by_id(reader, body.item_ids, now) if body.item_ids else 0
    if body.list is not None:
        seen_by = min(body.seen or now, now)
        count += list_mark_read(reader, body.list.asked(), seen_by=seen_by, now=now) or 0
    return MarkedOut(count=count, at=now.isoformat())


@items_router.post("/items/unread", response=CountOut)
def items_unread_post(request: HttpRequest, body: UnreadIn) -> CountOut:
    """Make the items unread again that `POST /api/items/read` marked at the moment `at`."""
    return CountOut(count=readings_undo(reader=reader_of(request), at=body.at))


def _read_by_id(reader: Reader, item_ids: list[int], now: datetime) -> int:
    seen = items_visible(reader_id=reader.pk).filter(pk__in=item_ids).values_list("pk", flat=True)
    return items_read(reader=reader, item_ids=list(seen), now=now)


class EnclosureOut(Schema):
    """A sound, film or picture of an item. Length in bytes and duration in seconds as its feed says."""

    url: str
    mime_type: str
    length_bytes: int | None
    duration_s: int | None


class ItemOut(Schema):
    """One item. `content_html` is cleaned, or "" if `text` is enough; its pictures are at the publisher's.

    `url` and `image` are "" if there is none.
    """

    item_id: int
    url: str
    source: str
    title: str
    author: str
    language: str
    dated_at: datetime
    text: str
    content_html: str
    categories: list[str]
    enclosures: list[EnclosureOut]
    image: str
    read_at: datetime | None
    saved_at: datetime | None
    named_at: datetime | None


@items_router.get("/items/{int:item_id}", response=ItemOut)
def item_get(request: HttpRequest, item_id: int) -> ItemOut:
    """Return one item with its body; it is not marked as read. Raises `ItemNotFound`."""
    reader = reader_of(request)
    item = item_of_reader(reader_id=reader.pk, item_id=item_id)
    content = content_of(item=item)
    state = readings_of(reader_id=reader.pk, items=[item]).get(item_id)
    return ItemOut(
        item_id=item_id,
        url=item.address,
        source=item.source_id,
        title=item.title,
        author=item.author,
        language=item.language,
        dated_at=item.dated_at,
        text=item.text,
        content_html=addresses_render(content.html),
        categories=list(content.categories),
        enclosures=[EnclosureOut.model_validate(one, from_attributes=True) for one in content.enclosures],
        image=content.image,
        read_at=state.read_at if state else None,
        saved_at=state.saved_at if state else None,
        named_at=state.named_at if state else None,
    )


mutes_router = Router(tags=["mutes"])
Kind = Literal["word", "phrase", "source", "author", "address", "category"]


class MuteIn(Schema):
    """A mute: a source by key or title, or an address, in which `*` is anything. `until` is the last day.

    `within` is the only source where a word, phrase, author or category is muted; "" for everywhere.
    """

    kind: Kind
    value: Annotated[str, Field(min_length=1, max_length=max(KINDS.values()))]
    until: date | None = None
    within: Annotated[str, Field(max_length=KINDS["source"])] = ""


class MuteNamed(Schema):
    """The mute to end; a source by its key."""

    kind: Kind
    value: Annotated[str, Field(min_length=1, max_length=max(KINDS.values()))]
    within: Annotated[str, Field(max_length=KINDS["source"])] = ""


class MuteOut(Schema):
    """One mute. `until` is its last day in the reader's time zone, `null` for ever; `over`: it is past."""

    kind: Kind
    value: str
    until: date | None
    within: str = ""
    over: bool


class MutesOut(Schema):
    """All mutes, at a version of the settings."""

    version: int
    mutes: list[MuteOut]


class MutePreviewOut(Schema):
    """The effect of a mute: it hides `hides` of the last week's `total` items; up to ten `titles` of them."""

    hides: int
    total: int
    titles: list[str]


@mutes_router.get("/mutes", response=MutesOut)
def mutes_get(request: HttpRequest) -> MutesOut:
    """Return the reader's mutes."""
    return _mutes(reader_of(request), timezone.now())


@mutes_router.get("/mutes/preview", response=MutePreviewOut)
def mutes_preview_get(request: HttpRequest, asked: Query[MuteIn]) -> MutePreviewOut:
    """Return the items of the last seven days that a mute would hide. Nothing is stored."""
    reader, now = reader_of(request), timezone.now()
    mute = mute_named(reader=reader, now=now, **asked.dict())
    found = mute_preview(reader=reader, mute=mute, now=now)
    return MutePreviewOut(hides=found.hides, total=found.total, titles=list(found.titles))


@mutes_router.post("/mutes", response=MutesOut)
def mutes_post(request: HttpRequest, body: MuteIn) -> MutesOut:
    """Mute something, or change the last day of a mute."""
    reader, now = reader_of(request), timezone.now()
    mute = mute_named(reader=reader, now=now, **body.dict())
    mutes_change(reader=reader, mute=mute, muted=True, now=now)
    return _mutes(reader, now)


@mutes_router.delete("/mutes", response=MutesOut)
def mutes_delete(request: HttpRequest, asked: Query[MuteNamed]) -> MutesOut:
    """End a mute; one that is not there changes nothing."""
    reader, now = reader_of(request), timezone.now()
    mutes_change(reader=reader, mute=Mute(asked.kind, asked.value, within=asked.within), muted=False, now=now)
    return _mutes(reader, now)


def _mutes(reader: Reader, now: datetime) -> MutesOut:
    config, today = config_effective(reader_id=reader.pk).config, day_of(now, reader.zone)
    mutes = [
        MuteOut.model_validate({**mute.as_dict(), "over": mute_over(mute, today)}) for mute in config.mutes
    ]
    return MutesOut(version=config.version, mutes=mutes)
