"""Rows of any table as plain mappings, for a reader's export."""

from collections.abc import Collection, Iterator
from typing import Any

from django.db.models import F, QuerySet

CHUNK = 2000


def export_rows(
    rows: QuerySet[Any], *, without: Collection[str] = (), **more: str
) -> Iterator[dict[str, Any]]:
    """Every column of `rows` by name, oldest first, but those named in `without` and the reader's own id,
    which each row would repeat; `more` adds columns of related rows (name=path). One query, read in chunks.
    """
    hidden = {"reader_id", *without}
    columns = [field.attname for field in rows.model._meta.concrete_fields if field.attname not in hidden]
    added = {name: F(path) for name, path in more.items()}
    return rows.order_by("pk").values(*columns, **added).iterator(chunk_size=CHUNK)
