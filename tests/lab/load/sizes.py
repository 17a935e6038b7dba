"""The disk space of rows, by table and by subject: `python -m tests.lab load.sizes [--json]`.

It counts bytes with indexes and long values, as PostgreSQL does, on the filled database of `DATABASE_URL`:
per item, per reader's day, per thumb, and per reader.
"""

import argparse
from collections.abc import Sequence

from tests.lab.load.setting import Json, django_up, head, told

# The subject of a table's rows.
OF = {
    "item": ("digest_item",),
    "item of the last 60 days": ("digest_itemvector",),
    "item of the last 30 days": ("digest_summary", "digest_suggestedreasons"),
    "digest (30 items)": ("digest_digest", "digest_impression"),
    "showing": ("digest_exposure",),
    "item read": ("digest_reading",),
    "thumb": ("digest_feedback", "digest_feedbacktag"),
    "reader": ("digest_reader", "digest_subscription", "ranking_rankconfig", "ranking_configversion"),
    "taste": ("digest_tasteprofile",),
    "learned weight": ("ranking_learnedweight",),
    "suggestion": ("suggestions_suggestion", "suggestions_evidence", "suggestions_outcome"),
    "run": ("advisor_run",),
}
SIZES = """
SELECT relname, reltuples::bigint, pg_table_size(c.oid), pg_indexes_size(c.oid), pg_total_relation_size(c.oid)
FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
WHERE relkind = 'r' AND nspname = 'public' ORDER BY 5 DESC
"""


def main() -> None:
    """Count and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    django_up()
    from django.db import connection  # noqa: PLC0415

    with connection.cursor() as cursor:
        cursor.execute(SIZES)
        rows = cursor.fetchall()
        cursor.execute("SELECT pg_database_size(current_database())")
        whole = cursor.fetchone()[0]
    tables = [
        {"table": name, "rows": count, "mb": round(size / 1e6, 1), "indexes_mb": round(indexes / 1e6, 1)}
        for name, count, _, indexes, size in rows
        if size > 5e6
    ]
    report: Json = {**head("sizes"), "database_mb": round(whole / 1e6), "tables": tables}
    told(report | {"bytes": bytes_of(rows), "targets": []}, options.json)


def bytes_of(rows: Sequence[tuple[str, int, int, int, int]]) -> Json:
    """Bytes for one of each thing: all its tables by the rows of the first."""
    by_name = {name: (count, size) for name, count, _, _, size in rows}
    found = {}
    for thing, names in OF.items():
        there = [by_name[name] for name in names]
        if there[0][0] > 0:
            found[thing] = round(sum(size for _, size in there) / there[0][0])
    return found


if __name__ == "__main__":
    main()
