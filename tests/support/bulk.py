"""Long histories, multiplied inside the database: a hundred thousand thumbs made one by one take a minute."""

from django.db import connection
from django.db.models import Model

from digest.models import Feedback, FeedbackTag, Item, Reader

COPIES = "WITH RECURSIVE copies(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM copies WHERE n < %s - 1)"
# SQLite joins in the order that CROSS JOIN is written in: each table below is then found by its index.
ORIGINALS = ("digest_feedback f", "digest_item i", "copies")
ITEM_RATED = "f.reader_id = %s AND i.id = f.item_id"
COPY_OF_ITEM = f"{ITEM_RATED} AND c.url = i.url || '#' || copies.n"
COPY_OF_THUMB = f"{COPY_OF_ITEM} AND t.feedback_id = f.id AND g.item_id = c.id AND g.reader_id = f.reader_id"


def thumbs_multiply(reader: Reader, times: int) -> None:
    """Copy each of the reader's thumbs until there are `times`, with tags, on items that differ in url and
    title only."""
    tags = ("digest_feedback f", "digest_item i", "digest_feedbacktag t", "copies", "digest_item c")
    rated = {"item_id": "c.id", "article": "c.article"}
    named = {
        "url": "i.url || '#' || copies.n",
        "guid": "i.guid || '#' || copies.n",
        # Any number that no other item has. 2^31 - 1 is a prime, so no two copies of a history collide.
        "article": "i.id * 2147483647 + copies.n",
        "title": "i.title || ' ' || copies.n",
    }
    for statement in (
        _copy(Item, "i", named, ORIGINALS, ITEM_RATED),
        _copy(
            Feedback,
            "f",
            rated,
            (*ORIGINALS, "digest_item c"),
            COPY_OF_ITEM,
        ),
        _copy(FeedbackTag, "t", {"feedback_id": "g.id"}, (*tags, "digest_feedback g"), COPY_OF_THUMB),
    ):
        with connection.cursor() as cursor:
            cursor.execute(statement, [times, reader.pk.hex])


def _copy(model: type[Model], row: str, changed: dict[str, str], tables: tuple[str, ...], where: str) -> str:
    """Return the statement that stores copies of `row`, a row of `model`, with `changed` in some columns."""
    columns = [field.column for field in model._meta.concrete_fields if not field.primary_key]
    values = ", ".join(changed.get(column, f'{row}."{column}"') for column in columns)
    names = ", ".join(f'"{column}"' for column in columns)
    chosen = f"SELECT {values} FROM {' CROSS JOIN '.join(tables)} WHERE {where}"
    return f"{COPIES} INSERT INTO {model._meta.db_table} ({names}) {chosen}"
