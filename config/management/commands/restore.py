"""`manage.py restore`: read a backup into this database, SQLite or PostgreSQL."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import connection

from config.backup import ArchiveError, archive_manifest, archive_read
from ranking.common.commands import database_label
from ranking.common.start import SettingsCommand


class Command(SettingsCommand):
    """Restore a backup. Exit codes: 0 restored, 1 refused, nothing changed, 2 wrong usage or unconfirmed."""

    help = "Read a backup into this database and compare every table with it. All or nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add FILE, `--replace`, `--yes` and `--json`."""
        parser.add_argument("file", type=Path, help="An archive that `backup` wrote.")
        parser.add_argument("--replace", action="store_true", help="Delete all rows of the database first.")
        parser.add_argument("--yes", action="store_true", help="Do not ask for confirmation.")
        parser.add_argument("--json", action="store_true", help="Print the manifest as one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Check the archive, ask for confirmation, restore, compare."""
        self.stderr.write(f"Into: {database_label()}.", style_func=str)
        if not options["file"].is_file():
            raise CommandError(f"There is no file “{options['file']}”.", returncode=2)
        try:
            manifest = archive_manifest(options["file"])
            if options["replace"] and not options["yes"]:
                _confirm(manifest)
            archive_read(options["file"], replace=options["replace"])
        except ArchiveError as refused:
            raise CommandError(f"{refused.code}: {refused.message}", returncode=1) from refused
        if options["json"]:
            self.stdout.write(json.dumps(manifest))
            return
        rows = sum(table["rows"] for table in manifest["tables"].values())
        tables = len(manifest["tables"])
        self.stdout.write(f"{rows:,} rows of {tables} tables restored; counts and hashes agree.")


def _confirm(manifest: dict[str, Any]) -> None:
    """Ask for confirmation on a terminal. Raises `CommandError` (exit code 2) without one or a “yes”."""
    if not sys.stdin.isatty():
        raise CommandError("--replace deletes all existing rows: confirm it with --yes.", returncode=2)
    name = connection.settings_dict["NAME"]
    question = f"Delete everything in “{name}” and restore the backup of {manifest['made_at']}? [yes/no] "
    if input(question).strip().casefold() != "yes":
        raise CommandError("Nothing was changed.", returncode=2)
