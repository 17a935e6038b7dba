"""Export, insert, update and delete many rows at once."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import nullcontext
from datetime import date, datetime, timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection, transaction
from django.db.models import DateTimeField, F, Field, Model, QuerySet

CHUNK = 2000
# Values in one statement. SQLite accepts 32,766 (since 3.32), PostgreSQL 65,535.
VALUES_MAX = 10_000
# Rows in one DELETE, few enough that it holds its lock only briefly.
BATCH = 2_000
# Rows of one kind deleted in one night. After a change of KEEP_DAYS the rest follows in later nights.
NIGHT_MAX = 200_000
Rows = Sequence[Sequence[Any]]
Row = TypeVar("Row", bound=Model)


def export_rows(
    rows: QuerySet[Any], *, without: Collection[str] = (), **more: str
) -> Iterator[dict[str, Any]]:
    """Yield each row as a dictionary of its columns, oldest first, without the reader's id and `without`.

    `more` adds columns of related rows (name=path). One query, read in chunks.
    """
    hidden = {"reader_id", *without}
    columns = [field.attname for field in rows.model._meta.concrete_fields if field.attname not in hidden]
    added = {name: F(path) for name, path in more.items()}
    return rows.order_by("pk").values(*columns, **added).iterator(chunk_size=CHUNK)


def rows_add(*, model: type[Model], columns: Sequence[str], rows: Rows) -> None:
    """Insert `rows`, given as values of the fields `columns`. Existing rows do not change.

    This does the work of `bulk_create(ignore_conflicts=True)` without an object and an expression for every
    value. Measured on 229 real documents, an ingest then makes half the function calls. Fields not in
    `columns` must be nullable, because the model's defaults do not apply.
    """
    by_name = {field.name: field for field in model._meta.concrete_fields}
    fields: list[Field[Any, Any]] = [by_name[name] for name in columns]
    times = [n for n, field in enumerate(fields) if isinstance(field, DateTimeField)]
    quote, adapt = connection.ops.quote_name, connection.ops.adapt_datetimefield_value
    names = ", ".join(quote(str(field.column)) for field in fields)
    head = f"INSERT INTO {quote(model._meta.db_table)} ({names}) VALUES "
    one = f"({', '.join(['%s'] * len(columns))})"
    size = VALUES_MAX // len(columns)
    with connection.cursor() as cursor:
        for start in range(0, len(rows), size):
            chunk = rows[start : start + size]
            values: list[Any] = [value for row in chunk for value in _adapt_times(row, times, adapt)]
            cursor.execute(f"{head}{', '.join([one] * len(chunk))} ON CONFLICT DO NOTHING", values)


def rows_set(*, model: type[Model], keys: Sequence[str], columns: Sequence[str], rows: Rows) -> int:
    """Update `columns` of the rows with the given `keys` (never null). Return the number of changed rows.

    Each of `rows` has the values of `keys`, then those of `columns`. All updates use one prepared statement
    in one transaction. Sort `rows` by key, so that two writers do not block each other (deadlock).
    """
    if not rows:
        return 0
    by_name = {field.name: field for field in model._meta.concrete_fields}
    fields = [by_name[name] for name in (*columns, *keys)]
    times = [n for n, field in enumerate(fields) if isinstance(field, DateTimeField)]
    quote, adapt = connection.ops.quote_name, connection.ops.adapt_datetimefield_value
    names = [f"{quote(str(field.column))} = %s" for field in fields]
    split = len(columns)
    what, where = ", ".join(names[:split]), " AND ".join(names[split:])
    sql = f"UPDATE {quote(model._meta.db_table)} SET {what} WHERE {where}"
    turned = [(*row[len(keys) :], *row[: len(keys)]) for row in rows]
    together = transaction.atomic() if len(rows) > 1 else nullcontext()
    with together, connection.cursor() as cursor:
        cursor.executemany(sql, [_adapt_times(row, times, adapt) for row in turned])
        return int(cursor.rowcount)


def _adapt_times(row: Sequence[object], times: Sequence[int], adapt: Callable[[Any], object]) -> list[Any]:
    """Return the values of `row`, with times converted for the database."""
    values = list(row)
    for n in times:
        values[n] = adapt(values[n])
    return values


def retention_start(kind: str, now: datetime) -> datetime | None:
    """Return the time before which rows of a kind in `KEEP_DAYS` are deleted, or `None` to keep all."""
    days: int = settings.KEEP_DAYS[kind]
    return now - timedelta(days=days) if days else None


def rows_delete(rows: QuerySet[Row], *, at: str, before: date, batch: int = BATCH) -> int:
    """Delete the `rows` whose column `at` is earlier than `before`. Return the number deleted.

    `before` is a time or a day, like `at`. At most about `NIGHT_MAX` rows are deleted. Rows are written in
    order of time, so the lowest keys are the oldest and no table scan is necessary. Dependent rows are
    deleted, too, but not counted.
    """
    last, gone = None, 0
    while gone < NIGHT_MAX:
        left = rows if last is None else rows.filter(pk__gt=last)
        some = list(left.order_by("pk").values_list("pk", at)[:batch])
        old = [pk for pk, moment in some if moment is not None and moment < before]
        if not old:
            break
        rows.model._default_manager.filter(pk__in=old).delete()
        last, gone = some[-1][0], gone + len(old)
    return gone
