"""`manage.py run_nightly`: what is left of the night's work, now."""

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from config.models import NightlyReport
from config.nightly import nightly_run
from config.nights import nightly_as_dict


class Command(BaseCommand):
    """The seven steps of the night, those that are not done yet; exit code 1 where one failed."""

    help = (
        "Do what is left of today's (UTC) night: fetch, cluster, summarise, learn, digests, deliver, advise."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Again or not, in which form."""
        parser.add_argument("--force", action="store_true", help="do a night that is over again")
        parser.add_argument("--json", action="store_true", help="one JSON object on stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run, then print the report."""
        row = nightly_run(now=timezone.now(), force=options["force"])
        report = nightly_as_dict(row)
        self.stdout.write(json.dumps(report) if options["json"] else _table(report))
        if row.status == NightlyReport.Status.FAILED:
            raise CommandError("A step of the night failed; the report says which, the log why.")


def _table(report: dict[str, Any]) -> str:
    head = f"night of {report['day']}: {report['status']} in {report['seconds']:.1f} s"
    return "\n".join([head, *map(_line, report["steps"])])


def _line(step: dict[str, Any]) -> str:
    counts = ", ".join(f"{name} {value}" for name, value in step.get("counts", {}).items())
    said = step.get("error") or counts
    return f"{step['name']:>10}  {step['status']:<7}  {step.get('seconds', 0.0):7.1f} s  {said}"
