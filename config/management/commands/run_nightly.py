"""`manage.py run_nightly`: run the remaining nightly steps now."""

import json
from datetime import UTC, datetime
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.jobs.lease import STEP_NAMES, NightNotLeased, night_release, night_retry_at, nightly_as_dict
from config.jobs.night_words import step_state, step_words
from config.jobs.nightly import nightly_run
from config.models import NightlyReport
from ranking.common.commands import database_label
from ranking.common.start import FailureReported, SettingsCommand

# The report of a step that has not begun.
WAITING: dict[str, Any] = {"status": "waiting"} | dict.fromkeys(("started_at", "seconds", "counts", "error"))
WAY_ON = (
    "The night of {day} is held by another worker{until}. Wait for its end{force}. Only if that worker is "
    "dead, take the night from it: run_nightly --release REASON, then run_nightly."
)
RELEASED = "The night of {day} is released. A worker continues it within a minute, or `run_nightly` now."


class Command(SettingsCommand):
    """Run the steps of the night that have not succeeded.

    Exit code 1 if a step failed or another worker holds the night.
    """

    help = "Run the steps of today's night (UTC) that are left, from fetching to advice."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add `--force`, `--release REASON` and `--json`."""
        parser.add_argument("--force", action="store_true", help="Repeat every step of a finished night.")
        parser.add_argument(
            "--release",
            metavar="REASON",
            help="Take the night from the worker that holds it, for this reason, and run nothing.",
        )
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Release the night, or run it and print the report."""
        self.stderr.write(f"On: {database_label()}.", style_func=str)
        if options["release"] is not None:
            self.stdout.write(_release(options["release"].strip()))
            return
        began: list[bool] = []

        def stopping() -> bool:  # called before each step, but only if we hold the night
            began.append(True)
            return False

        row = nightly_run(now=timezone.now(), force=options["force"], manual=True, stopping=stopping)
        steps = [{"name": name, **WAITING, **row.steps.get(name, {})} for name in STEP_NAMES]
        report = {**nightly_as_dict(row), "steps": steps, "ran": bool(began)}
        self.stdout.write(json.dumps(report) if options["json"] else _table(row, report))
        if row.status == NightlyReport.Status.RUNNING:
            until = f" until {_utc(row.lease_until)} UTC" if row.lease_until else ""
            force = ": --force does not take over from a worker" if options["force"] else ""
            raise FailureReported(WAY_ON.format(day=row.day, until=until, force=force))
        if row.status == NightlyReport.Status.FAILED:
            at = night_retry_at(row)
            retry = f"tried again from {_utc(at)} UTC on" if at else "not tried again by itself"
            text = "A step of the night failed; the report says which, the log why."
            raise FailureReported(f"{text} It is {retry}; `run_nightly` does so now.")


def _release(reason: str) -> str:
    """Release today's night. Raises `CommandError` without a reason, or if no worker holds the night."""
    now = timezone.now()
    if not reason:
        raise CommandError("Say why the night is released, as in --release 'its machine is gone'.")
    try:
        row = night_release(day=now.astimezone(UTC).date(), reason=reason, actor="run_nightly", now=now)
    except NightNotLeased as error:
        raise CommandError(str(error)) from error
    return RELEASED.format(day=row.day)


def _utc(at: datetime) -> str:
    return f"{at.astimezone(UTC):%H:%M}"


def _table(row: NightlyReport, report: dict[str, Any]) -> str:
    lines = [f"night of {report['day']}: {report['status']} in {report['seconds']:.1f} s"]
    if not report["ran"] and row.finished_at:
        over = f"was over at {_utc(row.finished_at)} UTC ({row.status})"
        lines = [f"The night of {report['day']} {over}; --force does it again."]
    for step in report["steps"]:
        state = step_state(step["name"], step["status"], step["counts"] or {})
        text = step["error"] or step_words(step["name"], step["counts"] or {})
        seconds = step["seconds"] or 0.0
        lines.append(f"{step['name']:>10}  {state:<9}  {seconds:7.1f} s  {text}".rstrip())
    return "\n".join(lines)
