"""`manage.py backup`: write the whole database to one file."""

import json
import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.backup import archive_write
from ranking.common.commands import database_label, sigterm_as_exit
from ranking.common.start import SettingsCommand

# Only the owner may read the file, because it has all readers' data and the hashes of their passwords.
PRIVATE_UMASK = 0o077
NO_READERS = (
    "WARNING: this database has no readers. If that is not so, DATABASE_URL was not read: with the systemd "
    "units take `deploy/tidings backup`, else see TIDINGS_ENV_FILE."
)


class Command(SettingsCommand):
    """Write a backup. The site may keep running.

    Exit codes: 0 written, 2 the file cannot be written or exists already.
    """

    help = "Write the whole database to one file, for `restore` into SQLite or PostgreSQL."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add FILE, `--force` and `--json`."""
        parser.add_argument("file", type=Path, help="The archive to write, a zip.")
        parser.add_argument("--force", action="store_true", help="Replace FILE if it exists.")
        parser.add_argument("--json", action="store_true", help="Print the manifest as one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file and print the number of rows and tables."""
        path: Path = options["file"]
        self.stderr.write(f"From: {database_label()}.", style_func=str)
        if path.is_file() and not options["force"]:
            text = f"“{path}” exists already, and was kept. Choose another name, or replace it with --force."
            raise CommandError(text, returncode=2)
        old_umask = os.umask(PRIVATE_UMASK)
        try:
            with sigterm_as_exit():
                manifest = archive_write(path, now=timezone.now())
        except OSError as error:
            raise CommandError(f"“{path}” cannot be written ({error.strerror}).", returncode=2) from error
        finally:
            os.umask(old_umask)
        if not manifest["tables"]["digest.reader"]["rows"]:
            self.stderr.write(NO_READERS)
        if options["json"]:
            self.stdout.write(json.dumps(manifest))
            return
        rows = sum(table["rows"] for table in manifest["tables"].values())
        size = path.stat().st_size
        self.stdout.write(f"{rows:,} rows of {len(manifest['tables'])} tables in “{path}” ({size:,} bytes).")
        self.stdout.write("The secret key and the settings are not in it: store them with it.")
