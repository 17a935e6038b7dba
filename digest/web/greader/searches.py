"""Saved searches as streams: each has a label of its own."""

from collections.abc import Sequence
from datetime import datetime
from uuid import UUID

from digest.entities import counts_unread
from digest.items.listing import ListKey
from digest.items.reading import NOT_READ, readings_for
from digest.items.search import search_ids
from digest.items.selectors import reader_source_titles
from digest.models import Item, Reader
from digest.searches.forms import filters_stored
from digest.searches.selectors import SearchAsked, search_name, searches_saved
from digest.web.greader.codec import Kind, StreamRequest, search_write


def searches_labelled(*, reader_id: UUID) -> dict[str, SearchAsked]:
    """Return the reader's saved searches by the ids of their streams. Two queries at most."""
    saved = searches_saved(reader_id=reader_id)
    keys = {asked.filters["source"] for _pk, asked in saved if "source" in asked.filters}
    titles = reader_source_titles(reader_id=reader_id, keys=keys) if keys else {}
    found: dict[str, SearchAsked] = {}
    for pk, asked in saved:
        name = search_name(asked, titles)
        label = search_write(name)
        # Two searches look alike if two sources have one title.
        found[label if label not in found else search_write(f"{name} {pk}")] = asked
    return found


def search_keys(
    *, reader: Reader, asked: StreamRequest, after: ListKey | None, now: datetime
) -> Sequence[ListKey]:
    """Return the places of the items of a saved search that a request is for, in its order.

    They are among the newest thousand that it finds.
    """
    search = searches_labelled(reader_id=reader.pk).get(search_write(asked.stream.name))
    if search is None:
        return []
    filters = filters_stored(search.filters, reader.zone)
    ids = search_ids(reader_id=reader.pk, query=search.query, filters=filters, now=now)
    rows = Item.objects.filter(pk__in=ids).values_list("dated_at", "pk", "first_seen_at")
    states = readings_for(reader_id=reader.pk, item_ids=ids)
    keys = []
    for dated_at, pk, seen_at in rows:
        state, key = states.get(pk, NOT_READ), ListKey(dated_at, pk)
        is_read = bool(state.read_at) or not counts_unread(dated_at=dated_at, now=now)
        is_starred = state.saved_at is not None
        is_wrong = (
            (asked.unread and is_read)
            or (asked.read and not is_read)
            or (asked.starred and not is_starred)
            or (Kind.STARRED in asked.without and is_starred)
            or (asked.seen_from is not None and seen_at < asked.seen_from)
            or (asked.seen_by is not None and seen_at > asked.seen_by)
            or (after is not None and not _follows(key, after, oldest=asked.oldest))
        )
        keys += [] if is_wrong else [key]
    return sorted(keys, key=lambda one: (one.dated_at, one.item_id), reverse=not asked.oldest)


def _follows(key: ListKey, after: ListKey, *, oldest: bool) -> bool:
    mine, last = (key.dated_at, key.item_id), (after.dated_at, after.item_id)
    return mine > last if oldest else mine < last
