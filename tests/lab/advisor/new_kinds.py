"""Rows of `tests.lab advisor --data kinds`: how often the newer kinds of change are asked, and their effect.

These are rules for a source (shelf life, daily limit, never missed), the half-life, and a word to hide. The
worlds of `laws` know no reader with such a wish, so here are readers whose taste has one, by kind, and the
plain readers beside them, to whom each of these changes does harm or nothing, and readers whose thumbs mean
nothing. Readers live on arrays, and accept all that the rules of a kind yield, at most one change a week.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from scipy.special import expit

from digest.daily.compose import RESERVED_MAX
from digest.daily.gone import PAGES_MAX
from digest.entities import ITEM_WINDOW_DAYS, RatedItem
from ranking.entities import Config, EffectiveConfig
from ranking.taste.leans import SPREAD_PRIOR
from suggestions.changes.change import Change, ChangeKind
from suggestions.changes.columns import TOPICS, attributes_of
from suggestions.changes.mutes import MUTE_WORD
from suggestions.changes.phrases import words_disliked
from suggestions.changes.registry import ONE_A_RUN
from suggestions.planner.evidence import is_contradicted
from suggestions.planner.forecasts import forecast_of, split_by_time
from suggestions.planner.hypotheses import HELPS_MIN, DecisionHistory, evidence_pick, select_changes
from suggestions.planner.tastes import reader_preference, tallies_of, tastes_of
from tests.lab.advisor.metrics import interval
from tests.lab.advisor.report import Scale
from tests.lab.advisor.stage import Say
from tests.lab.world.people import SCORING, TOP_K, Person, person_make
from tests.lab.world.truth import DISCOUNT, HARMFUL
from tests.lab.world.words import FILLER, SOURCES
from tests.lab.world.world import POOL, Batch, Floats, Ints, World, world_make

NOTHING, NO_TASTE, STALE, HASTE, PATIENCE, BUSY, WORD, LOVED = (
    "no such wish",
    "thumbs that mean nothing",
    "old articles of four sources are worthless",
    "news is worth less by the day",
    "news is worth more by the day",
    "a third article a day of four sources is one too many",
    "one word is unbearable",
    "one rare source is loved",
)
WISHES = (NOTHING, NO_TASTE, STALE, HASTE, PATIENCE, BUSY, WORD, LOVED)
# In log-odds: what a wish that is broken costs, what a day of age costs, and what a loved source gains.
BROKEN, A_DAY, LOVE = 3.0, 1.0, 3.0
WISHED_SOURCES, STALE_HOURS, DAILY_MOST = 4, 24, 2
# The most frequent words between topics: a wish about one that hardly ever comes shows nothing.
WORDS = 8
KINDS: tuple[ChangeKind, ...] = (*ONE_A_RUN, MUTE_WORD)
BEGIN = datetime(2026, 1, 5, 18, 0, tzinfo=UTC)
DAY_S, WEEK, THUMBS_MIN, RATINGS_MAX = 86_400, 7, 10, 500
WISHING, EVENING_S = 108, 20
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Made:
    """A change that was made, with its true gain of nDCG@10."""

    kind: str
    gain: float


@dataclass
class _Reader:
    """A reader with a wish; `given` are the ratings, `place_of` tells the place of an item in its day."""

    person: Person
    wish: str
    sources: frozenset[int]
    word: str
    effective: EffectiveConfig
    given: list[RatedItem] = field(default_factory=list)
    looks: Counter[int] = field(default_factory=Counter)
    rated: set[int] = field(default_factory=set)

    def log_odds(self, batch: Batch, own: Floats, rows: Ints, age_s: Floats) -> Floats:
        """Return the log-odds of liking each of `rows`, by everything but its place in the day."""
        pull: Floats = self.person.taste.log_odds(batch, own)[rows]
        mine = np.isin(batch.source[rows], [*self.sources])
        if self.wish == STALE:
            return pull - BROKEN * (mine & (age_s > STALE_HOURS * 3600))
        if self.wish in (HASTE, PATIENCE):
            return pull + (A_DAY if self.wish == PATIENCE else -A_DAY) * (age_s / DAY_S - 1)
        if self.wish == WORD:
            return pull - BROKEN * batch.holds(self.word)[rows]
        return pull + LOVE * mine if self.wish == LOVED else pull

    def spoiled(self, sources: Sequence[int]) -> Floats:
        """Return what the places in their day cost the items of a page, in log-odds, in its order."""
        seen: Counter[int] = Counter()
        cost = np.zeros(len(sources))
        for n, source in enumerate(sources):
            seen[source] += 1
            cost[n] = BROKEN * (self.wish == BUSY and source in self.sources and seen[source] > DAILY_MOST)
        return cost


def page_of(batch: Batch, effective: EffectiveConfig, rows: Ints, age_s: Floats) -> Ints:
    """Return the best ten of `rows` under the settings, best first, as a digest has them.

    The parts of the score are those of `truth.scores`, with the half-life. Mutes and shelf lives hide, a
    daily limit leaves out, and an item of a never-missed source has a place.
    """
    config, source = effective.config, batch.source[rows]
    weights = np.array([effective.weight(name) for name in SOURCES])
    interest = 1.0 + np.sum([batch.holds(topic)[rows] for topic in config.topics], axis=0)
    freshness = 0.5 ** (age_s / 3600 / config.recency_half_life_hours)
    shelf = np.array([config.shelf_lives.get(name, np.inf) for name in SOURCES])
    hidden = age_s / 3600 > shelf[source]
    for mute in config.mutes:
        hidden |= batch.holds(mute.value)[rows]
    order = np.argsort(-(weights[source] * interest * freshness), kind="stable")
    order = order[~hidden[order]]
    kept = {n for n in order.tolist() if SOURCES[source[n]] in config.never_missed}
    kept = set(sorted(kept, key=lambda n: float(age_s[n]))[:RESERVED_MAX])
    chosen: list[int] = []
    taken: Counter[int] = Counter()
    for n in order.tolist():
        limit = config.daily_limits.get(SOURCES[source[n]], TOP_K)
        room = TOP_K - len(chosen) - len(kept.difference(chosen))
        if n in kept or (room > 0 and taken[source[n]] < limit):
            taken[source[n]] += 1
            chosen.append(n)
    return rows[chosen[:TOP_K]]


def value_of(reader: _Reader, batch: Batch, own: Floats) -> float:
    """Return the true nDCG@10 of the reader's settings over the held-out pools."""
    found = []
    for pool in range(len(batch) // POOL):
        rows = np.arange(pool * POOL, (pool + 1) * POOL)
        odds = reader.log_odds(batch, own, rows, batch.age_s[rows].astype(float))
        page = page_of(batch, reader.effective, rows, batch.age_s[rows].astype(float))
        likes = expit(odds[page - rows[0]] - reader.spoiled(batch.source[page].tolist()))
        ideal = np.sort(expit(odds))[::-1][:TOP_K]
        found.append(float((likes * DISCOUNT[: len(page)]).sum() / (ideal * DISCOUNT).sum()))
    return float(np.mean(found))


def life_run(world: World, number: int, wish: str, weeks: int) -> list[Made]:
    """Return the changes that one reader made in these weeks."""
    reader = _begin(world, number, wish)
    own, made = reader.person.own_pull(world.scoring, SCORING), []
    stands = value_of(reader, world.scoring, own)
    for day in range(weeks * WEEK):
        _read(reader, world, day)
        if day % WEEK < WEEK - 1 or len(reader.given) < THUMBS_MIN:
            continue
        change = change_best(reader.given[::-1][:RATINGS_MAX], reader.effective, _posts(world))
        if change is not None:
            reader.effective = change.applied(reader.effective)
            after = value_of(reader, world.scoring, own)
            made.append(Made(change.kind.name, after - stands))
            stands = after
    return made


def _begin(world: World, number: int, wish: str) -> _Reader:
    person = person_make(world, number)
    person = person.shuffled() if wish == NO_TASTE else person
    rng = np.random.default_rng([world.seed, number, WISHING])
    posts = _posts(world)
    often = sorted(SOURCES, key=lambda name: -posts[name])
    wished = often[-1:] if wish == LOVED else often[:WISHED_SOURCES]
    first = Config(version=1, topics=person.start_topics, recency_by_day=False)
    sources = frozenset(SOURCES.index(name) for name in wished)
    return _Reader(person, wish, sources, FILLER[int(rng.integers(0, WORDS))], EffectiveConfig(first))


def _posts(world: World) -> dict[str, float]:
    """Return how many articles a day each source has."""
    counts = np.bincount(world.stream.source, minlength=len(SOURCES)) / world.days
    return dict(zip(SOURCES, counts.tolist(), strict=True))


def _read(reader: _Reader, world: World, day: int) -> None:
    """Show the day's page, and keep the ratings that the reader gives."""
    stream, person = world.stream, reader.person
    low = int(np.searchsorted(stream.day, day - ITEM_WINDOW_DAYS))
    high = int(np.searchsorted(stream.day, day, side="right"))
    gone = reader.rated | {item for item, looks in reader.looks.items() if looks >= PAGES_MAX}
    rows = np.array([n for n in range(low, high) if n not in gone])
    age_s = (day - stream.day[rows]) * DAY_S + stream.age_s[rows].astype(float)
    page = page_of(stream, reader.effective, rows, age_s)
    at = np.searchsorted(rows, page)
    odds = reader.log_odds(stream, person.own, page, age_s[at])
    likes = expit(odds - reader.spoiled(stream.source[page].tolist()))
    seen: Counter[int] = Counter()
    for rank, (item, age, like) in enumerate(zip(page.tolist(), age_s[at], likes, strict=True), start=1):
        source = int(stream.source[item])
        seen[source] += 1
        liked = person.thumb(item, rank, reader.looks[item], float(like))
        reader.looks[item] += 1
        if liked is not None:
            reader.rated.add(item)
            now = BEGIN + timedelta(days=day, seconds=EVENING_S * rank)
            reader.given.append(_rating(stream, item, liked, now, float(age), seen[source]))


def _rating(batch: Batch, item: int, liked: bool, at: datetime, age_s: float, place: int) -> RatedItem:
    source, dated = SOURCES[batch.source[item]], at - timedelta(seconds=age_s)
    return RatedItem(item, f"u{item}", batch.titles[item], "", source, liked, (), (), at, dated, place=place)


def change_best(
    rated: Sequence[RatedItem], effective: EffectiveConfig, posts: Mapping[str, float]
) -> Change | None:
    """Return the most probable of these changes that the planner would propose, or `None`."""
    found = [*_by_rule(rated, effective, posts), *_words(rated, effective)]
    return max(found, key=lambda pair: pair[0], default=(0.0, None))[1]


def _by_rule(
    rated: Sequence[RatedItem], effective: EffectiveConfig, posts: Mapping[str, float]
) -> Iterator[tuple[float, Change]]:
    """Yield what kinds with a rule of their own find, as `suggestions.planner.evidence` weighs it."""
    split, now = split_by_time(rated), rated[0].at
    for kind in ONE_A_RUN:
        choosing = split.training if kind.is_measured else rated
        for change in kind.found(choosing, effective):
            most = kind.posts_a_day_max
            if most is not None and posts[change.target] > most:
                continue
            after = change.applied(effective)
            if kind.is_measured and is_contradicted(
                forecast_of(split.holdout, effective, after, now=now, seed=change.target)
            ):
                continue
            yield kind.probability(change, choosing), change


def _words(rated: Sequence[RatedItem], effective: EffectiveConfig) -> Iterator[tuple[float, Change]]:
    """Yield the words to hide."""
    titles = {name: name.split(".")[0] for name in SOURCES}
    topics = effective.config.topics
    given = {TOPICS: topics, MUTE_WORD.column: words_disliked(rated, titles, topics)}
    columns = attributes_of(rated, titles=titles, given=given)
    changes = [
        one.with_evidence(evidence_pick(rated, one)) for one in MUTE_WORD.candidates(columns, effective)
    ]
    preference = reader_preference(rated, columns)
    chosen = select_changes(
        [one for one in changes if one.evidence],
        tastes_of(tallies_of(rated, columns, rated[0].at), SPREAD_PRIOR, preference=preference),
        columns,
        rated,
        history=DecisionHistory(),
        limit=1,
    ).chosen
    yield from ((one.p_helpful, one.change) for one in chosen if one.p_helpful >= HELPS_MIN)


def kind_rows(scale: Scale, say: Say) -> list[Json]:
    """Return a row for each wish and each kind that was asked, the wish's own figures first."""
    rows = []
    for wish in WISHES:
        made: list[list[Made]] = []
        for seed in scale.seeds:
            world = world_make(seed, scale.weeks * WEEK)
            made += [life_run(world, number, wish, scale.weeks) for number in range(scale.readers)]
        rows += [_row(wish, kind.name, made) for kind in KINDS if _asked(made, kind.name)]
        rows.append(_row(wish, "", made))
        say(f"{wish}: done")
    return rows


def _asked(made: Sequence[Sequence[Made]], kind: str) -> list[Made]:
    return [one for life in made for one in life if kind in ("", one.kind)]


def _row(wish: str, kind: str, made: Sequence[Sequence[Made]]) -> Json:
    asked = _asked(made, kind)
    gains = [sum(one.gain for one in life if kind in ("", one.kind)) for life in made]
    lost, gained = (sum(max(0.0, sign * one.gain) for one in asked) for sign in (-1, 1))
    return {
        "name": f"{wish}: {kind or 'all'}",
        "readers": len(made),
        "asked_a_reader": round(len(asked) / len(made), 3),
        "helpful": round(sum(one.gain > 0 for one in asked) / len(asked), 3) if asked else None,
        "harmful": round(sum(one.gain < HARMFUL for one in asked) / len(asked), 3) if asked else None,
        "lost_gained": round(lost / gained, 3) if gained else None,
        "gain_a_reader": round(sum(gains) / len(gains), 5),
        "gain_95": interval(gains),
    }
