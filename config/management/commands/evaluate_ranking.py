"""`manage.py evaluate_ranking`: the order against what readers chose later, part by part."""

import json
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from config.arguments import whole_number
from config.evaluation.ranking_data import NAMES, data_read
from config.evaluation.ranking_rows import rows_of
from config.evaluation.ranking_topics import TOPICS, topics_measured
from config.evaluation.ranking_world import World

READERS = 300


class Command(BaseCommand):
    """Exit code 1 when a target is missed, 2 without data. Reads files only, writes nothing."""

    help = "Rank open histories by the product's score and by its baselines (needs TIDINGS_DATA)."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Which data, how many readers, in which form to report."""
        parser.add_argument("--seed", type=int, default=1, help="the seed of everything random (default 1)")
        parser.add_argument("--full", action="store_true", help="all readers instead of a sample")
        parser.add_argument(
            "--readers", type=whole_number(1), default=READERS, help=f"readers a data set (default {READERS})"
        )
        parser.add_argument(
            "--data", nargs="+", choices=(*NAMES, TOPICS), default=[*NAMES, TOPICS], help="default: all"
        )
        parser.add_argument(
            "--development", action="store_true", help="the half of the readers that numbers are tuned on"
        )
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Measure, report, and leave with 1 when a target is missed."""
        if not settings.TIDINGS_DATA:
            raise CommandError("Set TIDINGS_DATA to the folder of open data sets.", returncode=2)
        began, folder, seed = time.monotonic(), Path(settings.TIDINGS_DATA), options["seed"]
        rows: list[dict[str, Any]] = []
        targets: list[dict[str, Any]] = []
        for name in options["data"]:
            found = self._measure(name, folder, seed, options)
            rows += found[0]
            targets += found[1]
            self.stderr.write(f"{name}: done after {time.monotonic() - began:.0f} s")
        report = {
            "command": "evaluate_ranking",
            "data": ", ".join(options["data"]),
            "half": "development" if options["development"] else "report",
            "seed": seed,
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

    def _measure(
        self, name: str, folder: Path, seed: int, options: dict[str, Any]
    ) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
        if name == TOPICS:
            return topics_measured(folder, seed=seed)
        readers = 0 if options["full"] else options["readers"]
        data = data_read(name, folder, seed=seed, readers=readers, development=options["development"])
        return rows_of(World(data), seed=seed)
