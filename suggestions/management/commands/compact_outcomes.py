"""`manage.py compact_outcomes`: archive the heavy fields of long histories."""

import json
import time
from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from ranking.common.start import SettingsCommand
from suggestions.outcomes.services import outcomes_compact


class Command(SettingsCommand):
    """Exit code 0, also where nothing was left to do. It may run at any time and any number of times."""

    help = "Archive the heavy fields of outcomes older than 30 days, for readers with over 100 decisions."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add `--json`."""
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Compact, with progress on a terminal, and report."""
        began = time.monotonic()
        done = outcomes_compact(now=timezone.now(), progress=self._progress)
        done["seconds"] = round(time.monotonic() - began, 3)
        if options["json"]:
            self.stdout.write(json.dumps(done))
            return
        self.stdout.write(
            f"{done['archived']} outcomes of {done['readers']} long histories archived, "
            f"{done['profiles']} profiles brought up to date."
        )

    def _progress(self, done: int, readers: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{done}/{readers}", ending="" if done < readers else "\n")
