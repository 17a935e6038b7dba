"""A damaged SQLite file is told from one that is whole, locked, or too large to look through."""

import os
import sqlite3
from pathlib import Path

import pytest

from ranking.common.damage import damage_found, is_damage
from tests.support.damage import page_overwrite


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Return a database with a table of a few pages."""
    path = tmp_path / "t ö.sqlite3"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE a (b)")
        database.executemany("INSERT INTO a VALUES (?)", [("x" * 900,)] * 5_000)
    database.close()
    return path


def test_a_whole_file_has_no_damage(file: Path):
    assert damage_found(file, seconds=10) == ""


def test_one_page_of_a_table_is_found_and_told_in_one_line(file: Path):
    page_overwrite(file, "a")
    found = damage_found(file, seconds=10)
    assert found and "Page 2" in found and "\n" not in found


def test_the_first_page_is_found(file: Path):
    with file.open("r+b") as raw:
        raw.write(os.urandom(4096))
    assert damage_found(file, seconds=10) == "file is not a database"


def test_a_search_without_time_or_beside_a_writer_says_nothing(file: Path):
    assert damage_found(file, seconds=0) is None
    with sqlite3.connect(file, isolation_level=None) as other:
        other.execute("BEGIN EXCLUSIVE")
        assert damage_found(file, seconds=10) is None
    other.close()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("database disk image is malformed", True),
        ("malformed database schema (?)", True),
        ("file is not a database", True),
        ("Could not decode to UTF-8 column 'title' with text '\x80'", True),
        ("database is locked", False),
        ("no such table: digest_item", False),
        ("database or disk is full", False),
    ],
)
def test_damage_is_known_by_its_words(text: str, expected: bool):
    assert is_damage(text) is expected
