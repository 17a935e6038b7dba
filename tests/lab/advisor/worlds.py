"""Rows of `tests.lab advisor --data worlds`: the planner in worlds of several laws, beside simple rules.

Through the services it runs with its bar, and in some worlds also without it, to show what the bar costs. On
arrays this is shown in all worlds, with taste as well, and without the learning loop. Half as many readers
again prefer nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tests.lab.advisor.arrays import LOOP, ORACLE, WITH_TASTE, course_run
from tests.lab.advisor.asking import ALL
from tests.lab.advisor.metrics import difference, lost_by, row_of
from tests.lab.advisor.report import WEEK, Plan, Scale, driven_courses, numbers_of, seeded
from tests.lab.advisor.rules import PLANNER_RULE
from tests.lab.advisor.stage import Say
from tests.lab.advisor.targets import world_planner
from tests.lab.world.entities import Course
from tests.lab.world.laws import LAWS, PLAIN
from tests.lab.world.world import world_make

Json = dict[str, Any]
# Worlds in which the planner without its bar runs through the services, too.
WITHOUT_BAR = (PLAIN, "interactions")
# Readers through the services at most: one of twelve weeks takes some seconds of processor.
DRIVEN_MAX = 24
NO_BAR, EVERY_LEAN = 1.0, "every lean"
TASTE_RULE = PLANNER_RULE + WITH_TASTE
# The rules on arrays, each with the one whose gain is its measure.
RULES_OVER: Mapping[str, str] = {
    "greedy like-rate": ORACLE,
    "Beta .9": ORACLE,
    LOOP: ORACLE,
    "learning loop + Beta .9": ORACLE,
    ALL: ALL,
    PLANNER_RULE: ALL,
    TASTE_RULE: ALL,
    ORACLE: ORACLE,
}


def world_rows(scale: Scale, say: Say, driven_in: Sequence[str] = tuple(LAWS)) -> list[Json]:
    """Return the rows on arrays in every world on the first seed, beside the planner's through the services.

    `driven_in` are the worlds of the latter. A row's name begins with that of its law.
    """
    seed, readers = scale.seeds[0], min(scale.readers, DRIVEN_MAX)
    plans = [
        Plan(name, readers, (("law", law), ("drift", LAWS[law].redrawn > 0), *more), nulls=nulls_of(readers))
        for law in driven_in
        for name, more in _variants(law)
    ]
    driven = driven_courses(replace(scale, seeds=(seed,)), plans, say)
    rows = []
    for law in LAWS:
        beside = _on_arrays(scale, law)
        for name, _ in _variants(law) if law in driven_in else ():
            over = difference(driven[name], beside[LOOP])
            most = driven.get(f"{world_planner(law)}, {EVERY_LEAN}", [])
            rows.append(_row(name, driven[name], beside[ORACLE], most, via="services", over_loop_alone=over))
        for rule, courses in beside.items():
            most = beside[ALL] if RULES_OVER[rule] == ALL else []
            rows.append(_row(f"{law}: {rule}", courses, beside[ORACLE], most, via="arrays"))
        for row in rows[-len(beside) :]:
            say(str(row))
    return rows


def _variants(law: str) -> list[tuple[str, tuple[tuple[str, object], ...]]]:
    """Return the rows of a world through the services, and what is different in each."""
    name = world_planner(law)
    return [(name, ()), *([(f"{name}, {EVERY_LEAN}", (("bar", NO_BAR),))] if law in WITHOUT_BAR else [])]


def nulls_of(readers: int) -> int:
    """Return how many more readers without preferences live beside this number of readers."""
    return max(1, readers // 2)


def _on_arrays(scale: Scale, law: str) -> dict[str, list[Course]]:
    seed, drift = scale.seeds[0], LAWS[law].redrawn > 0
    world = world_make(seed, scale.weeks * WEEK, law=law)
    numbers = numbers_of(scale.readers, nulls_of(scale.readers))
    return {
        rule: seeded([course_run(world, n, rule, weeks=scale.weeks, drift=drift) for n in numbers], seed)
        for rule in RULES_OVER
    }


def _row(
    name: str, courses: Sequence[Course], oracle: Sequence[Course], most: Sequence[Course], **more: Any
) -> Json:
    """Return a row; `most` are the courses of the same planner without its bar."""
    gain, whole = (sum(one.uplift for one in some if not one.null) for some in (courses, most))
    kept = round(gain / whole, 4) if whole > 0 else None
    return row_of(name, courses, oracle, lost_gained=lost_by(courses), of_gain=kept, **more)
