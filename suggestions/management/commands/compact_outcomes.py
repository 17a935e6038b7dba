"""`manage.py compact_outcomes`: archive the heavy fields of long histories."""

import json
import time
from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from ranking.common.isolation import failures_collected
from ranking.common.start import SettingsCommand
from suggestions.outcomes.services import outcomes_compact


class Command(SettingsCommand):
    """It may run at any time and any number of times. Exit code 1 if it failed for a reader, else 0."""

    help = "Archive the heavy fields of outcomes older than 30 days, for readers with over 100 decisions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add `--json`."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compact, with progress on a terminal, and report."""
        began = time.monotonic()
        with failures_collected() as failed:
            done = outcomes_compact(now=timezone.now(), progress=self._progress) | failed.as_dict()
        done["seconds"] = round(time.monotonic() - began, 3)
        if options["json"]:
            self.stdout.write(json.dumps(done))
            return failed.exit_if_any()
        self.stdout.write(
            f"{done['archived']} old outcomes of {done['readers']} readers archived; "
            f"{done['profiles']} profiles of readers brought up to date."
        )
        failed.exit_if_any()

    def _progress(self, done: int, readers: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{done}/{readers}", ending="" if done < readers else "\n")
