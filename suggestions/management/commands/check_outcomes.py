"""`manage.py check_outcomes`: judge the changes accepted two weeks ago."""

import json
import time
from argparse import ArgumentParser
from collections.abc import Mapping
from typing import Any

from django.utils import timezone

from ranking.common.isolation import failures_collected
from ranking.common.start import SettingsCommand
from suggestions.outcomes.check import effects_check
from suggestions.outcomes.untaken import records_by_kind, untaken_check


class Command(SettingsCommand):
    """It may run at any time and any number of times. Exit code 1 if it failed for a reader, else 0."""

    help = "Judge the changes that were decided or expired two weeks ago or more. Print the record by kind."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add `--json`."""
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check the due changes, with progress on a terminal, and report."""
        began = time.monotonic()
        with failures_collected() as failed:
            untaken = untaken_check(now=timezone.now())
            found = effects_check(now=timezone.now(), progress=self._progress) | failed.as_dict()
        found |= {"untaken": untaken, "by_kind": records_by_kind()}
        found["seconds"] = round(time.monotonic() - began, 3)
        if options["json"]:
            self.stdout.write(json.dumps(found))
            return failed.exit_if_any()
        if found["due"]:
            text = (
                f"{found['checked']} of {found['due']} changes accepted two weeks ago or more were judged: "
            )
            self.stdout.write(text + _verdicts(found))
        else:
            self.stdout.write("No change that was accepted two weeks ago or more waits to be judged.")
        for row in found["by_kind"]:
            kind = row["kind"].replace("_", " ")
            self.stdout.write(f"So far, “{kind}” {row['answer']}: {_verdicts(row)}")
        failed.exit_if_any()

    def _progress(self, done: int, due: int) -> None:
        if self.stderr.isatty():
            self.stderr.write(f"\r{done}/{due}", ending="" if done < due else "\n")


def _verdicts(counts: Mapping[str, Any]) -> str:
    return ", ".join(f"{counts[name]} {name}" for name in ("helped", "harmed", "unclear")) + "."
