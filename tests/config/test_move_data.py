"""`move_data` copies everything from SQLite into this database and compares each table, or copies nothing."""

import json
import shutil
import sqlite3
from contextlib import closing
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.db import connections

from config import backup
from config.backup import (
    SOURCE_ALIAS,
    ArchiveError,
    _empty,
    _source_connection,
    archive_checksums,
    archive_read,
    archive_write,
    data_move,
    tables,
)
from digest.models import Item
from tests.config.test_serve import port_free
from tests.support.factories import ItemFactory
from tests.support.suggestion_worlds import proposed, tastes

pytestmark = pytest.mark.django_db
ROOT = Path(__file__).resolve().parents[2]


def described(path: Path) -> dict[str, object]:
    return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(path), "OPTIONS": {"timeout": 20}}


@pytest.fixture
def old(ada, installed, tmp_path, now) -> Path:
    """Return an SQLite database with a reader, thumbs and a suggestion. This one has none of these."""
    tastes(ada)
    proposed(ada)
    archive, path = tmp_path / "all.zip", tmp_path / "old.sqlite3"
    archive_write(archive, now=now)
    shutil.copy(installed, path)
    with _source_connection(described(path), "default"):
        archive_read(archive, using=SOURCE_ALIAS)
    _empty(tables(), "default")
    return path


def refused(source: Path | str) -> tuple[int, str]:
    """Return the exit code and the message of a refused move."""
    with pytest.raises(CommandError) as error:
        call_command("move_data", str(source), stdout=StringIO())
    return error.value.returncode, str(error.value)


def test_everything_moves_is_compared_and_is_not_moved_onto_itself(old, now, monkeypatch):
    def meanwhile(*, using: str) -> dict:
        with closing(sqlite3.connect(old)) as rows, rows:
            rows.execute("UPDATE digest_item SET title = title || '!'")
        return archive_checksums(using=using)

    with monkeypatch.context() as patch:
        patch.setattr(backup, "archive_checksums", meanwhile)
        with pytest.raises(ArchiveError) as changed:
            data_move(source=described(old), now=now)
    assert changed.value.code == "source_changed" and "digest.item" in changed.value.message
    assert not Item.objects.exists()

    out = StringIO()
    call_command("move_data", str(old), "--json", stdout=out)
    manifest = json.loads(out.getvalue())
    assert manifest["database"] == "sqlite" and manifest["tables"] == archive_checksums()
    assert Item.objects.filter(title__endswith="!").exists()
    newest = ItemFactory()
    assert newest.pk > manifest["tables"]["digest.item"]["rows"]

    code, words = refused(old)
    assert code == 1 and "not_empty" in words and "just migrated" in words
    assert "--replace" not in words, "which this command does not have"
    with closing(sqlite3.connect(old)) as rows, rows:
        rows.execute("DELETE FROM django_migrations WHERE app = 'advisor' AND name LIKE '0002%'")
    code, words = refused(old)
    assert code == 1 and "The old database lacks advisor.0002" in words
    assert "run `migrate` on it with this version" in words


def test_what_is_no_old_database_is_said_before_anything_is_read(tmp_path, settings):
    assert refused(tmp_path / "nowhere.sqlite3")[0] == 2
    code, words = refused("foo://ada:secret@host")
    assert code == 2 and "secret" not in words
    empty = tmp_path / "empty.sqlite3"
    empty.touch()
    code, words = refused(empty)
    assert code == 1 and "source_unreadable" in words
    ours = connections["default"].settings_dict
    with pytest.raises(ArchiveError) as same:
        data_move(source={key: ours[key] for key in ("ENGINE", "NAME", "HOST", "PORT")}, now=None)
    assert same.value.code == "same_database"


def test_a_server_that_is_not_there_is_said_as_that():
    code, words = refused(f"postgres://ada:s3cret@127.0.0.1:{port_free()}/tidings")
    assert code == 1 and "source_unreadable" in words and "Is it there" in words and "s3cret" not in words


def test_a_file_that_is_no_database_is_said_as_that(tmp_path):
    (tmp_path / "notes.txt").write_text("no database " * 100)
    code, words = refused(tmp_path / "notes.txt")
    assert code == 1 and "source_unreadable" in words and "not a database" in words


@pytest.mark.services
def test_a_database_is_not_moved_onto_itself_by_another_spelling_of_its_address():
    ours = connections["default"].settings_dict
    other = "127.0.0.1" if ours["HOST"] == "localhost" else "localhost"
    with pytest.raises(ArchiveError) as same:
        data_move(source={**ours, "HOST": other, "OPTIONS": {}}, now=None)
    assert same.value.code == "same_database"


def test_a_file_is_not_moved_onto_itself_by_a_link_to_it(installed, tmp_path, monkeypatch):
    if connections["default"].vendor != "sqlite":
        pytest.skip("about a database that is a file")
    shutil.copy(installed, tmp_path / "one.sqlite3")
    (tmp_path / "link.sqlite3").symlink_to(tmp_path / "one.sqlite3")
    monkeypatch.setitem(connections["default"].settings_dict, "NAME", str(tmp_path / "one.sqlite3"))
    code, words = refused(tmp_path / "link.sqlite3")
    assert code == 1 and "same_database" in words
