"""Migration between databases: everything from SQLite to PostgreSQL, or back."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db import DatabaseError, connections, transaction
from django.db.utils import load_backend

from config.backup.archive import ArchiveRefused, archive_read, archive_sums, archive_write

SOURCE = "moved_from"
LOCATION = ("ENGINE", "NAME", "HOST", "PORT")
MIGRATIONS = "django_migrations"
SAME = "The old database is the one DATABASE_URL names."
# An advisory lock of our own: “move” in ASCII.
LOCK = 0x6D6F7665


def data_move(*, source: Mapping[str, Any], now: datetime, using: str = "default") -> dict[str, Any]:
    """Copy all rows of the database `source` (an entry of Django's DATABASES) and return the manifest.

    The database `using` must be migrated and empty. Every table is counted and hashed in the source, in the
    copy, and once more in the source; all or nothing. Raises `ArchiveRefused` as `archive_read` does, and
    `same_database`, `source_unreadable` or `source_changed` (it was written meanwhile; nothing was copied).
    Needs space for an archive of everything in the folder for temporary files.
    """
    with _source_connection(source, using), TemporaryDirectory(prefix="tidings-move-") as folder:
        path = Path(folder) / "all.zip"
        try:
            archive_write(path, now=now, using=SOURCE)
        except DatabaseError as error:
            raise _unreadable(f"{error}. Run `migrate` on it with this version first.") from error
        with transaction.atomic(using=using):
            manifest = archive_read(path, using=using)
            after = archive_sums(using=SOURCE)
            if changed := sorted(name for name, sums in manifest["tables"].items() if after[name] != sums):
                raise ArchiveRefused(
                    "source_changed",
                    f"The old database changed meanwhile, in {', '.join(changed[:3])}: stop the site and its "
                    "worker. Nothing was changed.",
                )
    return manifest


@contextmanager
def _source_connection(source: Mapping[str, Any], using: str) -> Iterator[None]:
    """Open a connection named `SOURCE` for the block. Raises `ArchiveRefused`."""
    ours = connections[using].settings_dict
    if all(str(source.get(key) or "") == str(ours.get(key) or "") for key in LOCATION):
        raise ArchiveRefused("same_database", SAME)
    configured = connections.configure_settings({"default": dict(ours), SOURCE: dict(source)})[SOURCE]
    connections[SOURCE] = load_backend(configured["ENGINE"]).DatabaseWrapper(configured, SOURCE)
    try:
        _check_source(using)
        yield
    finally:
        connections[SOURCE].close()
        del connections[SOURCE]


def _check_source(using: str) -> None:
    """Refuse a source that is missing, no database of Tidings, or the same database by another name."""
    try:
        if MIGRATIONS not in connections[SOURCE].introspection.table_names():
            raise _unreadable("there are no tables of Tidings in it.")
        same = _is_same(using)
    except DatabaseError as error:
        raise _unreadable(f"{error}. Is it there, and is that its address?") from error
    if same:
        raise ArchiveRefused("same_database", SAME)


def _is_same(using: str) -> bool:
    """Whether both connections lead to one database, whatever their addresses.

    PostgreSQL's advisory locks belong to a database: in another one this lock is free.
    """
    ours, theirs = connections[using], connections[SOURCE]
    if ours.vendor != theirs.vendor:
        return False
    if ours.vendor == "sqlite":
        names = [Path(one.settings_dict["NAME"]) for one in (ours, theirs)]
        return all(name.is_file() for name in names) and names[0].samefile(names[1])
    with transaction.atomic(using=using), ours.cursor() as here, theirs.cursor() as there:
        here.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        there.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        return not there.fetchone()[0]


def _unreadable(why: str) -> ArchiveRefused:
    return ArchiveRefused("source_unreadable", " ".join(f"The old database cannot be read: {why}".split()))
