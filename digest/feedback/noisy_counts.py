"""Publish sums over the thumbs of readers who share: each figure once, with noise, and never again.

A publication runs at most once a UTC day, over thumbs given before that day. It covers the items first seen
`AGE_DAYS` ago. When a period of 28 days is that old, it also covers all items first seen in that period, by
source and all together.

Publications follow one another without gap or overlap. So a thumb is in at most one item figure, one source
figure and one figure of all items, even if its reader later stops sharing, changes thumbs or leaves. An
article is covered when the first of its items came from any feed, so a thumb given again on another feed's
item is not counted twice. The guarantee in docs/peers.md rests on this.
"""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import numpy as np
from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet

from digest.days import utc_day, utc_day_begin
from digest.feedback.peers import PERIOD_DAYS, PERIODS
from digest.feeds.identity import URN_PREFIX
from digest.models import CommunityRound, Feed, Feedback, Item, ItemFigure, SourceFigure
from ranking.community import EPSILON_WHOLE, VOTES_MAX, VOTES_WHOLE_MAX, Floats, publish, with_noise

# Conditions to be counted: this many thumbs, on this many days, the first this long ago. The direction of the
# thumbs plays no part.
MEMBER_RATINGS_MIN = 20
MEMBER_DAYS_MIN = 5
MEMBER_AGE_DAYS = 14
# With fewer members nothing is published: their thumbs would drown in the noise.
MEMBERS_MIN = 20
# An item can be rated on the day it comes and the next one. After that it is covered.
AGE_DAYS = 2
# How far back an installation's first publication looks.
LOOKBACK_DAYS = PERIODS * PERIOD_DAYS
# How far back an installation's first publication looks for items. Older items are kept only if somebody
# rated them, so the presence of a figure would reveal that.
ITEM_LOOKBACK_DAYS = 14
ROWS_AT_ONCE = 1000
# Feeds that everybody could read, so no private ones, newsletters or imported histories. The existence of
# their items and sources does not depend on any thumb, so each gets a figure.
PUBLIC_FEED: Final = Q(owner=None) & ~Q(url__startswith=URN_PREFIX)
PUBLIC_ITEM: Final = Q(feed__owner=None, feed__isnull=False) & ~Q(feed__url__startswith=URN_PREFIX)
PUBLIC_RATED: Final = Q(item__feed__owner=None, item__feed__isnull=False) & ~Q(
    item__feed__url__startswith=URN_PREFIX
)
WHOLE = ""


def community_publish(*, now: datetime) -> dict[str, int]:
    """Publish the round of `now`'s UTC day; return the number of figures as `{"items": n, "sources": n}`.

    Does nothing if that day has had its round or the feature is turned off. If two processes start at once,
    one of them publishes; the other finds its row.
    """
    day = utc_day(now)
    if not settings.PEERS_ENABLED or CommunityRound.objects.filter(day__gte=day).exists():
        return {"items": 0, "sources": 0}
    last = CommunityRound.objects.order_by("-day").first()
    until = day - AGE_DAYS
    after = last.until if last else until - LOOKBACK_DAYS
    try:
        with transaction.atomic():
            CommunityRound.objects.create(day=day, after=after, until=until)
            if community_members(day=day).count() < MEMBERS_MIN:
                return {"items": 0, "sources": 0}
            return {
                "items": _items_publish(day, after, until),
                "sources": sum(_sources_publish(day, period) for period in _periods_closed(after, until)),
            }
    except IntegrityError:
        if not CommunityRound.objects.filter(Q(day=day) | Q(after=after)).exists():
            raise
        return {"items": 0, "sources": 0}


def community_members(*, day: int) -> "QuerySet[Feedback, Any]":
    """Return the readers who count on a UTC day, as rows with `reader_id`.

    They are chosen by the number and days of their thumbs, never by the thumbs' direction.
    """
    return (
        _shared_thumbs(day)
        .values("reader_id")
        .annotate(ratings=Count("pk"), days=Count("day", distinct=True), first=Min("day"))
        .filter(ratings__gte=MEMBER_RATINGS_MIN, days__gte=MEMBER_DAYS_MIN, first__lte=day - MEMBER_AGE_DAYS)
        .order_by()
    )


def uniforms_secret(shape: tuple[int, int]) -> Floats:
    """Return unpredictable numbers in (0, 1], made of 53 random bits each from the operating system."""
    bits = np.frombuffer(os.urandom(8 * shape[0] * shape[1]), dtype=np.uint64) >> np.uint64(11)
    drawn: Floats = ((bits.astype(np.float64) + 1) * 2.0**-53).reshape(shape)
    return drawn


def _periods_closed(after: int, until: int) -> list[int]:
    """Return the periods whose last day is one of `after` + 1 to `until`."""
    first, last = (after + 1) // PERIOD_DAYS, (until + 1) // PERIOD_DAYS
    return list(range(first, last))


def _items_publish(day: int, after: int, until: int) -> int:
    """Publish the covered items of public feeds, including unrated ones."""
    first = max(after, until - ITEM_LOOKBACK_DAYS) + 1
    counted = (
        _thumbs(day, first, until)
        .values_list("item_id")
        .annotate(likes=Count("pk", filter=Q(useful=True)), thumbs=Count("pk"))
    )
    given = {item: (likes, thumbs) for item, likes, thumbs in counted.order_by("item_id")}
    begins = utc_day_begin(first)
    earlier = Item.objects.filter(PUBLIC_ITEM, article=OuterRef("article"), first_seen_at__lt=begins)
    items = Item.objects.filter(
        ~Exists(earlier), PUBLIC_ITEM, first_seen_at__gte=begins, first_seen_at__lt=utc_day_begin(until + 1)
    )
    ids = items.order_by("pk").values_list("pk", flat=True)
    figures = [
        ItemFigure(item_id=item, day=day, likes=likes, thumbs=thumbs)
        for item, likes, thumbs in _add_noise({item: given.get(item, (0, 0)) for item in ids})
    ]
    return len(ItemFigure.objects.bulk_create(figures, batch_size=ROWS_AT_ONCE))


def _sources_publish(day: int, period: int) -> int:
    """Publish the sources of public feeds, including unrated ones, and the sum over all sources."""
    rows = _thumbs(day, period * PERIOD_DAYS, (period + 1) * PERIOD_DAYS - 1)
    ordered = rows.order_by("item_id", "reader_id").values_list("reader_id", "item__source_id", "useful")
    by_source, together = Votes(VOTES_MAX), Votes(VOTES_WHOLE_MAX)
    for reader, source, useful in ordered.iterator():
        by_source.add(reader, source, useful)
        together.add(reader, WHOLE, useful)
    keys = (
        Feed.objects.filter(PUBLIC_FEED).order_by("source_id").values_list("source_id", flat=True).distinct()
    )
    given = by_source.counts()
    sources = _add_noise({source: given.get(source, (0, 0)) for source in keys})
    whole = np.array(together.counts().get(WHOLE, (0, 0)), dtype=np.int64)
    likes, thumbs = with_noise(whole[:1], whole[1:], uniforms_secret((4, 1)), EPSILON_WHOLE)
    figures = [
        SourceFigure(source_id=source, period=period, day=day, likes=liked, thumbs=n)
        for source, liked, n in [*sources, (None, int(likes[0]), int(thumbs[0]))]
    ]
    return len(SourceFigure.objects.bulk_create(figures, batch_size=ROWS_AT_ONCE)) - 1


class Votes:
    """Counter of likes and thumbs by source. Per reader and source only the first `most` thumbs count.

    Add thumbs in an order that does not depend on their direction.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._given: Counter[tuple[Any, str]] = Counter()
        self._likes: Counter[str] = Counter()
        self._thumbs: Counter[str] = Counter()

    def add(self, reader: Any, source: str, useful: bool) -> None:
        """Count one thumb of a reader on a source, if it is among the first `most`."""
        self._given[reader, source] += 1
        if self._given[reader, source] <= self._most:
            self._thumbs[source] += 1
            self._likes[source] += useful

    def counts(self) -> dict[str, tuple[int, int]]:
        """Return {source: (likes, thumbs)}."""
        return {source: (self._likes[source], n) for source, n in self._thumbs.items()}


def votes_counted(rows: Iterable[tuple[Any, str, bool]], most: int) -> dict[str, tuple[int, int]]:
    """Return {source: (likes, thumbs)} of rows (reader, source, useful), counted as `Votes` does."""
    votes = Votes(most)
    for row in rows:
        votes.add(*row)
    return votes.counts()


def _add_noise(counts: Mapping[Any, tuple[int, int]]) -> Sequence[tuple[Any, int, int]]:
    """Return (key, likes, thumbs) with noise, without those that may be noise alone."""
    likes, thumbs = np.array(list(counts.values()), dtype=np.int64).reshape(-1, 2).T
    likes, thumbs, published = publish(likes, thumbs, uniforms_secret((4, len(counts))))
    rows = zip(counts, likes.tolist(), thumbs.tolist(), published, strict=True)
    return [(key, liked, n) for key, liked, n, is_published in rows if is_published]


def _thumbs(day: int, first: int, last: int) -> QuerySet[Feedback]:
    """Return the members' thumbs before `day` on items first seen on the UTC days `first` to `last`.

    Articles of which an item came earlier are left out, and so are items of private feeds.
    """
    begins = utc_day_begin(first)
    earlier = Item.objects.filter(PUBLIC_ITEM, article=OuterRef("article"), first_seen_at__lt=begins)
    return _shared_thumbs(day).filter(
        ~Exists(earlier),
        reader__in=community_members(day=day).values("reader_id"),
        item__first_seen_at__gte=begins,
        item__first_seen_at__lt=utc_day_begin(last + 1),
    )


def _shared_thumbs(day: int) -> QuerySet[Feedback]:
    """Return thumbs before `day` of readers who share, on items of public feeds."""
    return Feedback.objects.filter(
        PUBLIC_RATED, reader__peers_enabled=True, reader__is_active=True, day__lt=day
    )
