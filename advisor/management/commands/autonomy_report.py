"""`manage.py autonomy_report`: how near the advisor is to being left to itself."""

import json
from argparse import ArgumentParser, ArgumentTypeError
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from advisor.autonomy import autonomy_record
from advisor.goals import goals_of, report_of

DAYS_MAX = 36_500


class Command(BaseCommand):
    """Exit code 0 whatever the goals say: an unmet goal is a finding, no failure."""

    help = "Report approvals, corrections, agreement and first-pass rate against their goals."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """How far back, and in which form."""
        parser.add_argument("--days", type=_days, metavar="N", help="only the last N days")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Count and print."""
        record = autonomy_record(now=timezone.now(), days=options["days"])
        if options["json"]:
            self.stdout.write(json.dumps(report_of(record, days=options["days"])))
            return
        for goal in goals_of(record):
            met = "met" if goal.met else "not met"
            self.stdout.write(f"{goal.words}: {goal.shown} ({goal.basis}); goal {goal.target}: {met}")


def _days(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= DAYS_MAX:
        raise ArgumentTypeError(f"“{text}” is not a number of days from 1 to {DAYS_MAX:,}.")
    return int(text)
