"""`manage.py move_data`: copy everything from another database into the one of DATABASE_URL."""

import json
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError, CommandParser
from django.utils import timezone

from config.backup import ArchiveError, data_move
from config.environment import Environment
from ranking.common.commands import database_label, sigterm_as_exit
from ranking.common.start import SettingsCommand

HASH_CHARS = 12


class Command(SettingsCommand):
    """Copy another database into this one. Exit codes: 0 moved, 1 refused, nothing changed, 2 no database."""

    help = "Copy everything from the old database into this one, and compare every table. All or nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the source and `--json`."""
        parser.add_argument(
            "source", help="The old database: an SQLite file, or an address as in DATABASE_URL."
        )
        parser.add_argument("--json", action="store_true", help="Print the manifest as one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Copy, compare, and print each table's rows and hash."""
        self.stderr.write(f"Into: {database_label()}.", style_func=str)
        try:
            with sigterm_as_exit():
                manifest = data_move(source=_database_settings(options["source"]), now=timezone.now())
        except ArchiveError as refused:
            raise CommandError(f"{refused.code}: {refused.message}", returncode=1) from refused
        if options["json"]:
            self.stdout.write(json.dumps(manifest))
            return
        tables: dict[str, dict[str, Any]] = manifest["tables"]
        for name, sums in tables.items():
            if sums["rows"]:
                self.stdout.write(f"{sums['rows']:>12,}  {sums['sha256'][:HASH_CHARS]}  {name}")
        rows = sum(sums["rows"] for sums in tables.values())
        self.stdout.write(
            f"{rows:,} rows of {len(tables)} tables moved; counts and hashes agree on both sides."
        )
        self.stdout.write(
            "The old database is unchanged. Keep it, and SECRET_KEY, until the new one has run for a while."
        )


def _database_settings(source: str) -> dict[str, Any]:
    """Return Django's settings of the old database. Raises `CommandError` (exit code 2)."""
    if "://" not in source:
        path = Path(source).absolute()
        if not path.is_file():
            text = f"There is no file “{source}”: name the old database's file, such as var/tidings.sqlite3."
            raise CommandError(text, returncode=2)
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path), "OPTIONS": {"timeout": 20}}
    try:
        return Environment().database_from_url("The old database", source)
    except ImproperlyConfigured as error:
        raise CommandError(str(error), returncode=2) from error
