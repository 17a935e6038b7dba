"""The reader's own names of feeds, which every place uses that names a source to its reader."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from digest.models import Feed, Item, Subscription
from ranking.selectors import read_once

COLUMNS = tuple(f"feed__{name}" for name in ("title", "owner", "state", "source__title"))


class OwnFeed(NamedTuple):
    """A feed that a reader subscribes to, with its names, its folder, and since when.

    `is_titled` is true if the feed has a title, or is the reader's own. Only then may the reader see the
    title of its source, which another feed may have brought.
    """

    feed_id: int
    source: str
    own_name: str
    source_title: str
    created_at: datetime
    is_titled: bool
    moved: bool
    folder: str


@dataclass(frozen=True, slots=True)
class OwnNames:
    """A reader's own names of `feeds` by id, and of `sources` by key.

    A source goes by the name of its feed if the reader reads no other feed of it.
    """

    feeds: Mapping[int, str]
    sources: Mapping[str, str]

    def over(self, titles: Mapping[str, str]) -> dict[str, str]:
        """Return the `titles` of sources by key, with the own names of those among them that have one."""
        return {key: self.sources.get(key, title) for key, title in titles.items()}


def own_feeds(*, reader_id: UUID, rows: Iterable[Subscription] | None = None) -> Sequence[OwnFeed]:
    """Return the feeds that the reader subscribes to, the latest first; one query, once a request.

    A caller that has all of the reader's subscriptions passes them as `rows`, which saves the query.
    """

    def read() -> Sequence[OwnFeed]:
        mine = Subscription.objects.filter(reader_id=reader_id).select_related("feed__source")
        found = mine.only("own_name", "created_at", "folder", *COLUMNS) if rows is None else rows
        return [_own_feed(row) for row in sorted(found, key=lambda row: -row.pk)]

    return read_once(("own_feeds", reader_id), read)


def _own_feed(row: Subscription) -> OwnFeed:
    return OwnFeed(
        row.feed_id,
        row.feed.source_id,
        row.own_name,
        str(row.feed.source),
        row.created_at,
        is_titled=bool(row.feed.title) or row.feed.owner_id is not None,
        moved=row.feed.state == Feed.State.MOVED,
        folder=row.folder,
    )


def own_folders(*, reader_id: UUID) -> list[str]:
    """Return the names of the reader's folders, sorted; one query, once a request."""
    folders = {one.folder for one in own_feeds(reader_id=reader_id) if one.folder and not one.moved}
    return sorted(folders, key=str.casefold)


def own_names(*, reader_id: UUID) -> OwnNames:
    """Return the reader's own names; one query, once a request."""
    feeds = own_feeds(reader_id=reader_id)
    of_source = Counter(one.source for one in feeds if not one.moved)
    named = [one for one in feeds if one.own_name]
    return OwnNames(
        {one.feed_id: one.own_name for one in named},
        {one.source: one.own_name for one in named if of_source[one.source] - (not one.moved) == 0},
    )


def items_name_sources(*, reader_id: UUID, items: Iterable[Item]) -> None:
    """Give each item its reader's own name of its source, for `Item.source_name`."""
    names = own_names(reader_id=reader_id)
    for item in items:
        item.own_source_name = names.feeds.get(item.feed_id or 0) or names.sources.get(item.source_id, "")


def sources_to_choose(titles: Mapping[str, str]) -> list[tuple[str, str]]:
    """Return (key, title) of sources for a field, by title. Of one title, each has its key behind it."""
    alike = Counter(title.casefold() for title in titles.values())
    named = (
        (key, f"{title} · {key}" if alike[title.casefold()] > 1 else title) for key, title in titles.items()
    )
    return sorted(named, key=lambda pair: pair[1].casefold())
