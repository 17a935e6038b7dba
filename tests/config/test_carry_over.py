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


@pytest.fixture
def old(installed: Path, tmp_path: Path) -> Path:
    """A database as the last migrations of the old code left it, with two items of one story."""
    path = tmp_path / "old.sqlite3"
    shutil.copy(installed, path)
    with closing(sqlite3.connect(path)) as database, database:
        database.executescript("""
            INSERT INTO digest_story (id, created_at, last_item_at) VALUES (7, '2026-01-01', '2026-01-01');
            ALTER TABLE digest_item RENAME COLUMN story_id TO cluster_id;
            ALTER TABLE advisor_guidanceevent RENAME COLUMN holdout TO held_out;
            ALTER TABLE advisor_guidanceevent RENAME COLUMN emitted_ids TO told;
            ALTER TABLE ranking_learnedweight RENAME COLUMN on_hold_until TO held_until;
            ALTER TABLE digest_story RENAME TO digest_cluster;
            ALTER TABLE tidings_idempotentresponse RENAME TO tidings_keptanswer;
            ALTER TABLE advisor_guidanceevent ADD COLUMN acknowledged bool;
            ALTER TABLE advisor_guidanceevent ADD COLUMN stages text;
            CREATE TABLE advisor_guidanceday (id integer PRIMARY KEY AUTOINCREMENT, day date);
            CREATE TABLE advisor_guidancepacket (id integer PRIMARY KEY AUTOINCREMENT, key text);
            DELETE FROM django_migrations
            WHERE app IN ('advisor', 'digest', 'ranking', 'suggestions', 'tidings');
        """)
        database.executemany(
            "INSERT INTO django_migrations (app, name, applied) VALUES (?, ?, '2026-01-01')", LAST.items()
        )
    return path


def test_an_old_installation_has_the_new_tables_and_its_rows(old: Path, installed: Path):
    done = carry_over(old)
    assert (done.returncode, done.stdout.split(".")[0]) == (0, "Carried over"), done.stderr
    assert schema(old) == schema(installed)
    with closing(sqlite3.connect(old)) as database:
        assert database.execute("SELECT id FROM digest_story").fetchall() == [(7,)]
        names = database.execute("SELECT name FROM django_migrations WHERE app = 'digest'").fetchall()
    assert names == [("0001_initial",)]
    again = carry_over(old)
    assert again.returncode == 0 and "Nothing to do" in again.stdout


def test_a_column_that_is_gone_already_is_passed_over(old: Path, installed: Path):
    with closing(sqlite3.connect(old)) as database, database:
        database.execute("ALTER TABLE advisor_guidanceevent DROP COLUMN acknowledged")
    assert carry_over(old).returncode == 0
    assert schema(old) == schema(installed)


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
