"""`manage.py backup`: the whole database in one file."""

import json
import os
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from config.archive import archive_write
from config.ending import ended_in_order
from digest.databases import database_told

# Of its owner alone: it holds what everybody reads and thinks, and the hashes of their passwords.
PRIVATE_UMASK = 0o077
NOBODY = (
    "WARNING: this database has no readers. If that is not so, DATABASE_URL was not read: with the systemd "
    "units take `deploy/tidings backup`, else see TIDINGS_ENV_FILE."
)


class Command(BaseCommand):
    """Exit codes: 0 written, 2 the file cannot be written. The site may go on working meanwhile."""

    help = "Write everything the database holds to one file, for `restore` on either kind of database."

    def add_arguments(self, parser: CommandParser) -> None:
        """Where to."""
        parser.add_argument("file", type=Path, help="the archive to write (a zip)")
        parser.add_argument("--json", action="store_true", help="print the manifest as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write it, and say what is in it."""
        path: Path = options["file"]
        self.stderr.write(f"From: {database_told()}.", style_func=str)
        before = os.umask(PRIVATE_UMASK)
        try:
            with ended_in_order():
                manifest = archive_write(path, now=timezone.now())
        except OSError as error:
            raise CommandError(f"“{path}” cannot be written ({error.strerror}).", returncode=2) from error
        finally:
            os.umask(before)
        if not manifest["tables"]["digest.reader"]["rows"]:
            self.stderr.write(NOBODY)
        if options["json"]:
            self.stdout.write(json.dumps(manifest))
            return
        rows = sum(table["rows"] for table in manifest["tables"].values())
        size = path.stat().st_size
        self.stdout.write(f"{rows:,} rows of {len(manifest['tables'])} tables in “{path}” ({size:,} bytes).")
        self.stdout.write("The secret key and the settings are not in it: keep them beside it.")
