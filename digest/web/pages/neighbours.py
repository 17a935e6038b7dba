"""The articles before and after one in its source, for the links and keys of its page."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import chain
from typing import Final

from digest.items.listing import ListFilter, ListKey, Span, feeds_among, list_ids, list_items
from digest.items.reading import readings_for
from digest.models import Item, Reader

# How far an unread one is looked for.
NEAR: Final = 20


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The previous (newer) and the next (older) article of a list, and the nearest that are unread."""

    previous: Item | None = None
    next: Item | None = None
    previous_unread: Item | None = None
    next_unread: Item | None = None


def neighbours_of(*, reader: Reader, item: Item, now: datetime) -> Neighbours:
    """Return the neighbours of an item in the list of its source, in a constant number of queries."""
    chosen = ListFilter(source=item.source_id)
    feeds, key = feeds_among(reader_id=reader.pk, chosen=chosen), ListKey(item.dated_at, item.pk)
    newer, older = (
        list_ids(
            chosen=chosen,
            limit=NEAR,
            reader_id=reader.pk,
            feeds=feeds,
            now=now,
            span=Span(after=key, oldest=oldest),
        )
        for oldest in (True, False)
    )
    states = readings_for(reader_id=reader.pk, item_ids=[*newer, *older])
    read = {pk for pk, state in states.items() if state.read_at}
    wanted = [*chain.from_iterable((_first(ids), _first(ids, read)) for ids in (newer, older))]
    found = {one.pk: one for one in list_items(ids=[*{pk for pk in wanted if pk}])}
    previous, previous_unread, following, next_unread = (found.get(pk or 0) for pk in wanted)
    return Neighbours(previous, following, previous_unread, next_unread)


def _first(ids: Sequence[int], read: Collection[int] = ()) -> int | None:
    return next((pk for pk in ids if pk not in read), None)
