"""`manage.py import_feedback`: readers' histories from JSON Lines."""

import json
import sys
import time
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from digest.feedback.transfer import ImportReport, feedback_import
from digest.requests import readers_named
from ranking.common.commands import line_arguments, lines_open, rejected_exit, rejects_words
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Import ratings with their items, sources and readers.

    Exit code 1 if lines were rejected; all others are imported.
    """

    help = "Import readers' histories, one JSON object a line. Rejected lines go to a file of their own."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: file, accounts to import for, file for rejected lines, form of output."""
        line_arguments(parser)
        parser.add_argument(
            "--reader",
            action="append",
            default=[],
            metavar="NAME",
            help="An account that exists already and whose ratings the file may hold. Repeat it for several.",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Import, then report."""
        started = time.monotonic()
        for name in options["reader"]:
            readers_named(name)  # refuses one that is mistyped before a line is read
        progress = self._progress if sys.stderr.isatty() else _no_progress
        with lines_open(options, "feedback.rejects") as (lines, rejects):
            report = feedback_import(
                lines=lines,
                now=timezone.now(),
                readers=options["reader"],
                rejects=rejects,
                progress=progress,
            )
        seconds = round(time.monotonic() - started, 3)
        written = str(rejects.path) if rejects.written else None
        whole = json.dumps(report.as_dict() | {"rejects_file": written, "seconds": seconds})
        self.stdout.write(whole if options["json"] else _words(report, written, seconds))
        rejected_exit(report.rejected, "all other lines are imported")

    def _progress(self, lines: int) -> None:
        self.stderr.write(f"\r  {lines:,} lines", ending="")


def _no_progress(lines: int) -> None:
    """Do nothing: without a terminal no progress is shown."""


def _words(report: ImportReport, rejects_file: str | None, seconds: float) -> str:
    sums = report.as_dict()
    head = (
        "{lines} lines: {imported} thumbs imported, {updated} updated, {unchanged} unchanged, "
        "{rejected} rejected; {readers} readers, {sources} new sources, {items} new items"
    ).format(**sums)
    bad = [f"  line {number}: {reason} [{code}]" for number, code, reason in report.rejects]
    return "\n".join([f"{head}, {seconds} s.", *bad, *rejects_words(rejects_file)])
