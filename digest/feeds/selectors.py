"""Selectors of feeds, subscriptions and the stored entries of feeds."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import TypeVar
from uuid import UUID

from django.conf import settings
from django.db.models import Case, Count, Exists, F, OuterRef, Q, QuerySet, When

from digest.entities import PUBLISHED_MIN
from digest.feeds.dedupe import KnownItem
from digest.feeds.health import FeedFacts, FetchFacts, network_message, outage_message, stall_message
from digest.feeds.identity import NAME_HASH, URN_PREFIX, web_url
from digest.feeds.polling import WAIT_LIMIT
from digest.models import Feed, Item, ItemBody, NetworkOutage, PrunedEntry, Reader, Subscription
from ranking.common.clocks import SKEW
from ranking.common.rows import VALUES_MAX

T = TypeVar("T")
# The beginning of a newsletter feed's own address, before its list.
NEWSLETTER_PREFIX = "newsletter:"


def is_read() -> Exists:
    """Return the filter of feeds that somebody reads. Others are not fetched, and are never late."""
    return Exists(Subscription.objects.filter(feed=OuterRef("pk")))


def in_trouble() -> Q:
    """Return the filter of feeds in trouble, as their readers see it: `feed_trouble` as a query."""
    moved_or_empty = ~Q(moved_url="") | ~Q(answered_by="") | Q(last_new_at=None)
    broken = Q(failures__gt=0) | Q(moved_or_empty, last_fetched_at__isnull=False)
    return Q(state__in=[Feed.State.GONE, Feed.State.REFUSED]) | Q(broken, state=Feed.State.ACTIVE)


def feed_facts(feed: Feed) -> FeedFacts:
    """Return the facts that the feed's condition and trouble follow from. No query."""
    moving = bool(feed.moved_url or feed.answered_by)
    return FeedFacts(feed.state, feed.failures, feed.last_fetched_at, feed.last_new_at, moving, feed.note)


def feed_is_due(*, now: datetime) -> Q:
    """Return the condition for a feed whose next check has come.

    One that is further away than any wait of ours was stored by a wrong clock.
    """
    return Q(next_check_at=None) | Q(next_check_at__lte=now) | Q(next_check_at__gt=now + WAIT_LIMIT)


def feeds_due(*, now: datetime) -> QuerySet[Feed]:
    """Return active feeds whose next check has come: known ones first, then the longest waiting.

    So no number of new feeds delays a known one. Only feeds with readers are due, so adding and removing
    feeds costs nothing afterwards. A check planned for later than any feed may wait is due, too: the clock
    was ahead.
    """
    is_new = Case(When(last_fetched_at=None, then=1), default=0)
    return Feed.objects.filter(feed_is_due(now=now), is_read(), state=Feed.State.ACTIVE).order_by(
        is_new, F("next_check_at").asc(nulls_first=True), "pk"
    )


def known_by_guid(*, guids: Mapping[int, Collection[str]]) -> dict[tuple[int, str], KnownItem]:
    """Return the stored items with these `guids` (a few thousand at most), by feed and guid.

    An item that retention deleted is known too, with the id 0. Two queries for every 10,000 guids.
    """
    found: dict[tuple[int, str], KnownItem] = {}
    for wanted in _chunks({guid for some in guids.values() for guid in some}):
        among = Q(feed_id__in=list(guids), guid__in=wanted)
        pruned = PrunedEntry.objects.filter(among).values_list("feed_id", "guid")
        found |= {(feed, guid): KnownItem(0, guid) for feed, guid in pruned}
        for feed, item in _known_rows(Item.objects.filter(among)):
            found[feed, item.guid] = item
    return {(feed, guid): item for (feed, guid), item in found.items() if guid in guids[feed]}


def known_by_article(*, articles: Mapping[int, Collection[int]]) -> dict[int, dict[int, list[KnownItem]]]:
    """Return the feeds' items at these addresses, by feed and article. One query."""
    found: dict[int, dict[int, list[KnownItem]]] = {feed: {} for feed in articles}
    for wanted in _chunks({article for some in articles.values() for article in some}):
        rows = Item.objects.filter(feed_id__in=list(articles), article__in=wanted).order_by("pk")
        for feed, item in _known_rows(rows):
            found[feed].setdefault(item.article, []).append(item)
    return found


def articles_at(*, articles: Collection[int]) -> dict[int, list[int | None]]:
    """Return the feeds that have an item of each article. One query for every 10,000 articles, or none
    without any."""
    found: dict[int, list[int | None]] = {}
    for wanted in _chunks(articles):
        rows = Item.objects.filter(article__in=wanted).order_by("pk")
        for article, feed in rows.values_list("article", "feed_id"):
            found.setdefault(article, []).append(feed)
    return found


def known_by_words(*, words: Mapping[int, Collection[str]]) -> dict[int, dict[str, list[KnownItem]]]:
    """Return by feed and fingerprint the items that the feeds have with these words, the newest first.

    One query, none without `words`.
    """
    found: dict[int, dict[str, list[KnownItem]]] = {feed: {} for feed in words}
    for wanted in _chunks({one for some in words.values() for one in some}):
        rows = Item.objects.filter(feed_id__in=list(words), fingerprint__in=wanted).order_by("-pk")
        for feed, item in _known_rows(rows):
            found[feed].setdefault(item.fingerprint, []).append(item)
    return found


def known_unnamed(
    *, posts: Mapping[int, Sequence[tuple[str, datetime | None]]]
) -> dict[int, list[KnownItem]]:
    """Return by feed its items without a guid or link of their own that have one of these titles or dates.

    Their texts come along. Two queries, or none without `posts`.
    """
    found: dict[int, list[KnownItem]] = {feed: [] for feed in posts}
    titles = {title for some in posts.values() for title, _ in some}
    dates = {date for some in posts.values() for _, date in some if date}
    for wanted in _chunks(titles | dates):
        matching = Q(title__in=[one for one in wanted if isinstance(one, str)])
        matching |= Q(published_at__in=[one for one in wanted if not isinstance(one, str)])
        named_by_words = Q(guid__startswith=URN_PREFIX) | Q(guid__startswith=NAME_HASH)
        rows = Item.objects.filter(matching, named_by_words, feed_id__in=list(posts))
        texts = dict(rows.values_list("pk", "text"))
        for feed, item in _known_rows(rows):
            found[feed].append(replace(item, text=texts[item.id]))
    return found


def _known_rows(rows: QuerySet[Item]) -> Iterator[tuple[int, KnownItem]]:
    """Yield each item with its feed. A date set by ingest does not count as the publisher's."""
    fields = ("feed_id", "pk", "guid", "article", "title", "author", "fingerprint", "body_hash")
    more = ("link", "url", "published_at", "dated_at", "first_seen_at")
    for feed, *values in rows.values_list(*fields, *more):
        *values, link, url, published, dated, seen = values
        is_published = PUBLISHED_MIN < published < seen
        values += [link or web_url(url), published if is_published else None, (published, dated, seen)]
        yield feed or 0, KnownItem(*values)


def _chunks(wanted: Collection[T]) -> Iterator[list[T]]:
    """Yield runs that one statement takes."""
    listed = list(wanted)
    for start in range(0, len(listed), VALUES_MAX):
        yield listed[start : start + VALUES_MAX]


def feeds_with_history(*, feed_ids: Collection[int]) -> set[int]:
    """Return which of these feeds have brought items before. One query."""
    brought = Exists(Item.objects.filter(feed=OuterRef("pk")))
    pruned = Exists(PrunedEntry.objects.filter(feed=OuterRef("pk")))
    return set(Feed.objects.filter(brought | pruned, pk__in=feed_ids).values_list("pk", flat=True))


def enclosures_known(*, item_ids: Collection[int]) -> dict[int, tuple[str, ...]]:
    """Return the enclosure addresses of items, without parameters. One query, or none without ids."""
    rows = ItemBody.objects.filter(pk__in=item_ids).values_list("pk", "enclosures") if item_ids else ()
    return {pk: tuple(str(one["url"]).partition("?")[0] for one in some) for pk, some in rows}


def subscriptions_of(*, reader_id: UUID) -> list[Subscription]:
    """Return the reader's subscriptions with feed and source, by the source's name. One query.

    Feeds that have moved are left out, because the reader reads their new address.
    """
    rows = _subscriptions(reader_id).select_related("feed__source")
    return sorted(rows, key=lambda row: str(row.feed.source).casefold())


def subscriptions_left(*, reader_id: UUID) -> int:
    """Return how many more feeds the reader may subscribe to (SUBSCRIPTIONS_MAX). One query.

    Newsletters have a limit of their own (`digest.sources.newsletters`), because anybody may send one.
    """
    limit: int = settings.SUBSCRIPTIONS_MAX
    feeds = _subscriptions(reader_id).exclude(feed__own_address__startswith=NEWSLETTER_PREFIX)
    return max(limit - feeds.count(), 0)


def _subscriptions(reader_id: UUID) -> QuerySet[Subscription]:
    return Subscription.objects.filter(reader_id=reader_id).exclude(feed__state=Feed.State.MOVED)


def subscriptions_exist(*, reader_id: UUID, since: datetime | None = None) -> bool:
    """Return whether the reader has a subscription, made after `since` if given. One query."""
    rows = Subscription.objects.filter(reader_id=reader_id)
    return (rows.filter(created_at__gt=since) if since else rows).exists()


def subscription_of(*, reader_id: UUID, feed_id: int) -> Subscription | None:
    """Return the reader's own subscription to a feed, with feed and source, or None."""
    found = Subscription.objects.filter(reader_id=reader_id, feed__pk=feed_id)
    return found.select_related("feed__source").first()


def readers_without_models() -> set[UUID]:
    """Return the readers whose feedback no model may study. One query.

    They have turned models off, for themselves or for one of their feeds. All ratings are studied together,
    titles included, so one feed's part cannot be told from the others'.
    """
    return set(_without_models().values_list("pk", flat=True))


def models_allowed(*, reader_id: UUID) -> bool:
    """Return whether a model may study this reader's feedback. One query."""
    return not _without_models().filter(pk=reader_id).exists()


def _without_models() -> QuerySet[Reader]:
    off = Subscription.objects.filter(reader_id=OuterRef("pk"), ai_enabled=False)
    return Reader.objects.filter(Q(ai_enabled=False) | Q(Exists(off)))


def error_counts() -> dict[str, int]:
    """Return how many of the active feeds that were tried have each error code; "" is for none. One query."""
    tried = Feed.objects.filter(is_read(), state=Feed.State.ACTIVE, last_fetched_at__isnull=False).order_by()
    return dict(tried.values_list("error_code").annotate(n=Count("pk")))


def outage_began_at() -> datetime | None:
    """Return since when this machine has had no network of its own, or `None`. One query."""
    return NetworkOutage.objects.values_list("began_at", flat=True).first()


def network_trouble() -> str:
    """Return why feeds fail if this machine's own network is at fault, or "". At most two queries."""
    began_at = outage_began_at()
    return outage_message(began_at) if began_at else network_message(error_counts())


def fetching_trouble(*, now: datetime) -> str:
    """Return why a person should look, or "": feeds are due and none was fetched for FETCH_WATCHDOG_MINUTES,
    or this machine has no network.

    Two queries, one in an outage. Zero minutes switch the watch off.
    """
    minutes = settings.FETCH_WATCHDOG_MINUTES
    if minutes <= 0:
        return ""
    if began_at := outage_began_at():
        return outage_message(began_at)
    since = now - timedelta(minutes=minutes)
    recent = Q(last_fetched_at__gte=since, last_fetched_at__lte=now + SKEW)
    counts = Feed.objects.filter(is_read(), state=Feed.State.ACTIVE).aggregate(
        overdue=Count("pk", filter=Q(next_check_at__lte=since) | Q(next_check_at=None)),
        fetched=Count("pk", filter=recent & Q(failures=0)),
        failed=Count("pk", filter=recent & Q(failures__gt=0)),
    )
    return stall_message(FetchFacts(**counts), minutes=minutes)
