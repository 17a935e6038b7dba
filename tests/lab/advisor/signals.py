"""Rows of `tests.lab advisor --data signals`: the effect of answers, opens and early changes; tastes that
flip.

The readers and weeks are those of `report.world_rows`, through the services. The opposite taste holds from
the end of week 6. The recovered part is measured five weeks later.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tests.lab.advisor.arrays import DRIFT_WEEK, LOOP, ORACLE, course_run
from tests.lab.advisor.metrics import row_of
from tests.lab.advisor.report import Plan, Scale, driven_courses, seeded
from tests.lab.advisor.stage import Say
from tests.lab.world.entities import Course
from tests.lab.world.laws import PLAIN
from tests.lab.world.world import world_make

Json = dict[str, Any]
WEEK = 7
# Weeks from the flip until half of the lost uplift should be back.
BACK_WEEKS = 5
EVERYTHING = (("interview", True), ("reading", True), ("early", True))
FLIPS = "flips: planner and learning loop"
BESIDE_FLIPS = (LOOP, "learning loop + Beta .9", ORACLE)


def signal_rows(scale: Scale, say: Say) -> list[Json]:
    """Interview, reading and early changes in two worlds, reading alone, opposite tastes from week 6 on."""
    plans = [
        Plan("plain: interview, reading, early", scale.readers, EVERYTHING),
        Plan("plain: reading", scale.readers, (("reading", True),)),
        Plan(
            "interactions: interview, reading, early", scale.readers, (("law", "interactions"), *EVERYTHING)
        ),
        Plan(FLIPS, scale.readers, (("drift", True),)),
    ]
    driven = driven_courses(replace(scale, seeds=scale.seeds[:1]), plans, say)
    rows = []
    for plan in plans:
        law = dict(plan.more).get("law", PLAIN)
        flips = plan.row == FLIPS
        oracle = _on_arrays(scale, str(law), ORACLE, flips=flips)
        courses = driven[plan.row]
        rows.append(row_of(plan.row, courses, oracle, via="services", **_figures(courses, flips=flips)))
        say(f"{plan.row}: oracle done")
    for row in BESIDE_FLIPS:
        courses = _on_arrays(scale, PLAIN, row, flips=True)
        rows.append({"name": f"flips: {row}", "via": "arrays", **_figures(courses, flips=True)})
    return rows


def _on_arrays(scale: Scale, law: str, row: str, *, flips: bool) -> list[Course]:
    world = world_make(scale.seeds[0], scale.weeks * WEEK, law=law)
    courses = [course_run(world, n, row, weeks=scale.weeks, drift=flips) for n in range(scale.readers)]
    return seeded(courses, scale.seeds[0])


def _figures(courses: Sequence[Course], *, flips: bool) -> Json:
    if flips:
        return {"back_after_flip": back_after_flip(courses)}
    return {"right_by_day_2": right_by(courses, 2), "right_by_day_7": right_by(courses, 7)}


def right_by(courses: Sequence[Course], day: int) -> float | None:
    """Return the share of readers with preferences whom a change had helped by the end of `day` (from 1)."""
    right = [0 < c.right_on <= day for c in courses if not c.null]
    return round(sum(right) / len(right), 4) if right else None


def back_after_flip(courses: Sequence[Course]) -> float | None:
    """Return the share of the uplift lost by the flip that is back after `BACK_WEEKS`, all readers
    together."""
    last = DRIFT_WEEK + BACK_WEEKS
    lived = [c.curve for c in courses if not c.null and len(c.curve) > last]
    lost = sum(curve[DRIFT_WEEK - 1] - curve[DRIFT_WEEK] for curve in lived)
    back = sum(curve[last] - curve[DRIFT_WEEK] for curve in lived)
    return round(back / lost, 4) if lost > 0 else None
