"""`manage.py export_reader`: everything about one reader as one JSON object."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from config.export import reader_export_stream
from digest.readers import reader_id_argument, readers_named


class Command(BaseCommand):
    """Write what the reader's own download on the account page holds: no password, hash or secret address."""

    help = "Export everything about one reader as JSON (the reader's own download)."

    def add_arguments(self, parser: CommandParser) -> None:
        """Who, and where to."""
        parser.add_argument("--user-id", type=reader_id_argument, metavar="UUID", required=True)
        parser.add_argument("--out", type=Path, metavar="FILE", help="default: standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write it piece by piece."""
        (reader,) = readers_named(options["user_id"])
        pieces = reader_export_stream(reader=reader, now=timezone.now())
        if options["out"] is None:
            for piece in pieces:
                self.stdout.write(piece, ending="")
            return
        try:
            with options["out"].open("w", encoding="utf-8") as file:
                file.writelines(pieces)
        except OSError as error:
            raise CommandError(
                f"“{options['out']}” cannot be written ({error.strerror}).", returncode=2
            ) from error
