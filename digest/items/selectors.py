"""Queries for the items that a reader may see, the items that mutes hide, and the titles of sources."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery, Window
from django.db.models.functions import RowNumber
from django.utils.translation import gettext as _

from digest.days import day_of
from digest.entities import ITEM_WINDOW_DAYS, PUBLISHED_MIN
from digest.errors import ItemNotFound
from digest.items.clustering import stories_split, story_title
from digest.items.own_names import own_feeds, own_names
from digest.models import Feed, Feedback, Impression, Item, Reader, Reading, Source, Subscription
from digest.places import articles_shared
from ranking.common.categories import category_key, category_keys, label_keys
from ranking.entities import Candidate, Mute
from ranking.mutes import MuteFilter
from ranking.selectors import config_hiding, keys_current, read_once

CANDIDATES_MAX = 5000
# Rows read from the database at a time: some milliseconds of work, between which others may go first.
ROWS_READ = 500
# For this long after a reader subscribed to a feed, its latest posts compete even if older than a week.
NEW_FOR = timedelta(days=3)
LATEST_MAX = 5
# The columns of an item for `Candidate`, in its order.
CANDIDATE_FIELDS = ("pk", "source_id", "title", "text", "dated_at", "author", "url", "categories")


def reader_sources(*, reader_id: UUID) -> list[str]:
    """Return the sorted keys of the sources that the reader subscribes to, including imported ones."""
    return list(_sources_of(reader_id).distinct().order_by("source_id"))


def reader_sources_known(*, reader_id: UUID, keys: Collection[str]) -> frozenset[str]:
    """Return the keys whose source the reader subscribes to or has rated. One query.

    The query stops at the first rating of each source.
    """
    read = Feed.objects.filter(source=OuterRef("pk"), subscriptions__reader_id=reader_id)
    rated = Feedback.objects.filter(item__source=OuterRef("pk"), reader_id=reader_id)
    known = Source.objects.filter(Exists(read) | Exists(rated), pk__in=keys)
    return frozenset(known.values_list("pk", flat=True))


def subscribed_titles(*, reader_id: UUID) -> dict[str, str]:
    """Return {source key: title, or key} of the sources that the reader subscribes to. One query.

    It is the key if none of the source's feeds that they read has a title. The source's title then comes from
    a feed that only others read, for example if the reader's address never answered.
    """
    titles: dict[str, str] = {}
    for row in own_feeds(reader_id=reader_id):
        titles[row.source] = row.source_title if row.is_titled else titles.get(row.source, row.source)
    return titles


def subscribed_own_names(*, reader_id: UUID) -> dict[str, str]:
    """Return {the reader's own name for a feed: its source key}; one query, once a request."""
    return {row.own_name: row.source for row in own_feeds(reader_id=reader_id) if row.own_name}


def source_titles(*, keys: Collection[str]) -> dict[str, str]:
    """Return {key: title, or key} of the existing sources among `keys`.

    A key from before a move maps to the source's current title. One query, two more for unknown keys. For
    keys that a reader can type, use `reader_source_titles`: a title may come from a feed that only others
    read.
    """
    rows = Source.objects.filter(key__in=keys).values_list("key", "title")
    found = {key: title or key for key, title in rows}
    renamed = keys_current(keys={*keys} - found.keys())
    titles = source_titles(keys=set(renamed.values())) if renamed else {}
    return found | {old: titles[new] for old, new in renamed.items() if new in titles}


def sources_posts_a_day(
    *, reader_id: UUID, sources: Collection[str], now: datetime, days: int = 28
) -> dict[str, float]:
    """Return how many articles a day the reader's feeds of each source brought in `days` days; one query."""
    rows = _items_of_feeds(reader_id).filter(source__in=sources, dated_at__lte=now)
    counted = rows.filter(dated_at__gt=now - timedelta(days=days)).order_by().values_list("source_id")
    return {key: count / days for key, count in counted.annotate(Count("article", distinct=True))}


def reader_source_titles(*, reader_id: UUID, keys: Collection[str]) -> dict[str, str]:
    """Return the reader's own names of the keys, and `source_titles` of those that they have rated or of
    which they read a titled feed.

    So a reader who only knows a source's key does not learn which feeds others read there.
    """
    titled = ~Q(feed__title="") | Q(feed__owner_id=reader_id)
    read = Subscription.objects.filter(titled, reader_id=reader_id).values("feed__source_id")
    rated = Feedback.objects.filter(reader_id=reader_id).values("item__source_id")
    known = Source.objects.filter(Q(pk__in=read) | Q(pk__in=rated), pk__in=keys)
    titles = source_titles(keys=set(known.values_list("pk", flat=True)))
    own = own_names(reader_id=reader_id).sources
    return titles | {key: own[key] for key in keys if key in own}


def items_candidates(
    *, reader_id: UUID, now: datetime, days: int = ITEM_WINDOW_DAYS, limit: int = CANDIDATES_MAX
) -> list[Candidate]:
    """Return the unmuted items of the reader's feeds from the last `days` days, newest first; two queries."""
    found = _window_rows(reader_id, now, days, limit, None, today=False)
    return _choose_items(mutes_split(found, mutes_in_force(reader_id=reader_id, now=now))[0])


class WindowItems(NamedTuple):
    """A reader's candidates, with {item: article}, {article: story}, and {item: number of sources}.

    `muted` counts, per mute, the articles that it hides. `late` are the items that came in the last seven
    days with an older date.
    """

    candidates: list[Candidate]
    articles: dict[int, int]
    stories: dict[int, int]
    reported_by: dict[int, float]
    muted: Mapping[Mute, int]
    late: frozenset[int]


def came_late_since(since: datetime) -> Q:
    """Return the condition that an item came after `since`, and that its publisher dated it before.

    A date before 1995 is none.
    """
    return Q(dated_at__gt=since, published_at__lte=since, published_at__gt=PUBLISHED_MIN)


def items_window(
    *,
    reader_id: UUID,
    now: datetime,
    days: int = ITEM_WINDOW_DAYS,
    limit: int = CANDIDATES_MAX,
    seen_by: datetime | None = None,
    latest: bool = False,
) -> WindowItems:
    """Return `items_candidates` first seen by `seen_by`, with their articles and stories.

    Feeds that the reader keeps out of Today (`Subscription.in_today`) are left out. Of an article's items,
    only the one with the words that the reader gets is included (`article_rank`). Stories are computed over
    all items of the reader's feeds (`stories_split`). With `latest`, the latest posts of quiet feeds that are
    new to the reader are included (`items_latest`). Muted items are left out and link nothing. Two or three
    queries.
    """
    rows = _window_rows(reader_id, now, days, limit, seen_by, today=True, latest=latest)
    found, muted = mutes_split(rows, mutes_in_force(reader_id=reader_id, now=now))
    counts = Counter(row.story for row in found)
    titles = (
        story_title(story=row.story, article=row.article, title=row.title, text=row.text)
        for row in found
        if row.story and counts[row.story] > 1
    )
    stories = stories_split(titles)
    articles = {row.item_id: row.article for row in found}
    late = frozenset(row.item_id for row in found if row.late)
    return WindowItems(_choose_items(found), articles, stories, _report_counts(found, stories), muted, late)


def items_labelled(*, item_ids: Collection[int], category: str = "", author: str = "") -> set[int]:
    """Return the items with this category and this author, in any spelling. One query."""
    rows = items_labels(item_ids=item_ids)
    return {pk for pk, labels in rows.items() if labels.have(category=category, author=author)}


class Labels(NamedTuple):
    """The categories and the authors that an item was given by its publisher."""

    categories: list[str]
    author: str

    def have(self, *, category: str = "", author: str = "") -> bool:
        """Return whether they have this category and this author, in any spelling."""
        return (not category or category_key(category) in category_keys(self.categories)) and (
            not author or category_key(author) in label_keys((), self.author)
        )


def items_labels(*, item_ids: Collection[int]) -> dict[int, Labels]:
    """Return the labels of items by id. One query, or none without items."""
    if not item_ids:
        return {}
    rows = Item.objects.filter(pk__in=item_ids).values_list("pk", "categories", "author")
    return {pk: Labels(categories, author) for pk, categories, author in rows}


class _WindowRow(NamedTuple):
    """One item of a reader's window. `subscription` is the id of the subscription to its feed."""

    item_id: int
    source: str
    title: str
    text: str
    dated_at: datetime
    author: str
    url: str
    categories: list[str]
    story: int | None
    article: int
    own: bool
    late: bool
    subscription: int

    @property
    def candidate(self) -> Candidate:
        """Return the row as the `Candidate` that ranking and mutes read."""
        # As many as `CANDIDATE_FIELDS`. It is a literal, because mypy then checks the types.
        return Candidate(*self[:8])


def _window_rows(
    reader_id: UUID,
    now: datetime,
    days: int,
    limit: int,
    seen_by: datetime | None,
    *,
    today: bool,
    latest: bool = False,
) -> list[_WindowRow]:
    rows = _window(reader_id, now, days, seen_by, today=today).order_by("-dated_at", "id")
    late = came_late_since(now - timedelta(days=ITEM_WINDOW_DAYS))
    rows = rows.annotate(late=late)
    fields = (*CANDIDATE_FIELDS, "story_id", "article", "own", "late")
    newest = rows.values_list(*fields, "feed__subscriptions__id")[:limit]
    found = [_WindowRow(*row) for row in articles_shared(newest.iterator(ROWS_READ))]
    if latest:
        new = subscriptions_new(now=now).filter(reader=reader_id, in_today=True)
        older = items_latest(subscriptions=new, now=now, seen_by=seen_by)
        mine = Subscription.objects.filter(reader=reader_id, feed=OuterRef("feed")).values("pk")[:1]
        with_mine = older.annotate(late=late, mine=Subquery(mine)).values_list(*fields, "mine")
        found += [_WindowRow(*row) for row in with_mine[: limit - len(found)]]
    return found


def _choose_items(found: Sequence[_WindowRow]) -> list[Candidate]:
    """Return for each article the item with the words that the reader gets."""
    best: dict[int, tuple[bool, int]] = {}
    for row in articles_shared(found):
        rank = article_rank(row.own, row.subscription)
        best[row.article] = min(best.get(row.article, rank), rank)
    return [row.candidate for row in found if best[row.article] == article_rank(row.own, row.subscription)]


def mutes_split(rows: list[_WindowRow], mutes: MuteFilter) -> tuple[list[_WindowRow], dict[Mute, int]]:
    """Return the rows that no mute hides, and how many articles each mute hides completely."""
    if not mutes:
        return rows, {}
    hiding = [mutes.finds(row.candidate) for row in articles_shared(rows)]
    shown = [row for row, mute in zip(rows, hiding, strict=True) if mute is None]
    left = {row.article for row in shown}
    gone = {row.article: mute for row, mute in zip(rows, hiding, strict=True) if mute}
    return shown, Counter(mute for article, mute in gone.items() if article not in left)


def _report_counts(found: Sequence[_WindowRow], stories: Mapping[int, int]) -> dict[int, float]:
    """Return {item: number of sources that report it}, from two on. All items of an article count."""
    sources: defaultdict[int, set[str]] = defaultdict(set)
    for row in articles_shared(found):
        sources[stories.get(row.article, row.article)].add(row.source)
    counts = {row.item_id: float(len(sources[stories.get(row.article, row.article)])) for row in found}
    return {pk: count for pk, count in counts.items() if count > 1}


def sources_reporting(*, reader_id: UUID, items: Collection[Item], now: datetime) -> dict[int, int]:
    """Return {item: how many of the reader's sources report it within seven days}, if two or more.

    Muted items do not count. Two queries.
    """
    mutes = mutes_in_force(reader_id=reader_id, now=now)
    ids = {item.story_id for item in items if item.story_id}
    same = Q(article__in={item.article for item in items}) | Q(story__in=ids)
    within = _window(reader_id, now, ITEM_WINDOW_DAYS, None).filter(same)
    rows = [row for row in within if not item_is_hidden(mutes, row)]
    everything = {item.pk: item for item in [*rows, *items]}.values()
    stories = stories_split(
        story_title(story=item.story_id, article=item.article, title=item.title, text=item.text)
        for item in everything
        if item.story_id
    )
    sources: defaultdict[int, set[str]] = defaultdict(set)
    for row in rows:
        sources[stories.get(row.article, row.article)].add(row.source_id)
    counts = {item.pk: len(sources[stories.get(item.article, item.article)]) for item in items}
    return {pk: count for pk, count in counts.items() if count > 1}


def article_rank(own: bool, subscription: int) -> tuple[bool, int]:
    """Return the sort key of an article's items; the reader gets the words of the smallest.

    The publisher's own feed comes first, then the feed that the reader subscribed to earliest.
    """
    return not own, subscription


def items_window_count(*, reader_id: UUID, now: datetime, seen_by: datetime) -> int:
    """Return how many articles the digest's window up to `now` holds, first seen by `seen_by`."""
    rows = _window(reader_id, now, ITEM_WINDOW_DAYS, seen_by, today=True)
    return rows.values("article").distinct().count()


def items_by_feed(*, reader_id: UUID, since: datetime) -> dict[int, int]:
    """Return {feed id: number of items dated after `since`} of the reader's feeds with any. One query."""
    rows = Item.objects.filter(feed__subscriptions__reader_id=reader_id, dated_at__gt=since)
    return dict(rows.order_by().values_list("feed_id").annotate(n=Count("pk")))


def items_visible(*, reader_id: UUID) -> QuerySet[Item]:
    """Return the items that this reader may see: of their feeds, or shown to, rated, saved or named by them.

    Not evaluated. Use it for a few known items: each is tested on its own by index. (One item of a million: 1
    ms, against 6.5 ms if all items of the reader's feeds are collected first.)
    """
    subscribed = Subscription.objects.filter(feed_id=OuterRef("feed_id"), reader_id=reader_id)
    shown = Exists(Impression.objects.filter(item_id=OuterRef("pk"), digest__reader_id=reader_id))
    rated = Exists(Feedback.objects.filter(item_id=OuterRef("pk"), reader_id=reader_id))
    saved = Exists(
        Reading.objects.filter(Reading.SAVED_OR_NAMED, item_id=OuterRef("pk"), reader_id=reader_id)
    )
    return Item.objects.filter(Q(Exists(subscribed)) | Q(shown) | Q(rated) | Q(saved))


def visible_ids(*, reader_id: UUID) -> list[QuerySet[Any, Any]]:
    """Return the ids of `items_visible` as four subqueries, each with its own index; not evaluated.

    As one condition over items, PostgreSQL would test it on every item that another condition has found.
    """
    shown = Impression.objects.filter(digest__reader_id=reader_id).order_by()
    rated = Feedback.objects.filter(reader_id=reader_id)
    saved = Reading.objects.filter(Reading.SAVED_OR_NAMED, reader_id=reader_id)
    others: list[QuerySet[Any, Any]] = [shown, rated, saved]
    return [*(rows.values("item_id") for rows in others), _items_of_feeds(reader_id).values("pk")]


def item_for(*, reader_id: UUID, item_id: int) -> Item | None:
    """Return the item with its source and feed if this reader may see it (`items_visible`), else `None`."""
    return items_visible(reader_id=reader_id).filter(pk=item_id).select_related("source", "feed").first()


def item_get(*, reader_id: UUID, item_id: int) -> Item:
    """Return the item with its source. Raises `ItemNotFound` unless this reader may see it."""
    if (item := item_for(reader_id=reader_id, item_id=item_id)) is None:
        raise ItemNotFound(_("There is no such item among yours. Reload the page and try again."))
    return item


def item_urls(*, item_ids: Collection[int]) -> dict[int, str]:
    """Return the link target of each item, by id."""
    return {item.pk: item.address for item in Item.objects.filter(pk__in=item_ids).only("url", "link")}


def _sources_of(reader_id: UUID) -> QuerySet[Feed, str]:
    return Feed.objects.filter(subscriptions__reader_id=reader_id).values_list("source_id", flat=True)


def _items_of_feeds(reader_id: UUID, *, today: bool = False) -> QuerySet[Item]:
    """Select items of the reader's own feeds; with `today`, only of those that may be in a digest.

    Not of all their publishers, because feeds can share a domain.
    """
    wanted = {"feed__subscriptions__in_today": True} if today else {}
    return Item.objects.filter(feed__subscriptions__reader_id=reader_id, **wanted)


def _window(
    reader_id: UUID, now: datetime, days: int, seen_by: datetime | None, *, today: bool = False
) -> QuerySet[Item]:
    """Select `_items_of_feeds` from the `days` days up to `now`, first seen by `seen_by`."""
    mine = _items_of_feeds(reader_id, today=today)
    rows = mine.filter(dated_at__gt=now - timedelta(days=days), dated_at__lte=now)
    return rows if seen_by is None else rows.filter(first_seen_at__lte=seen_by)


def subscriptions_new(*, now: datetime) -> QuerySet[Subscription]:
    """Return the subscriptions of the last three days.

    A feed that replaced a moved one is not new to the readers of that one.
    """
    moved_here = Subscription.objects.filter(
        reader=OuterRef("reader"), feed__state=Feed.State.MOVED, feed__moved_url=OuterRef("feed__url")
    )
    recent = Subscription.objects.filter(created_at__gt=now - NEW_FOR, created_at__lte=now)
    return recent.filter(~Exists(moved_here))


def items_latest(
    *, subscriptions: QuerySet[Subscription], now: datetime, seen_by: datetime | None = None
) -> QuerySet[Item, Any]:
    """Return the newest five items of each of these feeds that has none in the week up to `now`.

    Newest first. Items first seen after `seen_by` are left out.
    """
    start = now - timedelta(days=ITEM_WINDOW_DAYS)
    seen = Q() if seen_by is None else Q(first_seen_at__lte=seen_by)
    in_window = Item.objects.filter(seen, feed=OuterRef("pk"), dated_at__gt=start, dated_at__lte=now)
    quiet = Feed.objects.filter(~Exists(in_window), pk__in=subscriptions.values("feed"))
    place = Window(RowNumber(), partition_by=F("feed"), order_by=[F("dated_at").desc(), F("pk")])
    older = Item.objects.filter(seen, feed__in=quiet, dated_at__lte=start)
    return older.annotate(place=place).filter(place__lte=LATEST_MAX).order_by("-dated_at", "id")


def mutes_in_force(*, reader_id: UUID, now: datetime) -> MuteFilter:
    """Return the reader's mutes that apply today in their zone; one query, or two if one has a last day.

    Within a request they are loaded once, however many callers ask.
    """
    mutes = config_hiding(reader_id=reader_id).mutes
    today = date.min
    if any(mute.until for mute in mutes):
        today = day_of(now, read_once(("zone", reader_id), lambda: _zone_of(reader_id)))
    return read_once(("muted", reader_id, today), lambda: MuteFilter(mutes, today))


def _zone_of(reader_id: UUID) -> ZoneInfo:
    return Reader.objects.only("time_zone").get(pk=reader_id).zone


def item_is_hidden(mutes: MuteFilter, item: Item) -> bool:
    """Return whether one of the mutes hides the item."""
    return bool(mutes) and mutes.finds(item_candidate(item)) is not None


def item_candidate(item: Item) -> Candidate:
    """Return the item as the `Candidate` that ranking and mutes read."""
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
    """Return the items that the mutes hide. One query, or none without mutes."""
    if not mutes or not item_ids:
        return set()
    return {item.item_id for item in candidates_of(item_ids=item_ids) if mutes.finds(item)}


def candidates_of(*, item_ids: Collection[int]) -> Iterator[Candidate]:
    """Yield the items as the `Candidate` that ranking and mutes read; one query."""
    rows = Item.objects.filter(pk__in=item_ids).values_list(*CANDIDATE_FIELDS)
    return (Candidate(*row) for row in rows.iterator())
