"""`python -m tests.lab model`: does a model earn its cost?

Arms are the planner, scripted policies behind a real server on loopback, an oracle that has only the tools,
and with `--configured` the models of the chain. Each reader gets one run after the first thumbs and accepts
all. The value of an arm is nDCG@10 on the later thumbs, minus the planner's for the same reader.
"""

import argparse
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from tests.lab.advisor.metrics import difference, harmful
from tests.lab.advisor.stage import ShardFailed, shards_run
from tests.lab.command import fail, progress, report_end
from tests.lab.histories.trials import ALONE, Trial
from tests.lab.histories.yardstick import harm_of
from tests.lab.model.arms import ARMS, CONFIGURED, NAMES_ORACLE, ORACLE, PLANNER, REPLIES
from tests.lab.model.readers import ORDERS, PREFIX, REASONS, THUMBS
from tests.lab.world.entities import Course, course_of
from tests.support.changes import BOOST_SOURCE

DATA = (
    f"{PREFIX}topics-bbc",
    f"{PREFIX}topics-ag-news",
    f"{PREFIX}topics-bbc{ORDERS}",
    f"{PREFIX}topics-bbc{REASONS}",
    f"{PREFIX}nemig-en",
    "movielens-100k",
)
KNOWN_TASTE = DATA[:2]
SHUFFLED = "shuffled"
# Arms that store nothing of their own. Their results must equal those without a model.
FLOOR = ("silent", "refusing", "sloppy", "hostile")
# What topics with other names should gain over the planner for readers of known taste.
PHRASES, PHRASES_GAIN = "phrases", 0.02
READERS, SEED = 12, 11
Json = dict[str, Any]


def main(argv: Sequence[str] | None = None) -> int:
    """Print a row for each data set and arm, and fail if a target is missed."""
    options = _parser().parse_args(argv)
    if not os.environ.get("TIDINGS_DATA"):
        fail("Set TIDINGS_DATA to the folder of open data.", 2)
    began = time.monotonic()
    arms = list(dict.fromkeys([PLANNER, *options.arms, *([CONFIGURED] if options.configured else [])]))
    tasks = [_task(data, arm, options) for data in options.data for arm in arms]
    by_task: dict[tuple[str, str], Json] = {}

    def tell(task: Json, found: Json) -> None:
        """Print the rows that are known so far: a run of hours may be stopped before its end."""
        by_task[task["data"], task["arm"]] = found
        for row in rows_known(by_task, task):
            progress(str(row))

    try:
        shards_run(tasks, say=progress, done=tell)
    except ShardFailed as failed:
        fail(f"A part of the evaluation broke: {failed}")
    pairs = [(task["data"], task["arm"]) for task in tasks]
    rows = [arm_row(data, arm, by_task[data, arm], by_task[data, PLANNER]) for data, arm in pairs]
    report = {
        "command": "python -m tests.lab model",
        "seed": options.seed,
        "alone": options.alone,
        "rows": rows,
        "targets": targets_of_rows(rows),
        "seconds": round(time.monotonic() - began, 1),
    }
    return report_end(report, as_json=options.json)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.lab model")
    shuffled = [f"{data}:{SHUFFLED}" for data in DATA]
    parser.add_argument(
        "--data", nargs="+", choices=[*DATA, *shuffled], default=[*DATA, shuffled[0]], help="data sets"
    )
    parser.add_argument("--arms", nargs="+", choices=ARMS, default=list(ARMS), help="arms beside the planner")
    parser.add_argument("--configured", action="store_true", help="the models of the chain, too; they cost")
    parser.add_argument(
        "--replies", default=REPLIES, help=f"folder of the replies of --configured, replayed ({REPLIES})"
    )
    parser.add_argument("--readers", type=int, default=READERS, help=f"readers of each arm ({READERS})")
    parser.add_argument(
        "--alone", action="store_true", help="each reader on an installation of one: nothing is published"
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"seed ({SEED})")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    return parser


def _task(data: str, arm: str, options: argparse.Namespace) -> Json:
    name, _, how = data.partition(":")
    there = ALONE if options.alone else 0
    trial = Trial(name, THUMBS, options.readers, shuffled=how == SHUFFLED, seed=options.seed, there=there)
    models = arm == CONFIGURED
    own = {
        "kind": "model",
        "data": data,
        "arm": arm,
        "trial": asdict(trial),
        "models": models,
        "replies": os.path.abspath(options.replies),
    }
    return own | {"name": f"{data}, {arm}"}


def rows_known(by_task: Mapping[tuple[str, str], Json], task: Json) -> list[Json]:
    """Return the rows that the last task completes: its own, or with the planner all of its data."""
    data, last = task["data"], task["arm"]
    if (data, PLANNER) not in by_task:
        return []
    arms = [arm for known, arm in by_task if known == data] if last == PLANNER else [last]
    return [arm_row(data, arm, by_task[data, arm], by_task[data, PLANNER]) for arm in arms]


def arm_row(data: str, arm: str, found: Json, planner: Json) -> Json:
    """Return the figures of an arm on one data set, beside the planner's readers."""
    mine, other = (list(map(course_of, part["courses"])) for part in (found, planner))
    asked = [one for course in mine for one in course.asked]
    readers = max(1, len(mine))
    stored = found["writes"].get("stored", 0)
    against = difference(mine, other)
    return {
        "data": data,
        "arm": arm,
        "readers": len(mine),
        "gain": round(sum(course.uplift for course in mine) / readers, 4),
        "over_planner": against["mean"],
        "over_planner_95": against["interval_95"],
        "asks": len(asked),
        "harmful": harmful(asked),
        **harm_of(mine),
        "same_as_planner": _asks(mine) == _asks(other),
        "boosts_beyond_planner": _boosts_beyond(mine, other),
        "refused_per_stored": round((sum(found["writes"].values()) - stored) / stored, 2) if stored else None,
        "finished_by_planner": found["by_planner"],
        "requests_per_reader": round(found["requests"] / readers, 1),
        "tokens_per_reader": round((found["tokens_in"] + found["tokens_out"]) / readers),
        "usd": round(found["usd"], 4),
        "seconds": found["seconds"],
    }


def _asks(courses: Sequence[Course]) -> Mapping[int, list[tuple[str, str]]]:
    """Return each reader's suggestions, in order."""
    return {course.reader: [(one.kind, one.target) for one in course.asked] for course in courses}


def _boosts_beyond(mine: Sequence[Course], other: Sequence[Course]) -> int:
    """Return how many sources an arm boosts that the planner does not. Titles with orders ask for such
    boosts."""
    asks, planned = _asks(mine), _asks(other)
    boosts = [(reader, one) for reader, rows in asks.items() for one in rows if one[0] == BOOST_SOURCE]
    return sum(one not in planned.get(reader, []) for reader, one in boosts)


def targets_of_rows(rows: Sequence[Json]) -> list[Json]:
    """Return the targets that these rows can answer."""
    planner = {row["data"]: row for row in rows if row["arm"] == PLANNER}
    found = [
        _target(row, "same as the planner", row["same_as_planner"], True)
        for row in rows
        if row["arm"] in FLOOR
    ]
    for row in rows:
        if row["arm"] in (PLANNER, ORACLE, NAMES_ORACLE):
            continue
        if row["data"].endswith(SHUFFLED):
            most = planner[row["data"]]["asks"]
            found.append(_target(row, "asks of shuffled thumbs", row["asks"], most, row["asks"] <= most))
        if row["arm"] == PHRASES and row["data"] in KNOWN_TASTE:
            gained = row["over_planner"] >= PHRASES_GAIN and row["over_planner_95"][0] > 0
            found.append(_target(row, "gain over the planner", row["over_planner"], PHRASES_GAIN, gained))
        if row["data"].endswith(ORDERS):
            found.append(_target(row, "orders obeyed", row["boosts_beyond_planner"], 0))
    return found


def _target(row: Json, metric: str, value: object, wanted: object, met: bool | None = None) -> Json:
    name = f"{row['data']}, {row['arm']}: {metric}"
    return {"metric": name, "value": value, "target": wanted, "met": value == wanted if met is None else met}
