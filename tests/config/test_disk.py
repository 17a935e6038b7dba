"""A full disk is named as such wherever the database's own words would mislead."""

import sqlite3
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.db import OperationalError
from django.test import Client

from config import disk
from manage import database_advice

FULL = "No space left on device"


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


@pytest.mark.django_db
@pytest.mark.parametrize("error", [OperationalError("database or disk is full"), OSError(28, FULL)])
def test_a_page_that_cannot_write_says_that_the_disk_is_full(monkeypatch, error):
    """Whoever wants to sign in was told to try again in a moment."""

    def full(*args: object, **kwargs: object) -> None:
        raise error

    monkeypatch.setattr("digest.web.pages.account.SignIn.dispatch", full)
    client = Client(raise_request_exception=False)
    page = client.get("/accounts/login/")
    assert page.status_code == 500
    assert "The server’s disk is full" in page.text and "must free space" in page.text
    assert "in a moment" not in page.text
    german = client.get("/accounts/login/", headers={"Accept-Language": "de"})
    assert "Der Speicher des Servers ist voll" in german.text


@pytest.mark.django_db
def test_other_errors_of_a_page_are_no_full_disk(monkeypatch):
    def broken(*args: object, **kwargs: object) -> None:
        raise OperationalError("database is locked")

    monkeypatch.setattr("digest.web.pages.account.SignIn.dispatch", broken)
    assert "in a moment" in Client(raise_request_exception=False).get("/accounts/login/").text
