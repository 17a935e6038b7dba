"""The words of items, kept ready to be searched: an FTS5 table on SQLite, a generated column on PostgreSQL.

Neither is a Django model: rows of `digest_item` are all that anybody writes, and the database keeps its index.
"""

from django.db import migrations

# External content: the index stores no text of its own. Accents are folded by the tokenizer.
SQLITE = [
    """
    CREATE VIRTUAL TABLE digest_item_search USING fts5(
        title, text, content='digest_item', content_rowid='id',
        tokenize='unicode61 remove_diacritics 2', prefix='3'
    )
    """,
    """
    CREATE TRIGGER digest_item_search_added AFTER INSERT ON digest_item BEGIN
        INSERT INTO digest_item_search(rowid, title, text) VALUES (new.id, new.title, new.text);
    END
    """,
    """
    CREATE TRIGGER digest_item_search_gone AFTER DELETE ON digest_item BEGIN
        INSERT INTO digest_item_search(digest_item_search, rowid, title, text)
        VALUES ('delete', old.id, old.title, old.text);
    END
    """,
    """
    CREATE TRIGGER digest_item_search_changed AFTER UPDATE OF title, text ON digest_item BEGIN
        INSERT INTO digest_item_search(digest_item_search, rowid, title, text)
        VALUES ('delete', old.id, old.title, old.text);
        INSERT INTO digest_item_search(rowid, title, text) VALUES (new.id, new.title, new.text);
    END
    """,
    "INSERT INTO digest_item_search(digest_item_search) VALUES ('rebuild')",
]
SQLITE_BACK = [
    "DROP TRIGGER digest_item_search_added",
    "DROP TRIGGER digest_item_search_gone",
    "DROP TRIGGER digest_item_search_changed",
    "DROP TABLE digest_item_search",
]

# Accents are split off and dropped, and punctuation becomes space, so that PostgreSQL's parser sees words and
# nothing it would take for a host, an address or a signed number. No extension is needed. A tsvector holds
# 1 MB at most, hence the cut.
POSTGRESQL = [
    r"""
    CREATE FUNCTION digest_words(part text) RETURNS tsvector IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
        SELECT to_tsvector('pg_catalog.simple', regexp_replace(
            regexp_replace(normalize(left(part, 100000), NFKD), '[\u0300-\u036f]+', '', 'g'),
            '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2010-\u206f\u3000-\u303f]+', ' ', 'g'))
    $$
    """,
    """
    ALTER TABLE digest_item ADD COLUMN search_words tsvector GENERATED ALWAYS AS (
        setweight(digest_words(title), 'A') || setweight(digest_words(text), 'D')
    ) STORED
    """,
    "CREATE INDEX digest_item_search ON digest_item USING gin (search_words)",
]
POSTGRESQL_BACK = ["ALTER TABLE digest_item DROP COLUMN search_words", "DROP FUNCTION digest_words(text)"]


def add(apps, schema_editor):
    _run(schema_editor, SQLITE, POSTGRESQL)


def remove(apps, schema_editor):
    _run(schema_editor, SQLITE_BACK, POSTGRESQL_BACK)


def _run(schema_editor, sqlite, postgresql):
    vendor = schema_editor.connection.vendor
    for statement in {"sqlite": sqlite, "postgresql": postgresql}.get(vendor, []):
        schema_editor.execute(statement, None)


class Migration(migrations.Migration):

    dependencies = [("digest", "0004_keeping_readers")]

    operations = [migrations.RunPython(add, remove)]
