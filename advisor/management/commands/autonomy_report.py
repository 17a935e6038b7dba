"""`manage.py autonomy_report`: the goals that the advisor must meet before it could act on its own."""

import json
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.utils import timezone

from advisor.audit.autonomy import autonomy_record, goals_of, report_of
from digest.llm.client import chain_configured
from ranking.common.start import SettingsCommand

DAYS_MAX = 36_500


class Command(SettingsCommand):
    """Print the report; exit code 0 even if a goal is not met, or not measured for want of a model."""

    help = "Report approvals, corrections, agreement and first-pass rate against their goals."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Add the period and the form of the report."""
        parser.add_argument("--days", type=_days, metavar="N", help="Report only the last N days.")
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Count and print."""
        record = autonomy_record(now=timezone.now(), days=options["days"])
        if options["json"]:
            self.stdout.write(json.dumps(report_of(record, days=options["days"])))
            return
        has_none = not record.proposals and not chain_configured()
        for goal in goals_of(record):
            if has_none:
                self.stdout.write(f"{goal.words}: not measured, no model is configured; goal {goal.target}")
                continue
            met = "met" if goal.met else "not measured yet" if goal.value is None else "not met"
            self.stdout.write(f"{goal.words}: {goal.shown} ({goal.basis}); goal {goal.target}: {met}")


def _days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= DAYS_MAX:
        raise ArgumentTypeError(f"“{text}” is not a number of days from 1 to {DAYS_MAX:,}.")
    return int(text)
