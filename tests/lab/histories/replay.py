"""Real readers' histories in time order: a week is ten thumbs, and the next ten measure its changes.

Weeks are counted in thumbs, because half of the readers of MovieLens-100k rated everything within three days,
many ratings in one second. After each week but the last, changes come and all are accepted. The week's gain
is the difference in nDCG@10 on the items of the following week, between the settings of that time and the
first ones. A single change is judged on more items, since ten tell little about it. Pure.
"""

from collections.abc import Sequence

import numpy as np

from tests.lab.advisor.rules import COOLDOWN_WEEKS, RULES, Targets
from tests.lab.histories.pools import History, Pools, Rated, start_config, tallies_of
from tests.lab.world.entities import Asked, Course

WEEK_THUMBS, WEEKS = 10, 16
# A single change is judged on at most this many of the later items.
LATER = 100


def week_rated(history: History, week: int) -> tuple[Rated, ...]:
    """Return the thumbs of a week, counted from 1."""
    return history.rated[(week - 1) * WEEK_THUMBS : week * WEEK_THUMBS]


def judge_next(history: History, number: int, week: int) -> Pools:
    """Return the judge of the settings at the end of a week: the items of the following one."""
    return Pools(week_rated(history, week + 1), [number, 5, week])


def judge_change(history: History, number: int, week: int) -> Pools:
    """Return the judge of one change at the end of a week."""
    begin = week * WEEK_THUMBS
    return Pools(history.rated[begin : begin + LATER], [number, 6, week])


def replayed(history: History, number: int, row: str, *, targets: Targets) -> Course:
    """Run one reader's weeks under one array rule, held back from a target it moved as the advisor is."""
    first = effective = start_config(targets)
    rng = np.random.default_rng([number, 7])
    cooling: dict[int, int] = {}
    starts, gains, asked = [], [], list[Asked]()
    for week in range(1, WEEKS):
        free = {t for t in range(len(targets)) if week - cooling.get(t, -COOLDOWN_WEEKS) >= COOLDOWN_WEEKS}
        tallies = tallies_of(history.rated[: week * WEEK_THUMBS], targets)
        one = judge_change(history, number, week)
        for change in RULES[row](tallies, effective, free.__contains__, rng):
            after = change.applied(effective)
            asked.append(Asked(week, change.kind, change.key, one.gain(effective, after), True))
            cooling[change.target] = week
            effective = after
        judge = judge_next(history, number, week)
        starts.append(judge.value(first))
        gains.append(judge.gain(first, effective))
    return course_weekly(number, starts, gains, asked)


def course_weekly(
    number: int,
    starts: Sequence[float],
    gains: Sequence[float],
    asked: Sequence[Asked],
    runs: dict[str, int] | None = None,
) -> Course:
    """Return the course of a replay. `curve[w]` is the mean gain of the first w weeks, and `uplift` that of
    all.

    `start` is the mean nDCG@10 of a reader whose settings never change.
    """
    so_far = [sum(gains[:week]) / week for week in range(1, len(gains) + 1)]
    thumbs = (WEEK_THUMBS,) * len(gains)
    return Course(number, False, float(np.mean(starts)), (0.0, *so_far), thumbs, tuple(asked), runs or {})
