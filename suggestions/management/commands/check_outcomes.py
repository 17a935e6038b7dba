"""`manage.py check_outcomes`: judge the changes accepted two weeks ago."""

import json
import time
from argparse import ArgumentParser
from typing import Any

from django.utils import timezone

from ranking.common.start import SettingsCommand
from suggestions.outcomes.check import effects_check


class Command(SettingsCommand):
    """Exit code 0, also where nothing was due. It may run at any time and any number of times."""

    help = "Judge each accepted change of two weeks ago or more: helped, harmed or unclear."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add `--json`."""
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check the due changes, with progress on a terminal, and report."""
        began = time.monotonic()
        found = effects_check(now=timezone.now(), progress=self._progress)
        found["seconds"] = round(time.monotonic() - began, 3)
        if options["json"]:
            self.stdout.write(json.dumps(found))
            return
        verdicts = ", ".join(f"{found[name]} {name}" for name in ("helped", "harmed", "unclear"))
        self.stdout.write(f"{found['checked']} of {found['due']} due changes checked: {verdicts}.")

    def _progress(self, done: int, due: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{done}/{due}", ending="" if done < due else "\n")
