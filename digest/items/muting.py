"""Which items a reader has muted: the mutes in force, and the items they hide."""

import datetime as dt
from collections.abc import Collection
from uuid import UUID
from zoneinfo import ZoneInfo

from digest.days import day_of
from digest.models import Item, Reader
from ranking.common.once import read_once
from ranking.entities import Candidate
from ranking.mutes import MuteFilter
from ranking.selectors import config_mutes

# The columns of an item that `Candidate` takes, in its order.
CANDIDATE_FIELDS = ("pk", "source_id", "title", "text", "dated_at", "author", "url", "categories")


def mutes_in_force(*, reader_id: UUID, now: dt.datetime) -> MuteFilter:
    """Return the reader's mutes of their today; one query, a second where one has a last day.

    In a request they are read once, however many ask.
    """
    mutes = config_mutes(reader_id=reader_id)
    today = dt.date.min
    if any(mute.until for mute in mutes):
        today = day_of(now, read_once(("zone", reader_id), lambda: _zone_of(reader_id)))
    return read_once(("muted", reader_id, today), lambda: MuteFilter(mutes, today))


def _zone_of(reader_id: UUID) -> ZoneInfo:
    return Reader.objects.only("time_zone").get(pk=reader_id).zone


def item_is_hidden(mutes: MuteFilter, item: Item) -> bool:
    """Return whether one of the mutes hides the item."""
    return bool(mutes) and mutes.finds(item_candidate(item)) is not None


def item_candidate(item: Item) -> Candidate:
    """Return the item as ranking and mutes read it."""
    return Candidate(
        item.pk,
        item.source_id,
        item.title,
        item.text,
        item.dated_at,
        item.author,
        item.url,
        item.categories,
    )


def items_hidden(*, mutes: MuteFilter, item_ids: Collection[int]) -> set[int]:
    """Return those of the items that the mutes hide; one query, none without mutes."""
    if not mutes or not item_ids:
        return set()
    rows = Item.objects.filter(pk__in=item_ids).values_list(*CANDIDATE_FIELDS)
    return {row[0] for row in rows.iterator() if mutes.finds(Candidate(*row))}
