"""The catch-up page: the best items since a reader's last visit."""

import datetime as dt
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from django.db.models import F

from digest.daily.candidates import DayCandidates, signals_for
from digest.daily.diversity import Choice, source_cap
from digest.daily.presentation import ScoredItem, ShownItem
from digest.daily.spread import AbsenceItem, Section, absence_spread
from digest.daily.why_words import FOUND
from digest.days import day_begin, day_of
from digest.entities import DIGEST_SIZE
from digest.items.meanings import topics_about
from digest.items.reading import readings_for
from digest.items.selectors import items_window
from digest.models import Exposure, Feedback, Item, Reader
from ranking.entities import EffectiveConfig
from ranking.pool import Pool
from ranking.selectors import config_effective

# Readers who were away for three days are offered a catch-up over at most thirty.
AWAY_MIN: Final = dt.timedelta(days=3)
LOOK_BACK_MAX: Final = dt.timedelta(days=30)


@dataclass(frozen=True, slots=True)
class CatchUp:
    """The items that a reader missed since `since`: their last visit, or the last thirty days if it is longer
    ago, and then `is_longer`.

    `sections` split `best` into stories that several of their sources report, and into days. `rest` are the
    ids of all other unread items. `came` is true if any item came at all, read or not.
    """

    since: dt.datetime
    is_longer: bool
    sections: Sequence[Section]
    best: Sequence[ScoredItem]
    rest: Sequence[int]
    came: bool

    @property
    def unread(self) -> list[int]:
        """Return the ids of all unread items, the best first."""
        return [*(entry.item.pk for entry in self.best), *self.rest]


def away_since(*, reader: Reader, now: dt.datetime) -> dt.datetime | None:
    """Return when the reader last saw a digest page before today, if that was three days ago or more.

    Days are the reader's, so that neither the hour of a visit decides nor, since today's visits do not count,
    how often they look today. One query.
    """
    today = day_begin(day_of(now, reader.zone), reader.zone)
    visits = Exposure.objects.filter(reader=reader, door=Exposure.Door.PAGE, shown_at__lt=today)
    last = visits.order_by("-shown_at").values_list("shown_at", flat=True).first()
    is_away = last is not None and day_of(now, reader.zone) - day_of(last, reader.zone) >= AWAY_MIN
    return last if is_away else None


def first_visit(*, reader: Reader, now: dt.datetime) -> dt.datetime | None:
    """Return when the reader first saw a digest page today, or `None`; one query."""
    today = day_begin(day_of(now, reader.zone), reader.zone)
    visits = Exposure.objects.filter(reader=reader, door=Exposure.Door.PAGE, shown_at__gte=today)
    return visits.order_by("shown_at").values_list("shown_at", flat=True).first()


def away_missing_since(*, reader: Reader, shown: Sequence[ShownItem], now: dt.datetime) -> dt.datetime | None:
    """Return `away_since`, or `None` if the catch-up page would show nothing.

    An unread and unrated item of `shown`, today's page, that came since is on the catch-up page, too. Only
    if there is none, the catch-up page is composed to know. Else it takes one query.
    """
    since = away_since(reader=reader, now=now)
    if since is None or any(_is_missed(one, since) for one in shown):
        return since
    found = catch_up(reader=reader, now=now)
    return since if found and found.best else None


def _is_missed(shown: ShownItem, since: dt.datetime) -> bool:
    response = shown.response
    return shown.item.dated_at > since and response.read_at is None and response.rating is None


def catch_up(*, reader: Reader, now: dt.datetime) -> CatchUp | None:
    """Return at most thirty unread items since the reader's last visit; `None` if they were not away.

    Scores are as in a digest, except that nothing has aged. Each story appears once, and sources have shares.
    Items that several of the reader's sources report come first, the most reported at the top; then follow
    the days of the absence, each with its best. A constant number of queries.
    """
    visit = away_since(reader=reader, now=now)
    if visit is None:
        return None
    since = max(visit, now - LOOK_BACK_MAX)
    effective = config_effective(reader_id=reader.pk)
    candidates, came = _unread_since(reader, since, now, effective)
    ranking = candidates.ranking(_ageless(effective))
    choices = candidates.choices(ranking, effective)
    dated = _days(candidates, since, reader.zone)
    reports = candidates.signals.reported_by
    missed = [
        AbsenceItem(one.item_id, one.source, dated[one.item_id], round(reports.get(one.item_id, 1)))
        for one in _each_story_once(choices)
    ]
    sections = absence_spread(missed, DIGEST_SIZE, source_cap(choices, (), DIGEST_SIZE))
    shown = [item_id for section in sections for item_id in section.items]
    items = Item.objects.select_related("source").in_bulk(shown)
    best = [
        ScoredItem(items[score.candidate.item_id], score.parts.as_dict(), score.total, FOUND)
        for score in ranking.scores_of(shown)
    ]
    rest = [pk for pk in ranking.ids.tolist() if pk not in items]
    return CatchUp(since, since > visit, sections, best, rest, came)


def _days(candidates: DayCandidates, since: dt.datetime, zone: dt.tzinfo) -> dict[int, dt.date]:
    """Return the day of each item: the one it was published on, even if it came later. One query.

    An item that was published before the absence belongs to the day on which it came.
    """
    came = {candidate.item_id: candidate.dated_at for candidate in candidates.pool.candidates}
    late = Item.objects.filter(pk__in=came, published_at__gt=since, published_at__lt=F("dated_at"))
    published = dict(late.values_list("pk", "published_at"))
    return {item_id: day_of(published.get(item_id, at), zone) for item_id, at in came.items()}


def _each_story_once(choices: Sequence[Choice]) -> list[Choice]:
    """Return the best choice of each story. Unwanted ones come last."""
    best: dict[int, int] = {}
    first = [c for c in choices if c.story is None or best.setdefault(c.story, c.item_id) == c.item_id]
    return [c for c in first if not c.unwanted] + [c for c in first if c.unwanted]


def _unread_since(
    reader: Reader, since: dt.datetime, now: dt.datetime, effective: EffectiveConfig
) -> tuple[DayCandidates, bool]:
    """Return the unread and unrated items since `since` as candidates, and whether any item came at all."""
    days = math.ceil((now - since) / dt.timedelta(days=1))
    window = items_window(reader_id=reader.pk, now=now, days=days)
    ids = [candidate.item_id for candidate in window.candidates if candidate.dated_at > since]
    states = readings_for(reader_id=reader.pk, item_ids=ids)
    unread = {pk for pk in ids if pk not in states or states[pk].read_at is None}
    rated = Feedback.objects.filter(reader=reader, article__in={window.articles[pk] for pk in unread})
    done = {*rated.values_list("article", flat=True)}
    unread = {pk for pk in unread if window.articles[pk] not in done}
    found = [candidate for candidate in window.candidates if candidate.item_id in unread]
    configs = {reader.pk: effective}
    read = signals_for(reader_ids=[reader.pk], item_ids=sorted(unread), now=now, configs=configs)
    unread_candidates = DayCandidates(
        as_of=now.astimezone(reader.zone),
        seed="",
        pool=Pool(found, topics_about),
        origins={c.item_id: (c.source, window.articles[c.item_id]) for c in found},
        stories=window.stories,
        signals=replace(read[reader.pk], reported_by=window.reported_by),
    )
    return unread_candidates, bool(ids)


def _ageless(effective: EffectiveConfig) -> EffectiveConfig:
    """Return the settings with freshness that does not fall: the reader has missed all days alike."""
    return replace(effective, config=replace(effective.config, recency_half_life_hours=math.inf))
