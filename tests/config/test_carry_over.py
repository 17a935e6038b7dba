"""`deploy/carry_over.py`: an installation with thirty migrations gets the tables and migrations of today."""

import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.conf import settings

from digest.feeds.identity import article_hash

# SQLite files, whatever the database of the tests is.
pytestmark = pytest.mark.alike

LAST = {
    "advisor": "0009_runs_by_creation",
    "digest": "0013_entries_by_feed_and_item",
    "ranking": "0002_source_alias",
    "suggestions": "0004_taken_back",
    "tidings": "0002_kept_answers",
}


def carry_over(path: Path) -> subprocess.CompletedProcess[str]:
    """Run the script on the database at `path`."""
    environment = os.environ | {"DATABASE_URL": f"sqlite:///{path}", "REDIS_URL": ""}
    command = [sys.executable, "deploy/carry_over.py"]
    return subprocess.run(
        command, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True, check=False
    )


def schema(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Return the columns of each table by name, and its triggers."""
    with closing(sqlite3.connect(path)) as database:
        tables = [name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        found = {}
        for table in tables:
            columns = database.execute(f"SELECT name, type FROM pragma_table_info('{table}') ORDER BY name")
            found[table] = columns.fetchall()
        triggers = database.execute("SELECT name, tbl_name FROM sqlite_master WHERE type = 'trigger'")
        return found | {"triggers": sorted(triggers.fetchall())}


ROOMS = ", ".join(repr(room) for room in LAST)
FIRST_ONLY = f"""
import django; django.setup()
from django.core.management import call_command
for room in ({ROOMS}): call_command("migrate", room, "0001_initial", verbosity=0)
"""


def run_python(path: Path, *command: str) -> None:
    environment = os.environ | {"DATABASE_URL": f"sqlite:///{path}", "REDIS_URL": ""}
    environment |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    subprocess.run([sys.executable, *command], cwd=settings.BASE_DIR, env=environment, check=True)


def row(database: sqlite3.Connection, table: str, **values: object) -> None:
    """Insert a row, with something in each other column that must not be null."""
    columns = database.execute(f"SELECT name, type, \"notnull\", pk FROM pragma_table_info('digest_{table}')")
    for name, kind, needed, key in columns.fetchall():
        if needed and not key and name not in values:
            plain: object = 0 if kind.startswith(("int", "big", "bool")) else ""
            values[name] = "2026-01-01" if kind == "datetime" else plain
    names, marks = ", ".join(values), ", ".join("?" * len(values))
    database.execute(f"INSERT INTO digest_{table} ({names}) VALUES ({marks})", [*values.values()])


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database at the first migration of each room: feeds share items, and one entry has lost its item."""
    path = tmp_path_factory.mktemp("first") / "first.sqlite3"
    run_python(path, "-c", FIRST_ONLY)
    with closing(sqlite3.connect(path)) as database, database:
        for host in ("planet", "paper"):
            row(database, "source", key=f"{host}.example", title="")
        for n, host in enumerate(("planet", "paper"), start=1):
            row(database, "feed", id=n, url=f"https://{host}.example/f", source_id=f"{host}.example")
        row(database, "item", id=5, url="https://paper.example/a", source_id="paper.example", title="Rain")
        row(database, "item", id=6, url="https://other.example/b", source_id="planet.example", title="Sun")
        for feed, guid, item in ((1, "p1", 5), (2, "a", 5), (1, "p2", 6), (2, "gone", None)):
            row(database, "feedentry", feed_id=feed, guid=guid, item_id=item)
    return path


@pytest.fixture
def old(first: Path, tmp_path: Path) -> Path:
    """A database as the last migrations of the old code left it."""
    path = tmp_path / "old.sqlite3"
    shutil.copy(first, path)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript("""
            INSERT INTO digest_story (id, created_at, last_item_at) VALUES (7, '2026-01-01', '2026-01-01');
            ALTER TABLE suggestions_suggestion DROP COLUMN model_note;
            INSERT INTO suggestions_suggestion (id, reader_id, run_id, suggestion_type, field, target_key,
                label, current_value, suggested_value, reason, confidence, p_helpful, forecast,
                expected_impact, config_version, status, validation_notes, created_at)
            VALUES (3, 'a', 'b', 'boost_source', 'source_weights', 'post.example', 'The Post', '1.0', '1.3',
                'Sign in on evil.dev', 'high', 0.9, '{}', '', 1, 'pending', '[]', '2026-01-01');
            INSERT INTO suggestions_evidence
                (suggestion_id, url, title, source_key, useful, reason_tags, rated_at)
            VALUES (3, 'a', 'A', 'post.example', 1, '[]', '2026-01-01'),
                (3, 'b', 'B', 'post.example', 1, '[]', '2026-01-01');
            ALTER TABLE digest_item RENAME COLUMN story_id TO cluster_id;
            ALTER TABLE advisor_guidanceevent RENAME COLUMN holdout TO held_out;
            ALTER TABLE advisor_guidanceevent RENAME COLUMN emitted_ids TO told;
            ALTER TABLE ranking_learnedweight RENAME COLUMN on_hold_until TO held_until;
            ALTER TABLE digest_story RENAME TO digest_cluster;
            ALTER TABLE tidings_idempotentresponse RENAME TO tidings_keptanswer;
            ALTER TABLE advisor_guidanceevent ADD COLUMN acknowledged bool;
            ALTER TABLE advisor_guidanceevent ADD COLUMN stages text;
            DROP TABLE digest_communityround;
            DROP TABLE digest_itemfigure;
            DROP TABLE digest_sourcefigure;
            CREATE TABLE advisor_guidanceday (id integer PRIMARY KEY AUTOINCREMENT, day date);
            CREATE TABLE advisor_guidancepacket (id integer PRIMARY KEY AUTOINCREMENT, key text);
            DELETE FROM django_migrations
            WHERE app IN ('advisor', 'digest', 'ranking', 'suggestions', 'tidings');
        """)
        database.executemany(
            "INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, '2026-01-01')", LAST.items()
        )
    return path


@pytest.mark.django_db
def test_an_old_installation_has_the_new_tables_and_its_rows(old: Path, installed: Path):
    done = carry_over(old)
    assert (done.returncode, done.stdout.split(".")[0]) == (0, "Carried over"), done.stderr
    again = carry_over(old)
    assert again.returncode == 0 and "Nothing to do" in again.stdout
    with closing(sqlite3.connect(old)) as database, database:
        words = database.execute("SELECT reason, model_note FROM suggestions_suggestion").fetchall()
        assert words == [("You liked 2 articles from The Post.", "Sign in on evil.dev")]
        # Its reader and run were never there, which the checks of a migration would find.
        database.executescript("DELETE FROM suggestions_evidence; DELETE FROM suggestions_suggestion")
    run_python(old, "manage.py", "migrate", "-v0")
    assert schema(old) == schema(installed)
    with closing(sqlite3.connect(old)) as database:
        assert database.execute("SELECT id FROM digest_story").fetchall() == [(7,)]
        shared_item_stays_with_the_feed_whose_words_it_has(database)
    again = carry_over(old)
    assert again.returncode == 0 and "Nothing to do" in again.stdout


def shared_item_stays_with_the_feed_whose_words_it_has(database: sqlite3.Connection) -> None:
    rows = database.execute("SELECT id, feed_id, guid, own, article FROM digest_item ORDER BY id").fetchall()
    assert rows == [
        (5, 2, "a", 1, article_hash("https://paper.example/a")),
        (6, 1, "p2", 0, article_hash("https://other.example/b")),
    ]
    assert database.execute("SELECT feed_id, guid FROM digest_prunedentry").fetchall() == [(2, "gone")]
    found = database.execute("SELECT rowid FROM digest_item_search WHERE digest_item_search MATCH 'rain'")
    assert found.fetchall() == [(5,)]


def test_a_column_that_is_gone_already_is_passed_over(old: Path, tmp_path: Path):
    gone = tmp_path / "gone.sqlite3"
    shutil.copy(old, gone)
    with closing(sqlite3.connect(gone)) as database, database:
        database.execute("ALTER TABLE advisor_guidanceevent DROP COLUMN acknowledged")
    assert carry_over(gone).returncode == carry_over(old).returncode == 0
    assert schema(gone) == schema(old)


def test_an_empty_database_is_told_to_migrate(tmp_path: Path):
    done = carry_over(tmp_path / "empty.sqlite3")
    assert done.returncode == 1 and "Nothing was changed" in done.stdout


def test_one_that_is_not_at_its_last_migrations_is_left_as_it_is(old: Path):
    with closing(sqlite3.connect(old)) as database, database:
        database.execute("DELETE FROM django_migrations WHERE name = '0013_entries_by_feed_and_item'")
    before = schema(old)
    done = carry_over(old)
    assert done.returncode == 1 and "digest.0013_entries_by_feed_and_item" in done.stdout
    assert schema(old) == before
