"""The one place where one reader's thumbs serve another: aggregates over at least five, never text or ids.

Who counts: readers who share (`peers_enabled`), are active, and have rated at least 20 items on 5 days since
at least 14 days, so that an account made to look around or to steer counts for nothing at first. Thumbs count
from the UTC day after they were given: nobody can poke at a figure and watch it move. Who does not share is
neither used nor served. `PEERS_ENABLED` turns all of it off.

Profiles for Swing hold the items liked in the last 90 days and the sources liked more than usual: news items
expire, and what is left of the overlap then is the sources.

The crowd is read in three queries, its thumbs on single items in a fourth, and kept in each process. That is
safe because what is kept is only ever asked through bounded sums, and because each use first reads who shares
at that moment: a reader who stops sharing is masked out at once; a new UTC day, a reader more or less, or
older thumbs that came in since (an import) make it anew. A thumb taken back counts until the day ends.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

import numpy as np
from django.conf import settings
from django.db.models import Count, F, FloatField, Max, Min, Q, QuerySet, Sum, Value
from django.db.models.functions import Cast, Coalesce, Power
from numpy.typing import NDArray

from digest.days import utc_day
from digest.models import Feedback, Reader
from ranking.crowd import (
    READERS_MIN,
    THUMBS_MIN,
    Crowd,
    Opinion,
    crowd_of,
    crowd_opinions,
    opinion_of,
    peer_opinions,
    peer_rows,
    vote,
)
from ranking.crowd_items import RATERS_MIN, ItemCrowd, item_crowd_of, item_rates
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS
from ranking.matching import fold, term_matches, topic_key
from ranking.posterior import base_rate
from ranking.swing import SwingIndex, SwingSettings, threshold_by_chance

MEMBER_THUMBS_MIN = 20
MEMBER_DAYS_MIN = 5
MEMBER_AGE_DAYS = 14
LIKES_DAYS = 90
# Items rated longer ago are in no digest any more.
ITEM_DAYS = 30
# Thumbs on items about a topic that are looked at, newest first.
TOPIC_THUMBS_MAX = 5000


@dataclass(frozen=True, slots=True)
class TargetOpinions:
    """What others think of one target: the readers most like this one, and all who share."""

    peers: Opinion | None = None
    community: Opinion | None = None


@dataclass(frozen=True, slots=True)
class _Kept:
    """A crowd with what it was made from."""

    crowd: Crowd
    day: int
    readers: int
    last_pk: int


@dataclass(frozen=True, slots=True)
class _Asked:
    """A crowd as one reader may ask it: the others who share now, and the reader's own row if they count."""

    crowd: Crowd
    others: NDArray[np.bool_]
    row: int | None


_kept: dict[str, _Kept] = {}
# The crowd's thumbs on single items beside the crowd they belong to; read when first asked for.
_kept_items: dict[str, tuple[Crowd, ItemCrowd]] = {}


def peers_forget() -> None:
    """Drop what this process keeps of the crowd."""
    _kept.clear()
    _kept_items.clear()


def community_deviation(*, reader_id: UUID, now: datetime) -> dict[str, float]:
    """Per source, how much more (+) or less (-) than usual the other sharing readers like it.

    Only sources that at least five of them rated, in steps of 0.05 up to +-0.2; where it is 0 the source is
    left out. Empty for a reader who does not share. Three queries when the crowd is kept already.
    """
    asked = _ask(reader_id, now)
    return _deviations(crowd_opinions(asked.crowd, asked.others)) if asked else {}


def peer_deviations(*, reader_id: UUID, now: datetime) -> dict[str, float]:
    """The same over the readers most like this one (Swing): per source the nearest five who rated it."""
    asked = _ask(reader_id, now)
    if asked is None or asked.row is None:
        return {}
    return _deviations(peer_opinions(asked.crowd, peer_rows(asked.crowd, asked.row, asked.others)))


def target_opinions(*, reader_id: UUID, source: str = "", topic: str = "", now: datetime) -> TargetOpinions:
    """What others think of one source, or of items with `topic` in their titles (one query more)."""
    asked = _ask(reader_id, now)
    if asked is None:
        return TargetOpinions()
    near = [] if asked.row is None else peer_rows(asked.crowd, asked.row, asked.others)
    if source:
        return TargetOpinions(
            peers=peer_opinions(asked.crowd, near).get(source),
            community=crowd_opinions(asked.crowd, asked.others).get(source),
        )
    said = _topic_votes(asked, topic, now)
    nearest = [said[row] for row in near if row in said]
    most = max(READERS_MIN, asked.crowd.index.settings.top_k)
    return TargetOpinions(peers=opinion_of(nearest[:most]), community=opinion_of(list(said.values())))


def community_rates_many(
    *, reader_ids: Collection[UUID], item_ids: Collection[int], now: datetime
) -> dict[UUID, dict[int, float]]:
    """By reader and item, what other readers who share say of it (`ranking.crowd_items`): + liked, - not.

    Only items that at least five of them rated before today, in steps of 0.05; where it is 0 the item is left
    out. Nothing below 20 raters, and no entry for a reader who does not share. Three queries for all readers
    when the crowd is kept.
    """
    kept, apart = _kept_now(now)
    if kept is None:
        return {}
    known = kept.crowd.readers
    gone = [known[reader] for reader in apart if reader in known]
    if len(known) - len(gone) < RATERS_MIN:
        return {}
    items = _items_now(kept)
    places = np.flatnonzero(np.isin(items.items, list(item_ids)))
    found = {}
    for reader in set(reader_ids) - apart:
        without = [*gone, known[reader]] if reader in known else gone
        rates = item_rates(items, without)[places]
        said = np.flatnonzero(rates)
        found[reader] = dict(zip(items.items[places[said]].tolist(), rates[said].tolist(), strict=True))
    return found


def _ask(reader_id: UUID, now: datetime) -> _Asked | None:
    kept, apart = _kept_now(now)
    if kept is None or reader_id in apart:
        return None
    crowd = kept.crowd
    others = np.ones(len(crowd.readers), dtype=bool)
    for gone in apart & crowd.readers.keys():
        others[crowd.readers[gone]] = False
    row = crowd.readers.get(reader_id)
    if row is not None:
        others[row] = False
    return _Asked(crowd, others, row)


def _kept_now(now: datetime) -> tuple[_Kept | None, set[UUID]]:
    """What is kept where it is still true, else made afresh; and who does not share at this moment.

    Nothing where all of it is turned off or too few readers share.
    """
    if not settings.PEERS_ENABLED:
        return None, set()
    apart = set(Reader.objects.exclude(_shares()).values_list("pk", flat=True))
    readers = Reader.objects.count()
    if readers - len(apart) <= READERS_MIN:
        return None, apart
    kept, day = _kept.get("crowd"), utc_day(now)
    same = kept and (kept.day, kept.readers) == (day, readers)
    if not kept or not same or Feedback.objects.filter(pk__gt=kept.last_pk, day__lt=day).exists():
        last_pk = Feedback.objects.aggregate(last=Max("pk"))["last"] or 0
        crowd = _crowd_read(day)
        kept = _kept["crowd"] = _Kept(crowd, day, readers, last_pk)
    return kept, apart


def _items_now(kept: _Kept) -> ItemCrowd:
    """The kept crowd's thumbs of the last 30 days; one query when they are first asked for."""
    crowd, items = _kept_items.get("items", (None, None))
    if items is None or crowd is not kept.crowd:
        known = kept.crowd.readers
        given = _thumbs_before(kept.day).filter(day__gte=kept.day - ITEM_DAYS)
        rows = given.values_list("reader_id", "item_id", "useful").iterator()
        items = item_crowd_of(
            kept.crowd.base, ((known[reader], item, said) for reader, item, said in rows if reader in known)
        )
        _kept_items["items"] = kept.crowd, items
    return items


def _shares(prefix: str = "") -> Q:
    return Q(**{f"{prefix}peers_enabled": True, f"{prefix}is_active": True})


def _thumbs_before(day: int) -> QuerySet[Feedback]:
    """The thumbs of sharing readers given before that UTC day."""
    return Feedback.objects.filter(_shares("reader__"), day__lt=day)


def _crowd_read(day: int) -> Crowd:
    """Everything the crowd consists of, in three queries."""
    age = Cast(F("day") - Value(day), FloatField())
    weight = Power(Value(2.0, FloatField()), age / Value(FEEDBACK_HALF_LIFE_DAYS, FloatField()))
    liked = Coalesce(Sum(weight, filter=Q(useful=True)), Value(0.0, FloatField()))
    members = (
        _thumbs_before(day)
        .values_list("reader_id")
        .annotate(k=liked, n=Sum(weight))
        .alias(thumbs=Count("pk"), days=Count("day", distinct=True), first=Min("day"))
        .filter(thumbs__gte=MEMBER_THUMBS_MIN, days__gte=MEMBER_DAYS_MIN, first__lte=day - MEMBER_AGE_DAYS)
        .order_by("reader_id")
    )
    base = {reader: base_rate(k, n) for reader, k, n in members}
    if len(base) < READERS_MIN:
        return crowd_of({}, [], [], _swing_settings())
    cells = (
        _thumbs_before(day)
        .values_list("reader_id", "item__source_id")
        .annotate(k=liked, n=Sum(weight))
        .alias(thumbs=Count("pk"))
        .filter(thumbs__gte=THUMBS_MIN)
        .order_by("item__source_id", "reader_id")
    )
    likes = _thumbs_before(day).filter(useful=True, day__gte=day - LIKES_DAYS)
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


def _topic_votes(asked: _Asked, topic: str, now: datetime) -> dict[int, tuple[float, float]]:
    """Row -> (votes, surplus) of each other reader with enough thumbs on titles that hold `topic`.

    The database finds titles with the topic's longest word in them, Python the whole words among them.
    """
    word = max(topic_key(topic).split(), key=len, default="")
    if not word:
        return {}
    titled = _thumbs_before(utc_day(now)).filter(item__title__icontains=word.removesuffix("y"))
    newest = titled.order_by("-day", "-pk").values_list("reader_id", "item__title", "useful")
    likes: defaultdict[int, int] = defaultdict(int)
    thumbs: defaultdict[int, int] = defaultdict(int)
    for reader, title, useful in newest[:TOPIC_THUMBS_MAX]:
        row = asked.crowd.readers.get(reader)
        if row is not None and asked.others[row] and term_matches(topic, fold(title)):
            likes[row] += useful
            thumbs[row] += 1
    return {row: vote(likes[row], n, asked.crowd.base[row]) for row, n in thumbs.items() if n >= THUMBS_MIN}


def _deviations(opinions: Mapping[str, Opinion]) -> dict[str, float]:
    return {source: said.deviation for source, said in opinions.items() if said.deviation}
