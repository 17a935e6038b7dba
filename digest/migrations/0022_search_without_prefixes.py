"""Search on SQLite without an index of its own for three-letter beginnings: a third of its bytes, for 2 ms a query."""

from importlib import import_module

from django.db import migrations

words = import_module("digest.migrations.0007_search_signs_and_scripts")

SQLITE_TABLE = [statement.replace(" prefix='3',\n", "\n") for statement in words.SQLITE_TABLE]


def search_shrink(apps, schema_editor):
    search_rebuild(schema_editor)


def search_prefixes_add(apps, schema_editor):
    words.search_rebuild(schema_editor)


def search_rebuild(schema_editor):
    """Index all items of SQLite anew (docs/operations.md)."""
    words._run(schema_editor, ["DROP TABLE IF EXISTS digest_item_search", *SQLITE_TABLE], [])


class Migration(migrations.Migration):
    dependencies = [("digest", "0021_subscription_names")]

    operations = [migrations.RunPython(search_shrink, search_prefixes_add)]
