"""Back up and restore the whole database as one file, and move it between SQLite and PostgreSQL.

The file is a zip. It contains `manifest.json` with a hash of each table, and for each table
`rows/<table>.jsonl` (Django's JSON Lines, in the order of keys). Sessions are excluded, and so are
permissions and content types, which `migrate` creates. Rows that refer to these use natural keys.
"""

import errno
import hashlib
import io
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, BinaryIO, Final
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from django.apps import apps
from django.contrib.sessions.models import Session
from django.core import serializers
from django.core.management.color import no_style
from django.core.serializers.base import DeserializationError
from django.core.serializers.json import DjangoJSONEncoder
from django.core.serializers.jsonl import Serializer
from django.db import DatabaseError, DataError, IntegrityError, connections, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.db.models import Model
from django.db.utils import load_backend

Table = type[Model]

FORMAT, FORMAT_VERSION = "tidings.archive", 1
MANIFEST = "manifest.json"
# A manifest has some 20 kB. The longest row is an article's body or a digest.
MANIFEST_MAX_BYTES, ROW_MAX_CHARS = 1 << 20, 64 << 20
MANIFEST_KEYS = {"format", "version", "made_at", "database", "migrations", "tables"}
EXCLUDED = {"contenttypes.contenttype", "auth.permission", "sessions.session"}
# `migrate` fills these tables. A database with only these rows counts as empty.
FILLED_BY_MIGRATE = {"digest.reasontag"}
# The errors that damaged members and rows raise: `RuntimeError` if one is encrypted or packed in a way that
# we cannot read, `ArithmeticError` for a number that no column holds.
READ_ERRORS = (
    *(KeyError, ValueError, TypeError, BadZipFile, zlib.error, EOFError, RuntimeError, ArithmeticError),
    *(DeserializationError, IntegrityError, DataError),
)
BATCH = 1000
REASON_CHARS = 200


class ExactEncoder(DjangoJSONEncoder):
    """A JSON encoder that keeps microseconds. Django's cuts times to milliseconds."""

    def default(self, o: Any) -> Any:
        """Return times in full, and all other values as Django does."""
        return o.isoformat() if isinstance(o, datetime) else super().default(o)


class ExactSerializer(Serializer):
    """A serializer of JSON Lines with primary keys. Only rows that `migrate` creates have natural keys."""

    def handle_fk_field(self, obj: Model, field: Any) -> None:
        """Write a foreign key."""
        self.use_natural_foreign_keys = field.remote_field.model._meta.label_lower in EXCLUDED
        super().handle_fk_field(obj, field)

    def handle_m2m_field(self, obj: Model, field: Any) -> None:
        """Write a sorted list of foreign keys."""
        self.use_natural_foreign_keys = field.remote_field.model._meta.label_lower in EXCLUDED
        super().handle_m2m_field(obj, field)
        current: dict[str, list[Any]] = self._current  # type: ignore[attr-defined]
        if field.name in current:  # a field with its own through model is stored as that model
            current[field.name].sort()


class HashingWriter(io.TextIOBase):
    """A text writer that counts and hashes lines, and writes them to a file if given one."""

    def __init__(self, out: IO[bytes] | None = None) -> None:
        self.out, self.rows, self.digest = out, 0, hashlib.sha256()

    def write(self, text: str) -> int:
        """Count and hash `text`, and write it if there is a file."""
        raw = text.encode()
        self.rows += text.count("\n")
        self.digest.update(raw)
        if self.out is not None:
            self.out.write(raw)
        return len(text)

    @property
    def checksum(self) -> dict[str, Any]:
        """The number of lines so far, and the hash of all of them."""
        return {"rows": self.rows, "sha256": self.digest.hexdigest()}


NAME_A_BACKUP: Final = "Name a file that `backup` wrote."
TAKE_ANOTHER: Final = "Nothing was changed: restore another backup, such as the one before."
ARCHIVES_NAMED: Final = 3
OTHER_ARCHIVE: Final = (
    "restore with the version that wrote the archive. With its code, `migrate` an empty database and "
    "`restore` into that, then `migrate` it with this version."
)
# By the kind of the database, which a newer version migrated before this older code was put back.
NEWER_DATABASE: Final = {
    "sqlite": "a newer version migrated this database. `restore FILE --replace` keeps its file under another "
    "name and restores into a new one.",
    "postgresql": "a newer version migrated this database. Create an empty one, name it in DATABASE_URL, and "
    "run `migrate` and `restore FILE` with this version.",
}


class ArchiveError(Exception):
    """The archive was refused. `code` is stable, and the message says what to do."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


def tables() -> list[Table]:
    """Return the models whose tables are in an archive, in the order of their dependencies."""
    models: list[Table] = serializers.sort_dependencies([(app, None) for app in apps.get_app_configs()])
    metas = ((model, model._meta) for model in models)
    return [
        model
        for model, meta in metas
        if meta.managed and not meta.proxy and not meta.swapped and meta.label_lower not in EXCLUDED
    ]


def archive_write(path: Path, *, now: datetime, using: str = "default") -> dict[str, Any]:
    """Write a consistent snapshot of the database to `path` and return the manifest.

    The site may read and write meanwhile. An incomplete file has the name `<path>.part`. Raises `OSError` if
    the file cannot be written.
    """
    with part_file(path) as part, _snapshot(using), ZipFile(part, "w", ZIP_DEFLATED) as archive:
        checksums = {}
        for model in tables():
            with archive.open(f"rows/{model._meta.label_lower}.jsonl", "w", force_zip64=True) as out:
                checksums[model._meta.label_lower] = _table_checksum(model, using, out)
        manifest = {
            "format": FORMAT,
            "version": FORMAT_VERSION,
            "made_at": now.isoformat(),
            "database": connections[using].vendor,
            "migrations": _migrations(using),
            "tables": checksums,
        }
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    return manifest


@contextmanager
def part_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a new temporary file. Rename it to `path` at the end of the block, or delete it after an error.

    An existing file is removed first, so that nothing is written through a link that somebody left there.
    """
    part = path.with_name(f"{path.name}.part")
    part.unlink(missing_ok=True)
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "it is a folder", str(path))
    try:
        with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600), "w+b") as file:
            yield file
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def archive_manifest(path: Path) -> dict[str, Any]:
    """Return the manifest of an archive.

    Raises `ArchiveError` with code `not_an_archive`, `other_version`, or `damaged` (the manifest is
    incomplete).
    """
    try:
        with ZipFile(path) as archive, _member_open(archive, MANIFEST) as file:
            manifest: dict[str, Any] = json.loads(file.read(MANIFEST_MAX_BYTES))
    except OSError as error:
        what = f"“{path}” cannot be read ({error.strerror})."
        raise ArchiveError("not_an_archive", f"{what} Run the command as a user who may read it.") from error
    except READ_ERRORS as error:
        what = f"“{path}” is no archive of Tidings: {_reason(error)}."
        raise ArchiveError("not_an_archive", f"{what} {NAME_A_BACKUP}") from error
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ArchiveError("not_an_archive", f"“{path}” is no archive of Tidings. {NAME_A_BACKUP}")
    if manifest.get("version") != FORMAT_VERSION:
        what = f"“{path}” was written by another version of this command."
        raise ArchiveError("other_version", f"{what} Restore it with that version of Tidings, then migrate.")
    if not (manifest.keys() >= MANIFEST_KEYS and _is_whole(manifest)):
        raise ArchiveError("damaged", f"The manifest of “{path}” is not whole. {TAKE_ANOTHER}")
    return manifest


def archives_near(path: Path) -> list[str]:
    """Return the names of the archives in the folder of `path`, the newest first; at most three."""
    try:
        found = sorted(path.parent.glob("*.zip"), key=lambda one: one.stat().st_mtime, reverse=True)
    except OSError:
        return []
    return [one.name for one in found[:ARCHIVES_NAMED]]


def _is_whole(manifest: dict[str, Any]) -> bool:
    """Return whether a manifest lists migrations by name, and tables with their rows."""
    migrations, counted = manifest["migrations"], manifest["tables"]
    if not (isinstance(migrations, list) and isinstance(counted, dict)):
        return False
    rows = [one.get("rows") if isinstance(one, dict) else None for one in counted.values()]
    return all(isinstance(name, str) for name in migrations) and all(type(number) is int for number in rows)


def archive_read(
    path: Path, *, replace: bool = False, may_replace: bool = True, using: str = "default"
) -> dict[str, Any]:
    """Restore an archive in one transaction, compare every table, and return the manifest.

    All sessions end. A refusal offers `restore --replace` if `may_replace`.

    Raises `ArchiveError` with one of these codes: `not_an_archive`, `other_version`, `not_migrated` (this
    database lacks migrations), `other_migrations` (the archive's code had other migrations), `not_empty`
    (there are rows and `replace` is false), `damaged` (rows cannot be read), `differs` (a table differs from
    the archive).
    """
    manifest = archive_manifest(path)
    _require_migrated(using)
    _require_same_migrations(manifest, using)
    models = tables()
    filled = {model._meta.label_lower for model in models if _rows(model, using).exists()}
    if (others := sorted(filled - FILLED_BY_MIGRATE)) and not replace:
        raise ArchiveError(
            "not_empty",
            f"There are rows already, in {', '.join(others[:3])} among others. Take a database that was just "
            f"migrated{', or `restore --replace`, which deletes these rows' if may_replace else ''}.",
        )
    with transaction.atomic(using=using), connections[using].constraint_checks_disabled():
        if filled:
            _empty(models, using)
        # With an earlier password, a session that ended with it would open the account again.
        Session.objects.using(using).all().delete()
        with ZipFile(path) as archive:
            for model in models:
                _fill(archive, model, manifest, using)
        _check_references(using)
        _sequences_reset(models, using)
        _compare(manifest, models, using)
    return manifest


def archive_checksums(*, using: str = "default") -> dict[str, dict[str, Any]]:
    """Return the number of rows and the hash of each table, from one snapshot."""
    with _snapshot(using):
        return {model._meta.label_lower: _table_checksum(model, using) for model in tables()}


def _rows(model: Table, using: str) -> Any:
    """Return all rows in the order of keys, with many-to-many rows prefetched."""
    rows = model._base_manager.using(using).order_by("pk")
    return rows.prefetch_related(*(field.name for field in _auto_m2m(model)))


def _auto_m2m(model: Table) -> list[Any]:
    """Return the many-to-many fields without their own through model."""
    fields: list[Any] = list(model._meta.local_many_to_many)
    return [field for field in fields if field.remote_field.through._meta.auto_created]


def _table_checksum(model: Table, using: str, out: IO[bytes] | None = None) -> dict[str, Any]:
    """Return the number of rows and the hash of a table, and write the rows to `out` if given."""
    writer = HashingWriter(out)
    rows = _rows(model, using).iterator(chunk_size=BATCH)
    options = {"cls": ExactEncoder, "sort_keys": True}
    ExactSerializer().serialize(rows, stream=writer, **options)  # type: ignore[arg-type]
    return writer.checksum


def _member_open(archive: ZipFile, name: str) -> IO[bytes]:
    """Open a member for reading.

    Raises `ValueError` unless it is packed as we pack. Other ways raise errors of their own, and LZMA takes
    as much memory as the archive says.
    """
    if archive.getinfo(name).compress_type not in (ZIP_STORED, ZIP_DEFLATED):
        raise ValueError("it is packed in another way than ours")
    return archive.open(name)


def _fill(archive: ZipFile, model: Table, manifest: dict[str, Any], using: str) -> None:
    """Restore a table in batches, without `save()`, which could change column values."""
    label = model._meta.label_lower
    name, most = f"rows/{label}.jsonl", manifest["tables"].get(label, {}).get("rows", 0)
    try:
        with _member_open(archive, name) as raw:
            rows = serializers.deserialize("jsonl", _lines(raw, most), using=using)
            while batch := list(islice(rows, BATCH)):
                if any(type(row.object) is not model for row in batch):
                    raise ValueError("it has rows of another table")
                model._base_manager.using(using).bulk_create([row.object for row in batch])
                for row in batch:
                    for field, keys in (row.m2m_data or {}).items():
                        getattr(row.object, field).set(keys)
    except READ_ERRORS as error:
        message = f"{name} cannot be read: {_reason(error)}. {TAKE_ANOTHER}"
        raise ArchiveError("damaged", message) from error


def _lines(raw: IO[bytes], most: int) -> Iterator[str]:
    """Yield up to `most` lines of a member. Raises `ValueError` at one more, or one longer than any row.

    A few kilobytes of an archive can hold a line of gigabytes, or millions of lines.
    """
    text = io.TextIOWrapper(raw, encoding="utf-8")
    for n in count():
        if not (line := text.readline(ROW_MAX_CHARS)):
            return
        if n >= most:
            raise ValueError(f"it has more than its {most} rows")
        if len(line) == ROW_MAX_CHARS:
            raise ValueError(f"a row has more than {ROW_MAX_CHARS >> 20} million characters")
        yield line


def _check_references(using: str) -> None:
    """Raise `ArchiveError` if rows refer to missing rows, because the archive has lost some."""
    try:
        connections[using].check_constraints()
    except IntegrityError as error:
        message = f"Rows are missing: {_reason(error)}. {TAKE_ANOTHER}"
        raise ArchiveError("damaged", message) from error


def _reason(error: BaseException) -> str:
    """Return the error's message, or its cause's if it has none (as Django's `DeserializationError`)."""
    cause = error if str(error) or error.__cause__ is None else error.__cause__
    return f"{type(cause).__name__}: {' '.join(str(cause).split())[:REASON_CHARS]}".rstrip(": ")


def _empty(models: list[Table], using: str) -> None:
    connection = connections[using]
    names = [model._meta.db_table for model in models]
    names += [field.m2m_db_table() for model in models for field in _auto_m2m(model)]
    statements = connection.ops.sql_flush(no_style(), names, allow_cascade=False)
    connection.check_constraints()  # PostgreSQL cannot truncate a table with pending checks
    connection.ops.execute_sql_flush(statements)


def _sequences_reset(models: list[Table], using: str) -> None:
    """Let the numbers of new rows begin after the restored ones."""
    connection = connections[using]
    with connection.cursor() as cursor:
        for statement in connection.ops.sequence_reset_sql(no_style(), models):
            cursor.execute(statement)


def _compare(manifest: dict[str, Any], models: list[Table], using: str) -> None:
    for model in models:
        name = model._meta.label_lower
        try:
            checksum = _table_checksum(model, using)
        except READ_ERRORS as error:
            message = f"{name} cannot be read back: {_reason(error)}. {TAKE_ANOTHER}"
            raise ArchiveError("damaged", message) from error
        if checksum != manifest["tables"].get(name):
            message = f"The {checksum['rows']} rows of {name} are not those that were written. {TAKE_ANOTHER}"
            raise ArchiveError("differs", message)


def _migrations(using: str) -> list[str]:
    applied = MigrationRecorder(connections[using]).applied_migrations()
    return sorted(f"{app}.{name}" for app, name in applied)


def _require_migrated(using: str) -> None:
    executor = MigrationExecutor(connections[using])
    if executor.migration_plan(executor.loader.graph.leaf_nodes()):
        raise ArchiveError(
            "not_migrated",
            "The database to fill is not migrated: run `migrate` on it first (DATABASE_URL names it).",
        )


def _require_migrated_source(using: str) -> None:
    """Raise `ArchiveError` if the old database is of another version than this one."""
    _require_migrated(using)
    ours, theirs = set(_migrations(using)), set(_migrations(SOURCE_ALIAS))
    if lacking := sorted(ours - theirs):
        what, cure = f"lacks {lacking[0]}", "run `migrate` on it with this version first"
    elif more := sorted(theirs - ours):
        what, cure = f"has {more[0]}, which this version does not know", "move with the version that it is of"
    else:
        return
    raise ArchiveError("other_migrations", f"The old database {what}: {cure}. Nothing was changed.")


def _require_same_migrations(manifest: dict[str, Any], using: str) -> None:
    ours, theirs = set(_migrations(using)), set(manifest["migrations"])
    if different := sorted(ours ^ theirs):
        side = "this database lacks" if different[0] in theirs else "the archive lacks"
        cure = NEWER_DATABASE[connections[using].vendor] if migrations_unknown(using) else OTHER_ARCHIVE
        message = f"Of the migrations {side} {different[0]}. Nothing was changed: {cure}"
        raise ArchiveError("other_migrations", message)


def migrations_unknown(using: str = "default") -> list[str]:
    """Return the applied migrations that this code does not have: a newer version migrated the database."""
    loader = MigrationLoader(connections[using])
    known = set(loader.disk_migrations)
    known.update(key for migration in loader.disk_migrations.values() for key in migration.replaces)
    return sorted(f"{app}.{name}" for app, name in loader.applied_migrations if (app, name) not in known)


@contextmanager
def _snapshot(using: str) -> Iterator[None]:
    """Let all reads in the block see the same snapshot, without blocking writers."""
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
    # `atomic` would take the write lock (our SQLite transactions are IMMEDIATE).
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("COMMIT")


SOURCE_ALIAS = "moved_from"
LOCATION = ("ENGINE", "NAME", "HOST", "PORT")
MIGRATIONS = "django_migrations"
SAME = "The old database is the one DATABASE_URL names: set it to the new one, which `migrate` made."
# The number of our advisory lock: “move” in ASCII.
LOCK = 0x6D6F7665


def data_move(*, source: Mapping[str, Any], now: datetime, using: str = "default") -> dict[str, Any]:
    """Copy all rows of the database `source` (an entry of Django's DATABASES) and return the manifest.

    The database `using` must be migrated and empty. Each table is counted and hashed in the source, in the
    copy, and again in the source. The copy is all or nothing. The folder for temporary files needs space for
    an archive of everything. Raises `ArchiveError` as `archive_read` does, or with code `same_database`,
    `source_unreadable` or `source_changed` (somebody wrote to it meanwhile, so nothing was copied).
    """
    with _source_connection(source, using), TemporaryDirectory(prefix="tidings-move-") as folder:
        path = Path(folder) / "all.zip"
        _require_migrated_source(using)
        try:
            archive_write(path, now=now, using=SOURCE_ALIAS)
        except DatabaseError as error:
            raise _unreadable(f"{error}. Run `migrate` on it with this version first.") from error
        with transaction.atomic(using=using):
            manifest = archive_read(path, may_replace=False, using=using)
            after = archive_checksums(using=SOURCE_ALIAS)
            if changed := sorted(
                name for name, checksum in manifest["tables"].items() if after[name] != checksum
            ):
                raise ArchiveError(
                    "source_changed",
                    f"The old database changed meanwhile, in {', '.join(changed[:3])}: stop the site and its "
                    "worker. Nothing was changed.",
                )
    return manifest


@contextmanager
def _source_connection(source: Mapping[str, Any], using: str) -> Iterator[None]:
    """Open a connection named `SOURCE_ALIAS` for the block. Raises `ArchiveError`."""
    ours = connections[using].settings_dict
    if all(str(source.get(key) or "") == str(ours.get(key) or "") for key in LOCATION):
        raise ArchiveError("same_database", SAME)
    configured = connections.configure_settings({"default": dict(ours), SOURCE_ALIAS: dict(source)})[
        SOURCE_ALIAS
    ]
    connections[SOURCE_ALIAS] = load_backend(configured["ENGINE"]).DatabaseWrapper(configured, SOURCE_ALIAS)
    try:
        _check_source(using)
        yield
    finally:
        connections[SOURCE_ALIAS].close()
        del connections[SOURCE_ALIAS]


def _check_source(using: str) -> None:
    """Raise `ArchiveError` if the source is missing, not a database of Tidings, or the same database."""
    try:
        if MIGRATIONS not in connections[SOURCE_ALIAS].introspection.table_names():
            raise _unreadable("there are no tables of Tidings in it. Name another one.")
        same = _is_same(using)
    except DatabaseError as error:
        raise _unreadable(f"{error}. Is it there, and is that its address?") from error
    if same:
        raise ArchiveError("same_database", SAME)


def _is_same(using: str) -> bool:
    """Return whether both connections lead to the same database, even by different addresses.

    PostgreSQL's advisory locks belong to one database, so in another database this lock is free.
    """
    ours, theirs = connections[using], connections[SOURCE_ALIAS]
    if ours.vendor != theirs.vendor:
        return False
    if ours.vendor == "sqlite":
        names = [Path(one.settings_dict["NAME"]) for one in (ours, theirs)]
        return all(name.is_file() for name in names) and names[0].samefile(names[1])
    with transaction.atomic(using=using), ours.cursor() as here, theirs.cursor() as there:
        here.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        there.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK])
        return not there.fetchone()[0]


def _unreadable(why: str) -> ArchiveError:
    return ArchiveError("source_unreadable", " ".join(f"The old database cannot be read: {why}".split()))
