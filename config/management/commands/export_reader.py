"""`manage.py export_reader`: export everything about one reader as one JSON object."""

import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.export import reader_export_stream
from digest.requests import reader_argument_add, readers_named
from ranking.common.start import SettingsCommand

# Only the owner may read the file, because it has everything about a reader.
PRIVATE = 0o600
FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


class Command(SettingsCommand):
    """Write the reader's download of the account page. It has no password, hash or secret address."""

    help = "Export everything about one reader as JSON (the reader's own download)."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the reader and `--out FILE`."""
        reader_argument_add(parser)
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help="The file to write. Default: standard output."
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the export piece by piece."""
        (reader,) = readers_named(options["user_id"])
        pieces = reader_export_stream(reader=reader, now=timezone.now())
        if options["out"] is None:
            for piece in pieces:
                self.stdout.write(piece, ending="")
            return
        try:
            with os.fdopen(os.open(options["out"], FLAGS, PRIVATE), "w", encoding="utf-8") as file:
                os.fchmod(file.fileno(), PRIVATE)  # also on a file that existed
                file.writelines(pieces)
                size = file.tell()
        except OSError as error:
            raise CommandError(
                f"“{options['out']}” cannot be written ({error.strerror}).", returncode=2
            ) from error
        self.stderr.write(f"Everything about {reader.username} is in “{options['out']}” ({size:,} bytes).")
