"""Tell a damaged SQLite file from its error messages, and look for damage."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import Final

# SQLITE_CORRUPT ("database disk image is malformed", "malformed database schema") and SQLITE_NOTADB; what
# Python says of text that nobody wrote.
_DAMAGED: Final = (
    "disk image is malformed",
    "malformed database schema",
    "file is not a database",
    "not decode to UTF-8",
)
# SQLite asks so often whether to stop, counted in steps of its virtual machine.
_STEPS: Final = 1_000


def is_damage(text: str) -> bool:
    """Return whether an error message says that the file of a SQLite database is damaged."""
    return any(words in text for words in _DAMAGED)


def damage_found(path: Path, *, seconds: float) -> str | None:
    """Look through a SQLite file. Return the first damage as one line, or "" if there is none.

    Return `None` if `seconds` were not enough, or if another program has locked the file.
    """
    end = time.monotonic() + seconds
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=rw", uri=True, timeout=1)) as database:
            database.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
            lines = [str(line) for (line,) in database.execute("PRAGMA quick_check(1)")]
    except sqlite3.DatabaseError as error:
        return str(error) if is_damage(str(error)) else None
    return "" if lines == ["ok"] else " ".join(" ".join(lines).split())
