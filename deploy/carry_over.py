"""Carry an installation with thirty migrations over to one a room: `python deploy/carry_over.py`.

Run it once, with the new code and the installation's settings, while nothing else works on the database. All
or nothing: tables and columns get their new names, what no code reads any more is dropped, what tables
the old code lacked are made, and the new migrations are recorded as applied. It exits with 1 and changes
nothing where the database is not at the last migrations of the old code. See docs/upgrading.md.
"""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import django

django.setup()

from django.apps import apps  # noqa: E402
from django.db import connection, transaction  # noqa: E402
from django.db.migrations.recorder import MigrationRecorder  # noqa: E402
from django.db.models import Count  # noqa: E402

from suggestions.explain import evidence_sentence  # noqa: E402

# The last migration of each room in the old code.
LAST = {
    "advisor": "0009_runs_by_creation",
    "digest": "0013_entries_by_feed_and_item",
    "ranking": "0002_source_alias",
    "suggestions": "0004_taken_back",
    "tidings": "0002_kept_answers",
}
TABLES = {"digest_cluster": "digest_story", "tidings_keptanswer": "tidings_idempotentresponse"}
COLUMNS = {
    ("advisor_guidanceevent", "held_out"): "holdout",
    ("advisor_guidanceevent", "told"): "emitted_ids",
    ("digest_item", "cluster_id"): "story_id",
    ("ranking_learnedweight", "held_until"): "on_hold_until",
}
DROPPED = (("advisor_guidanceevent", "acknowledged"), ("advisor_guidanceevent", "stages"))
# New columns and their definitions.
ADDED = {("suggestions_suggestion", "model_note"): "text NOT NULL DEFAULT ''"}
CREATED = ("CommunityRound", "ItemFigure", "SourceFigure")
DROPPED_TABLES = ("advisor_guidanceday", "advisor_guidancepacket")


def main() -> int:
    """Carry the database over; return the exit code."""
    recorder = MigrationRecorder(connection)
    applied = {(room, name) for room, name in recorder.applied_migrations() if room in LAST}
    if applied >= {(room, "0001_initial") for room in LAST}:
        print("Nothing to do: this database has the new migrations already.")
        return 0
    missing = sorted(f"{room}.{name}" for room, name in LAST.items() if (room, name) not in applied)
    if missing:
        print(f"Nothing was changed: run the old code's `migrate` first ({', '.join(missing)}).")
        return 1
    with transaction.atomic(), connection.cursor() as cursor:
        for statement in statements():
            cursor.execute(statement)
        reasons_reword()
        recorder.migration_qs.filter(app__in=LAST).delete()
        for room in LAST:
            recorder.record_applied(room, "0001_initial")
        content_types_rename()
    print("Carried over. Run `manage.py migrate` and `manage.py check` now.")
    return 0


def statements() -> list[str]:
    """Return the changes of the schema, in order, for the database in use."""
    quote = connection.ops.quote_name
    found = [f"DROP TABLE {quote(table)}" for table in DROPPED_TABLES]
    for table, column in DROPPED:
        if column in columns_of(table):
            found.append(f"ALTER TABLE {quote(table)} DROP COLUMN {quote(column)}")
    for (table, column), definition in ADDED.items():
        found.append(f"ALTER TABLE {quote(table)} ADD COLUMN {quote(column)} {definition}")
        if connection.vendor == "postgresql":
            found.append(f"ALTER TABLE {quote(table)} ALTER COLUMN {quote(column)} DROP DEFAULT")
    for (table, column), name in COLUMNS.items():
        found.append(f"ALTER TABLE {quote(table)} RENAME COLUMN {quote(column)} TO {quote(name)}")
    for table, name in TABLES.items():
        found.append(f"ALTER TABLE {quote(table)} RENAME TO {quote(name)}")
        if connection.vendor == "postgresql":
            sequence, renamed = quote(f"{table}_id_seq"), quote(f"{name}_id_seq")
            found.append(f"ALTER SEQUENCE {sequence} RENAME TO {renamed}")
    return [*found, *tables_created()]


def tables_created() -> list[str]:
    """Return what makes the digest room's tables that the old code lacked, with their indexes."""
    editor = connection.schema_editor(collect_sql=True)
    editor.deferred_sql = []
    for name in CREATED:
        editor.create_model(apps.get_model("digest", name))
    return [*editor.collected_sql, *map(str, editor.deferred_sql)]


def columns_of(table: str) -> set[str]:
    """Return the names of a table's columns: some of those to drop may be gone already."""
    with connection.cursor() as cursor:
        return {column.name for column in connection.introspection.get_table_description(cursor, table)}


def reasons_reword() -> None:
    """Take every reason for a model's note, and give each suggestion the server's sentence from its evidence.

    Who wrote an old reason is not on record, and readers see a note only as far as it is safe.
    """
    rows = apps.get_model("suggestions", "Suggestion").objects
    for row in rows.annotate(cited=Count("evidence")).only("suggestion_type", "label", "reason").iterator():
        own = evidence_sentence(row.suggestion_type, row.label, row.cited)
        rows.filter(pk=row.pk).update(model_note=row.reason, reason=own)


def content_types_rename() -> None:
    """Give the rows of permissions and of the admin's log the models' new names."""
    types = apps.get_model("contenttypes", "ContentType").objects
    for old, new in TABLES.items():
        room, model = old.split("_")
        types.filter(app_label=room, model=model).update(model=new.split("_")[1])


if __name__ == "__main__":
    sys.exit(main())
