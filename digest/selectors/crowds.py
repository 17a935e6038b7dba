"""What each process keeps of the crowd: who counts, how they rate, their thumbs on items, who is like whom.

For `digest.selectors.peers` alone, which says who counts and what may be asked of it.

Profiles for Swing hold the items liked in the last 90 days and the sources liked more than usual: news items
expire, and what is left of the overlap then is the sources.

Members are read in one query, their thumbs on single items (all that pages need) in a second, opinions on
sources and likes in two more; each when it is first asked for, by one thread while the others wait. That
it is kept is safe because it is only ever asked through bounded sums, and because each use first reads who
shares at that moment: a reader who stops sharing is masked out at once; a new UTC day, a reader of before
who is gone or back, or older thumbs that came in since (an import) make it anew. A reader who has only just
come changes nothing: nobody counts in their first two weeks. A thumb taken back counts until the day ends.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from threading import RLock
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db.models import Count, F, FloatField, Max, Min, Q, QuerySet, Sum, Value
from django.db.models.functions import Cast, Coalesce, Power

from digest.days import utc_day
from digest.models import Feedback, Reader
from ranking.crowd import READERS_MIN, THUMBS_MIN, Crowd, crowd_of
from ranking.crowd_items import ItemCrowd, item_crowd_of
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS
from ranking.posterior import base_rate
from ranking.swing import SwingIndex, SwingSettings, threshold_by_chance

MEMBER_THUMBS_MIN = 20
MEMBER_DAYS_MIN = 5
MEMBER_AGE_DAYS = 14
LIKES_DAYS = 90
# Items rated longer ago are in no digest any more.
ITEM_DAYS = 30


@dataclass(slots=True)
class Kept:
    """The members of a day with their base rates and rows, what they were read from, and what was made of
    them since. `latest` is when the last reader of that moment had joined."""

    base: Mapping[UUID, float]
    rows: Mapping[UUID, int]
    day: int
    readers: int
    latest: datetime | None
    last_pk: int
    crowd: Crowd | None = field(default=None)
    items: ItemCrowd | None = field(default=None)


_kept: dict[str, Kept] = {}
_making = RLock()


def peers_forget() -> None:
    """Drop what this process keeps of the crowd."""
    _kept.clear()


def kept_now(now: datetime) -> tuple[Kept | None, set[UUID]]:
    """What is kept where it is still true, else made afresh; and who does not share at this moment.

    Nothing where all of it is turned off or too few readers share.
    """
    if not settings.PEERS_ENABLED:
        return None, set()
    apart = set(Reader.objects.exclude(_shares()).values_list("pk", flat=True))
    with _making:
        kept = _kept.get("crowd")
        of_before = Q(date_joined__lte=kept.latest) if kept and kept.latest else Q()
        there = Reader.objects.aggregate(
            all=Count("pk"), before=Count("pk", filter=of_before), latest=Max("date_joined")
        )
        if there["all"] - len(apart) <= READERS_MIN:
            return None, apart
        day = utc_day(now)
        same = kept and (kept.day, kept.readers) == (day, there["before"])
        if not kept or not same or Feedback.objects.filter(pk__gt=kept.last_pk, day__lt=day).exists():
            last_pk = Feedback.objects.aggregate(last=Max("pk"))["last"] or 0
            base = _members(day)
            rows = {reader: row for row, reader in enumerate(base)}
            kept = _kept["crowd"] = Kept(base, rows, day, there["all"], there["latest"], last_pk)
    return kept, apart


def crowd_now(kept: Kept) -> Crowd:
    """What the members think of sources, and who is like whom; two queries when it is first asked for."""
    with _making:
        if kept.crowd is None:
            kept.crowd = _crowd_read(kept.base, kept.day)
        return kept.crowd


def items_now(kept: Kept) -> ItemCrowd:
    """The members' thumbs of the last 30 days; one query when they are first asked for."""
    with _making:
        if kept.items is None:
            given = thumbs_before(kept.day).filter(day__gte=kept.day - ITEM_DAYS)
            rows = given.values_list("reader_id", "item_id", "useful").iterator()
            kept.items = item_crowd_of(
                np.array(list(kept.base.values())),
                ((kept.rows[reader], item, said) for reader, item, said in rows if reader in kept.rows),
            )
        return kept.items


def thumbs_before(day: int) -> QuerySet[Feedback]:
    """The thumbs of sharing readers given before that UTC day."""
    return Feedback.objects.filter(_shares("reader__"), day__lt=day)


def _shares(prefix: str = "") -> Q:
    return Q(**{f"{prefix}peers_enabled": True, f"{prefix}is_active": True})


def _members(day: int) -> dict[UUID, float]:
    """Who counts, with their base rates; one query."""
    weight, liked = _weights(day)
    members = (
        thumbs_before(day)
        .values_list("reader_id")
        .annotate(k=liked, n=Sum(weight))
        .alias(thumbs=Count("pk"), days=Count("day", distinct=True), first=Min("day"))
        .filter(thumbs__gte=MEMBER_THUMBS_MIN, days__gte=MEMBER_DAYS_MIN, first__lte=day - MEMBER_AGE_DAYS)
        .order_by("reader_id")
    )
    return {reader: base_rate(k, n) for reader, k, n in members}


def _weights(day: int) -> tuple[Power, Coalesce]:
    """What a thumb weighs by its age, and the weight of likes, as SQL."""
    age = Cast(F("day") - Value(day), FloatField())
    weight = Power(Value(2.0, FloatField()), age / Value(FEEDBACK_HALF_LIFE_DAYS, FloatField()))
    liked = Coalesce(Sum(weight, filter=Q(useful=True)), Value(0.0, FloatField()))
    return weight, liked


def _crowd_read(base: Mapping[UUID, float], day: int) -> Crowd:
    """What the members said of sources, and what they liked, in two queries."""
    if len(base) < READERS_MIN:
        return crowd_of({}, [], [], _swing_settings())
    weight, liked = _weights(day)
    cells = (
        thumbs_before(day)
        .values_list("reader_id", "item__source_id")
        .annotate(k=liked, n=Sum(weight))
        .alias(thumbs=Count("pk"))
        .filter(thumbs__gte=THUMBS_MIN)
        .order_by("item__source_id", "reader_id")
    )
    likes = thumbs_before(day).filter(useful=True, day__gte=day - LIKES_DAYS)
    crowd = crowd_of(
        base,
        cells.iterator(),
        likes.order_by("reader_id", "item_id").values_list("reader_id", "item_id").iterator(),
        _swing_settings(),
    )
    return _by_chance(crowd)


def _swing_settings() -> SwingSettings:
    return SwingSettings(
        form=settings.SWING_FORM,
        alpha1=settings.SWING_ALPHA1,
        alpha2=settings.SWING_ALPHA2,
        beta=settings.SWING_BETA,
        threshold=settings.SWING_THRESHOLD,
        top_k=settings.SWING_TOP_K,
    )


def _by_chance(crowd: Crowd) -> Crowd:
    """The crowd with the threshold that its own likes, shuffled, suggest, where a percentile is set."""
    if not settings.SWING_THRESHOLD_PERCENTILE:
        return crowd
    index = crowd.index
    percentile = float(settings.SWING_THRESHOLD_PERCENTILE)
    threshold = threshold_by_chance(index.likes, index.settings, percentile)
    return replace(crowd, index=SwingIndex(index.likes, replace(index.settings, threshold=threshold)))
