"""Index scripts without spaces in pairs of letters, and the signs of "C++", "C#" and ".NET" as words.

Of 日本語, 日本, 本語 and 語 are indexed. `digest.items.search_query` writes queries the same way.
"""

from importlib import import_module

from django.db import migrations

initial = import_module("digest.migrations.0001_initial")

# Thai, Lao, Myanmar, Khmer, kana, Chinese characters, Hangul.
SPACELESS = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u1000-\u103f\u1050-\u109f\u1780-\u17d3\u3005-\u3007\u3041-\u3096"
    "\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\U00020000-\U000323af"
)
# Two ranges around all of these, which rule most texts out in a third of the time.
AROUND_SPACELESS = "\u0e01-\u17d3\u3005-\U000323af"
# What a dot that begins a name stands after (".NET").
OPENERS = ' \n\t\u00a0("\u201c\u201e\u00ab['


def sqlite_words(column):
    """Write the SQL of what is indexed of a column: the text itself unless it has such letters or signs.

    A text with such letters is walked in pieces of 256 characters, each with the one before and the one after it:
    `substr` counts from the beginning of its text. Another one is split where the signs are.
    """
    plain, letter, text = "[a-zA-Z0-9]", f"[{SPACELESS}]", f"' ' || {column}"
    # What costs little rules most texts out of what costs more: a character is looked for faster than one of some.
    opened = " OR ".join(f"instr({text}, '{opener}.')" for opener in OPENERS)
    signs = sqlite_split(text, ".", "dotsign", f"before GLOB '[{OPENERS}]' AND part GLOB '[a-zA-Z]*'")
    signs = sqlite_split(signs, "++", "plusplus", f"before GLOB '{plain}'")
    signs = sqlite_split(signs, "#", "sharpsign", f"before GLOB '{plain}'")
    return f"""
        CASE WHEN length(CAST({column} AS BLOB)) > length({column}) AND {column} GLOB '*[{AROUND_SPACELESS}]*' AND {column} GLOB '*{letter}*' THEN (
            WITH RECURSIVE piece(n, chars) AS (
                SELECT 0, substr({text}, 1, 258)
                UNION ALL SELECT n + 1, substr({text}, n * 256 + 257, 258) FROM piece
                WHERE (n + 1) * 256 < length({column})
            ), place(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM place WHERE i < 256)
            SELECT group_concat(CASE
                WHEN c GLOB '{letter}' AND after GLOB '{letter}' THEN ' ' || c || after || ' '
                WHEN c GLOB '{letter}' THEN ' ' || c || ' '
                WHEN c = '#' AND before GLOB '{plain}' THEN ' sharpsign '
                WHEN c = '+' AND after = '+' AND before GLOB '{plain}' THEN ' plusplus '
                WHEN c = '.' AND after GLOB '[a-zA-Z]' AND before GLOB '[{OPENERS}]' THEN ' dotsign '
                ELSE c END, '')
            FROM (
                SELECT substr(chars, i, 1) AS before, substr(chars, i + 1, 1) AS c, substr(chars, i + 2, 1) AS after
                FROM piece CROSS JOIN place
            )
        ) WHEN {column} GLOB '*.[a-zA-Z]*' AND ({opened}) AND {text} GLOB '*[{OPENERS}].[a-zA-Z]*'
            OR instr({column}, '#') AND {column} GLOB '*{plain}#*'
            OR instr({column}, '++') AND {column} GLOB '*{plain}++*'
        THEN {signs}
        ELSE {column} END"""


def sqlite_split(text, sign, word, where):
    """Write the SQL of a text in which each `sign` is a `word` where it stands as `where` says."""
    return f"""(
            SELECT group_concat(CASE WHEN n = 0 THEN part WHEN {where} THEN ' {word} ' || part ELSE '{sign}' || part END, '')
            FROM (
                SELECT key AS n, value AS part, substr(lag(value) OVER (ORDER BY key), -1) AS before
                FROM json_each('[' || replace(json_quote({text}), '{sign}', '","') || ']')
            )
        )"""


def sqlite_row(row):
    return f"{row}id, {sqlite_words(f'{row}title')}, {sqlite_words(f'{row}text')}"


FORGET = f"""
        INSERT INTO digest_item_search(digest_item_search, rowid, title, text) SELECT 'delete', {sqlite_row("old.")};"""
ADD = f"""
        INSERT INTO digest_item_search(rowid, title, text) SELECT {sqlite_row("new.")};"""
# Without content of its own: the words differ from the columns. Marks belong to words (Hindi is full of them),
# except those that only choose how an emoji looks.
SQLITE_TABLE = [
    """
    CREATE VIRTUAL TABLE digest_item_search USING fts5(
        title, text, content='', prefix='3',
        tokenize="unicode61 remove_diacritics 2 categories 'L* N* Co Mn Mc' separators '\ufe0e\ufe0f'"
    )
    """,
    f"INSERT INTO digest_item_search(rowid, title, text) SELECT {sqlite_row('')} FROM digest_item",
]
SQLITE_TRIGGERS = [
    f"CREATE TRIGGER digest_item_search_added AFTER INSERT ON digest_item BEGIN{ADD} END",
    f"CREATE TRIGGER digest_item_search_gone AFTER DELETE ON digest_item BEGIN{FORGET} END",
    f"CREATE TRIGGER digest_item_search_changed AFTER UPDATE OF title, text ON digest_item BEGIN{FORGET}{ADD} END",
]

# Composed again after accents are dropped, so that kana and Hangul are letters as they are typed. Half of the
# longest text makes pairs: a tsvector holds 1 MB at most. The fence (OFFSET 0) has each step done once.
POSTGRESQL_WORDS = rf"""
    CREATE OR REPLACE FUNCTION digest_words(part text) RETURNS tsvector IMMUTABLE PARALLEL SAFE LANGUAGE sql AS $$
        SELECT to_tsvector('pg_catalog.simple', regexp_replace(
            CASE WHEN plain ~ '[{SPACELESS}]' THEN (
                SELECT string_agg(CASE
                    WHEN c !~ '[{SPACELESS}]' THEN c
                    WHEN after ~ '[{SPACELESS}]' THEN ' ' || c || after || ' '
                    ELSE ' ' || c || ' ' END, '' ORDER BY n)
                FROM (
                    SELECT c, n, lead(c) OVER (ORDER BY n) AS after
                    FROM unnest(string_to_array(left(plain, 50000), NULL)) WITH ORDINALITY AS letters(c, n)
                ) AS pairs
            ) ELSE plain END,
            '[\u0001-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2010-\u206f\u3000-\u3004\u3008-\u303f]+', ' ', 'g'))
        FROM (
            SELECT regexp_replace(regexp_replace(regexp_replace(
                normalize(regexp_replace(normalize(left(part, 100000), NFKD), '[\u0300-\u036f]+', '', 'g'), NFKC),
                '([a-zA-Z0-9])#', '\1 sharpsign ', 'g'),
                '([a-zA-Z0-9])\+\+', '\1 plusplus ', 'g'),
                '(^|[\s("\u201c\u201e\u00ab[])\.(?=[a-zA-Z])', '\1 dotsign ', 'g') AS plain
            OFFSET 0
        ) AS folded
    $$
"""
# Items whose words may differ from what the function before made of them; PostgreSQL computes a generated
# column again where a column it is made of is written.
POSTGRESQL_AGAIN = r"""
    UPDATE digest_item SET title = title WHERE concat(title, ' ', text) ~
        '[\u0590-\u1dff\u3005-\u3007\u3041-\ud7a3\uf900-\ufdff\uff66-\uffdc\U00020000-\U000323af]|[a-zA-Z0-9](#|\+\+)|(^|[\s("\u201c\u201e\u00ab[])\.[a-zA-Z]'
"""


def search_words_add(apps, schema_editor):
    """Index all items anew on SQLite, and those it makes a difference for on PostgreSQL."""
    sqlite = [*initial.SEARCH_SQLITE_DROP, "DROP TABLE digest_item_search", *SQLITE_TABLE, *SQLITE_TRIGGERS]
    _run(schema_editor, sqlite, [POSTGRESQL_WORDS, POSTGRESQL_AGAIN])


def search_words_remove(apps, schema_editor):
    table = [*initial.SEARCH_SQLITE_TABLE, *initial.SEARCH_SQLITE_TRIGGERS]
    words = initial.SEARCH_POSTGRESQL[0].replace("CREATE FUNCTION", "CREATE OR REPLACE FUNCTION")
    sqlite = [*initial.SEARCH_SQLITE_DROP, "DROP TABLE digest_item_search", *table]
    _run(schema_editor, sqlite, [words, POSTGRESQL_AGAIN])


def search_triggers_add(apps, schema_editor):
    """Make SQLite's triggers again: whoever alters a column of `digest_item` there makes its table anew without them."""
    _run(schema_editor, [*initial.SEARCH_SQLITE_DROP, *SQLITE_TRIGGERS], [])


def search_rebuild(schema_editor):
    """Index all items of SQLite anew (docs/operations.md)."""
    _run(schema_editor, ["DROP TABLE IF EXISTS digest_item_search", *SQLITE_TABLE], [])


def _run(schema_editor, sqlite, postgresql):
    vendor = schema_editor.connection.vendor
    for statement in {"sqlite": sqlite, "postgresql": postgresql}.get(vendor, []):
        schema_editor.execute(statement, None)


class Migration(migrations.Migration):
    dependencies = [("digest", "0006_sources_filled")]

    operations = [migrations.RunPython(search_words_add, search_words_remove)]
