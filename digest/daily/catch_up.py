"""The catch-up page: the best items since a reader's last visit."""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from digest.daily.candidates import DayCandidates, signals_for
from digest.daily.compose import NoveltyDraw, Rules, compose
from digest.daily.item_words import FOUND
from digest.daily.presentation import ScoredItem
from digest.days import day_begin, day_of
from digest.entities import DIGEST_SIZE
from digest.items.meanings import topics_about
from digest.items.reading import readings_for
from digest.items.selectors import items_window
from digest.models import Exposure, Item, Reader
from ranking.entities import EffectiveConfig
from ranking.scoring import Pool
from ranking.selectors import config_effective

# Readers who were away for three days are offered a catch-up over at most thirty.
AWAY_MIN: Final = dt.timedelta(days=3)
LOOK_BACK_MAX: Final = dt.timedelta(days=30)


@dataclass(frozen=True, slots=True)
class CatchUp:
    """The items that a reader missed since `since`.

    `best` begins with the items that most of their sources report. `rest` are the ids of all other unread
    items. `came` is true if any item came at all, read or not.
    """

    since: dt.datetime
    best: Sequence[ScoredItem]
    rest: Sequence[int]
    came: bool

    @property
    def unread(self) -> list[int]:
        """Return the ids of all unread items, the best first."""
        return [*(entry.item.pk for entry in self.best), *self.rest]


def away_since(*, reader: Reader, now: dt.datetime) -> dt.datetime | None:
    """Return when the reader last saw a digest page before today, if that was at least three days ago.

    Visits of today do not count, so the answer stays the same all day. One query.
    """
    today = day_begin(day_of(now, reader.zone), reader.zone)
    visits = Exposure.objects.filter(reader=reader, door=Exposure.Door.PAGE, shown_at__lt=today)
    last = visits.order_by("-shown_at").values_list("shown_at", flat=True).first()
    return last if last and now - last >= AWAY_MIN else None


def catch_up(*, reader: Reader, now: dt.datetime) -> CatchUp | None:
    """Return at most thirty unread items since the reader's last visit; `None` if they were not away.

    Scores are as in a digest, except that freshness halves only once over the whole absence. Each story
    appears once, and sources have shares. Items that several of the reader's sources report come first, the
    most reported at the top. A constant number of queries.
    """
    visit = away_since(reader=reader, now=now)
    if visit is None:
        return None
    since = max(visit, now - LOOK_BACK_MAX)
    effective = config_effective(reader_id=reader.pk)
    candidates, came = _unread_since(reader, since, now, effective)
    ranking = candidates.ranking(_slow(effective, now - since))
    choices = candidates.choices(ranking, effective)
    composed = compose(choices, Rules(DIGEST_SIZE, novelty=False, alternate=False), NoveltyDraw())
    scores = {score.candidate.item_id: score for score in ranking[:]}
    shown = sorted(
        (scores[place.item_id] for place in composed.places), key=lambda score: -score.parts.reported_by
    )
    items = Item.objects.select_related("source").in_bulk([score.candidate.item_id for score in shown])
    best = [
        ScoredItem(items[score.candidate.item_id], score.parts.as_dict(), score.total, FOUND)
        for score in shown
    ]
    return CatchUp(since, best, [pk for pk in ranking.ids.tolist() if pk not in items], came)


def items_since(*, reader: Reader, since: dt.datetime, now: dt.datetime) -> list[int]:
    """Return the ids of the newest 5,000 items of the reader's feeds from `since` to `now`; one query."""
    days = math.ceil((now - since) / dt.timedelta(days=1))
    candidates = items_window(reader_id=reader.pk, now=now, days=days).candidates
    return [candidate.item_id for candidate in candidates if candidate.dated_at > since]


def _unread_since(
    reader: Reader, since: dt.datetime, now: dt.datetime, effective: EffectiveConfig
) -> tuple[DayCandidates, bool]:
    """Return the unread items since `since` as candidates, and whether any item came at all."""
    days = math.ceil((now - since) / dt.timedelta(days=1))
    window = items_window(reader_id=reader.pk, now=now, days=days)
    ids = [candidate.item_id for candidate in window.candidates if candidate.dated_at > since]
    states = readings_for(reader_id=reader.pk, item_ids=ids)
    unread = {pk for pk in ids if pk not in states or states[pk].read_at is None}
    found = [candidate for candidate in window.candidates if candidate.item_id in unread]
    configs = {reader.pk: effective}
    read = signals_for(reader_ids=[reader.pk], item_ids=sorted(unread), now=now, configs=configs)
    unread_candidates = DayCandidates(
        as_of=now,
        seed="",
        pool=Pool(found, topics_about),
        origins={c.item_id: (c.source, window.articles[c.item_id]) for c in found},
        stories=window.stories,
        signals=replace(read[reader.pk], reported_by=window.reported_by),
    )
    return unread_candidates, bool(ids)


def _slow(effective: EffectiveConfig, absence: dt.timedelta) -> EffectiveConfig:
    """Return the settings with the whole absence as half-life."""
    config = replace(effective.config, recency_half_life_hours=absence / dt.timedelta(hours=1))
    return replace(effective, config=config)
