"""The whole database as one file that either kind of database reads back, counted and hashed table by table.

A zip with `manifest.json` and, for each table, `rows/<table>.jsonl`: Django's JSON Lines in the order of the
keys. Sessions, and what `migrate` itself makes (permissions, content types), stay out; rows that point at
those name them by natural key.
"""

import errno
import io
import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import IO, Any
from zipfile import ZIP_DEFLATED, BadZipFile, ZipFile

from django.apps import apps
from django.core import serializers
from django.core.management.color import no_style
from django.core.serializers.base import DeserializationError, DeserializedObject
from django.db import DataError, IntegrityError, connections, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model

from config.archive_rows import LEFT_OUT, ExactEncoder, ExactSerializer, Hashing

FORMAT, FORMAT_VERSION = "tidings.archive", 1
MANIFEST = "manifest.json"
SAID = {"format", "version", "made_at", "database", "migrations", "tables"}
# What rows raise that are not those that were written.
UNREADABLE = (
    *(KeyError, ValueError, TypeError, BadZipFile, zlib.error, EOFError),
    *(DeserializationError, IntegrityError, DataError),
)
# Filled by `migrate`: rows there do not make a database one that holds something.
SEEDED = {"digest.reasontag"}
BATCH = 1000
REASON_CHARS = 200
Table = type[Model]


class ArchiveRefused(Exception):
    """An archive that cannot be written or read back: a stable `code`, and words that say what to do."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def tables() -> list[Table]:
    """Every table that is kept, those that others point at first."""
    found = [(config, None) for config in apps.get_app_configs()]
    models: list[Table] = serializers.sort_dependencies(found)
    return [model for model in models if _keep(model)]


def archive_write(path: Path, *, now: datetime, using: str = "default") -> dict[str, Any]:
    """Write everything to `path`, as it was at one moment, and return the manifest.

    Readers and writers go on meanwhile. Raises `OSError` for a file that cannot be written; a file begun is
    named `<path>.part` until it is whole.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    with _part_of(path) as part, _snapshot(using), ZipFile(part, "w", ZIP_DEFLATED) as archive:
        sums = {}
        for model in tables():
            with archive.open(f"rows/{model._meta.label_lower}.jsonl", "w", force_zip64=True) as out:
                sums[model._meta.label_lower] = _told(model, using, out)
        manifest = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "made_at": now.isoformat(),
            "database": connections[using].vendor,
            "migrations": _migrations(using),
            "tables": sums,
        }
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    return manifest


@contextmanager
def _part_of(path: Path) -> Iterator[Path]:
    """Where to write: it takes the name of `path` once it is whole, and goes where it does not get so far."""
    part = path.with_name(f"{path.name}.part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def archive_manifest(path: Path) -> dict[str, Any]:
    """What an archive says of itself.

    Raises `ArchiveRefused`: `not_an_archive`, `other_version`, or `damaged` where its manifest is not whole.
    """
    try:
        with ZipFile(path) as archive:
            manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
    except (OSError, BadZipFile, KeyError, ValueError) as error:
        raise ArchiveRefused("not_an_archive", f"“{path}” is no archive of Tidings: {error}.") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ArchiveRefused("not_an_archive", f"“{path}” is no archive of Tidings.")
    if manifest.get("version") != FORMAT_VERSION:
        raise ArchiveRefused("other_version", f"“{path}” was written by another version of this command.")
    if not manifest.keys() >= SAID:
        raise ArchiveRefused("damaged", f"The manifest of “{path}” is not whole. Take another backup.")
    return manifest


def archive_read(path: Path, *, replace: bool = False, using: str = "default") -> dict[str, Any]:
    """Put an archive into a migrated database, compare every table with it, and return the manifest.

    All or nothing: one transaction. Raises `ArchiveRefused`: `not_an_archive`, `other_version`,
    `not_migrated` (this database lacks tables of this version), `other_migrations` (the code that wrote it
    knew other tables), `not_empty` (rows are there, and `replace` is false), `damaged` (rows that do
    not read), `differs` (what arrived is not what was written).
    """
    manifest = archive_manifest(path)
    _migrated(using)
    _same_migrations(manifest, using)
    models = tables()
    filled = {model._meta.label_lower for model in models if _rows(model, using).exists()}
    if (others := sorted(filled - SEEDED)) and not replace:
        raise ArchiveRefused(
            "not_empty",
            f"There are rows already, in {', '.join(others[:3])} among others: take a database that was just "
            "migrated, or `restore --replace`.",
        )
    with transaction.atomic(using=using), connections[using].constraint_checks_disabled():
        if filled:
            _empty(models, using)
        with ZipFile(path) as archive:
            for model in models:
                _fill(archive, model, using)
        _whole(using)
        _sequences(models, using)
        _compare(manifest, models, using)
    return manifest


def archive_sums(*, using: str = "default") -> dict[str, dict[str, Any]]:
    """Every kept table's number of rows and hash, as they are at one moment."""
    with _snapshot(using):
        return {model._meta.label_lower: _told(model, using) for model in tables()}


def _keep(model: Table) -> bool:
    meta = model._meta
    return meta.managed and not meta.proxy and not meta.swapped and meta.label_lower not in LEFT_OUT


def _rows(model: Table, using: str) -> Any:
    """All rows in the order of their keys; many-to-many ones come along by the batch."""
    rows = model._base_manager.using(using).order_by("pk")
    return rows.prefetch_related(*(field.name for field in _linked(model)))


def _linked(model: Table) -> list[Any]:
    """The many-to-many fields whose table in between is nobody's own model."""
    fields: list[Any] = list(model._meta.local_many_to_many)
    return [field for field in fields if field.remote_field.through._meta.auto_created]


def _told(model: Table, using: str, out: IO[bytes] | None = None) -> dict[str, Any]:
    """Write a table's rows, and how many they are with their hash."""
    hashing = Hashing(out)
    rows = _rows(model, using).iterator(chunk_size=BATCH)
    options = {"cls": ExactEncoder, "sort_keys": True}
    ExactSerializer().serialize(rows, stream=hashing, **options)  # type: ignore[arg-type]
    return hashing.sums


def _fill(archive: ZipFile, model: Table, using: str) -> None:
    """A table's rows, a batch at a time; columns keep their values, whatever fills them elsewhere."""
    name = f"rows/{model._meta.label_lower}.jsonl"
    try:
        with archive.open(name) as raw:
            text = io.TextIOWrapper(raw, encoding="utf-8")
            rows = serializers.deserialize("jsonl", text, using=using)
            while batch := list(islice(rows, BATCH)):
                model._base_manager.using(using).bulk_create([row.object for row in batch])
                _link(batch, using)
    except UNREADABLE as error:
        why = _reason(error)
        raise ArchiveRefused("damaged", f"{name} does not read: {why}. Take another backup.") from error


def _whole(using: str) -> None:
    """Rows that point at rows which are not there came of an archive that lost some."""
    try:
        connections[using].check_constraints()
    except IntegrityError as error:
        raise ArchiveRefused(
            "damaged", f"Rows are missing: {_reason(error)}. Take another backup."
        ) from error


def _reason(error: BaseException) -> str:
    """What went wrong, by its kind where it has no words of its own (Django's `DeserializationError`)."""
    cause = error if str(error) or error.__cause__ is None else error.__cause__
    return f"{type(cause).__name__}: {' '.join(str(cause).split())[:REASON_CHARS]}".rstrip(": ")


def _link(batch: list[DeserializedObject], using: str) -> None:
    """Many-to-many rows: groups and permissions of operators."""
    for row in batch:
        for name, keys in (row.m2m_data or {}).items():
            getattr(row.object, name).set(keys)


def _empty(models: list[Table], using: str) -> None:
    connection = connections[using]
    names = [model._meta.db_table for model in models]
    names += [field.m2m_db_table() for model in models for field in _linked(model)]
    statements = connection.ops.sql_flush(no_style(), names, allow_cascade=False)
    connection.check_constraints()  # PostgreSQL truncates nothing that has checks outstanding
    connection.ops.execute_sql_flush(statements)


def _sequences(models: list[Table], using: str) -> None:
    """New rows go on counting after the restored ones."""
    connection = connections[using]
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def _compare(manifest: dict[str, Any], models: list[Table], using: str) -> None:
    for model in models:
        name, found = model._meta.label_lower, _told(model, using)
        if found != manifest["tables"].get(name):
            told = f"{name} arrived with {found['rows']} rows that are not those written."
            raise ArchiveRefused("differs", f"{told} Nothing was kept.")


def _migrations(using: str) -> list[str]:
    applied = MigrationRecorder(connections[using]).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied)


def _migrated(using: str) -> None:
    executor = MigrationExecutor(connections[using])
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise ArchiveRefused(
            "not_migrated",
            "The database to fill is not migrated: run `migrate` on it first (DATABASE_URL names it).",
        )


def _same_migrations(manifest: dict[str, Any], using: str) -> None:
    ours, theirs = set(_migrations(using)), set(manifest["migrations"])
    if odd := sorted(ours ^ theirs):
        side = "this database lacks" if odd[0] in theirs else "the archive lacks"
        raise ArchiveRefused(
            "other_migrations",
            f"Of the migrations {side} {odd[0]}: restore with the version that wrote it, then migrate.",
        )


@contextmanager
def _snapshot(using: str) -> Iterator[None]:
    """One moment of the database for all reads within, without holding up whoever writes."""
    connection = connections[using]
    if connection.vendor == "postgresql":
        with transaction.atomic(using=using), connection.cursor() as cursor:
            if not connection.savepoint_ids:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
            yield
        return
    if connection.in_atomic_block:
        yield
        return
    # Not by `atomic`, which takes the write lock at its beginning.
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("COMMIT")
