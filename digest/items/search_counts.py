"""How many unread items each of a reader's saved searches has, for the list of sources."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef

from digest.entities import UNREAD_DAYS
from digest.items.listing import UNMUTED_MAX, ListFilter, ReadFeed, filter_feeds
from digest.items.search import (
    SearchFilters,
    SearchTooLong,
    fts5_query,
    in_time,
    search_conditions,
    tsquery_of,
)
from digest.items.search_query import query_terms, terms_begin
from digest.items.selectors import items_hidden, items_labels, mutes_in_force
from digest.models import Item, Reading

# A page is not held up by its counts: beyond this time there are none.
COUNTS_S = 0.2
# As many as the pages of a search can show.
COUNTED_MAX = 1000
# One statement for all searches. Each looks only among the reader's unread items. These are read once, with
# what filters ask of them, because rows of items are large.
_COUNTED = """
SELECT * FROM (
    SELECT CAST(%s AS bigint) AS search, i.id, i.article FROM unread i{match} AND {filters} LIMIT {most}
) AS found{n}
"""
_SQLITE = " WHERE i.id IN (SELECT rowid FROM digest_item_search WHERE digest_item_search MATCH %s)"
_POSTGRESQL = """
    JOIN digest_item d ON d.id = i.id WHERE d.search_words @@ to_tsquery('pg_catalog.simple', %s)
"""
_COLUMNS = ("id", "article", "feed_id", "source_id", "dated_at")


@dataclass(frozen=True, slots=True)
class CountedSearch:
    """A search whose unread items are counted: its words and its filters."""

    query: str
    filters: SearchFilters


def searches_unread(
    *, reader_id: UUID, searches: Mapping[int, CountedSearch], feeds: Sequence[ReadFeed], now: datetime
) -> dict[int, int]:
    """Return the number of unread articles of the last 30 days of each search; {} if that takes too long.

    Each is counted once, up to `COUNTED_MAX`, among the reader's `feeds`. Muted ones are left out as in
    `unread_counts`. One query for all, one more for categories and authors, one more for mutes of words.
    """
    mutes = mutes_in_force(reader_id=reader_id, now=now)
    found = _found(reader_id, searches, feeds, filter_feeds(feeds, ListFilter(), mutes.sources), now)
    labelled = {pk for pk, one in searches.items() if one.filters.category or one.filters.author}
    labels = items_labels(item_ids={item for pk in labelled for item in found.get(pk, ())})
    for pk in labelled:
        named = {"category": searches[pk].filters.category, "author": searches[pk].filters.author}
        found[pk] = {item: at for item, at in found.get(pk, {}).items() if labels[item].have(**named)}
    ids = {item for items in found.values() for item in items}
    has_hidden = mutes.reads_items and len(ids) <= UNMUTED_MAX
    hidden = items_hidden(mutes=mutes, item_ids=ids) if has_hidden else set()
    return {
        pk: len({article for item, article in items.items() if item not in hidden})
        for pk, items in found.items()
    }


def _found(
    reader_id: UUID,
    searches: Mapping[int, CountedSearch],
    feeds: Sequence[ReadFeed],
    among: Sequence[int] | None,
    now: datetime,
) -> dict[int, dict[int, int]]:
    """Return {search: {item: article}} of the unread items in the feeds `among` that the searches find."""
    own = [pk for one in feeds for pk in one.ids] if among is None else among
    if not searches or not own:
        return {}
    unread, params = _unread(reader_id, own, now)
    parts: list[str] = []
    is_sqlite = connection.vendor == "sqlite"
    for n, (pk, one) in enumerate(searches.items()):
        inside = filter_feeds(feeds, ListFilter(folder=one.filters.folder or None))
        filters, values = search_conditions(reader_id, replace(one.filters, unread=False), inside)
        match = _SQLITE if is_sqlite else _POSTGRESQL
        parts.append(_COUNTED.format(match=match, filters=filters, most=COUNTED_MAX, n=n))
        terms = terms_begin(query_terms(one.query))
        params += [pk, fts5_query(terms) if is_sqlite else tsquery_of(terms), *values]
    sql = f"WITH unread AS MATERIALIZED ({unread}) {' UNION ALL '.join(parts)}"
    found: dict[int, dict[int, int]] = defaultdict(dict)
    try:
        with in_time(COUNTS_S), connection.cursor() as cursor:
            cursor.execute(sql, params)
            for pk, item_id, article in cursor.fetchall():
                found[pk][item_id] = article
    except SearchTooLong:
        return {}
    return found


def _unread(reader_id: UUID, feeds: Sequence[int], now: datetime) -> tuple[str, list[Any]]:
    """Return a query for the `_COLUMNS` of the reader's unread items in `feeds`, and its parameters."""
    read = Reading.objects.filter(reader_id=reader_id, article=OuterRef("article"), read_at__isnull=False)
    since = now - timedelta(days=UNREAD_DAYS)
    items = Item.objects.filter(~Exists(read), feed__in=feeds, dated_at__gt=since).order_by()
    sql, params = items.values(*_COLUMNS).query.sql_with_params()
    return sql, list(params)
