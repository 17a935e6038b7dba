"""Damage a SQLite file as a failing disk does."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path


def page_overwrite(path: Path, table: str) -> None:
    """Overwrite the first page of a table, or of an index, with noise."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = database.execute("PRAGMA page_size").fetchone()
        (root,) = database.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", [table]).fetchone()
    with path.open("r+b") as raw:
        raw.seek((root - 1) * size)
        raw.write(os.urandom(size))
