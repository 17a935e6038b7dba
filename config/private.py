"""Files and folders of the embedded mode that their owner alone may read, from the moment they are made."""

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

from django.core.exceptions import ImproperlyConfigured

FOLDER_MODE, FILE_MODE = 0o700, 0o600


def folder_make(path: Path, setting: str) -> None:
    """Make a folder, mode 700; one that is there stays as it is. Raises `ImproperlyConfigured`, naming
    `setting`, where it cannot be made."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(mode=FOLDER_MODE, exist_ok=True)
    except OSError as error:
        raise ImproperlyConfigured(
            f"{setting} cannot be used: the folder “{path}” cannot be made ({error.strerror})."
        ) from error


class PrivateConnection(sqlite3.Connection):
    """A connection whose file, where there is none yet, is made with mode 600.

    SQLite would make it readable for everybody, and gives `-wal` and `-shm` the mode of the file itself.
    """

    def __init__(self, database: Any, *args: Any, **options: Any) -> None:
        if not str(database).startswith((":", "file:")):
            # Whatever else is wrong with the place, SQLite says in words Django knows.
            with contextlib.suppress(OSError):
                os.close(os.open(database, os.O_CREAT | os.O_EXCL | os.O_RDWR, FILE_MODE))
        super().__init__(database, *args, **options)
