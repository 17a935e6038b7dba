"""`python -m tests.lab advisor`: does the advisor help?"""

import resource
import time
from argparse import Action, ArgumentParser
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ranking.common.commands import whole_number
from tests.lab.advisor.arrays import ARRAY_ROWS
from tests.lab.advisor.asking import asking_rows
from tests.lab.advisor.checking import checking_rows
from tests.lab.advisor.fortnight import fortnight_rows
from tests.lab.advisor.guided import ALL, ARMS, guided_rows, guided_targets
from tests.lab.advisor.new_kinds import kind_rows
from tests.lab.advisor.report import (
    PLANNER,
    Scale,
    array_courses,
    array_rows,
    scale_for,
    simulator_rows,
)
from tests.lab.advisor.signals import signal_rows
from tests.lab.advisor.stage import ShardFailed
from tests.lab.advisor.tables import text_of
from tests.lab.advisor.targets import targets_hold
from tests.lab.advisor.worlds import world_rows
from tests.lab.command import fail, progress, report_end
from tests.lab.histories.data import SMALL
from tests.lab.histories.installations import SIZES, installation_rows
from tests.lab.histories.rows import FILMS, movielens_rows, nemig_rows, replay_rows, scholar_rows
from tests.lab.histories.scholar import SCHOLAR, BadData
from tests.lab.histories.taste import nothing_rows, taste_rows
from tests.lab.world.laws import LAWS

PARTS = ("simulator", "movielens", "nemig")
# Short names: the planner alone of the simulator; both open histories, or the one with tags; the taste;
# worlds of other laws; the effect of answers, opens and early changes; how often the planner asks for its
# gain; the effect of a check by headlines; all that Today asks of a new reader in a fortnight; installations
# of one reader, of forty and of all; the newer kinds of change for readers who wish for them.
SHORT = (
    "planner",
    "histories",
    SMALL,
    "taste",
    "worlds",
    "signals",
    "asking",
    "checking",
    "fortnight",
    "installations",
    "kinds",
)
SEED = 11


def main(argv: Sequence[str] | None = None) -> int:
    """Run the parts and print them. Fail if a target is missed."""
    options = vars(_parser().parse_args(argv))
    started = time.monotonic()
    scale = scale_for(
        options["seed"], full=options["full"], readers=options["readers"], weeks=options["weeks"]
    )
    if options["seeds"]:
        scale = replace(scale, seeds=tuple(options["seed"] + n for n in range(options["seeds"])))
    judged = options["judge"] or PLANNER
    try:
        rows = _rows(scale, options)
    except ShardFailed as failed:
        fail(f"A part of the evaluation broke: {failed}")
    except BadData as bad:
        fail(f"The data cannot be used: {bad}", 2)
    result = {
        "command": "python -m tests.lab advisor",
        "data": ["simulator"] if options["guidance"] else options["data"],
        "replay": options["replay"],
        "seed": options["seed"],
        "rows": rows,
        "targets": [*targets_hold(rows, judged), *guided_targets(rows)],
        "seconds": round(time.monotonic() - started, 1),
        "cpu_seconds": _cpu_seconds(),
    }
    return report_end(result, text_of(result), as_json=options["json"])


class DataParts(Action):
    """The parts of `--data`; the folder of one that has its own follows its name."""

    def __call__(
        self, parser: ArgumentParser, namespace: Any, values: Any, option: str | None = None
    ) -> None:
        """Store the names, with a folder as "name:folder"."""
        words, parts = list(values), []
        while words:
            name = words.pop(0)
            if name == SCHOLAR:
                if not words:
                    parser.error(f"argument --data: {SCHOLAR} needs the folder of its files")
                name = f"{SCHOLAR}:{words.pop(0)}"
            elif name not in (*PARTS, *SHORT):
                parser.error(
                    f"argument --data: there is no {name!r}; choose from {', '.join((*PARTS, *SHORT))}"
                )
            parts.append(name)
        setattr(namespace, self.dest, parts)


def _parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="python -m tests.lab advisor",
        description="Measure the advisor: a simulation through the real services, then open data.",
    )
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the simulated world ({SEED})")
    parser.add_argument("--full", action="store_true", help="300 readers, three seeds")
    parser.add_argument(
        "--seeds", type=whole_number(1), metavar="N", help="so many seeds from that one on (1, --full: 3)"
    )
    parser.add_argument(
        "--readers", type=whole_number(1), metavar="N", help="readers (simulated: 60; of histories: all)"
    )
    parser.add_argument("--weeks", type=whole_number(1), metavar="N", help="simulated weeks (12)")
    parser.add_argument(
        "--data",
        nargs="+",
        default=list(PARTS),
        action=DataParts,
        metavar="PART",
        help=f"{', '.join([*PARTS, *SHORT])}, or {SCHOLAR} DIR",
    )
    parser.add_argument(
        "--worlds",
        nargs="*",
        choices=list(LAWS),
        default=list(LAWS),
        metavar="WORLD",
        help=f"worlds: those through the services, if any ({', '.join(LAWS)})",
    )
    parser.add_argument(
        "--installations",
        nargs="+",
        type=int,
        choices=list(SIZES),
        default=list(SIZES),
        metavar="READERS",
        help=f"installations: those of so many readers, 0 for all ({', '.join(map(str, SIZES))})",
    )
    parser.add_argument(
        "--replay",
        choices=["once", "weekly"],
        default="once",
        help="histories: settle once, or week after week in time order (MovieLens alone has times)",
    )
    parser.add_argument(
        "--judge",
        metavar="RULE",
        choices=ARRAY_ROWS,
        help="hold an array rule against the targets instead",
    )
    parser.add_argument(
        "--guidance",
        choices=[*ARMS, ALL],
        help="an eager agent on a scripted model server instead, with guidance so",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    return parser


def _rows(scale: Scale, options: dict[str, Any]) -> list[dict[str, Any]]:
    if options["guidance"]:
        return guided_rows(scale, options["guidance"], progress)
    if options["judge"]:
        return array_rows(array_courses(scale, progress))
    parts, rows = options["data"], []
    if "simulator" in parts or "planner" in parts:
        rows += simulator_rows(scale, progress, planner_only="simulator" not in parts)
    if "worlds" in parts:
        rows += world_rows(scale, progress, options["worlds"])
    if "signals" in parts:
        rows += signal_rows(scale, progress)
    if "asking" in parts:
        rows += asking_rows(scale, progress)
    if "checking" in parts:
        rows += checking_rows(scale, progress)
    if "fortnight" in parts:
        rows += fortnight_rows(scale, progress)
    if "installations" in parts:
        sizes = options["installations"]
        rows += installation_rows(options["seed"], progress, readers=options["readers"] or 0, sizes=sizes)
    if "kinds" in parts:
        rows += kind_rows(scale, progress)
    rows += _history_rows(options)
    for row in rows:
        if "skipped" in row:
            progress(f"SKIPPED {row['name']}: {row['skipped']}")
    return rows


def _history_rows(options: dict[str, Any]) -> list[dict[str, Any]]:
    parts, rows, readers = options["data"], [], options["readers"] or 0
    weekly = options["replay"] == "weekly"
    if films := FILMS if {"movielens", "histories"} & set(parts) else tuple({SMALL} & set(parts)):
        run = replay_rows if weekly else movielens_rows
        rows += run(options["seed"], progress, readers=readers, names=films)
    if {"nemig", "histories"} & set(parts):
        untimed = [{"name": "nemig", "skipped": "its choices have no time"}]
        rows += untimed if weekly else nemig_rows(options["seed"], progress, readers=readers)
    if {"taste", "histories"} & set(parts) and not weekly:
        rows += taste_rows(FILMS, options["seed"], progress, readers=readers) + nothing_rows(options["seed"])
    for part in parts:
        name, _, folder = part.partition(":")
        if name == SCHOLAR:
            rows += scholar_rows(Path(folder), options["seed"], progress, readers=readers)
    return rows


def _cpu_seconds() -> float:
    """Return the processor time of this process and its shards: on a busy machine it says more than the
    clock."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return round(sum(one.ru_utime + one.ru_stime for one in used), 1)
