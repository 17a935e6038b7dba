"""Rows that keep the rest honest: popularity, and a backtest that must fail on shuffled thumbs. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from digest.entities import RatedItem
from ranking.entities import Config, EffectiveConfig
from suggestions.planner.forecasts import forecast_of
from tests.lab.advisor.arrays import thumbs_given
from tests.lab.advisor.rules import Change, changes_all
from tests.lab.histories.pools import Pools, Rated
from tests.lab.world.entities import Course
from tests.lab.world.people import SCORING, VOTES, Person, person_make
from tests.lab.world.truth import judge_for, ndcg
from tests.lab.world.words import SOURCES
from tests.lab.world.world import Floats, World

# Of ten items another reader was offered, they are taken to have rated one.
VOTED = 0.1
EPOCH = datetime(2026, 1, 5, 18, 0, tzinfo=UTC)
POPULARITY = "popularity"
CHOOSING_SHARE = 0.6


def popularity_courses(world: World, readers: Sequence[int]) -> list[Course]:
    """Return the courses if everybody saw the most liked items, by other readers' thumbs on the held-out
    items.

    Each other reader has rated a tenth of the items. An item's rate is smoothed by one like in two.
    """
    people = [person_make(world, number) for number in readers]
    votes = [_votes(world, person) for person in people]
    n, likes = sum(v[0] for v in votes), sum(v[1] for v in votes)
    courses = []
    for person, (own_n, own_likes) in zip(people, votes, strict=True):
        judge = judge_for(world, person)
        first = EffectiveConfig(Config(version=1, topics=person.start_topics))
        start = judge.value(first)
        rate = (likes - own_likes + 1) / (n - own_n + 2)
        end = ndcg(rate, judge.gains[False])
        courses.append(Course(person.number, person.null, start, (0.0, end - start), ()))
    return courses


def _votes(world: World, person: Person) -> tuple[Floats, Floats]:
    """Return one reader's ratings of the held-out items, and their likes, as 0 and 1 per item."""
    rng = np.random.default_rng([world.seed, person.number, VOTES])
    voted = rng.random(len(world.scoring)) < VOTED
    liked = voted & (rng.random(len(world.scoring)) < judge_for(world, person).gains[False])
    return voted.astype(np.float64), liked.astype(np.float64)


@dataclass(frozen=True, slots=True)
class Backtest:
    """One reader's best change by a backtest on shuffled thumbs: its "gain" there, and on later thumbs."""

    naive: float
    later: float | None


def backtest_shuffled(world: World, number: int, *, weeks: int) -> Backtest:
    """Shuffle a reader's thumbs, and let a backtest choose the change that gains most on them.

    `naive`: the gain in that backtest, on the thumbs that chose the change. `later`: the product's own
    forecast for the change chosen on the earlier thumbs, measured on the later ones, or `None` if there are
    too few.
    """
    rated = _shuffled(world, number, weeks)
    effective = EffectiveConfig(Config(version=1, topics=person_make(world, number).start_topics))
    earlier, later = _parted(rated)
    naive, _ = _best(rated, effective, [world.seed, number])
    _, chosen = _best(earlier, effective, [world.seed, number])
    after = chosen.applied(effective)
    forecast = forecast_of(later, effective, after, now=later[-1].at, seed=f"{number}")
    return Backtest(naive, forecast.gain)


def _best(
    rated: Sequence[RatedItem], effective: EffectiveConfig, seed: Sequence[int]
) -> tuple[float, Change]:
    """Return the change that does best on these thumbs, dealt into pools, with its gain there."""
    pools = Pools([Rated(r.url, r.title, r.source, (), r.useful) for r in rated], seed)
    best = max(changes_all(effective), key=lambda change: pools.value(change.applied(effective)))
    return pools.gain(effective, best.applied(effective)), best


def _parted(rated: Sequence[RatedItem]) -> tuple[Sequence[RatedItem], Sequence[RatedItem]]:
    """Return the thumbs that choose and, later, those that only measure."""
    cut = round(CHOOSING_SHARE * len(rated))
    return rated[:cut], rated[cut:]


def _shuffled(world: World, number: int, weeks: int) -> list[RatedItem]:
    """Return a reader's thumbs on the items they really met, shuffled."""
    given = thumbs_given(world, number, weeks=weeks)
    liked = np.random.default_rng([world.seed, number, SCORING]).permutation([one[1] for one in given])
    stream = world.stream
    rows = []
    for (item, _, day), useful in zip(given, liked, strict=True):
        at = EPOCH + timedelta(days=day)
        dated_at = EPOCH + timedelta(days=int(stream.day[item]), seconds=-int(stream.age_s[item]))
        source = SOURCES[stream.source[item]]
        rows.append(RatedItem(item, "", stream.titles[item], "", source, bool(useful), (), (), at, dated_at))
    return rows
