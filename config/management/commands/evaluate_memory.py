"""`manage.py evaluate_memory`: what remembering costs, and whether the outcome check tells good from bad."""

import json
import sys
import time
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand

from config.arguments import whole_number
from config.memory_bench.measures import effects_measure, retrieval_measure, targets_of


class Command(BaseCommand):
    """Exit code 1 when a target is missed. Everything happens in transactions that are undone."""

    help = "Measure three-layer retrieval against fetching all, and the outcome check on simulated readers."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How much to simulate, from which seed, in which form to report."""
        parser.add_argument("--seed", type=int, default=1, help="the seed of everything random (default 1)")
        parser.add_argument(
            "--readers",
            type=whole_number(0),
            default=40,
            help="simulated readers of each kind (default 40); 0: retrieval only",
        )
        parser.add_argument("--full", action="store_true", help="five times as many readers")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Measure, report, and leave with 1 when a target is missed."""
        began = time.monotonic()
        seed, readers = options["seed"], options["readers"] * (5 if options["full"] else 1)
        rows = retrieval_measure(seed=seed)
        rows += effects_measure(seed=seed, readers=readers, progress=self._progress)
        targets = targets_of(rows)
        report = {
            "command": "evaluate_memory",
            "data": f"a made-up history of 100 decisions; {readers} simulated readers of each kind",
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

    def _progress(self, done: int, total: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{done}/{total} readers", ending="" if done < total else "\n")
