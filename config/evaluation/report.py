"""The whole of `evaluate_advisor`: which rows are run, how, and which targets they are held against."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from advisor.evaluation.arrays import ARRAY_ROWS, ORACLE, course_run
from advisor.evaluation.entities import Course, course_of
from advisor.evaluation.metrics import row_of
from advisor.evaluation.world import world_make
from config.evaluation.stage import Say, shards_run

Json = dict[str, Any]
DEVELOPMENT_SEEDS = (1, 2)
PLANNER, PLANNER_ALONE = "planner and learning loop", "planner alone"
LOOP_DRIVEN = "learning loop alone, through the services"


@dataclass(frozen=True, slots=True)
class Scale:
    """How much is simulated. Variants run on the first `variant_readers` readers of the first seed."""

    seeds: tuple[int, ...]
    readers: int = 60
    weeks: int = 12
    alone_readers: int = 60
    variant_readers: int = 30
    agreement_readers: int = 12
    shards: int = 2


def scale_for(seed: int, *, full: bool, readers: int | None = None, weeks: int | None = None) -> Scale:
    """The default ends within ten minutes on two cores; `full` takes 300 readers on each of three seeds.

    `readers` and `weeks` make it smaller, for a quick look.
    """
    seeds = (seed, seed + 1, seed + 2) if full else (seed,)
    n = readers or (300 if full else 60)
    return Scale(seeds, n, weeks or 12, min(n, 300 if full else 60), min(n, 120 if full else 24))


def simulator_rows(scale: Scale, say: Say, *, alone: bool = True) -> list[Json]:
    """Every row of the simulator: planner rows through the services, the rest on arrays."""
    driven = _driven(scale, say, alone)
    arrays = _arrays(scale, say)
    oracle = arrays[ORACLE]
    rows = [row_of(name, courses, oracle, via="arrays") for name, courses in arrays.items()]
    rows += [
        row_of(name, courses, oracle, via="services", runs=_runs(courses)) for name, courses in driven.items()
    ]
    return rows


def _driven(scale: Scale, say: Say, alone: bool) -> dict[str, list[Course]]:
    tasks = []
    for seed in scale.seeds:
        tasks += _tasks(PLANNER, scale, seed, scale.readers, {})
        if alone:
            tasks += _tasks(PLANNER_ALONE, scale, seed, scale.alone_readers, {"loop": False})
    results = shards_run(tasks, say=say)
    rows: dict[str, list[Course]] = {}
    for task, result in zip(tasks, results, strict=True):
        rows.setdefault(task["row"], []).extend(course_of(c) for c in result["courses"])
    return rows


def _tasks(row: str, scale: Scale, seed: int, readers: int, more: Json) -> list[Json]:
    """One task a shard: readers dealt round, all of them in the same world."""
    return [
        {
            "kind": "simulate",
            "row": row,
            "name": f"{row}, seed {seed}, part {part + 1}",
            "setting": {
                "seed": seed,
                "weeks": scale.weeks,
                "readers": list(range(part, readers, scale.shards)),
            }
            | more,
        }
        for part in range(scale.shards)
    ]


def _arrays(scale: Scale, say: Say) -> dict[str, list[Course]]:
    rows: dict[str, list[Course]] = {}
    for seed in scale.seeds:
        world = world_make(seed, scale.weeks * 7)
        for row in ARRAY_ROWS:
            started = time.monotonic()
            rows.setdefault(row, []).extend(
                course_run(world, number, row, weeks=scale.weeks) for number in range(scale.readers)
            )
            say(f"{row}, seed {seed}: done in {time.monotonic() - started:.1f} s")
    return rows


def _runs(courses: Sequence[Course]) -> dict[str, int]:
    """How the runs of all these readers ended."""
    total: dict[str, int] = {}
    for course in courses:
        for status, count in course.runs.items():
            total[status] = total.get(status, 0) + count
    return total
