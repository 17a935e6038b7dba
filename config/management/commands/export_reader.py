"""`manage.py export_reader`: export everything about one reader as one JSON object."""

import io
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.backup import part_file
from config.export import reader_export_stream
from digest.requests import reader_argument_add, readers_named
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Write the reader's download of the account page. It has no password, hash or secret address."""

    help = "Export everything about one reader as JSON (the reader's own download)."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the reader, `--out FILE` and `--force`."""
        reader_argument_add(parser)
        parser.add_argument(
            "--out", type=Path, metavar="FILE", help="The file to write. Default: standard output."
        )
        parser.add_argument("--force", action="store_true", help="Replace FILE if it exists.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the export piece by piece."""
        (reader,) = readers_named(options["user_id"])
        pieces = reader_export_stream(reader=reader, now=timezone.now())
        path: Path | None = options["out"]
        if path is None:
            for piece in pieces:
                self.stdout.write(piece, ending="")
            return
        if path.is_file() and not options["force"]:
            text = f"“{path}” exists already, and was kept. Choose another name, or replace it with --force."
            raise CommandError(text, returncode=2)
        try:
            # Only the owner may read the file, because it has everything about a reader.
            with part_file(path) as part:
                file = io.TextIOWrapper(part, encoding="utf-8", write_through=True)
                file.writelines(pieces)
                file.detach()
                size = part.tell()
        except OSError as error:
            raise CommandError(f"“{path}” cannot be written ({error.strerror}).", returncode=2) from error
        self.stderr.write(f"Everything about {reader.username} is in “{path}” ({size:,} bytes).")
