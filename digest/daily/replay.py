"""Replay the last days of a reader's page under other settings.

This tells what a change would have done last week. Each day is ordered at its end (today: now) from the
articles dated within the seven days before it, by the rules of a page without its novelty draw. What the
reader had rated or read before a day is gone from it. So is what was shown in the first ten of two replayed
days. An article of a source that is never missed has its place on the first page after it came, as if the
rule had been there all week, and not on later ones. Similarity, taste and other readers' figures are those of
now, so two replays differ by settings alone.
"""

import datetime as dt
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from digest.daily.candidates import DayCandidates, signals_for
from digest.daily.compose import NoveltyDraw, Rules, compose
from digest.daily.dealt import dealt_with
from digest.daily.gone import PAGES_MAX, Dealt
from digest.days import day_begin, day_of, moment_in_day
from digest.entities import ITEM_WINDOW_DAYS
from digest.items.meanings import topics_about
from digest.items.selectors import CANDIDATES_MAX, items_window
from digest.models import Reader
from digest.places import articles_shared
from ranking.entities import EffectiveConfig
from ranking.mutes import MuteFilter
from ranking.pool import Ids, Pool
from ranking.taste.entities import TasteLevel

FIRST = 10
# The places that a page composes its first ten from: three pages of candidates, since rules skip some.
LOOKED_AT = 100
RULES = Rules(novelty=False)


@dataclass(frozen=True, slots=True)
class Replay:
    """The candidates of each replayed day, oldest first. `items_a_day` is how many articles came a day."""

    days: tuple[DayCandidates, ...]
    items_a_day: float

    def pages(self, effective: EffectiveConfig, base: EffectiveConfig) -> list[tuple[int, ...]]:
        """Return the items of each day's page, by place, under `effective`, which is a change of `base`."""
        moved = effective.sources_moved(base)
        hides = MuteFilter(mute for mute in effective.config.mutes if mute not in base.config.mutes)
        by_id = {c.item_id: c for c in self.days[-1].pool.candidates} if hides else {}
        found: list[tuple[int, ...]] = []
        shown: Counter[int] = Counter()
        had_place = self._articles_before() if effective.config.never_missed else set[int]()
        for day in self.days:
            made = replace(day.deciding(moved), shown=had_place)
            choices = made.choices(made.ranking(effective), effective, limit=LOOKED_AT)
            left = [choice for choice in choices if shown[choice.item_id] < PAGES_MAX]
            if hides:
                left = [choice for choice in left if not hides.finds(by_id[choice.item_id])]
            places = compose(left, RULES, NoveltyDraw()).places
            found.append(tuple(place.item_id for place in places))
            shown.update(found[-1][:FIRST])
            had_place |= {day.origins[item][1] for item in found[-1]}
        return found

    def _articles_before(self) -> set[int]:
        """Return the articles that came before the day of the first replayed page."""
        first = self.days[0]
        begin = (first.as_of - dt.timedelta(days=1)).timestamp()
        older = first.pool.ids[first.pool.timestamps <= begin].tolist()
        return {first.origins[item][1] for item in older}


def replay_load(*, reader: Reader, now: dt.datetime, configs: Sequence[EffectiveConfig], days: int) -> Replay:
    """Load the articles of the last `days` days and of the week before them; a fixed number of queries.

    Taste is read if it counts in one of `configs`.
    """
    found = items_window(reader_id=reader.pk, now=now, days=days + ITEM_WINDOW_DAYS, limit=2 * CANDIDATES_MAX)
    pool = Pool(found.candidates, topics_about, in_steps=articles_shared)
    pool.search_for([one.config for one in configs])
    origins = {c.item_id: (c.source, found.articles[c.item_id]) for c in found.candidates}
    articles = np.array([found.articles[c.item_id] for c in found.candidates], dtype=np.int64)
    tasting = next((one for one in configs if one.config.taste is not TasteLevel.OFF), configs[0])
    made = signals_for(reader_ids=[reader.pk], item_ids=origins, now=now, configs={reader.pk: tasting})
    signals = replace(made[reader.pk], reported_by=found.reported_by)
    today = day_of(now, reader.zone)
    done = _dealt(reader, today, articles, now)
    dates = [today - dt.timedelta(days=n) for n in reversed(range(days))]
    moments = [moment_in_day(now, date, reader.zone) for date in dates]
    since = now.timestamp() - dt.timedelta(days=days).total_seconds()
    return Replay(
        tuple(
            DayCandidates(
                as_of=moment,
                seed="",
                pool=pool,
                origins=origins,
                rows=_rows(pool, articles, moment, day_begin(date, reader.zone), done),
                stories=found.stories,
                signals=signals,
            )
            for date, moment in zip(dates, moments, strict=True)
        ),
        float((pool.timestamps >= since).sum()) / days,
    )


def _dealt(reader: Reader, today: dt.date, articles: Ids, now: dt.datetime) -> dict[int, dt.datetime]:
    """Return when the reader rated or read each article, the first of both."""
    if not len(articles):
        return {}
    between = int(articles.min()), int(articles.max())
    dealt = dealt_with(readers=[reader], days={reader.pk: today}, articles=between, as_of=now).get(reader.pk)
    return {article: at for article, one in (dealt.articles if dealt else {}).items() if (at := _when(one))}


def _when(one: Dealt) -> dt.datetime | None:
    return min((at for at in (one.rated_at, one.read_at) if at), default=None)


def _rows(
    pool: Pool, articles: Ids, moment: dt.datetime, begin: dt.datetime, done: dict[int, dt.datetime]
) -> Ids:
    """Return the rows of the articles that could stand on the page of a day."""
    end = moment.timestamp()
    start = end - dt.timedelta(days=ITEM_WINDOW_DAYS).total_seconds()
    gone: Collection[int] = [article for article, at in done.items() if at < begin]
    is_there = (pool.timestamps > start) & (pool.timestamps <= end) & ~np.isin(articles, list(gone))
    rows: Ids = np.flatnonzero(is_there)
    return rows
