"""`manage.py evaluate_guidance`: is what guidance tells right, told when it should be, and nothing else?"""

import json
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from advisor.evaluation.guidance_labelled import items_read, rows_labelled
from advisor.evaluation.guidance_targets import targets_hold
from advisor.evaluation.guidance_world import DEV_SEEDS
from advisor.guidance.tunables import tunables
from config.arguments import whole_number
from config.guidance_bench.agent import agent_measure
from config.guidance_bench.measure import pooled_rows, seed_measure
from config.guidance_bench.store import NOW

SEED, AGENT_READERS = 42, 12
LABELLED = "spark-advisory"


def seeds_of(text: str) -> list[int]:
    """Seeds from "42-51" or "1,2,7". Raises `ArgumentTypeError` for anything else."""
    try:
        parts = [[int(end) for end in part.split("-")] for part in text.split(",")]
        return [seed for part in parts for seed in range(part[0], part[-1] + 1)]
    except ValueError:
        raise ArgumentTypeError(
            f"“{text}” is neither a range such as 42-51 nor a list such as 1,2,7."
        ) from None


class Command(BaseCommand):
    """Exit code 1 when a target is missed. Everything happens in transactions that are undone."""

    help = "Measure guidance: 5,000 memories of known worth, 520 calls with what each of them deserves."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which seeds, how much beside them, in which form to report."""
        seeds = parser.add_mutually_exclusive_group()
        seeds.add_argument("--seed", type=whole_number(0), default=SEED, help=f"one seed ({SEED})")
        seeds.add_argument("--seeds", type=seeds_of, metavar="A-B", help="several, as means with intervals")
        seeds.add_argument("--dev", action="store_true", help="seeds 1 to 5, which alone may be tuned on")
        parser.add_argument("--ablations", action="store_true", help="without each source, filter and check")
        parser.add_argument(
            "--readers",
            type=whole_number(0),
            default=AGENT_READERS,
            help=f"readers of the scripted agent ({AGENT_READERS}); 0: leave it out",
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Measure, report, and leave with 1 when a target is missed."""
        began = time.monotonic()
        seeds = list(DEV_SEEDS) if options["dev"] else options["seeds"] or [options["seed"]]
        measured = [seed_measure(seed, ablations=options["ablations"], say=self._say) for seed in seeds]
        rows = pooled_rows(measured)
        if options["readers"]:
            self._say("the scripted agent")
            rows += agent_measure(seed=seeds[0], readers=options["readers"])
        rows += self._labelled()
        targets = targets_hold(rows)
        report = {
            "command": "evaluate_guidance",
            "data": "5,000 made-up memories and 520 calls a seed; the labelled items of spark-advisory",
            "seed": seeds[0] if len(seeds) == 1 else seeds,
            "rows": rows,
            "targets": targets,
            "seconds": round(time.monotonic() - began, 1),
        }
        if options["json"]:
            self.stdout.write(json.dumps(report))
        else:
            for row in [*rows, *targets]:
                self.stdout.write("  ".join(f"{key}={value}" for key, value in row.items()))
        if not all(target["met"] for target in targets):
            sys.exit(1)

    def _labelled(self) -> list[dict[str, Any]]:
        """The rows on the labelled items; without the data, one that says so, loudly."""
        folder = Path(settings.TIDINGS_DATA or "") / LABELLED
        if settings.TIDINGS_DATA:
            try:
                return rows_labelled(items_read(folder, tunables=tunables(), now=NOW), tunables())
            except OSError as error:
                why = f"{folder.name} cannot be read ({error.strerror})"
        else:
            why = "TIDINGS_DATA names no folder of open data"
        self._say(f"the labelled items are skipped: {why}")
        return [{"name": "labelled: ours", "skipped": why}]

    def _say(self, words: str) -> None:
        """Progress, on stderr only."""
        self.stderr.write(words)
