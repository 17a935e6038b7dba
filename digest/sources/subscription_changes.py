"""Changes of subscriptions, of one or of a thousand: folders, switches, removal and its undo, fetching now.

Each is a constant number of statements. Feeds the reader does not read are left out, and nobody else's
subscriptions change.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils.translation import gettext

from digest.errors import FeedNotFound
from digest.feeds.ingest import feeds_current
from digest.feeds.pauses import feed_pauses
from digest.feeds.polling import MISSING_MAX
from digest.feeds.sanitise import clean_text, one_line
from digest.feeds.selectors import NEWSLETTER_PREFIX
from digest.models import Feed, Reader, Subscription
from digest.searches.services import searches_move
from digest.sources.opml import FOLDER_MAX_CHARS, TITLE_MAX_CHARS
from digest.sources.subscriptions import check_room, newsletter_check_room

# A feed is shared, so no button asks its publisher again this soon after the last time.
FETCH_PAUSE: Final = timedelta(minutes=10)
# Columns that a removed subscription does not come back with.
_NOT_RESTORED: Final = ("id", "reader", "feed", "created_at")

Removed = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FetchAsked:
    """Result of `feeds_fetch_now`: feeds that are `due`, tried `lately`, `paused`, or `never` fetched.

    The servers of the paused ones asked for a pause. The last of these ends at `paused_until`.
    """

    due: int
    lately: int
    paused: int
    never: int
    paused_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class SubscriptionEdit:
    """New settings of a subscription; `None` leaves one as it is.

    `folder` is "" for none, `own_name` the reader's name for the feed, "" for its own title. The others
    switch models, full texts and Today.
    """

    folder: str | None = None
    own_name: str | None = None
    ai_enabled: bool | None = None
    full_text: bool | None = None
    in_today: bool | None = None

    def columns(self) -> dict[str, str | bool]:
        """Return the new values of columns, cleaned."""
        given = {name: value for name in self.__slots__ if (value := getattr(self, name)) is not None}
        if self.folder is not None:
            given["folder"] = folder_clean(self.folder)
        if self.own_name is not None:
            given["own_name"] = one_line(clean_text(self.own_name), limit=TITLE_MAX_CHARS)
        return given


def subscription_change(*, reader: Reader, feed_id: int, edit: SubscriptionEdit, now: datetime) -> bool:
    """Change a subscription. Return whether the reader has it.

    If the feed joins or leaves Today, today's digest is due again.
    """
    fields = edit.columns()
    found = _mine(reader, [feed_id])
    if edit.in_today is not None and found.exclude(in_today=edit.in_today).exists():
        Reader.objects.filter(pk=reader.pk).update(sources_left_at=now)
    return found.update(**fields) > 0 if fields else found.exists()


@transaction.atomic
def subscriptions_rename(*, reader: Reader, names: Mapping[int, str]) -> None:
    """Store the reader's names of feeds, by id. "" and the feed's own title mean no name."""
    own = Subscription.objects.filter(reader=reader, feed__in=names.keys())
    rows = list(own.select_related("feed__source"))
    for row in rows:
        name = one_line(clean_text(names[row.feed_id]), limit=TITLE_MAX_CHARS)
        row.own_name = "" if name in {row.feed.title, row.feed.name} else name
    Subscription.objects.bulk_update(rows, ["own_name"])


@transaction.atomic
def subscriptions_move(*, reader: Reader, feed_ids: Collection[int], folder: str) -> dict[int, str]:
    """Move subscriptions to a folder ("" for none). Return the folders that their feeds were in."""
    return _move(_mine(reader, feed_ids), folder)


@transaction.atomic
def folder_rename(*, reader: Reader, folder: str, name: str) -> dict[int, str]:
    """Rename a folder, perhaps to the name of another one; "" removes it. Return the same as a move.

    A folder is only a name on subscriptions, and ends with the last one. Saved searches in it follow.
    """
    if folder and (name := folder_clean(name)):
        searches_move(reader=reader, folder=folder, name=name)
    return _move(_in_folder(reader, folder), name) if folder else {}


def _in_folder(reader: Reader, folder: str) -> QuerySet[Subscription]:
    return Subscription.objects.filter(reader=reader, folder=folder)


def _move(rows: QuerySet[Subscription], folder: str) -> dict[int, str]:
    before = {row.pk: (row.feed_id, row.folder) for row in rows.select_for_update()}
    Subscription.objects.filter(pk__in=list(before)).update(folder=folder_clean(folder))
    return dict(before.values())


@transaction.atomic
def subscriptions_move_back(*, reader: Reader, before: Mapping[int, str], folder: str) -> int:
    """Undo a move to `folder`. Feeds that left it since stay. Return how many feeds moved."""
    moved = _in_folder(reader, folder).filter(feed__in=list(before))
    rows = list(moved.select_for_update())
    for row in rows:
        row.folder = before[row.feed_id]
    Subscription.objects.bulk_update(rows, ["folder"])
    # Undoing the new name of a folder, and not a move between two that are there, ends it.
    if len(named := set(before.values())) == 1 and not _in_folder(reader, folder).exists():
        searches_move(reader=reader, folder=folder, name=named.pop())
    return len(rows)


@transaction.atomic
def subscriptions_remove(*, reader: Reader, feed_ids: Collection[int], now: datetime) -> list[dict[str, Any]]:
    """End subscriptions. Return the rows that `subscriptions_restore` takes to undo it. Rated items stay.

    Today's digest is due again: it loses the feeds' items, apart from rated ones.
    """
    rows = list(_mine(reader, feed_ids).select_for_update())
    if rows:
        Subscription.objects.filter(pk__in=[row.pk for row in rows]).delete()
        Reader.objects.filter(pk=reader.pk).update(sources_left_at=now)
    return [{"feed": row.feed_id} | _own_columns(row) for row in rows]


@transaction.atomic
def subscriptions_restore(*, reader: Reader, removed: Sequence[Removed], now: datetime) -> int:
    """Undo a removal, with folders and switches as before. Return how many feeds are read again.

    The caller must have checked that the reader had these feeds. Raises `FeedNotFound` if none is stored any
    more, and `TooManySubscriptions` beyond the limit.
    """
    wanted = {row["feed"]: row for row in removed}
    stored = {feed.url: feed for feed in Feed.objects.filter(pk__in=list(wanted))}
    if not stored:
        raise FeedNotFound(gettext("This feed is no longer known here. Add its address instead."))
    before = {feed.url: feed.pk for feed in stored.values()}
    current = feeds_current(feeds=stored)
    feeds = {feed.pk: feed for feed in current.values()}
    lost = {feed.pk: wanted[before[url]] for url, feed in current.items()}
    lost |= {pk: wanted[pk] for pk in lost if pk in wanted}
    had = Subscription.objects.filter(reader=reader, feed__in=list(lost)).values_list("feed_id", flat=True)
    missing = {pk: row for pk, row in lost.items() if pk not in set(had)}
    letters = sum(feeds[pk].own_address.startswith(NEWSLETTER_PREFIX) for pk in missing)
    if missing:
        check_room(reader=reader, more=len(missing) - letters)
    if letters:
        newsletter_check_room(reader=reader, more=letters)
    rows = [
        Subscription(**{**row, "reader": reader, "feed": feeds[pk], "created_at": now})
        for pk, row in missing.items()
    ]
    Subscription.objects.bulk_create(rows, ignore_conflicts=True)
    return len(lost)


def feeds_fetch_now(*, reader: Reader, feed_ids: Collection[int], now: datetime) -> FetchAsked:
    """Make feeds of the reader due now. The next fetch batch takes them.

    A feed that was given up or refused gets one more try, and keeps its state if that fails. Feeds whose
    server asked for a pause, feeds tried in the last ten minutes, feeds an operator paused, and imported
    ones, which have no address, are left alone.
    """
    mine = list(Feed.objects.filter(subscriptions__reader=reader, pk__in=feed_ids).distinct())
    fetched = (Feed.State.ACTIVE, Feed.State.GONE, Feed.State.REFUSED)
    open_ = [feed for feed in mine if feed.state in fetched]
    pauses = feed_pauses(feeds=open_, now=now)
    free = Feed.objects.filter(pk__in=[feed.pk for feed in open_ if feed.pk not in pauses])
    rested = Q(last_fetched_at=None) | Q(last_fetched_at__lte=now - FETCH_PAUSE)
    free.filter(rested, state=Feed.State.GONE).update(
        state=Feed.State.ACTIVE, missing=MISSING_MAX - 1, next_check_at=now
    )
    free.filter(rested, state=Feed.State.REFUSED).update(state=Feed.State.ACTIVE, next_check_at=now)
    due = free.filter(rested, state=Feed.State.ACTIVE).update(next_check_at=now)
    return FetchAsked(
        due=due,
        lately=len(open_) - len(pauses) - due,
        paused=len(pauses),
        never=len(mine) - len(open_),
        paused_until=max(pauses.values(), default=None),
    )


def folder_clean(typed: str) -> str:
    """Return the name of a folder as it is stored: one line, without invisible characters."""
    return one_line(clean_text(typed), limit=FOLDER_MAX_CHARS)


def _mine(reader: Reader, feed_ids: Collection[int]) -> QuerySet[Subscription]:
    return Subscription.objects.filter(reader=reader, feed__pk__in=_ids_with_predecessors(reader, feed_ids))


def _ids_with_predecessors(reader: Reader, feed_ids: Collection[int]) -> set[int]:
    """Return the feeds, and the former addresses that the reader read and whose items they still have."""
    moved = Subscription.objects.filter(reader=reader, feed__state=Feed.State.MOVED)
    before = {pk: (url, to) for pk, url, to in moved.values_list("feed_id", "feed__url", "feed__moved_url")}
    found = set(feed_ids)
    if not before:
        return found
    urls = set(Feed.objects.filter(pk__in=found).values_list("url", flat=True))
    while more := {pk for pk, (_, to) in before.items() if to in urls} - found:
        found |= more
        urls |= {before[pk][0] for pk in more}
    return found


def _own_columns(row: Subscription) -> dict[str, Any]:
    """Return a subscription's own columns as plain values."""
    names = [field.name for field in Subscription._meta.concrete_fields if field.name not in _NOT_RESTORED]
    return {name: getattr(row, name) for name in names}
