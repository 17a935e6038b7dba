"""`manage.py import_records`: readers' histories from preference records."""

import json
import time
from typing import Any

from django.core.management.base import CommandParser
from django.utils import timezone

from digest.feedback.transfer import RecordsReport, records_import
from ranking.common.commands import line_arguments, lines_open, rejected_exit, rejects_words
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Import histories from preference records. Bad lines are listed and stored.

    Exit code 1 if lines or thumbs were rejected; all others are imported.
    """

    help = "Import readers' histories from preference records. Rejected lines go to a file of their own."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: the file, the file for rejected lines, and the form of the output."""
        line_arguments(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        """Import, then report."""
        started = time.monotonic()
        with lines_open(options, "records.rejects") as (lines, rejects):
            report = records_import(lines=lines, now=timezone.now(), rejects=rejects)
        written = str(rejects.path) if rejects.written else None
        body = _body(report) | {"rejects_file": written, "seconds": round(time.monotonic() - started, 3)}
        self.stdout.write(json.dumps(body) if options["json"] else _words(body))
        rejected_exit(body["rejected"] + body["thumbs_rejected"], "all others are imported")


def _body(report: RecordsReport) -> dict[str, Any]:
    counts = report.thumbs.as_dict()
    names = ("imported", "updated", "unchanged", "readers", "sources", "items", "reader_ids")
    return {
        "lines": report.lines,
        "records": report.records,
        "rejected": report.rejected,
        "thumbs_rejected": report.thumbs.rejected,
        "rejects": [{"line": n, "code": code, "reason": reason} for n, code, reason in report.rejects],
    } | {name: counts[name] for name in names}


def _words(body: dict[str, Any]) -> str:
    head = (
        "{lines} lines: {records} records, {rejected} rejected; {imported} thumbs imported, {updated} "
        "updated, {unchanged} unchanged; {readers} readers, {sources} new sources, {items} new items, "
        "{seconds} s."
    ).format(**body)
    bad = [f"  line {row['line']}: {row['reason']} [{row['code']}]" for row in body["rejects"]]
    return "\n".join([head, *bad, *rejects_words(body["rejects_file"])])
