"""Coming back: the best of what a reader's sources published since their last visit."""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from digest.daily.candidates import DayCandidates, signals_for
from digest.daily.compose import NoveltyDraw, Rules, compose
from digest.daily.explain import FOUND
from digest.daily.presentation import ScoredItem
from digest.days import day_begin, day_of
from digest.entities import DIGEST_SIZE
from digest.items.reading import readings_for
from digest.items.selectors import items_window
from digest.models import Exposure, Item, Reader
from ranking.entities import EffectiveConfig
from ranking.scoring import Pool
from ranking.selectors import config_effective

# Who was away for so long is offered what they missed, of the last thirty days at most.
AWAY_MIN: Final = dt.timedelta(days=3)
LOOK_BACK_MAX: Final = dt.timedelta(days=30)


@dataclass(frozen=True, slots=True)
class CatchUp:
    """What a reader missed since `since`: the best, what most of their sources report first, and the rest.

    `rest` are the ids of the unread items that are not among the best; nothing is read in `best` either.
    `came` says whether anything came at all, read or not.
    """

    since: dt.datetime
    best: Sequence[ScoredItem]
    rest: Sequence[int]
    came: bool

    @property
    def unread(self) -> list[int]:
        """Return the ids of all that is unread, the best first."""
        return [*(entry.item.pk for entry in self.best), *self.rest]


def away_since(*, reader: Reader, now: dt.datetime) -> dt.datetime | None:
    """Return when the reader last saw a digest's page before today, if that is three days ago or more.

    So it stays true all day, whatever they look at today. One query.
    """
    today = day_begin(day_of(now, reader.zone), reader.zone)
    visits = Exposure.objects.filter(reader=reader, door=Exposure.Door.PAGE, shown_at__lt=today)
    last = visits.order_by("-shown_at").values_list("shown_at", flat=True).first()
    return last if last and now - last >= AWAY_MIN else None


def catch_up(*, reader: Reader, now: dt.datetime) -> CatchUp | None:
    """Return at most thirty unread items since the reader's last visit; `None` for who was not away.

    Scored as in a digest, but that freshness halves only once over the whole absence; each story once, with
    shares of sources. What several of the reader's sources report comes first, the most reported before the
    less. A constant number of queries.
    """
    visit = away_since(reader=reader, now=now)
    if visit is None:
        return None
    since = max(visit, now - LOOK_BACK_MAX)
    (candidates, came), effective = _unread_since(reader, since, now), config_effective(reader_id=reader.pk)
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


def _unread_since(reader: Reader, since: dt.datetime, now: dt.datetime) -> tuple[DayCandidates, bool]:
    """Return the unread items since then as candidates, and whether any item came, read or not."""
    days = math.ceil((now - since) / dt.timedelta(days=1))
    window = items_window(reader_id=reader.pk, now=now, days=days)
    ids = [candidate.item_id for candidate in window.candidates if candidate.dated_at > since]
    states = readings_for(reader_id=reader.pk, item_ids=ids)
    unread = {pk for pk in ids if pk not in states or states[pk].read_at is None}
    found = [candidate for candidate in window.candidates if candidate.item_id in unread]
    signals = signals_for(reader_ids=[reader.pk], item_ids=sorted(unread), now=now)[reader.pk]
    unread_candidates = DayCandidates(
        as_of=now,
        seed="",
        pool=Pool(found),
        origins={c.item_id: (c.source, window.articles[c.item_id]) for c in found},
        stories=window.stories,
        signals=replace(signals, reported_by=window.reported_by),
    )
    return unread_candidates, bool(ids)


def _slow(effective: EffectiveConfig, absence: dt.timedelta) -> EffectiveConfig:
    """Return the settings with a half-life of the whole absence."""
    config = replace(effective.config, recency_half_life_hours=absence / dt.timedelta(hours=1))
    return replace(effective, config=config)
