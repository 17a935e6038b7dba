"""Measure free disk space, and say what to do if the database's disk is full or its file is damaged."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from django.conf import settings

# Our own choice. Below the first, /readyz says "degraded", while there is time to free space. Below the
# second a site on SQLite is not ready: each sign-in and rating grows the log beside the database, and soon
# all fail.
FREE_LOW_BYTES, FREE_MIN_BYTES = 512 << 20, 16 << 20
# What SQLite ("database or disk is full", "disk I/O error") and PostgreSQL ("could not extend file …: No
# space left on device") say if they cannot write.
_FULL = ("disk is full", "No space left on device")
_FAILED = "disk I/O error"


def disk_folders() -> dict[str, Path]:
    """Return the folders whose space we watch: `data` (`VAR_DIR`), and `database` if it is a local file."""
    folders = {"data": Path(settings.VAR_DIR)}
    if is_database_here():
        folders["database"] = Path(settings.DATABASES["default"]["NAME"]).parent
    return folders


def is_database_here() -> bool:
    """Return whether the database is SQLite, a file on a disk of this machine."""
    return bool(settings.DATABASES["default"]["ENGINE"].endswith("sqlite3"))


def disk_free(folders: Mapping[str, Path]) -> dict[str, int]:
    """Return the free bytes of the disk of each folder that exists."""
    return {name: shutil.disk_usage(path).free for name, path in folders.items() if path.is_dir()}


def disk_advice(text: str) -> str:
    """Return what to do about a database's error if it is the disk's, else ""."""
    is_full, is_here = any(words in text for words in _FULL), is_database_here()
    if not is_full and _FAILED not in text:
        return ""
    if not is_here:
        return "The disk of PostgreSQL's server is full: free space there." if is_full else ""
    folder = disk_folders()["database"]
    free = disk_free({"": folder}).get("", 0)
    if is_full or free < FREE_MIN_BYTES:
        return f"The disk of “{folder}” is full ({size_words(free)} free): free space there, then try again."
    return f"The disk of “{folder}” fails ({size_words(free)} free): see the system's log, and take a backup."


def is_disk_full(text: str) -> bool:
    """Return whether a database's error, or a file's, says that its disk is full."""
    free = disk_free({"": disk_folders()["database"]}) if _FAILED in text and is_database_here() else {}
    return any(words in text for words in _FULL) or free.get("", FREE_MIN_BYTES) < FREE_MIN_BYTES


def database_file() -> Path | None:
    """Return the file of the SQLite database, or `None` if it is in memory or PostgreSQL."""
    path = Path(settings.DATABASES["default"]["NAME"])
    return path if is_database_here() and path.is_file() else None


def damage_sentence(text: str) -> str:
    """Return that the database's file is damaged, and where the cure is."""
    path = settings.DATABASES["default"]["NAME"]
    return f"The database file “{path}” is damaged: {text}. See “A damaged database” in docs/runbook.md."


def size_words(size: int) -> str:
    """Return bytes in whole megabytes, as `1,234 MB`."""
    return f"{size >> 20:,} MB"
