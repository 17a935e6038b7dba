"""A full disk is named as such wherever the database's own words would mislead."""

import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest

from config import disk
from manage import database_advice


def on(monkeypatch: pytest.MonkeyPatch, engine: str, name: Path | str) -> None:
    """Let the database be this one."""
    database = {"default": {"ENGINE": engine, "NAME": name}}
    monkeypatch.setattr(disk, "settings", SimpleNamespace(DATABASES=database, VAR_DIR="var"))


@pytest.fixture
def sqlite(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Let the database be a file in a folder of the test."""
    on(monkeypatch, "config.shared_sqlite3", tmp_path / "t.sqlite3")
    return tmp_path


def test_what_sqlite_says_of_a_full_disk_leads_to_the_disk(sqlite: Path):
    database = sqlite3.connect(sqlite / "t.sqlite3")
    database.execute("PRAGMA max_page_count = 2")
    with pytest.raises(sqlite3.OperationalError) as full:
        database.executescript("CREATE TABLE a (b); CREATE TABLE c (d); CREATE TABLE e (f)")
    database.close()
    advice = database_advice(str(full.value))
    assert f"The disk of “{sqlite}” is full" in advice and "free space there" in advice
    assert "migrate" not in advice and "DATABASE_URL" not in advice


@pytest.mark.parametrize(("free", "words"), [(0, "is full (0 MB free)"), (1 << 40, "fails (1,048,576 MB")])
def test_a_failing_disk_is_told_from_a_full_one_by_its_free_space(sqlite: Path, monkeypatch, free, words):
    monkeypatch.setattr(disk, "disk_free", lambda folders: dict.fromkeys(folders, free))
    assert words in database_advice("disk I/O error")


def test_what_postgresql_says_of_a_full_disk_leads_to_its_server(monkeypatch):
    on(monkeypatch, "django.db.backends.postgresql", "tidings")
    text = 'could not extend file "base/16384/2619": No space left on device'
    assert "PostgreSQL's server is full" in database_advice(text)
    assert "migrate" in database_advice("no such table: digest_item")
