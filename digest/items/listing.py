"""Lists of a reader's items by date, filtered by source, folder, feed, unread and saved; unread counts.

Pages use keyset pagination: a page begins after the last item of the one before, so the thousandth page costs
the same as the first. For each feed the database reads at most a page of the newest items below that key from
the index `items_of_a_feed_listed`, and merges them.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import Q, QuerySet

from digest.entities import UNREAD_DAYS
from digest.items.own_names import own_feeds
from digest.items.selectors import items_hidden, items_labelled, mutes_in_force
from digest.items.tails import tails_of
from digest.items.unread import UnreadCounts, counts_of, counts_of_rows
from digest.models import Feed, Feedback, Item, Reader, Reading, Subscription
from ranking.mutes import MuteFilter
from ranking.selectors import key_current

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)
# Extra items read per page, because some are not the first of their article.
SPARE = 20
# The largest number of items read at a time if many are skipped.
ROWS_MAX = 10_000
# Batch size when muted items are marked as unread again.
MARKED_TOGETHER = 500
# Up to this many unread items, muted ones are subtracted exactly (about 50 ms).
UNMUTED_MAX = 2_000
# A list of one category searches this many of the newest items of the list without it.
CATEGORY_ITEMS_MAX = 2_000
# How many items of each feed are read first: this number, or this part of the limit.
HEAD, HEAD_SHARE = 4, 16
# Of one article's items in the listed feeds, the first by `article_rank` is listed. An item outside the
# list's bounds hides no other item. Otherwise a feed could bury an article by giving it an old date.
_FIRST_OF_ARTICLE = """
NOT EXISTS (
    SELECT 1 FROM digest_item t JOIN digest_subscription ts ON ts.feed_id = t.feed_id
    WHERE t.article = i.article AND t.id <> i.id AND ts.reader_id = %(reader)s{twins}{bounds}
    AND (t.own > i.own OR (t.own = i.own AND (ts.id, t.id) < (s.id, i.id)))
)
"""
# A value instead of EXISTS: so each article is looked up by index, however many the reader has read.
_NOT_READ = """
(SELECT r.read_at FROM digest_reading r
 WHERE r.reader_id = %(reader)s AND r.article = i.article) IS NULL
"""
# The newest items of each of the reader's feeds, merged.
_MERGED_POSTGRESQL = """
SELECT n.id, n.dated_at, s.id AS subscription FROM digest_subscription s CROSS JOIN LATERAL (
    SELECT i.id, i.dated_at FROM digest_item i WHERE i.feed_id = s.feed_id AND {where}
    ORDER BY i.dated_at {down}, i.id {down} LIMIT {each}
) n
WHERE s.reader_id = %(reader)s{feeds} ORDER BY n.dated_at {down}, n.id {down} LIMIT {limit}
"""
# SQLite has no LATERAL. A list that depends on the row before does the same.
_MERGED_SQLITE = """
SELECT n.id, n.dated_at, s.id AS subscription FROM digest_subscription s CROSS JOIN digest_item n ON n.id IN (
    SELECT i.id FROM digest_item i WHERE i.feed_id = s.feed_id AND {where}
    ORDER BY i.dated_at {down}, i.id {down} LIMIT {each}
)
WHERE s.reader_id = %(reader)s{feeds} ORDER BY n.dated_at {down}, n.id {down} LIMIT {limit}
"""
# First read a few items of each feed. If they fill the page, the oldest of them limits the other rows to
# read. With 250 feeds this saves nine tenths of the rows.
_LISTED = """
WITH head AS MATERIALIZED ({head}),
oldest AS MATERIALIZED (
    SELECT CASE WHEN COUNT(*) = %(limit)s THEN {edge}(dated_at) END AS dated_at FROM head
),
merged AS MATERIALIZED ({merged})
SELECT i.id, {first} FROM merged JOIN digest_item i ON i.id = merged.id
JOIN digest_subscription s ON s.id = merged.subscription
ORDER BY i.dated_at {down}, i.id {down}
"""
_BOUND = " AND i.dated_at {sign} COALESCE((SELECT dated_at FROM oldest), %(never)s)"
_NEWEST = {"down": "DESC", "edge": "MIN", "sign": ">="}
_OLDEST = {"down": "ASC", "edge": "MAX", "sign": "<="}
_READ = """
INSERT INTO digest_reading (reader_id, item_id, article, read_at)
SELECT %(reader)s, i.id, i.article, %(now)s FROM digest_subscription s
JOIN digest_item i ON i.feed_id = s.feed_id
WHERE s.reader_id = %(reader)s{feeds} AND {where}
ON CONFLICT (reader_id, article) DO UPDATE SET read_at = excluded.read_at
WHERE digest_reading.read_at IS NULL
"""
_UNREAD = """
    SELECT i.id, {feed} AS feed, {folder} AS folder, f.source_id AS source, i.article
    FROM digest_subscription s JOIN digest_feed f ON f.id = s.feed_id
    JOIN digest_item i ON i.feed_id = s.feed_id
    WHERE s.reader_id = %(reader)s AND {where}
"""
_COUNTS = f"""
WITH unread AS MATERIALIZED ({_UNREAD})
SELECT 'feed', feed, '', COUNT(DISTINCT article) FROM unread GROUP BY feed
UNION ALL SELECT 'folder', 0, folder, COUNT(DISTINCT article) FROM unread GROUP BY folder
UNION ALL SELECT 'source', 0, source, COUNT(DISTINCT article) FROM unread GROUP BY source
UNION ALL SELECT 'all', 0, '', COUNT(DISTINCT article) FROM unread
"""


@dataclass(frozen=True, slots=True)
class ListKey:
    """The place of an item in a list that is sorted by date."""

    dated_at: datetime
    item_id: int

    def __str__(self) -> str:
        return f"{(self.dated_at - EPOCH) // MICROSECOND}.{self.item_id}"

    def is_older_than(self, item: Item) -> bool:
        """Return whether an item is newer than the one at this place."""
        return (item.dated_at, item.pk) > (self.dated_at, self.item_id)


def list_key(typed: str) -> ListKey | None:
    """Return the key that `str` wrote as `typed`; `None` if it is malformed."""
    at, _, item_id = typed.partition(".")
    if not (at.isdecimal() and item_id.isdecimal() and len(at) < 18 and len(item_id) < 19):
        return None
    return ListKey(EPOCH + int(at) * MICROSECOND, int(item_id))


@dataclass(frozen=True, slots=True)
class ListFilter:
    """Selects the items of a list. `folder=""` means feeds in no folder; `None` means any folder.

    Unread items are those of the last 30 days that were not read. Saved items need no subscription. A
    `category` is searched among `CATEGORY_ITEMS_MAX` items.
    """

    source: str = ""
    folder: str | None = None
    feed: int | None = None
    unread: bool = False
    saved: bool = False
    category: str = ""

    @property
    def narrow(self) -> bool:
        """Return whether the filter names a source, a folder or a feed."""
        return bool(self.source) or self.folder is not None or self.feed is not None

    @property
    def names(self) -> dict[str, Any]:
        """Return its source, folder and feed as arguments for `UnreadCounts.within`."""
        return {"source": self.source, "folder": self.folder, "feed": self.feed}


@dataclass(frozen=True, slots=True)
class ReadFeed:
    """A feed with a subscription. `ids` also contains feeds that moved here, whose items it lists.

    `waits`: it was never fetched yet. `named`: its name is the reader's own. `tail` tells it apart from
    others of its name.
    """

    feed_id: int
    ids: tuple[int, ...]
    name: str
    source: str
    source_name: str
    folder: str
    url: str
    site_url: str
    waits: bool = False
    named: bool = False
    tail: str = ""

    @property
    def label(self) -> str:
        """Return its name, with what tells it apart from others of that name."""
        return f"{self.name} · {self.tail}" if self.tail else self.name


def feeds_read(*, reader_id: UUID, feed_ids: Collection[int] | None = None) -> list[ReadFeed]:
    """Return the reader's feeds, sorted by name. One query. Moved feeds are part of their successor.

    With `feed_ids` return at least those feeds: apps ask feed by feed, and a reader may have a thousand. A
    source has its title only if one of these feeds has one. Otherwise the title comes from a feed that only
    others read.
    """
    subscriptions = Subscription.objects.filter(reader_id=reader_id).select_related("feed__source")
    columns = ("url", "own_address", "state", "moved_url", "title", "site_url", "owner", "last_fetched_at")
    subscriptions = subscriptions.only(
        "folder", "own_name", "created_at", "feed__source__title", *(f"feed__{name}" for name in columns)
    )
    moved = Feed.State.MOVED
    if feed_ids is not None:
        rows = list(subscriptions.filter(Q(feed_id__in=feed_ids) | Q(feed__state=moved)))
    # A chain of moved feeds may lead through any other, so all are read if there is one.
    if feed_ids is None or any(row.feed.state == moved for row in rows):
        rows = list(subscriptions)
        own_feeds(reader_id=reader_id, rows=rows)
    titled = {row.feed.source_id for row in rows if row.feed.title or row.feed.owner_id}
    names = {
        row.feed.source_id: str(row.feed.source) if row.feed.source_id in titled else row.feed.source_id
        for row in rows
    }
    ids = _ids_by_current(rows)
    found = [
        ReadFeed(
            row.feed_id,
            tuple(ids[row.feed_id]),
            row.own_name or row.feed.title or names[row.feed.source_id],
            row.feed.source_id,
            names[row.feed.source_id],
            row.folder,
            row.feed.address,
            row.feed.site_url,
            row.feed.state == Feed.State.ACTIVE and row.feed.last_fetched_at is None,
            bool(row.own_name),
        )
        for row in rows
        if row.feed_id in ids
    ]
    found.sort(key=lambda one: (one.name.casefold(), one.feed_id))
    tails = tails_of([one.name for one in found], [one.url for one in found])
    return [replace(one, tail=tail) if tail else one for one, tail in zip(found, tails, strict=True)]


def _ids_by_current(rows: Sequence[Subscription]) -> dict[int, list[int]]:
    """Return {feed: itself and the feeds of `rows` that moved to it}. Chains of moves may be circles."""
    by_url = {row.feed.url: row.feed for row in rows}
    ids: dict[int, list[int]] = {}
    for row in rows:
        feed, seen = row.feed, {row.feed_id}
        while feed.state == Feed.State.MOVED and (target := by_url.get(feed.moved_url)):
            if target.pk in seen:
                break
            seen.add(target.pk)
            feed = target
        ids.setdefault(feed.pk, []).append(row.feed_id)
    return ids


def filter_current(*, chosen: ListFilter) -> ListFilter:
    """Return the filter with the current key of its source; one query if it names a source."""
    if not chosen.source:
        return chosen
    return replace(chosen, source=key_current(key=chosen.source))


def filter_feeds(
    feeds: Sequence[ReadFeed], chosen: ListFilter, muted: Collection[str] = ()
) -> list[int] | None:
    """Return the ids of the feeds that pass the filter and the `muted` sources; `None` means all feeds.

    Muted sources do not apply to saved items.
    """
    muted = () if chosen.saved else muted
    if not chosen.narrow and not muted:
        return None
    return [
        pk
        for one in feeds
        if chosen.feed in (None, one.feed_id)
        and chosen.folder in (None, one.folder)
        and chosen.source in ("", one.source)
        and one.source not in muted
        for pk in one.ids
    ]


def feeds_among(*, reader_id: UUID, chosen: ListFilter, muted: Collection[str] = ()) -> list[int] | None:
    """Return the result of `filter_feeds` for the reader's feeds; no query if all of them pass."""
    narrowed = chosen.narrow or (muted and not chosen.saved)
    if not narrowed:
        return None
    feed_ids = None if chosen.feed is None else [chosen.feed]
    return filter_feeds(feeds_read(reader_id=reader_id, feed_ids=feed_ids), chosen, muted)


def list_items(*, ids: Sequence[int]) -> list[Item]:
    """Return the items with their sources, in the order of `ids`; one query."""
    found = Item.objects.filter(pk__in=ids).select_related("source").in_bulk()
    return [found[pk] for pk in ids if pk in found]


@dataclass(frozen=True, slots=True)
class Span:
    """The part of a list that a page shows: it goes on `after` a key, newest first or `oldest` first.

    `since` excludes items dated earlier, `seen_by` items first seen later, and `seen_from` items first seen
    earlier.
    """

    after: ListKey | None = None
    since: datetime | None = None
    seen_by: datetime | None = None
    seen_from: datetime | None = None
    oldest: bool = False


WHOLE = Span()


def list_ids(*, chosen: ListFilter, limit: int, span: Span = WHOLE, **asked: Any) -> list[int]:
    """Return the ids of up to `limit` items of a list (`_list_ids`).

    One or two more queries for a category. It is looked for among the newest items, whichever come first.
    """
    if not chosen.category:
        return _list_ids(chosen=chosen, limit=limit, span=span, **asked)
    newest = replace(span, after=None, oldest=False) if span.oldest else span
    found = _list_ids(chosen=chosen, limit=CATEGORY_ITEMS_MAX, span=newest, **asked)
    having = items_labelled(item_ids=found, category=chosen.category)
    ids = [pk for pk in found if pk in having]
    if span.oldest:
        items, after = reversed(list_items(ids=ids)), span.after
        ids = [item.pk for item in items if after is None or after.is_older_than(item)]
    return ids[:limit]


def _list_ids(
    *,
    reader_id: UUID,
    feeds: Collection[int] | None,
    chosen: ListFilter,
    now: datetime,
    limit: int,
    span: Span = WHOLE,
) -> list[int]:
    """Return the ids of up to `limit` items of a part of a list, in its order, each article once.

    `feeds` comes from `filter_feeds`. Muted items are left out, except in saved lists. Of an article's
    items, the one with the words that the reader gets is listed (`digest.items.selectors.article_rank`).

    Two queries, and up to three more each time that most of the items read are muted or belong to articles
    that are listed already.
    """
    if chosen.saved:
        saved = _saved_readings(reader_id, feeds, chosen, since=span.since)
        return marked_ids(rows=saved, limit=limit, span=span)
    if feeds is not None and not feeds:
        return []
    mutes = mutes_in_force(reader_id=reader_id, now=now)
    found: list[int] = []
    wanted = limit + SPARE
    while True:
        rows = _merge_feeds(reader_id, feeds, chosen, now, wanted, span)
        hidden = items_hidden(mutes=mutes, item_ids=[pk for pk, first in rows if first])
        found += [pk for pk, first in rows if first and pk not in hidden]
        if len(found) >= limit or len(rows) < wanted:
            return found[:limit]
        last = Item.objects.only("dated_at").get(pk=rows[-1][0])
        span = replace(span, after=ListKey(last.dated_at, last.pk))
        wanted = min(4 * wanted, ROWS_MAX)


def marked_ids(
    *,
    rows: QuerySet[Reading] | QuerySet[Feedback],
    limit: int,
    span: Span = WHOLE,
) -> list[int]:
    """Return the item ids of a reader's readings or ratings, sorted and cut as in `list_ids`.

    One query. Muted items are included, and those dated before the span's `since`.
    """
    spans = Q(item__first_seen_at__lte=span.seen_by) if span.seen_by else Q()
    spans &= Q(item__first_seen_at__gte=span.seen_from) if span.seen_from else Q()
    spans &= (_newer(span.after) if span.oldest else _older(span.after)) if span.after else Q()
    order = ("item__dated_at", "item_id") if span.oldest else ("-item__dated_at", "-item_id")
    return list(rows.filter(spans).order_by(*order).values_list("item_id", flat=True)[:limit])


def _merge_feeds(
    reader_id: UUID,
    feeds: Collection[int] | None,
    chosen: ListFilter,
    now: datetime,
    limit: int,
    span: Span,
) -> list[tuple[int, bool]]:
    """Return up to `limit` ids of a list in order, each with whether it is the first of its article."""
    where, values = _where(reader_id, feeds, chosen, now, span, once=False)
    among = _among("s.feed_id", feeds, values)
    merged = _MERGED_SQLITE if connection.vendor == "sqlite" else _MERGED_POSTGRESQL
    few = max(HEAD, limit // HEAD_SHARE)
    order = _OLDEST if span.oldest else _NEWEST
    sql = _LISTED.format(
        head=merged.format(where=where, feeds=among, each=few, limit="%(limit)s", **order),
        merged=merged.format(
            where=where + _BOUND.format(**order),
            feeds=among,
            each="%(limit)s",
            limit="%(limit)s",
            **order,
        ),
        first=_first_of_article(feeds, values),
        **order,
    )
    values |= {"limit": limit, "never": _moment(LATEST if span.oldest else EPOCH)}
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return [(pk, bool(first)) for pk, first in cursor.fetchall()]


def unread_counts(*, reader_id: UUID, feeds: Sequence[ReadFeed], now: datetime) -> UnreadCounts:
    """Return the numbers of unread articles of the last 30 days in the reader's `feeds`.

    Two queries, and two more if the reader mutes more than sources.
    """
    mutes = mutes_in_force(reader_id=reader_id, now=now)
    return replace(_unread_counts(reader_id, feeds, mutes, now), muted=mutes.sources)


def _unread_counts(
    reader_id: UUID, feeds: Sequence[ReadFeed], mutes: MuteFilter, now: datetime
) -> UnreadCounts:
    where, values = _where(reader_id, None, ListFilter(unread=True), now, WHOLE, once=False)
    if (among := filter_feeds(feeds, ListFilter(), mutes.sources)) == []:
        return UnreadCounts()
    where += _among("s.feed_id", among, values)
    moved = [(old, one) for one in feeds for old in one.ids if old != one.feed_id]
    values |= {f"old{n}": old for n, (old, _) in enumerate(moved)}
    values |= {f"line{n}": one.feed_id for n, (_, one) in enumerate(moved)}
    values |= {f"folder{n}": one.folder for n, (_, one) in enumerate(moved)}
    cases = {
        name: " ".join(f"WHEN %(old{n})s THEN %({name}{n})s" for n in range(len(moved)))
        for name in ("line", "folder")
    }
    names = {
        "feed": f"CASE s.feed_id {cases['line']} ELSE s.feed_id END" if moved else "s.feed_id",
        "folder": f"CASE s.feed_id {cases['folder']} ELSE s.folder END" if moved else "s.folder",
    }
    with connection.cursor() as cursor:
        cursor.execute(_COUNTS.format(where=where, **names), values)
        counts = counts_of(cursor.fetchall())
        if not mutes.reads_items or counts.total > UNMUTED_MAX:
            return replace(counts, with_muted=mutes.reads_items)
        cursor.execute(_UNREAD.format(where=where, **names), values)
        rows = cursor.fetchall()
    hidden = items_hidden(mutes=mutes, item_ids={pk for pk, *_ in rows})
    return counts_of_rows(row[1:] for row in rows if row[0] not in hidden)


def list_read(
    *,
    reader: Reader,
    feeds: Collection[int] | None,
    chosen: ListFilter,
    now: datetime,
    seen_by: datetime,
    newer_than: ListKey | None = None,
    older_than: ListKey | None = None,
) -> int:
    """Mark the unread items of a list as read; return how many.

    Muted items stay unread. Only items first seen by `seen_by` are marked, so items that came after the page
    was made stay unread. With a key, only the items `newer_than` it or `older_than` it are marked. All get
    the moment `now`, by which `readings_undo` finds them.
    """
    if chosen.saved:
        rows = _saved_readings(reader.pk, feeds, chosen).filter(read_at=None)
        rows = rows.filter(_newer(newer_than)) if newer_than else rows
        rows = rows.filter(_older(older_than)) if older_than else rows
        found = list(rows.values_list("pk", flat=True))
        return Reading.objects.filter(pk__in=found, read_at=None).update(read_at=now)
    if feeds is not None and not feeds:
        return 0
    span = Span(after=newer_than or older_than, seen_by=seen_by, oldest=older_than is None)
    where, values = _where(reader.pk, feeds, ListFilter(unread=True), now, span)
    sql = _READ.format(where=where, feeds=_among("s.feed_id", feeds, values))
    with connection.cursor() as cursor:
        cursor.execute(sql, values | {"now": _moment(now)})
        count = int(cursor.rowcount)
    return count - _muted_unread(reader, now)


def _muted_unread(reader: Reader, at: datetime) -> int:
    """Mark muted items that were marked as read at the moment `at` as unread again; return how many."""
    mutes = mutes_in_force(reader_id=reader.pk, now=at)
    marked = Reading.objects.filter(reader=reader, read_at=at)
    ids = list(marked.values_list("item_id", flat=True)) if mutes.reads_items else []
    count = 0
    for start in range(0, len(ids), MARKED_TOGETHER):
        hidden = items_hidden(mutes=mutes, item_ids=ids[start : start + MARKED_TOGETHER])
        count += marked.filter(item__in=hidden).update(read_at=None) if hidden else 0
    return count


def _where(
    reader_id: UUID,
    feeds: Collection[int] | None,
    chosen: ListFilter,
    now: datetime,
    span: Span,
    *,
    once: bool = True,
) -> tuple[str, dict[str, Any]]:
    """Return an SQL condition on items `i` of subscriptions `s`, and its parameters by name."""
    values: dict[str, Any] = {"reader": Reader._meta.pk.get_db_prep_value(reader_id, connection)}
    parts = []
    start = max(
        filter(None, (span.since, now - timedelta(days=UNREAD_DAYS) if chosen.unread else None)), default=None
    )
    if start is not None:
        parts.append("i.dated_at > %(since)s")
        values["since"] = _moment(start)
    if span.after is not None:
        sign = ">" if span.oldest else "<"
        # Both databases use the first condition to read the index.
        parts.append(f"i.dated_at {sign}= %(key_at)s AND (i.dated_at, i.id) {sign} (%(key_at)s, %(key_id)s)")
        values |= {"key_at": _moment(span.after.dated_at), "key_id": span.after.item_id}
    for name, at, sign in (("seen_by", span.seen_by, "<="), ("seen_from", span.seen_from, ">=")):
        if at is not None:
            parts.append(f"i.first_seen_at {sign} %({name})s")
            values[name] = _moment(at)
    if chosen.unread:
        parts.append(_NOT_READ)
    if once:
        parts.append(_first_of_article(feeds, values))
    return " AND ".join(parts) or "1 = 1", values


def _first_of_article(feeds: Collection[int] | None, values: dict[str, Any]) -> str:
    """Return the condition `_FIRST_OF_ARTICLE` with the bounds that are in `values`."""
    bounds = " AND t.dated_at > %(since)s" if "since" in values else ""
    # `seen_from` does not limit twins: an article that was there before is not new because another feed has
    # it.
    bounds += " AND t.first_seen_at <= %(seen_by)s" if "seen_by" in values else ""
    return _FIRST_OF_ARTICLE.format(twins=_among("t.feed_id", feeds, values), bounds=bounds)


def _among(column: str, feeds: Collection[int] | None, values: dict[str, Any]) -> str:
    """Return the condition that `column` is one of `feeds`, and add a parameter for each to `values`."""
    if feeds is None:
        return ""
    names = [f"feed{n}" for n in range(len(feeds))]
    values.update(zip(names, feeds, strict=True))
    return f" AND {column} IN ({', '.join(f'%({name})s' for name in names)})"


def _moment(at: datetime) -> Any:
    return connection.ops.adapt_datetimefield_value(at)


def _saved_readings(
    reader_id: UUID, feeds: Collection[int] | None, chosen: ListFilter, *, since: datetime | None = None
) -> QuerySet[Reading]:
    """Select the reader's saved items.

    A source's items are included even if no feed of it is read any more.
    """
    rows = Reading.objects.filter(reader_id=reader_id, saved_at__isnull=False)
    rows = rows.filter(item__dated_at__gt=since) if since else rows
    if chosen.unread:
        rows = rows.filter(read_at=None)
    if chosen.source and chosen.folder is None and chosen.feed is None:
        return rows.filter(item__source_id=chosen.source)
    return rows if feeds is None else rows.filter(item__feed_id__in=feeds)


def _older(key: ListKey) -> Q:
    same = Q(item__dated_at=key.dated_at, item_id__lt=key.item_id)
    return Q(item__dated_at__lt=key.dated_at) | same


def _newer(key: ListKey) -> Q:
    same = Q(item__dated_at=key.dated_at, item_id__gt=key.item_id)
    return Q(item__dated_at__gt=key.dated_at) | same
