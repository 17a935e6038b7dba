"""Everything from one database into another of either kind: from SQLite to PostgreSQL, or back."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from django.db import DatabaseError, connections, transaction
from django.db.utils import load_backend

from config.archive import ArchiveRefused, archive_read, archive_sums, archive_write

SOURCE = "moved_from"
WHERE = ("ENGINE", "NAME", "HOST", "PORT")


def data_move(*, source: Mapping[str, Any], now: datetime, using: str = "default") -> dict[str, Any]:
    """Copy all rows of the database `source` (as Django's DATABASES describe one) and return the manifest.

    The database behind `using` must be migrated and hold nothing else. Every table is counted and hashed
    where it comes from, where it arrives, and once more where it comes from; all or nothing. Raises
    `ArchiveRefused` as `archive_read` does, and besides: `same_database`, `source_unreadable`,
    `source_changed` (somebody is at work there; nothing was kept).
    """
    with _beside(source, using), TemporaryDirectory(prefix="tidings-move-") as folder:
        path = Path(folder) / "all.zip"
        try:
            archive_write(path, now=now, using=SOURCE)
        except DatabaseError as error:
            told = f"The old database does not read: {error}. Run `migrate` on it with this version first."
            raise ArchiveRefused("source_unreadable", " ".join(told.split())) from error
        with transaction.atomic(using=using):
            manifest = archive_read(path, using=using)
            after = archive_sums(using=SOURCE)
            if changed := sorted(name for name, sums in manifest["tables"].items() if after[name] != sums):
                raise ArchiveRefused(
                    "source_changed",
                    f"The old database changed meanwhile, in {', '.join(changed[:3])}: stop the site and its "
                    "worker. Nothing was kept.",
                )
    return manifest


@contextmanager
def _beside(source: Mapping[str, Any], using: str) -> Iterator[None]:
    """A connection of the name `SOURCE` for as long as the block lasts. Raises `ArchiveRefused`."""
    ours = connections[using].settings_dict
    if all(str(source.get(key) or "") == str(ours.get(key) or "") for key in WHERE):
        raise ArchiveRefused("same_database", "The old database is the one DATABASE_URL names.")
    described = connections.configure_settings({"default": dict(ours), SOURCE: dict(source)})[SOURCE]
    connections[SOURCE] = load_backend(described["ENGINE"]).DatabaseWrapper(described, SOURCE)
    try:
        yield
    finally:
        connections[SOURCE].close()
        del connections[SOURCE]
