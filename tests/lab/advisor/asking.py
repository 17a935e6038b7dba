"""Rows of `tests.lab advisor --data asking`: how often the planner asks over how much it gains, by its bar.

On arrays, with the planner's arithmetic: readers of the simulated worlds with and without preferences, week
after week, and readers of MovieLens after 50 and 100 thumbs, with their thumbs as they are and shuffled. The
bar is the false sign rate up to which the planner asks (`suggestions.planner.preference`).
"""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np

from tests.lab.advisor.arrays import course_run
from tests.lab.advisor.metrics import null_rate
from tests.lab.advisor.report import Scale
from tests.lab.advisor.rules import ASKING, PLANNER_RULE, RULES
from tests.lab.advisor.stage import Say
from tests.lab.histories.data import MOVIELENS, SMALL
from tests.lab.histories.pools import (
    HARMFUL_THUMBS,
    Halves,
    Pools,
    followed,
    start_config,
    tallies_of,
    targets_of,
)
from tests.lab.histories.trials import Trial, histories_for, readers_tested
from tests.lab.histories.yardstick import harm_of
from tests.lab.world.entities import Course
from tests.lab.world.people import NULL_EVERY
from tests.lab.world.world import world_make

Json = dict[str, Any]
WEEK, FORTNIGHT = 7, 2
ALL = "planner at 1"
FILMS, THUMBS = (MOVIELENS, SMALL), (50, 100)
# The rules whose changes are measured twice: the planner with every lean, with its own bar, and two simple
# rules.
JUDGED = (ALL, PLANNER_RULE, "greedy like-rate", "Beta .9")


def asking_rows(scale: Scale, say: Say) -> list[Json]:
    """Return a row for each bar: questions to readers without preferences, and the gain kept for the others.

    `in_14_days` is how often the others are asked in their first fortnight.

    Further rows measure the harm of the planner's bar and of two simple rules on held-out thumbs, and the
    floor: the same on shuffled thumbs, where changes have no effect.
    """
    worlds = {name: _in_worlds(scale, name) for name in ASKING}
    say("worlds done")
    real, shuffled = (_on_films(scale, shuffled=shuffled) for shuffled in (False, True))
    say("films done")
    rows = []
    for name, lived in worlds.items():
        nulls = [c for c in lived if c.null]
        uplift, all_of_it = (_mean([c.uplift for c in some if not c.null]) for some in (lived, worlds[ALL]))
        films, all_of_them = (_mean([c.uplift for c in real[bar]]) for bar in (name, ALL))
        figures = {
            "null_rate": null_rate(nulls),
            "null_ever": _mean([bool(c.asked) for c in nulls]),
            "in_14_days": _mean([sum(a.week <= FORTNIGHT for a in c.asked) for c in lived if not c.null]),
            "uplift": uplift,
            "of_gain": uplift / all_of_it,
            "shuffled_a_run": _mean([len(c.asked) for c in shuffled[name]]),
            "films_uplift": films,
            "films_of_gain": films / all_of_them,
        }
        rounded = {key: round(value or 0, 4) for key, value in figures.items()}
        rows.append({"name": f"asking, {name}"} | rounded)
    return [*rows, *_harm_rows(real, ""), *_harm_rows(shuffled, ", shuffled")]


def _harm_rows(courses: Mapping[str, Sequence[Course]], label: str) -> list[Json]:
    """Return the gain and cost of the changes of each rule of `JUDGED` (`tests.lab.histories.yardstick`)."""
    rows = []
    for name in JUDGED:
        asked = [a for c in courses[name] for a in c.asked]
        raw = _mean([a.gain < HARMFUL_THUMBS for a in asked])
        figures = {"changes": len(asked), **harm_of(courses[name]), "harmful": round(raw, 4)}
        rows.append({"name": f"harm, {name}{label}"} | figures)
    return rows


def _in_worlds(scale: Scale, name: str) -> list[Course]:
    """Return the readers of every world, and as many again who prefer nothing."""
    courses = []
    for seed in scale.seeds:
        world = world_make(seed, scale.weeks * WEEK)
        nulls = [NULL_EVERY * n + NULL_EVERY - 1 for n in range(scale.readers)]
        numbers = {*range(scale.readers), *nulls}
        courses += [course_run(world, n, name, weeks=scale.weeks) for n in sorted(numbers)]
    return courses


def _on_films(scale: Scale, *, shuffled: bool) -> dict[str, list[Course]]:
    """Return the courses of MovieLens' readers by rule; with the period and with the genre as source."""
    rules = ASKING | {name: RULES[name] for name in JUDGED if name in RULES}
    found: dict[str, list[Course]] = {name: [] for name in rules}
    for data, by_genre, thumbs in product(FILMS, (False, True), THUMBS):
        trial = Trial(data, thumbs, scale.readers, shuffled, by_genre, seed=scale.seeds[0])
        histories = histories_for(trial)
        targets = targets_of(histories)
        first = start_config(targets)
        for n in readers_tested(histories, trial):
            rated = histories[n].rated
            judge, tallies = Pools(rated[thumbs:], [n, 0]), tallies_of(rated[:thumbs], targets)
            halves = Halves(rated[thumbs:], n)
            for name, rule in rules.items():
                chosen = rule(tallies, first, lambda target: True, np.random.default_rng(n))
                twice = halves if name in JUDGED else None
                found[name].append(followed(n, judge, first, chosen, thumbs=thumbs, halves=twice))
    return found


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))
