"""`manage.py run_nightly`: what is left of the night's work, now."""

import json
from datetime import UTC
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from config.models import NightlyReport
from config.nightly import nightly_run
from config.nights import STEP_NAMES, nightly_as_dict

# What a step says of itself, where it says nothing yet.
UNKNOWN: dict[str, Any] = {"status": "waiting"} | dict.fromkeys(("started_at", "seconds", "counts", "error"))
NO_TAKE_OVER = " --force does not take over from a worker that is at it."


class Command(BaseCommand):
    """The seven steps of the night, those that are not done yet; exit code 1 where one failed, or where
    another worker is at them."""

    help = (
        "Do what is left of today's (UTC) night: fetch, cluster, summarise, learn, digests, deliver, advise."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Again or not, in which form."""
        parser.add_argument("--force", action="store_true", help="do a night that is over again")
        parser.add_argument("--json", action="store_true", help="one JSON object on stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run, then print the report."""
        began: list[bool] = []

        def stopping() -> bool:  # asked before each step, and only by whoever got hold of the night
            began.append(True)
            return False

        row = nightly_run(now=timezone.now(), force=options["force"], stopping=stopping)
        report = {**nightly_as_dict(row), "steps": _steps(row), "ran": bool(began)}
        self.stdout.write(json.dumps(report) if options["json"] else _table(row, report))
        if row.status == NightlyReport.Status.RUNNING:
            raise CommandError(_held(row) + (NO_TAKE_OVER if options["force"] else ""))
        if row.status == NightlyReport.Status.FAILED:
            raise CommandError("A step of the night failed; the report says which, the log why.")


def _steps(row: NightlyReport) -> list[dict[str, Any]]:
    """All seven, those that did not begin too."""
    return [{"name": name, **UNKNOWN, **row.steps.get(name, {})} for name in STEP_NAMES]


def _held(row: NightlyReport) -> str:
    until = row.lease_until and f" until {row.lease_until.astimezone(UTC):%H:%M} UTC"
    return f"The night of {row.day} is held by another worker{until or ''}."


def _table(row: NightlyReport, report: dict[str, Any]) -> str:
    head = f"night of {report['day']}: {report['status']} in {report['seconds']:.1f} s"
    if not report["ran"] and row.finished_at:
        over = f"{row.finished_at.astimezone(UTC):%H:%M} UTC"
        head = f"The night of {report['day']} was over at {over} ({row.status}); --force does it again."
    return "\n".join([head, *map(_line, report["steps"])])


def _line(step: dict[str, Any]) -> str:
    counts = ", ".join(f"{name} {value}" for name, value in (step["counts"] or {}).items())
    said = step["error"] or counts
    return f"{step['name']:>10}  {step['status']:<7}  {step['seconds'] or 0.0:7.1f} s  {said}".rstrip()
