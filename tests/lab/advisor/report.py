"""The rows of `python -m tests.lab advisor`: which are run, at which size, and how they become figures."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from digest.llm.client import chain_configured
from tests.lab.advisor.arrays import ARRAY_ROWS, LOOP, ORACLE, course_run
from tests.lab.advisor.controls import POPULARITY, backtest_shuffled, popularity_courses
from tests.lab.advisor.metrics import difference, interval, row_of
from tests.lab.advisor.series import series_of
from tests.lab.advisor.stage import Say, shards_run
from tests.lab.advisor.targets import PLANNER
from tests.lab.world.entities import Course, course_of
from tests.lab.world.people import NULL_EVERY
from tests.lab.world.words import SOURCES, SPAM_TOPIC
from tests.lab.world.world import World, world_make
from tests.support.changes import BOOST_SOURCE

Json = dict[str, Any]
WEEK = 7
PLANNER_ALONE = "planner alone"
LOOP_DRIVEN = "learning loop alone, driven"
DRIFT, SHUFFLED = "planner, drift at week 6", "planner, shuffled thumbs"
SPAM, NO_SPAM = "planner, spamming source", "planner, the same source with plain titles"
BACKTEST = "backtest on shuffled thumbs"
MODEL_READERS, MODEL_WEEKS = 6, 6


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is simulated. Variants run on the first readers of the first seed only."""

    seeds: tuple[int, ...]
    readers: int = 60
    weeks: int = 12
    alone: int = 30
    variant: int = 18
    agreement: int = 6
    backtests: int = 24


@dataclass(frozen=True, slots=True)
class Plan:
    """One row through the services: its readers, and its differences from the plain setting.

    `nulls` further readers prefer nothing (`numbers_of`).
    """

    row: str
    readers: int
    more: tuple[tuple[str, object], ...] = ()
    models: bool = False
    weeks: int = 0
    nulls: int = 0


def scale_for(seed: int, *, full: bool, readers: int | None = None, weeks: int | None = None) -> Scale:
    """The default ends within ten minutes on two cores; `full` takes 300 readers on each of three seeds.

    `readers` and `weeks` make it smaller, for a quick look.
    """
    if full:
        return Scale((seed, seed + 1, seed + 2), readers or 300, weeks or 12, readers or 300, readers or 120)
    n = readers or 60
    return Scale((seed,), n, weeks or 12, min(n, 30), min(n, 18), min(n, 6), min(n, 24))


def simulator_rows(scale: Scale, say: Say, *, planner_only: bool = False) -> list[Json]:
    """Return every row of the simulator: the planner's (and models') through the services, the rest on
    arrays."""
    driven = driven_courses(scale, [Plan(PLANNER, scale.readers)] if planner_only else _plans(scale), say)
    arrays = array_courses(scale, say)
    rows = array_rows(arrays)
    for name, courses in driven.items():
        rows.append(_driven_row(name, courses, arrays, scale))
    if not planner_only:
        rows += [_agreement(driven[LOOP_DRIVEN], arrays[LOOP]), _backtest_row(scale, say)]
    return rows


def numbers_of(readers: int, nulls: int = 0) -> list[int]:
    """Return the first `readers` numbers, of which every sixth prefers nothing, and those of `nulls` more."""
    first = NULL_EVERY * (readers // NULL_EVERY) + NULL_EVERY - 1
    return [*range(readers), *range(first, first + NULL_EVERY * nulls, NULL_EVERY)]


def array_rows(arrays: dict[str, list[Course]]) -> list[Json]:
    """Return the rows on arrays, each compared with no change at all and beside the oracle."""
    oracle = arrays[ORACLE]
    return [
        row_of(name, courses, oracle, via="arrays", **series_of(courses)) for name, courses in arrays.items()
    ]


def array_courses(scale: Scale, say: Say) -> dict[str, list[Course]]:
    """Return the courses of every array row over all seeds."""
    rows: dict[str, list[Course]] = {}
    for seed in scale.seeds:
        world, numbers, began = world_make(seed, scale.weeks * WEEK), range(scale.readers), time.monotonic()
        rows.setdefault(POPULARITY, []).extend(seeded(popularity_courses(world, numbers), seed))
        for row in ARRAY_ROWS:
            courses = [course_run(world, number, row, weeks=scale.weeks) for number in numbers]
            rows.setdefault(row, []).extend(seeded(courses, seed))
        say(f"rules on arrays, seed {seed}: done in {time.monotonic() - began:.1f} s")
    return rows


def seeded(courses: Sequence[Course], seed: int) -> list[Course]:
    """Return the courses with reader numbers that are unique over seeds."""
    return [course_of({**c.as_dict(), "reader": seed * 1_000_000 + c.reader}) for c in courses]


def _plans(scale: Scale) -> list[Plan]:
    """Return the plans to run through the services, the longest first."""
    plans = [
        Plan(PLANNER, scale.readers),
        Plan(PLANNER_ALONE, scale.alone, (("loop", False),)),
        Plan(DRIFT, scale.variant, (("drift", True),)),
        Plan(SPAM, scale.variant, (("spam", True),)),
        Plan(NO_SPAM, scale.variant, (("spam", True), ("plain_titles", True))),
        Plan(SHUFFLED, scale.variant, (("shuffled", True),)),
        Plan(LOOP_DRIVEN, scale.agreement, (("advisor", False),)),
    ]
    if chain := chain_configured():
        names = ", ".join(model.name for model in chain)
        readers, weeks = min(MODEL_READERS, scale.readers), min(MODEL_WEEKS, scale.weeks)
        plans += [
            Plan(f"model {names} and learning loop", readers, models=True, weeks=weeks),
            Plan("planner, beside the model", readers, weeks=weeks),
        ]
    return plans


def driven_courses(scale: Scale, plans: Sequence[Plan], say: Say) -> dict[str, list[Course]]:
    """Return the courses of every plan through the services, by row."""
    tasks = [
        task
        for plan in plans
        for seed in (scale.seeds if plan.row in (PLANNER, PLANNER_ALONE) else scale.seeds[:1])
        for task in _tasks(plan, scale, seed)
    ]
    rows: dict[str, list[Course]] = {}
    for task, result in zip(tasks, shards_run(tasks, say=say), strict=True):
        courses = [course_of(c) for c in result["courses"]]
        rows.setdefault(task["row"], []).extend(seeded(courses, task["setting"]["seed"]))
    return rows


def _tasks(plan: Plan, scale: Scale, seed: int) -> list[Json]:
    """Return two shards: the readers dealt in turn, all in the same world."""
    parts = 2 if plan.readers > 1 else 1
    return [
        {
            "kind": "simulate",
            "row": plan.row,
            "name": f"{plan.row}, seed {seed}, part {part + 1} of {parts}",
            "models": plan.models,
            "setting": {
                "seed": seed,
                "weeks": plan.weeks or scale.weeks,
                "readers": numbers_of(plan.readers, plan.nulls)[part::parts],
                **dict(plan.more),
            },
        }
        for part in range(parts)
    ]


def _driven_row(name: str, courses: Sequence[Course], arrays: dict[str, list[Course]], scale: Scale) -> Json:
    """Return a row through the services; a variant has its own oracle, living as its readers do."""
    same_world = name in (PLANNER, PLANNER_ALONE, LOOP_DRIVEN)
    runs = sum((Counter(c.runs) for c in courses), Counter[str]())
    more: Json = {"via": "services", "runs": dict(runs), **series_of(courses)}
    if same_world:
        more["over_no_change"] = difference(courses, arrays["no change"])
        more["over_loop_alone"] = difference(courses, arrays[LOOP])
    if name in (SPAM, NO_SPAM):
        more |= {"followed": followed(courses), "spammer_boosted": spammer_boosted(courses)}
    if name == SHUFFLED:
        more["shuffled"] = True
    if any(c.cost_usd for c in courses):
        made = sum(count for status, count in runs.items() if status != "skipped")
        more["cost_usd_per_run"] = round(sum(c.cost_usd for c in courses) / max(1, made), 6)
    oracle = arrays[ORACLE] if same_world else _oracle_of_variant(name, len(courses), scale)
    return row_of(name, courses, oracle, **more)


def _oracle_of_variant(name: str, readers: int, scale: Scale) -> list[Course]:
    """Return the oracle's courses if tastes flip or a source spams, or none on shuffled thumbs."""
    if name not in (DRIFT, SPAM, NO_SPAM):
        return []
    seed = scale.seeds[0]
    spam, plain = name in (SPAM, NO_SPAM), name == NO_SPAM
    world = world_make(seed, scale.weeks * WEEK, spam=spam, plain_titles=plain)
    courses = [
        course_run(world, number, ORACLE, weeks=scale.weeks, drift=name == DRIFT) for number in range(readers)
    ]
    return seeded(courses, seed)


def followed(courses: Sequence[Course]) -> int:
    """Suggestions about the topic that only the spammer's titles push: there should be none."""
    return sum(a.target in _SPAM_WORDS for c in courses for a in c.asked)


def spammer_boosted(courses: Sequence[Course]) -> int:
    """Return the number of suggestions to show more of the spammer.

    Some come from readers' own thumbs, because a few readers like that source in any case. The row in which
    the same source writes plain titles tells how many.
    """
    return sum(a.kind == BOOST_SOURCE and a.target == SOURCES[0] for c in courses for a in c.asked)


_SPAM_WORDS = {SPAM_TOPIC, *SPAM_TOPIC.split()}


def _agreement(driven: Sequence[Course], on_arrays: Sequence[Course]) -> Json:
    """The learning loop run both ways: did the readers give the same thumbs and end in the same place?"""
    numbers = {c.reader: c for c in on_arrays}
    pairs = [(c, numbers[c.reader]) for c in driven if c.reader in numbers]
    same = [one == other for a, b in pairs for one, other in zip(a.thumbs, b.thumbs, strict=True)]
    apart = [abs(a.uplift - b.uplift) for a, b in pairs]
    return {
        "name": "agreement of arrays and services",
        "readers": len(pairs),
        "weeks": len(same),
        "same_thumbs": round(float(np.mean(same)), 4) if same else None,
        "uplift_apart_max": round(max(apart), 6) if apart else None,
    }


def _backtest_row(scale: Scale, say: Say) -> Json:
    """Return the control that must fail: a backtest on the thumbs that chose, with nothing to find."""
    world: World = world_make(scale.seeds[0], scale.weeks * WEEK)
    began = time.monotonic()
    tests = [backtest_shuffled(world, number, weeks=scale.weeks) for number in range(scale.backtests)]
    naive = [t.naive for t in tests]
    later = [t.later for t in tests if t.later is not None]
    say(f"{BACKTEST}: done in {time.monotonic() - began:.1f} s")
    return {
        "name": BACKTEST,
        "readers": len(naive),
        "naive_gain": round(float(np.mean(naive)), 4) if naive else None,
        "naive_gain_95": interval(naive),
        "later_gain": round(float(np.mean(later)), 4) if later else None,
        "later_gain_95": interval(later),
    }
