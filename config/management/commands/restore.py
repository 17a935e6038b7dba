"""`manage.py restore`: a backup into this database, whichever kind wrote it."""

import json
import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection

from config.archive import ArchiveRefused, archive_manifest, archive_read
from digest.databases import database_told


class Command(BaseCommand):
    """Exit codes: 0 restored and compared, 1 refused with nothing changed, 2 no such file, wrong usage or
    not confirmed."""

    help = "Put a backup into this database and compare every table with it. All or nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """Which archive, and whether it may replace what is there."""
        parser.add_argument("file", type=Path, help="an archive written by `backup`")
        parser.add_argument("--replace", action="store_true", help="delete what the database holds now")
        parser.add_argument("--yes", action="store_true", help="do not ask before that")
        parser.add_argument("--json", action="store_true", help="print the manifest as one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        """Look, ask, restore, compare."""
        self.stderr.write(f"Into: {database_told()}.", style_func=str)
        if not options["file"].is_file():
            raise CommandError(f"There is no file “{options['file']}”.", returncode=2)
        try:
            manifest = archive_manifest(options["file"])
            if options["replace"] and not options["yes"]:
                self._ask(manifest)
            archive_read(options["file"], replace=options["replace"])
        except ArchiveRefused as refused:
            raise CommandError(f"{refused.code}: {refused.message}", returncode=1) from refused
        if options["json"]:
            self.stdout.write(json.dumps(manifest))
            return
        rows = sum(table["rows"] for table in manifest["tables"].values())
        tables = len(manifest["tables"])
        self.stdout.write(f"{rows:,} rows of {tables} tables restored; counts and hashes agree.")

    def _ask(self, manifest: dict[str, Any]) -> None:
        """Deleting a database is confirmed in words, or on the command line where nobody can be asked."""
        if not sys.stdin.isatty():
            raise CommandError("--replace deletes what is there now: confirm it with --yes.", returncode=2)
        name = connection.settings_dict["NAME"]
        made = manifest["made_at"]
        answer = input(f"Delete everything in “{name}” and put in the backup of {made}? [yes/no] ")
        if answer.strip().casefold() != "yes":
            raise CommandError("Nothing was changed.", returncode=2)
