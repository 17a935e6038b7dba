"""`manage.py import_opml`: a reader's feeds from an OPML list."""

import json
import sys
import time
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from digest.errors import DigestError
from digest.requests import reader_argument_add, readers_named
from digest.sources.opml import OPML_BYTES_MAX
from digest.sources.subscriptions import OpmlReport, opml_import
from ranking.common.commands import rejected_exit
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Subscribe one reader to the feeds of an OPML list.

    Exit code 1 if lines were refused; all others are imported.
    """

    help = "Import an OPML list for one reader. Nothing is fetched now: the next fetch takes the new feeds."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options: the file, the reader, and form of output."""
        parser.add_argument("file", metavar="FILE", help="The OPML list, or - for standard input.")
        reader_argument_add(parser)
        parser.add_argument("--json", action="store_true", help="Print one JSON object instead of a report.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import, then report. A file that cannot be used is an error with exit code 2."""
        started = time.monotonic()
        (reader,) = readers_named(options["user_id"])
        try:
            report = opml_import(reader=reader, document=_read(options["file"]), now=timezone.now())
        except OSError as error:
            raise CommandError(
                f"“{error.filename}” cannot be used ({error.strerror}).", returncode=2
            ) from error
        except DigestError as error:
            raise CommandError(f"{error.message} [{error.code}]", returncode=2) from error
        whole = report.as_dict() | {"seconds": round(time.monotonic() - started, 3)}
        self.stdout.write(json.dumps(whole) if options["json"] else _words(report))
        rejected_exit(report.refused, "all other feeds are imported")


def _read(name: str) -> bytes:
    if name == "-":
        return sys.stdin.buffer.read(OPML_BYTES_MAX + 1)
    with Path(name).open("rb") as file:
        return file.read(OPML_BYTES_MAX + 1)


def _words(report: OpmlReport) -> str:
    head = (
        "{found} feeds found: {added} added, {already} read already, {duplicates} listed twice; "
        "{refused} refused; {folders} folders."
    ).format(**report.as_dict())
    return "\n".join([head, *(f"  line {r.line}: {r.reason} [{r.code}] {r.what}" for r in report.rejects)])
