"""`manage.py import_feedback`: readers' histories from JSON Lines."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import Any, TextIO

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from digest.services.importing import ImportReport, feedback_import


class Command(BaseCommand):
    """Import thumbs with their items, sources and readers. Bad lines are listed; the rest goes in."""

    help = "Import readers' histories: one JSON object a line, from FILE or - for standard input."

    def add_arguments(self, parser: CommandParser) -> None:
        """The file, where rejected lines go, and in which form to report."""
        parser.add_argument("file", metavar="FILE", help="JSON Lines, or - for standard input")
        parser.add_argument(
            "--rejects",
            type=Path,
            metavar="PATH",
            help="where rejected lines go (FILE.rejects; made at need)",
        )
        parser.add_argument("--json", action="store_true", help="one JSON object on stdout")

    def handle(self, *args: Any, **options: Any) -> None:
        """Import, then report."""
        started = time.monotonic()
        name = options["file"]
        rejects = LazyFile(
            options["rejects"] or Path("feedback.rejects" if name == "-" else f"{name}.rejects")
        )
        progress = self._progress if sys.stderr.isatty() else _quiet
        try:
            with lines_of(name) as lines, rejects as file:
                report = feedback_import(lines=lines, now=timezone.now(), rejects=file, progress=progress)
        except OSError as error:
            raise CommandError(
                f"“{error.filename}” cannot be used ({error.strerror}).", returncode=2
            ) from error
        seconds = round(time.monotonic() - started, 3)
        written = str(rejects.path) if rejects.written else None
        whole = json.dumps(report.as_dict() | {"rejects_file": written, "seconds": seconds})
        self.stdout.write(whole if options["json"] else _words(report, written, seconds))

    def _progress(self, lines: int) -> None:
        self.stderr.write(f"\r  {lines:,} lines", ending="")


class LazyFile:
    """A text file that comes into being with its first line; only its `write` is a file's."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: TextIO | None = None

    @property
    def written(self) -> bool:
        """Whether there was anything to write."""
        return self._file is not None

    def write(self, text: str) -> int:
        """Append `text`, replacing what an earlier run left at the first call."""
        if self._file is None:
            self._file = self.path.open("w", encoding="utf-8", errors="surrogateescape")
        return self._file.write(text)

    def __enter__(self) -> "LazyFile":
        return self

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            self._file.close()


@contextmanager
def lines_of(name: str) -> Iterator[TextIO]:
    """The input line by line, without a byte order mark; bytes that are no UTF-8 spoil their line alone."""
    if name == "-":
        if isinstance(sys.stdin, TextIOWrapper):
            sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
        yield sys.stdin
        return
    with open(name, encoding="utf-8-sig", errors="surrogateescape") as file:
        yield file


def _quiet(lines: int) -> None:
    """Show no progress where nobody watches."""


def _words(report: ImportReport, rejects_file: str | None, seconds: float) -> str:
    sums = report.as_dict()
    head = (
        "{lines} lines: {imported} thumbs imported, {updated} updated, {unchanged} unchanged, "
        "{rejected} rejected; {readers} readers, {sources} new sources, {items} new items"
    ).format(**sums)
    bad = [f"  line {number}: {reason} [{code}]" for number, code, reason in report.rejects]
    return "\n".join(
        [f"{head}, {seconds} s.", *bad, *([f"  All of them: {rejects_file}"] if rejects_file else [])]
    )
