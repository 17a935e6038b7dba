"""Ratings of other readers, in sums over many: by source, by item, and of the readers most like one (Swing).

Only readers who share count and are served, and only figures over at least five of them leave this module.
Profiles for Swing hold the items liked in the last 90 days and the sources liked more than usual: news items
expire, and sources are what overlaps then.

Each process caches the crowd of a UTC day. Members are read in one query, their ratings of single items (all
that pages need) in a second, opinions of sources and likes in two more; each when first needed, by one thread
while the others wait. Caching is safe because only bounded sums are asked of it, and because each use first
reads who shares at that moment: a reader who stops sharing is excluded at once. The cache is filled again on
a new UTC day, when an earlier reader is gone or back, and after an import of older ratings. A new reader
changes nothing: nobody counts in their first two weeks. A deleted rating counts until the day ends.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import RLock
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db.models import Count, F, FloatField, Max, Min, Q, QuerySet, Sum, Value
from django.db.models.functions import Cast, Coalesce, Power
from numpy.typing import NDArray

from digest.days import utc_day
from digest.models import Feedback, Reader
from ranking.common.text import fold, term_matches, topic_key
from ranking.crowd import (
    RATERS_MIN,
    READERS_MIN,
    THUMBS_MIN,
    Crowd,
    ItemCrowd,
    Opinion,
    capped_votes,
    crowd_of,
    crowd_opinions,
    item_columns,
    item_crowd_of,
    item_rates,
    opinion_of,
    peer_opinions,
    peer_rows,
)
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS, base_rate
from ranking.swing import SwingIndex, SwingSettings, threshold_by_chance

MEMBER_RATINGS_MIN = 20
MEMBER_DAYS_MIN = 5
MEMBER_AGE_DAYS = 14
LIKES_DAYS = 90
# Items rated longer ago are in no digest any more.
ITEM_DAYS = 30
# Ratings of items about a topic that are read, newest first.
TOPIC_RATINGS_MAX = 5000


@dataclass(slots=True)
class CachedCrowd:
    """The members of a UTC day: their base rates and rows, and what was read of them since.

    `readers`, `latest` and `last_pk` say when it was read: how many readers there were, when the last of them
    had joined, and the id of the last rating.
    """

    base: Mapping[UUID, float]
    rows: Mapping[UUID, int]
    day: int
    readers: int
    latest: datetime | None
    last_pk: int
    crowd: Crowd | None = field(default=None)
    items: ItemCrowd | None = field(default=None)


@dataclass(frozen=True, slots=True)
class TargetOpinions:
    """What others think of one target: the readers most like this one, and all who share."""

    peers: Opinion | None = None
    community: Opinion | None = None


@dataclass(frozen=True, slots=True)
class _View:
    """The crowd as one reader sees it: the others who share now, and the reader's own row if they count."""

    crowd: Crowd
    others: NDArray[np.bool_]
    row: int | None

    @property
    def nearest(self) -> list[int]:
        """The rows of the readers most like this one."""
        return [] if self.row is None else peer_rows(self.crowd, self.row, self.others)


_cache: dict[str, CachedCrowd] = {}
_lock = RLock()


def peers_cache_clear() -> None:
    """Clear this process's cache of the crowd."""
    _cache.clear()


def community_deviation(*, reader_id: UUID, now: datetime) -> dict[str, float]:
    """Return how much more (+) or less (-) than usual the other sharing readers like each source.

    Only sources that at least five of them rated, in steps of 0.05 up to +-0.2; zeros are left out. Empty for
    a reader who does not share. Three queries when the crowd is cached.
    """
    view = _view(reader_id, now)
    return _deviations(crowd_opinions(view.crowd, view.others)) if view else {}


def peer_deviations(*, reader_id: UUID, now: datetime) -> dict[str, float]:
    """Return the same over the readers most like this one (Swing): of each source the nearest five raters."""
    view = _view(reader_id, now)
    return _deviations(peer_opinions(view.crowd, view.nearest)) if view and view.row is not None else {}


def target_opinions(*, reader_id: UUID, source: str = "", topic: str = "", now: datetime) -> TargetOpinions:
    """Return opinions of one source, or of items with `topic` in their titles (one query more)."""
    view = _view(reader_id, now)
    if view is None:
        return TargetOpinions()
    nearest = view.nearest
    if source:
        return TargetOpinions(
            peers=peer_opinions(view.crowd, nearest).get(source),
            community=crowd_opinions(view.crowd, view.others).get(source),
        )
    votes = _topic_votes(view, topic, now)
    peer_votes = [votes[row] for row in nearest if row in votes]
    limit = max(READERS_MIN, view.crowd.index.settings.top_k)
    return TargetOpinions(peers=opinion_of(peer_votes[:limit]), community=opinion_of(list(votes.values())))


def community_rates_many(
    *, reader_ids: Collection[UUID], item_ids: Collection[int], now: datetime
) -> dict[UUID, dict[int, float]]:
    """Return by reader and item how other sharing readers rate it (`ranking.crowd`): + liked, - not.

    Only items that at least five of them rated before today, in steps of 0.05; zeros are left out. Empty
    below 20 raters, and no entry for a reader who does not share. Three queries for all readers when the
    crowd is cached.
    """
    cached, excluded = crowd_cached(now)
    if cached is None:
        return {}
    rows = cached.rows
    hidden = [rows[reader] for reader in excluded if reader in rows]
    if len(rows) - len(hidden) < RATERS_MIN:
        return {}
    items = _items(cached)
    places = item_columns(items, item_ids)
    ids, found = items.items[places], {}
    for reader in set(reader_ids) - excluded:
        rates = item_rates(items, [*hidden, rows[reader]] if reader in rows else hidden, places)
        rated = np.flatnonzero(rates)
        found[reader] = dict(zip(ids[rated].tolist(), rates[rated].tolist(), strict=True))
    return found


def peers_cache_fill(*, now: datetime) -> None:
    """Fill the cache of `community_rates_many`, if it has any: four queries over all readers."""
    cached, _ = crowd_cached(now)
    if cached is not None:
        _items(cached)


def crowd_cached(now: datetime) -> tuple[CachedCrowd | None, set[UUID]]:
    """Return the crowd of today, from the cache while it is valid, and the readers who do not share now.

    No crowd where the feature is turned off or too few readers share.
    """
    if not settings.PEERS_ENABLED:
        return None, set()
    excluded = set(Reader.objects.exclude(_shares()).values_list("pk", flat=True))
    with _lock:
        cached = _cache.get("crowd")
        earlier = Q(date_joined__lte=cached.latest) if cached and cached.latest else Q()
        readers = Reader.objects.aggregate(
            all=Count("pk"), earlier=Count("pk", filter=earlier), latest=Max("date_joined")
        )
        if readers["all"] - len(excluded) <= READERS_MIN:
            return None, excluded
        day = utc_day(now)
        same = cached and (cached.day, cached.readers) == (day, readers["earlier"])
        if not cached or not same or Feedback.objects.filter(pk__gt=cached.last_pk, day__lt=day).exists():
            last_pk = Feedback.objects.aggregate(last=Max("pk"))["last"] or 0
            base = _members(day)
            rows = {reader: row for row, reader in enumerate(base)}
            cached = CachedCrowd(base, rows, day, readers["all"], readers["latest"], last_pk)
            _cache["crowd"] = cached
    return cached, excluded


def _crowd(cached: CachedCrowd) -> Crowd:
    """Return the members' opinions of sources and who is like whom; two queries the first time."""
    with _lock:
        if cached.crowd is None:
            cached.crowd = _crowd_read(cached.base, cached.day)
        return cached.crowd


def _items(cached: CachedCrowd) -> ItemCrowd:
    """Return the members' ratings of the last 30 days; one query the first time."""
    with _lock:
        if cached.items is None:
            recent = _ratings_before(cached.day).filter(day__gte=cached.day - ITEM_DAYS)
            ratings = recent.values_list("reader_id", "item_id", "useful").iterator()
            cached.items = item_crowd_of(
                np.array(list(cached.base.values())),
                ((cached.rows[reader], item, up) for reader, item, up in ratings if reader in cached.rows),
            )
        return cached.items


def _view(reader_id: UUID, now: datetime) -> _View | None:
    cached, excluded = crowd_cached(now)
    if cached is None or reader_id in excluded:
        return None
    crowd = _crowd(cached)
    row = crowd.readers.get(reader_id)
    others = np.ones(len(crowd.readers), dtype=bool)
    for reader in {*excluded, reader_id} & crowd.readers.keys():
        others[crowd.readers[reader]] = False
    return _View(crowd, others, row)


def _shares(prefix: str = "") -> Q:
    return Q(**{f"{prefix}peers_enabled": True, f"{prefix}is_active": True})


def _ratings_before(day: int) -> QuerySet[Feedback]:
    return Feedback.objects.filter(_shares("reader__"), day__lt=day)


def _members(day: int) -> dict[UUID, float]:
    """Return the readers who count, with their base rates; one query."""
    weight, liked = _weights(day)
    members = (
        _ratings_before(day)
        .values_list("reader_id")
        .annotate(k=liked, n=Sum(weight))
        .alias(ratings=Count("pk"), days=Count("day", distinct=True), first=Min("day"))
        .filter(ratings__gte=MEMBER_RATINGS_MIN, days__gte=MEMBER_DAYS_MIN, first__lte=day - MEMBER_AGE_DAYS)
        .order_by("reader_id")
    )
    return {reader: base_rate(k, n) for reader, k, n in members}


def _weights(day: int) -> tuple[Power, Coalesce]:
    """Return the weight of a rating by its age, and the summed weight of likes, as SQL."""
    age = Cast(F("day") - Value(day), FloatField())
    weight = Power(Value(2.0, FloatField()), age / Value(FEEDBACK_HALF_LIFE_DAYS, FloatField()))
    liked = Coalesce(Sum(weight, filter=Q(useful=True)), Value(0.0, FloatField()))
    return weight, liked


def _crowd_read(base: Mapping[UUID, float], day: int) -> Crowd:
    """Read the members' opinions of sources, and their likes, in two queries."""
    swing = SwingSettings(
        form=settings.SWING_FORM,
        alpha1=settings.SWING_ALPHA1,
        alpha2=settings.SWING_ALPHA2,
        beta=settings.SWING_BETA,
        threshold=settings.SWING_THRESHOLD,
        top_k=settings.SWING_TOP_K,
    )
    if len(base) < READERS_MIN:
        return crowd_of({}, [], [], swing)
    weight, liked = _weights(day)
    opinions = (
        _ratings_before(day)
        .values_list("reader_id", "item__source_id")
        .annotate(k=liked, n=Sum(weight))
        .alias(ratings=Count("pk"))
        .filter(ratings__gte=THUMBS_MIN)
        .order_by("item__source_id", "reader_id")
    )
    liked_rows = _ratings_before(day).filter(useful=True, day__gte=day - LIKES_DAYS)
    likes = liked_rows.order_by("reader_id", "item_id").values_list("reader_id", "item_id")
    crowd = crowd_of(base, opinions.iterator(), likes.iterator(), swing)
    if not settings.SWING_THRESHOLD_PERCENTILE:
        return crowd
    # The threshold that the crowd's own likes, shuffled, would reach by chance.
    index, percentile = crowd.index, float(settings.SWING_THRESHOLD_PERCENTILE)
    threshold = threshold_by_chance(index.likes, index.settings, percentile)
    return replace(crowd, index=SwingIndex(index.likes, replace(index.settings, threshold=threshold)))


def _topic_votes(view: _View, topic: str, now: datetime) -> dict[int, tuple[float, float]]:
    """Return row -> (votes, surplus) of each other reader with enough ratings of titles with `topic`.

    The database finds titles with the topic's longest word in them, Python the whole words among them.
    """
    word = max(topic_key(topic).split(), key=len, default="")
    if not word:
        return {}
    titled = _ratings_before(utc_day(now)).filter(item__title__icontains=word.removesuffix("y"))
    newest = titled.order_by("-day", "-pk").values_list("reader_id", "item__title", "useful")
    likes: defaultdict[int, int] = defaultdict(int)
    ratings: defaultdict[int, int] = defaultdict(int)
    for reader, title, useful in newest[:TOPIC_RATINGS_MAX]:
        row = view.crowd.readers.get(reader)
        if row is not None and view.others[row] and term_matches(topic, fold(title)):
            likes[row] += useful
            ratings[row] += 1
    return {
        row: capped_votes(likes[row], n, view.crowd.base[row])
        for row, n in ratings.items()
        if n >= THUMBS_MIN
    }


def _deviations(opinions: Mapping[str, Opinion]) -> dict[str, float]:
    return {source: opinion.deviation for source, opinion in opinions.items() if opinion.deviation}
