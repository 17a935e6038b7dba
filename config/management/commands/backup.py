"""`manage.py backup`: write the whole database to one file."""

import errno
import json
import os
import re
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError, CommandParser
from django.db import DatabaseError
from django.utils import timezone

from advisor.run.workers import heartbeat
from advisor.selectors import BACKUP_JOB
from config.backup import archive_write
from ranking.common.commands import database_label, sigterm_as_exit, whole_number
from ranking.common.start import SettingsCommand

# Only the owner may read the file, because it has all readers' data and the hashes of their passwords.
PRIVATE_UMASK = 0o077
NO_READERS = (
    "WARNING: this database has no readers. If that is not so, DATABASE_URL was not read: with the systemd "
    "units take `deploy/tidings backup`, else see TIDINGS_ENV_FILE."
)
# The names that `--keep` gives, and the only ones that it deletes.
DATED = re.compile(r"tidings-\d{4}-\d\d-\d\d-\d{6}\.zip")


def backups_prune(written: Path, *, keep: int) -> None:
    """Delete all but the `keep` newest files that `--keep` wrote to the folder of `written`, the newest.

    Their names sort by time. A file of a later time is none of them: the clock is wrong, or was.
    """
    paths = (path for path in written.parent.iterdir() if DATED.fullmatch(path.name))
    older = sorted(path for path in paths if path.name < written.name)
    for path in older[: max(0, len(older) + 1 - keep)]:
        path.unlink()


def _cure(error: OSError) -> str:
    """Return what to do about an error of the disk or folder."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free space there, or write to another disk"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "name a folder where this user may write"
    return "name a file in a folder that exists" if error.errno == errno.ENOENT else "name another file"


class Command(SettingsCommand):
    """Write a backup. The site may keep running.

    Exit codes: 0 written, 2 the file cannot be written or exists already.
    """

    help = "Write the whole database to one file, for `restore` into SQLite or PostgreSQL."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add FILE, `--keep N`, `--force` and `--json`."""
        parser.add_argument("file", type=Path, help="The archive to write, a zip; with --keep its folder.")
        parser.add_argument(
            "--keep",
            type=whole_number(1),
            metavar="N",
            help="Write a file named after the time into the folder FILE, and delete all but the N newest.",
        )
        parser.add_argument("--force", action="store_true", help="Replace FILE if it exists.")
        parser.add_argument("--json", action="store_true", help="Print the manifest as one JSON object.")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file and print the number of rows and tables."""
        path, keep, now = options["file"], options["keep"], timezone.now()
        if keep:
            path = path / f"tidings-{now:%Y-%m-%d-%H%M%S}.zip"
        self.stderr.write(f"From: {database_label()}.", style_func=str)
        if path.is_file() and not options["force"]:
            text = f"“{path}” exists already, and was kept. Choose another name, or replace it with --force."
            raise CommandError(text, returncode=2)
        old_umask = os.umask(PRIVATE_UMASK)
        try:
            with sigterm_as_exit():
                if keep:
                    path.parent.mkdir(parents=True, exist_ok=True)
                manifest = archive_write(path, now=now)
                has_readers = bool(manifest["tables"]["digest.reader"]["rows"])
                if keep and has_readers:
                    backups_prune(path, keep=keep)
        except OSError as error:
            text = f"“{path}” cannot be written ({error.strerror}). No backup was made: {_cure(error)}."
            raise CommandError(text, returncode=2) from error
        finally:
            os.umask(old_umask)
        try:
            heartbeat(worker=BACKUP_JOB, now=now)
        except DatabaseError as error:  # a full disk, for example; the backup is good
            self.stderr.write(f"The database cannot note that a backup was made ({error}).")
        if not has_readers:
            self.stderr.write(f"{NO_READERS} No older backup was deleted." if keep else NO_READERS)
        if options["json"]:
            self.stdout.write(json.dumps(manifest))
            return
        rows = sum(table["rows"] for table in manifest["tables"].values())
        size = path.stat().st_size
        self.stdout.write(f"{rows:,} rows of {len(manifest['tables'])} tables in “{path}” ({size:,} bytes).")
        self.stdout.write("The secret key and the settings are not in it: store them with it.")
