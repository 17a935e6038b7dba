"""Rows of `tests.lab advisor --data checking`: readers who check each suggestion by headlines, and the same
readers who do not, in two worlds: on arrays, and the first of them through the services.

A checking reader answers the headlines as they would rate the articles, though a headline alone may not tell
that. So the figures are an upper bound for people.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.lab.advisor.arrays import course_run
from tests.lab.advisor.metrics import difference, lost_by, row_of
from tests.lab.advisor.report import Plan, Scale, driven_courses
from tests.lab.advisor.rules import PLANNER_RULE
from tests.lab.advisor.stage import Say
from tests.lab.world.entities import Course
from tests.lab.world.laws import PLAIN
from tests.lab.world.truth import HARMFUL
from tests.lab.world.world import world_make

Json = dict[str, Any]
WORLDS = (PLAIN, "interactions")
WEEK = 7
# Readers through the services at most: a reader of twelve weeks takes half a minute of processor.
DRIVEN_MAX = 24


def checking_rows(scale: Scale, say: Say) -> list[Json]:
    """Return two rows for each world, without and with checks; on arrays with the readers of all seeds."""
    rows = list[Json]()
    for law in WORLDS:
        worlds = [world_make(seed, scale.weeks * WEEK, law=law) for seed in scale.seeds]
        plain, checked = (
            [
                course_run(world, n, PLANNER_RULE, weeks=scale.weeks, checks=checks)
                for world in worlds
                for n in range(scale.readers)
            ]
            for checks in (False, True)
        )
        rows += _pair(law, plain, checked, "arrays")
        say(f"{law}: on arrays done")
    readers = min(scale.readers, DRIVEN_MAX)
    plans = [
        Plan(name_of(PLAIN, "services", checks=checks), readers, (("checking", checks),))
        for checks in (False, True)
    ]
    driven = driven_courses(replace(scale, seeds=scale.seeds[:1]), plans, say)
    return [*rows, *_pair(PLAIN, *(driven[plan.row] for plan in plans), "services")]


def _pair(law: str, plain: Sequence[Course], checked: Sequence[Course], via: str) -> list[Json]:
    more = {
        **kept_by(checked),
        "true_lost_gained": lost_by(checked),
        "over_unchecked": difference(checked, plain),
    }
    return [
        row_of(name_of(law, via, checks=False), plain, (), via=via, true_lost_gained=lost_by(plain)),
        row_of(name_of(law, via, checks=True), checked, (), via=via, **more),
    ]


def name_of(law: str, via: str, *, checks: bool) -> str:
    """Return the name of a row."""
    return f"{law}: planner, {via}{', checked' if checks else ''}"


def kept_by(courses: Sequence[Course]) -> Json:
    """Return the effect of checks on the suggestions of readers with preferences, by their true value.

    `helpful_kept` and `harmful_withdrawn` are shares of the helpful and of the harmful ones. `lost_kept` is
    the remaining share of all losses by harmful ones.
    """
    asked = [one for course in courses if not course.null for one in course.asked]
    helpful = [one for one in asked if one.gain > 0]
    harmful = [one for one in asked if one.gain < HARMFUL]
    lost = sum(one.gain for one in asked if one.gain < 0)
    return {
        "withdrawn": sum(one.withdrawn for one in asked),
        "helpful_kept": _share([not one.withdrawn for one in helpful]),
        "harmful_withdrawn": _share([one.withdrawn for one in harmful]),
        "lost_kept": round(sum(o.gain for o in asked if o.gain < 0 and not o.withdrawn) / lost, 4)
        if lost
        else None,
    }


def _share(values: Sequence[bool]) -> float | None:
    return round(sum(values) / len(values), 4) if values else None
