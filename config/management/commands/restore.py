"""`manage.py restore`: read a backup into this database, SQLite or PostgreSQL."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from django.core.management import call_command
from django.core.management.base import CommandError, CommandParser
from django.db import connection
from django.utils import timezone

from advisor.agent.alerts import alert_forget
from config.backup import ArchiveError, archive_manifest, archive_read, archives_near, migrations_unknown
from config.disk import database_file
from ranking.common.commands import database_label
from ranking.common.damage import damage_found
from ranking.common.start import SettingsCommand

# Time to look through 100 GB or more. After it a file counts as whole.
DAMAGE_SEARCH_S: Final = 300
# SQLite's file, its log and the log's index.
PARTS: Final = ("", "-wal", "-shm")
# By the word in the name of the file that is kept.
FLAWS: Final = {"damaged": "damaged", "newer": "of a newer version"}


class Command(SettingsCommand):
    """Restore a backup. With `--replace`, a SQLite file that is damaged or newer is set aside first.

    Exit codes: 0 restored, 1 refused, nothing changed, 2 wrong usage or unconfirmed.
    """

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
            raise CommandError(_missing_words(options["file"]), returncode=2)
        try:
            manifest = archive_manifest(options["file"])
            if options["replace"] and not options["yes"]:
                _confirm(manifest)
            with _set_aside(self.stderr.write if options["replace"] else None):
                archive_read(options["file"], replace=options["replace"])
        except ArchiveError as refused:
            raise CommandError(f"{refused.code}: {refused.message}", returncode=1) from refused
        alert_forget()
        if options["json"]:
            self.stdout.write(json.dumps(manifest))
            return
        rows = sum(table["rows"] for table in manifest["tables"].values())
        tables = len(manifest["tables"])
        self.stdout.write(f"{rows:,} rows of {tables} tables restored; counts and hashes agree.")


@contextmanager
def _set_aside(write: Callable[[str], object] | None) -> Iterator[None]:
    """Give the block an empty migrated database if SQLite's file is damaged or of a newer version than this.

    The old file is kept under another name, and is back if the block fails. Without `write`, change nothing.
    """
    path = database_file()
    if write is None or path is None or not (flaw := _flaw(path)):
        yield
        return
    aside = path.with_name(f"{path.name}.{flaw}-{timezone.now():%Y-%m-%d-%H%M%S}")
    write(f"The database file is {FLAWS[flaw]}. It is kept as “{aside}”.")
    _rename(path, aside)
    try:
        call_command("migrate", verbosity=0)
        yield
    except BaseException:
        _rename(aside, path)
        raise


def _flaw(path: Path) -> str:
    """Return why no archive can be restored into this file, a key of `FLAWS`, or ""."""
    if damage_found(path, seconds=DAMAGE_SEARCH_S):
        return "damaged"
    return "newer" if migrations_unknown() else ""


def _rename(old: Path, new: Path) -> None:
    """Rename a SQLite file with its log. What has the new name already is deleted."""
    connection.close()
    for part in PARTS:
        target = new.with_name(new.name + part)
        target.unlink(missing_ok=True)
        with suppress(FileNotFoundError):
            old.with_name(old.name + part).rename(target)


def _missing_words(path: Path) -> str:
    """Return the refusal of a file that is not there, with the backups beside it."""
    if path.is_dir():
        what, where = f"“{path}” is a folder: name one backup in it", path / "any"
    else:
        what, where = f"There is no file “{path}”", path
    near = archives_near(where)
    return f"{what}{f', such as {near[0]}' if near else ''}."


def _confirm(manifest: dict[str, Any]) -> None:
    """Ask for confirmation on a terminal. Raises `CommandError` (exit code 2) without one or a “yes”."""
    if not sys.stdin.isatty():
        raise CommandError(
            "--replace deletes all existing rows. Nothing was changed: confirm it with --yes.", returncode=2
        )
    name = connection.settings_dict["NAME"]
    question = f"Delete everything in “{name}” and restore the backup of {manifest['made_at']}? [yes/no] "
    if input(question).strip().casefold() != "yes":
        text = "Nothing was changed. To restore, run the command again and type “yes”, or add --yes."
        raise CommandError(text, returncode=2)
