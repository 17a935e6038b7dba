"""`manage.py evaluate_advisor`: does the advisor help?"""

import json
import sys
import time
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from config.evaluation.report import scale_for, simulator_rows


class Command(BaseCommand):
    """Measures the advisor in a simulated world with known truth, and on open data; exit 1 on a miss."""

    help = "Measure the advisor: a closed-loop simulation through the real services, then open data."

    def add_arguments(self, parser: CommandParser) -> None:
        """The seed, the size and the form."""
        parser.add_argument("--seed", type=int, default=11)
        parser.add_argument("--full", action="store_true", help="300 readers and three seeds")
        parser.add_argument("--readers", type=int, help="simulated readers (60)")
        parser.add_argument("--weeks", type=int, help="simulated weeks (12)")
        parser.add_argument("--data", nargs="+", default=["simulator"], choices=["simulator", "planner"])
        parser.add_argument("--json", action="store_true", help="one JSON object on stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run everything and print it."""
        started = time.monotonic()
        scale = scale_for(
            options["seed"], full=options["full"], readers=options["readers"], weeks=options["weeks"]
        )
        rows = simulator_rows(scale, self._say, alone="simulator" in options["data"])
        result = {
            "command": "evaluate_advisor",
            "data": "simulator",
            "seed": options["seed"],
            "rows": rows,
            "targets": [],
            "seconds": round(time.monotonic() - started, 1),
        }
        self.stdout.write(json.dumps(result))

    def _say(self, words: str) -> None:
        """Progress, on stderr only."""
        sys.stderr.write(f"{words}\n")
