"""`manage.py run_nightly`: what is left of the night's work, now."""

import json
from datetime import UTC
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from config.models import NightlyReport
from config.nightly import nightly_run
from config.nightly_lease import NotHeld, night_release
from config.nights import STEP_NAMES, night_retry_at, nightly_as_dict
from digest.databases import database_told

# What a step says of itself, where it says nothing yet.
UNKNOWN: dict[str, Any] = {"status": "waiting"} | dict.fromkeys(("started_at", "seconds", "counts", "error"))
NO_TAKE_OVER = " --force does not take over from a worker that is at it; --release REASON does."
RELEASED = "The night of {day} is released. A worker goes on with it at its next look, or `run_nightly` now."


class Command(BaseCommand):
    """The seven steps of the night, those that are not done yet or failed; exit code 1 where one failed, or
    where another worker is at them."""

    help = (
        "Do what is left of today's (UTC) night: fetch, cluster, summarise, learn, digests, deliver, advise."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Again or not, in which form."""
        parser.add_argument("--force", action="store_true", help="do a night that is over again, every step")
        parser.add_argument(
            "--release", metavar="REASON", help="take the night from a worker that holds it; run nothing"
        )
        parser.add_argument("--json", action="store_true", help="one JSON object on stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        """Release the night, or run it and print the report."""
        self.stderr.write(f"On: {database_told()}.", style_func=str)
        if options["release"] is not None:
            self.stdout.write(_release(options["release"].strip()))
            return
        began: list[bool] = []

        def stopping() -> bool:  # asked before each step, and only by whoever got hold of the night
            began.append(True)
            return False

        row = nightly_run(now=timezone.now(), force=options["force"], by_hand=True, stopping=stopping)
        report = {**nightly_as_dict(row), "steps": _steps(row), "ran": bool(began)}
        self.stdout.write(json.dumps(report) if options["json"] else _table(row, report))
        if row.status == NightlyReport.Status.RUNNING:
            raise CommandError(_held(row) + (NO_TAKE_OVER if options["force"] else ""))
        if row.status == NightlyReport.Status.FAILED:
            raise CommandError(_failed(row))


def _release(reason: str) -> str:
    """Release today's night. Raises `CommandError` without a reason, or where nobody holds it."""
    now = timezone.now()
    if not reason:
        raise CommandError("Say why the night is released, as in --release 'its machine is gone'.")
    try:
        row = night_release(day=now.astimezone(UTC).date(), reason=reason, actor="run_nightly", now=now)
    except NotHeld as error:
        raise CommandError(str(error)) from error
    return RELEASED.format(day=row.day)


def _failed(row: NightlyReport) -> str:
    at = night_retry_at(row)
    then = (
        f"It is tried again from {at.astimezone(UTC):%H:%M} UTC on"
        if at
        else "It is not tried again by itself"
    )
    return (
        f"A step of the night failed; the report says which, the log why. {then}; `run_nightly` does so now."
    )


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
