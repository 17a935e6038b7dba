"""`manage.py evaluate_advisor`: does the advisor help?"""

import json
import resource
import sys
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from advisor.evaluation.arrays import ARRAY_ROWS
from advisor.evaluation.targets import targets_hold
from config.arguments import whole_number
from config.evaluation.guided import ALL, ARMS, guided_rows, guided_targets
from config.evaluation.open_rows import movielens_rows, nemig_rows
from config.evaluation.report import PLANNER, Scale, array_courses, array_rows, scale_for, simulator_rows
from config.evaluation.stage import ShardFailed
from config.evaluation.tables import text_of

PARTS = ("simulator", "movielens", "nemig")
SEED = 11


class Command(BaseCommand):
    """Measures the advisor in a simulated world with known truth, and on open data; exit 1 on a miss."""

    help = "Measure the advisor: a closed-loop simulation through the real services, then open data."

    def add_arguments(self, parser: CommandParser) -> None:
        """The seed, the size, the parts and the form."""
        parser.add_argument("--seed", type=int, default=SEED, help=f"of the simulated world ({SEED})")
        parser.add_argument("--full", action="store_true", help="300 readers, three seeds, all histories")
        parser.add_argument("--readers", type=whole_number(1), metavar="N", help="simulated readers (60)")
        parser.add_argument("--weeks", type=whole_number(1), metavar="N", help="simulated weeks (12)")
        parser.add_argument("--data", nargs="+", default=list(PARTS), choices=[*PARTS, "planner"])
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

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the parts, print them, and fail where a target is missed."""
        started = time.monotonic()
        scale = scale_for(
            options["seed"], full=options["full"], readers=options["readers"], weeks=options["weeks"]
        )
        judged = options["judge"] or PLANNER
        try:
            rows = self._rows(scale, options)
        except ShardFailed as failed:
            raise CommandError(f"A part of the evaluation broke: {failed}") from failed
        result = {
            "command": "evaluate_advisor",
            "data": ["simulator"] if options["guidance"] else options["data"],
            "seed": options["seed"],
            "rows": rows,
            "targets": [*targets_hold(rows, judged), *guided_targets(rows)],
            "seconds": round(time.monotonic() - started, 1),
            "cpu_seconds": _cpu_seconds(),
        }
        self.stdout.write(json.dumps(result) if options["json"] else text_of(result))
        if missed := [target["metric"] for target in result["targets"] if not target["met"]]:
            raise CommandError(f"Targets missed: {'; '.join(missed)}.")

    def _rows(self, scale: Scale, options: dict[str, Any]) -> list[dict[str, Any]]:
        if options["guidance"]:
            return guided_rows(scale, options["guidance"], self._say)
        if options["judge"]:
            return array_rows(array_courses(scale, self._say))
        parts, rows = options["data"], []
        if "simulator" in parts or "planner" in parts:
            rows += simulator_rows(scale, self._say, planner_only="simulator" not in parts)
        if "movielens" in parts:
            rows += movielens_rows(options["seed"], self._say, full=options["full"])
        if "nemig" in parts:
            rows += nemig_rows(options["seed"], self._say, full=options["full"])
        for row in rows:
            if "skipped" in row:
                self._say(f"SKIPPED {row['name']}: {row['skipped']}")
        return rows

    def _say(self, words: str) -> None:
        """Progress, on stderr only."""
        sys.stderr.write(f"{words}\n")


def _cpu_seconds() -> float:
    """The processor time of this process and its shards: on a busy machine it says more than the clock."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return round(sum(one.ru_utime + one.ru_stime for one in used), 1)
