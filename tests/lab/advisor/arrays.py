"""The same readers in the same world on arrays: for rules that need no services, a hundred times faster.

Digests, thumbs, the learning loop and decisions follow the product's own arithmetic step by step; the
evaluation shows the agreement by running the learning loop both ways. Pure.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from digest.daily.gone import PAGES_MAX
from digest.entities import ITEM_WINDOW_DAYS
from ranking.entities import WEIGHT_DEFAULT, Config, EffectiveConfig, SourceTally
from ranking.learning import FEEDBACK_HALF_LIFE_DAYS, learn
from suggestions.planner.checking import ABOUT_MIN, headlines_choose, is_borne_out
from tests.lab.advisor.rules import (
    ASKING,
    COOLDOWN_WEEKS,
    RULES,
    Change,
    Rule,
    Tallies,
    capped,
    changes_all,
    planner_tastes,
)
from tests.lab.world.entities import Asked, Course
from tests.lab.world.people import TOP_K, Person, person_make
from tests.lab.world.taste import taste_factors
from tests.lab.world.truth import WHOLE, Judge, chooser_for, judge_for, scores
from tests.lab.world.words import SOURCES, TOPICS
from tests.lab.world.world import Batch, Floats, World

WEEK, DAY_S = 7, 86_400
DRIFT_WEEK = 6
# What stands behind the name of a rule if taste orders the page, too.
WITH_TASTE = ", with taste"
# How far back the items of a check go.
CHECKED_DAYS = 14
RULE_DRAWS = 300
LOOP, ORACLE = "learning loop alone", "oracle"
# Every rule here has the learning loop off, but for the two rows that are named after it.
ARRAY_ROWS = (*RULES, LOOP, "learning loop + Beta .9", ORACLE)


@dataclass
class _Life:
    """One reader under way on arrays; `given` are their thumbs as (item, liked, day).

    `decided` has the sources with an accepted change: the week and the way. `cooling` has all decisions.
    """

    person: Person
    judge: Judge
    chooser: Judge
    effective: EffectiveConfig
    taste: bool = False
    decided: dict[int, tuple[int, bool]] = field(default_factory=dict)
    given: list[tuple[int, bool, int]] = field(default_factory=list)
    looks: dict[int, int] = field(default_factory=dict)
    cooling: dict[int, int] = field(default_factory=dict)


def course_run(
    world: World, number: int, row: str, *, weeks: int, drift: bool = False, checks: bool = False
) -> Course:
    """Run one reader's weeks under the named row of `ARRAY_ROWS`, who `checks` each suggestion by
    headlines. After `WITH_TASTE` taste orders the page as well."""
    row, ends, _ = row.partition(WITH_TASTE)
    life = replace(_begin(world, number), taste=bool(ends))
    person, first = life.person, life.effective
    rng = np.random.default_rng([world.seed, number, RULE_DRAWS])
    rule = (RULES | ASKING).get(row.removeprefix("learning loop + "), RULES["no change"])
    likes = {flipped: person.likes(world.stream, flipped=flipped) for flipped in (False, True)}
    curve, thumbs, asked = [0.0], [], []
    for week in range(1, weeks + 1):
        flipped = drift and week > DRIFT_WEEK
        days = range((week - 1) * WEEK, week * WEEK)
        thumbs.append(sum(_read(life, world, day, likes[flipped]) for day in days))
        flipped = drift and week >= DRIFT_WEEK
        if row.startswith("learning loop"):
            life.effective = _learned(life, world, days[-1])
        asked += _advise(life, world, row, rule, week, days[-1], flipped, rng, checks)
        start = life.judge.value(first, flipped=flipped)
        factor = _factor(life, world, days[-1], world.scoring)
        curve.append(life.judge.value(life.effective, flipped=flipped, factor=factor) - start)
    start = life.judge.value(first, flipped=drift)
    return Course(number, person.null, start, tuple(curve), tuple(thumbs), tuple(asked))


def thumbs_given(world: World, number: int, *, weeks: int) -> list[tuple[int, bool, int]]:
    """Return the thumbs of a reader whose config never changes, as (item, liked, day)."""
    life = _begin(world, number)
    likes = life.person.likes(world.stream)
    for day in range(weeks * WEEK):
        _read(life, world, day, likes)
    return life.given


def _begin(world: World, number: int) -> _Life:
    person = person_make(world, number)
    first = EffectiveConfig(Config(version=1, topics=person.start_topics))
    return _Life(person, judge_for(world, person), chooser_for(world, person), first)


def _read(life: _Life, world: World, day: int, likes: np.ndarray) -> int:
    """Show the day's top 10 and keep the thumbs; how many there were."""
    # A page a day: rated items, and items that stood on two pages, are gone.
    gone = {item for item, _, _ in life.given}
    gone |= {item for item, looks in life.looks.items() if looks >= PAGES_MAX}
    given = 0
    for rank, item in enumerate(_digest(life, world, day, gone), start=1):
        liked = life.person.thumb(item, rank, life.looks.get(item, 0), float(likes[item]))
        life.looks[item] = life.looks.get(item, 0) + 1
        if liked is not None:
            life.given.append((item, liked, day))
            given += 1
    return given


def _digest(life: _Life, world: World, day: int, gone: set[int]) -> list[int]:
    """Return the best ten of the seven days up to the moment of reading on `day`, without those that are
    gone."""
    stream = world.stream
    low = int(np.searchsorted(stream.day, day - ITEM_WINDOW_DAYS))
    high = int(np.searchsorted(stream.day, day, side="right"))
    dated = stream.day[low:high] * DAY_S - stream.age_s[low:high]
    age = day * DAY_S - dated
    # The stream's own recency is that of the item's first day. It fades with the days since.
    total = scores(stream, life.effective, slice(low, high)) * 0.5 ** (day - stream.day[low:high])
    total = total * _factor(life, world, day, stream, slice(low, high))
    is_gone = np.isin(np.arange(low, high), [*gone])
    within = np.flatnonzero((age < ITEM_WINDOW_DAYS * DAY_S) & ~is_gone)
    best = within[np.lexsort((-dated[within], -total[within]))][:TOP_K]
    return [int(low + i) for i in best]


def _factor(life: _Life, world: World, day: int, batch: Batch, part: slice = WHOLE) -> Floats | float:
    """Return the factor of taste for each item of a part of `batch`, or 1 if it is off."""
    if not life.taste or not life.given:
        return 1.0
    leans = [one.lean for one in planner_tastes(_tallies(life, world, day))]
    week = day // WEEK + 1
    for target, decision in life.cooling.items():
        if target < len(SOURCES) and week - decision < COOLDOWN_WEEKS:
            decided, up = life.decided.get(target, (0, True))
            leans[target] = max(0.0, leans[target]) if up else min(0.0, leans[target])
            leans[target] *= decided == decision
    return taste_factors(world.stream, life.given, leans, life.effective.config.topics, day, batch, part)


def _tallies(life: _Life, world: World, day: int) -> Tallies:
    n, likes, whole_n, whole_likes = np.zeros((4, len(SOURCES) + len(TOPICS)))
    for item, liked, at in life.given:
        weight = 0.5 ** ((day - at) / FEEDBACK_HALF_LIFE_DAYS)
        topics = len(SOURCES) + np.flatnonzero(world.stream.topics[item])
        targets = [int(world.stream.source[item]), *topics]
        n[targets] += weight
        likes[targets] += weight * liked
        whole_n[targets] += 1
        whole_likes[targets] += liked
    return Tallies(n, likes, whole=Tallies(whole_n, whole_likes))


def _learned(life: _Life, world: World, day: int) -> EffectiveConfig:
    """Return the config after one cycle of the learning loop."""
    tallies = _tallies(life, world, day)
    counted = [
        SourceTally(source, float(tallies.n[i]), float(tallies.likes[i]), 0)
        for i, source in enumerate(SOURCES)
        if tallies.n[i] > 0
    ]
    deltas = dict(life.effective.deltas)
    for change in learn(counted, life.effective):
        if change.moved:
            own = life.effective.config.source_weights.get(change.source, WEIGHT_DEFAULT)
            deltas[change.source] = change.after - own
    return replace(life.effective, deltas=deltas)


def _advise(
    life: _Life,
    world: World,
    row: str,
    rule: Rule,
    week: int,
    day: int,
    flipped: bool,
    rng: np.random.Generator,
    checks: bool,
) -> list[Asked]:
    """Return the week's suggestions, and the reader's answers to them."""

    def is_open(target: int) -> bool:
        return week - life.cooling.get(target, -COOLDOWN_WEEKS) >= COOLDOWN_WEEKS

    if row == ORACLE:
        changes = _oracle(life, is_open, flipped)
    else:
        changes = rule(_tallies(life, world, day), life.effective, is_open, rng)
    asked = []
    for change in changes:
        after = change.applied(life.effective)
        factor = _factor(life, world, day, world.scoring)
        gain = life.judge.gain(life.effective, after, flipped=flipped, factor=factor)
        withdrawn = checks and not _is_borne_out(life, world, change, week, day, flipped)
        accepts = not withdrawn and (row == ORACLE or life.person.accepts(week, change.key, gain > 0))
        life.cooling[change.target] = week
        life.decided |= {change.target: (week, change.is_up)} if accepts else {}
        life.effective = after if accepts else life.effective
        asked.append(Asked(week, change.kind, change.key, gain, accepts, withdrawn=withdrawn))
    return asked


def _is_borne_out(life: _Life, world: World, change: Change, week: int, day: int, flipped: bool) -> bool:
    """Let the reader answer eight unrated items of two weeks, and return whether the change still stands."""
    stream, target = world.stream, change.target
    low = int(np.searchsorted(stream.day, day - CHECKED_DAYS))
    high = int(np.searchsorted(stream.day, day, side="right"))
    unrated = np.setdiff1d(np.arange(low, high), [item for item, _, _ in life.given])
    is_source = target < len(SOURCES)
    own = stream.source[unrated] == target if is_source else stream.topics[unrated, target - len(SOURCES)] > 0
    subjects = stream.topics[unrated[own]].argmax(axis=1) if is_source else stream.source[unrated[own]]
    numbers = zip(unrated[own].tolist(), subjects.tolist(), strict=True)
    about = {item: f"{subject:02}" for item, subject in numbers}
    seed = f"{world.seed}|{life.person.number}|{week}|{target}"
    likes, agreeing = life.person.likes(stream, flipped=flipped), 0
    for item in headlines_choose(about, unrated[~own].tolist(), seed=seed):
        liked = bool(life.person.like_at[item] < likes[item])
        life.given.append((item, liked, day))
        agreeing += item in about and liked is change.is_up
    lean = planner_tastes(_tallies(life, world, day))[target].lean
    return len(about) < ABOUT_MIN or is_borne_out(lean if change.is_up else -lean, agreeing)


def _oracle(life: _Life, is_open: Callable[[int], bool], flipped: bool) -> Sequence[Change]:
    """Return the changes that help most on articles other than those they are scored on."""
    stands = life.chooser.value(life.effective, flipped=flipped)
    worth = [
        (life.chooser.value(change.applied(life.effective), flipped=flipped) - stands, change)
        for change in changes_all(life.effective)
        if is_open(change.target)
    ]
    return capped([change for gain, change in sorted(worth, key=lambda pair: -pair[0]) if gain > 0])
