"""A backup contains everything and restores it exactly. A bad one is refused before it does harm."""

import errno
import json
import os
import stat
import sys
from contextlib import suppress
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from unittest import mock
from zipfile import ZIP_BZIP2, ZIP_LZMA, ZipFile

import pytest
from django.contrib.auth.models import Group, Permission
from django.contrib.sessions.models import Session
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder
from django.test import Client

from config import backup as archive_module
from config.backup import (
    FILLED_BY_MIGRATE,
    ArchiveError,
    _empty,
    archive_manifest,
    archive_read,
    archive_write,
    tables,
)
from config.models import NightlyReport
from digest.models import Feedback, Item, Reader
from ranking.common.commands import database_label
from ranking.services import ConfigEdit, config_edit
from suggestions.models import Suggestion
from tests.support.factories import CLOCK, FeedbackFactory, ItemFactory, OperatorFactory, ReaderFactory
from tests.support.suggestion_worlds import proposed, tastes

pytestmark = pytest.mark.django_db
ITEMS = "rows/digest.item.jsonl"


def _world() -> None:
    """Create two readers with thumbs, a config and a suggestion with evidence, and an operator in a group."""
    ada, ben = (ReaderFactory(username=name, time_zone="Europe/Berlin") for name in ("ada", "ben"))
    operator, now = OperatorFactory(username="olga"), CLOCK
    tastes(ada)
    proposed(ada)
    edit = ConfigEdit(topics=("Zürich", "ferries\u2019 timetables"))
    config_edit(reader_id=ben.pk, edit=edit, expected_version=0, now=now)
    FeedbackFactory(reader=ben, item=ItemFactory(title="A lighthouse, switched off"), at=now)
    staff = Group.objects.create(name="night watch")
    staff.permissions.set(Permission.objects.filter(codename__startswith="view_")[:5])
    operator.groups.add(staff)
    NightlyReport.objects.create(day=now.date(), started_at=now, steps={"fetch": {"b": 1, "a": 2}})


@pytest.fixture(scope="module")
def stage(staged) -> None:
    staged(_world)


@pytest.fixture(scope="module")
def archive_once(stage, staged, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "tidings.zip"
    staged(lambda: archive_write(path, now=CLOCK))
    return path


@pytest.fixture
def world(stage, db) -> None:
    """Create the world for one test."""


@pytest.fixture
def archive(archive_once, world) -> Path:
    """Return an archive of the world. Tests must not change it."""
    return archive_once


@pytest.fixture
def ada(world) -> Reader:
    return Reader.objects.get(username="ada")


def sums(path: Path) -> dict[str, dict[str, object]]:
    return archive_manifest(path)["tables"]


def test_what_is_restored_over_a_changed_database_is_what_was_backed_up(archive, ada, tmp_path, now):
    ada.delete()
    Item.objects.update(title="overwritten")
    NightlyReport.objects.all().delete()
    archive_read(archive, replace=True)
    again = tmp_path / "again.zip"
    archive_write(again, now=now)
    assert sums(again) == sums(archive)
    assert Reader.objects.get(username="ada").check_password("x") is False
    assert Suggestion.objects.get().evidence.count() == 4
    assert Reader.objects.get(is_staff=True).groups.get().permissions.count() == 5


def test_a_session_that_a_new_password_ended_is_not_brought_back(archive, ada):
    """Its thief has the cookie alone."""
    thief, other = Client(), Client()
    thief.force_login(ada), other.force_login(Reader.objects.get(username="ben"))
    assert thief.get("/ui/account").status_code == other.get("/ui/account").status_code == 200
    ada.set_password("another")
    ada.save()
    archive_read(archive, replace=True)
    assert thief.get("/ui/account").status_code == other.get("/ui/account").status_code == 302
    assert not Session.objects.exists()


def test_times_keep_their_microseconds(archive, ada):
    before = dict(Feedback.objects.values_list("pk", "at"))
    archive_read(archive, replace=True)
    assert dict(Feedback.objects.values_list("pk", "at")) == before


def test_new_rows_go_on_counting_and_are_found_by_search(archive, now):
    archive_read(archive, replace=True)
    newest = ItemFactory(title="A new lighthouse keeper")
    assert newest.pk > max(Item.objects.exclude(pk=newest.pk).values_list("pk", flat=True))
    found = "digest_item_search WHERE digest_item_search MATCH 'lighthouse'"
    if connection.vendor == "postgresql":
        found = "digest_item WHERE search_words @@ to_tsquery('simple', 'lighthouse')"
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM {found}")
        assert cursor.fetchone()[0] == 2


def test_every_table_of_ours_is_in_it_and_no_session():
    kept = {model._meta.label_lower for model in tables()}
    assert {
        "digest.reader",
        "digest.item",
        "ranking.configversion",
        "advisor.run",
        "tidings.nightlyreport",
    } <= kept
    assert "sessions.session" not in kept and not any(model._meta.proxy for model in tables())


def test_a_database_that_holds_something_is_left_alone_unless_told(archive):
    titles = sorted(Item.objects.values_list("title", flat=True))
    with pytest.raises(ArchiveError) as refused:
        archive_read(archive)
    assert refused.value.code == "not_empty"
    assert sorted(Item.objects.values_list("title", flat=True)) == titles


def rewritten(archive: Path, name: str, change) -> Path:
    """Return a copy of the archive with one member changed."""
    copy = archive.with_name("changed.zip")
    with ZipFile(archive) as old, ZipFile(copy, "w") as new:
        for member in old.namelist():
            raw = old.read(member)
            new.writestr(member, change(raw) if member == name else raw)
    return copy


@pytest.mark.alike
@pytest.mark.parametrize(
    ("name", "change", "code", "cure"),
    [
        (
            "rows/digest.item.jsonl",
            lambda raw: raw.replace(b"lighthouse", b"lightship"),
            "differs",
            "restore another backup",
        ),
        ("rows/digest.item.jsonl", lambda raw: raw[: len(raw) // 2], "damaged", "restore another backup"),
        ("rows/digest.feedback.jsonl", lambda raw: b"", "differs", "restore another backup"),
        (
            "rows/digest.item.jsonl",
            lambda raw: raw[raw.index(b"\n") + 1 :],
            "damaged",
            "restore another backup",
        ),
        ("rows/digest.feedback.jsonl", lambda raw: raw + raw, "damaged", "restore another backup"),
        ("manifest.json", lambda raw: b"{}", "not_an_archive", "Name a file that"),
        ("manifest.json", lambda raw: b"[]", "not_an_archive", "Name a file that"),
        (
            "manifest.json",
            lambda raw: raw.replace(b'"version": 1', b'"version": 2'),
            "other_version",
            "with that version",
        ),
        (
            "manifest.json",
            lambda raw: raw.replace(b'"tables"', b'"chairs"'),
            "damaged",
            "restore another backup",
        ),
        (
            "manifest.json",
            lambda raw: raw.replace(b'"made_at"', b'"made"'),
            "damaged",
            "restore another backup",
        ),
        (
            "manifest.json",
            lambda raw: raw.replace(b"digest.0001", b"digest.9999"),
            "other_migrations",
            "with the version that wrote",
        ),
    ],
)
def test_an_archive_that_was_tampered_with_changes_nothing(archive, name, change, code, cure):
    before = sorted(Item.objects.values_list("title", flat=True))
    with pytest.raises(ArchiveError) as refused:
        archive_read(rewritten(archive, name, change), replace=True)
    assert refused.value.code == code and cure in refused.value.message.replace("\n", " ")
    assert sorted(Item.objects.values_list("title", flat=True)) == before and Feedback.objects.exists()


# One column of each kind.
COLUMNS = {
    "digest.item": ("pk", "article", "title", "published_at"),
    "ranking.rankconfig": ("locked",),
    "suggestions.suggestion": ("p_helpful", "run_id", "forecast"),
}


ALIKE = [pytest.param(value, marks=pytest.mark.alike) for value in (None, 1e300, "9" * 400, [[]])]


@pytest.mark.parametrize("value", [10**30, "\ud800", *ALIKE], ids=lambda v: repr(v)[:9])
def test_no_value_in_a_row_breaks_the_command_or_changes_anything(archive, value):
    before = Feedback.objects.count()
    for table, fields in COLUMNS.items():
        name = f"rows/{table}.jsonl"
        row = json.loads(ZipFile(archive).read(name).split(b"\n")[0])
        for field in fields:
            changed = {**row, "fields": {**row["fields"]}}
            (changed if field == "pk" else changed["fields"])[field] = value
            line = json.dumps(changed).encode()
            copy = rewritten(archive, name, lambda raw, line=line: line + raw[raw.index(b"\n") :])
            with suppress(ArchiveError):
                archive_read(copy, replace=True)
    assert Feedback.objects.count() == before


@pytest.mark.alike
@pytest.mark.parametrize("value", [None, 1, True, "x", [[]], [{}], [None], {"digest.reader": None}, {"a": 1}])
@pytest.mark.parametrize("name", ["migrations", "tables"])
def test_a_manifest_of_another_form_is_refused(archive, name, value):
    def change(raw: bytes) -> bytes:
        return json.dumps({**json.loads(raw), name: value}).encode()

    with pytest.raises(ArchiveError) as refused:
        archive_read(rewritten(archive, "manifest.json", change), replace=True)
    assert refused.value.code == "damaged"


@pytest.mark.parametrize(("member", "code"), [("manifest.json", "not_an_archive"), (ITEMS, "damaged")])
@pytest.mark.parametrize("flaw", ["encrypted", "packed in a way of its own", "bzip2", "lzma"])
def test_a_member_that_cannot_be_opened_is_refused(archive, member, code, flaw):
    copy = rewritten(archive, member, lambda raw: raw)
    raw = bytearray(copy.read_bytes())
    listed = raw.index(b"PK\1\2")  # the first entry of the list at the end
    for start in (raw.index(b"PK\3\4"), listed):
        at = raw.index(member.encode(), start)
        at -= 30 if start != listed else 46
        raw[at + (6 if start != listed else 8)] |= flaw == "encrypted"
        method = {"encrypted": 0, "bzip2": ZIP_BZIP2, "lzma": ZIP_LZMA}.get(flaw, 99)
        raw[at + (8 if start != listed else 10)] = method
    copy.write_bytes(raw)
    with pytest.raises(ArchiveError) as refused:
        archive_read(copy, replace=True)
    assert refused.value.code == code and Feedback.objects.exists()


@pytest.mark.parametrize("more", [b"\n" * 2_000_000, b"{}\n" * 2_000_000])
def test_more_lines_than_the_manifest_names_are_not_read(archive, more: bytes):
    """A few kilobytes can hold millions of lines."""
    with pytest.raises(ArchiveError, match="more than its") as refused:
        archive_read(rewritten(archive, ITEMS, lambda raw: raw + more), replace=True)
    assert refused.value.code == "damaged" and Feedback.objects.exists()


def test_rows_that_do_not_read_say_why(archive):
    cut = rewritten(archive, "rows/digest.item.jsonl", lambda raw: raw[: len(raw) // 2])
    with pytest.raises(ArchiveError, match=r"cannot be read: JSONDecodeError: \w+"):
        archive_read(cut, replace=True)


def test_a_database_that_is_not_migrated_is_told_from_an_archive_of_another_version(archive):
    MigrationRecorder(connection).migration_qs.filter(app="advisor").latest("name").delete()
    with pytest.raises(ArchiveError, match="run `migrate`") as refused:
        archive_read(archive, replace=True)
    assert refused.value.code == "not_migrated"


def test_the_commands_name_their_database_and_a_backup_of_nobody_is_said_loudly(world, tmp_path):
    _empty(tables(), "default")
    path, told = tmp_path / "t.zip", StringIO()
    call_command("backup", str(path), stdout=StringIO(), stderr=told)
    assert database_label() in told.getvalue() and "WARNING: this database has no readers" in told.getvalue()
    for command in (["restore", str(path), "--replace", "--yes"], ["run_nightly", "--release", "gone"]):
        told = StringIO()
        with suppress(CommandError):
            call_command(*command, stdout=StringIO(), stderr=told)
        assert database_label() in told.getvalue()


def test_a_database_is_named_without_its_password(monkeypatch):
    described = {"NAME": "tidings", "HOST": "db.internal", "PORT": 5432, "USER": "ada", "PASSWORD": "s3cret"}
    there = {"default": SimpleNamespace(vendor="postgresql", settings_dict=described)}
    monkeypatch.setattr("ranking.common.commands.connections", there)
    assert database_label() == "PostgreSQL, tidings at db.internal:5432"


def test_what_is_no_archive_says_so(tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("milk, eggs")
    with pytest.raises(ArchiveError) as refused:
        archive_read(path)
    assert refused.value.code == "not_an_archive"


def refused_words(*arguments: str) -> str:
    with pytest.raises(CommandError) as refused:
        call_command(*arguments, stderr=StringIO())
    return str(refused.value)


def test_every_refusal_of_the_commands_ends_with_what_to_do(world, tmp_path, monkeypatch):
    """The last words of a restore that was not confirmed were “Nothing was changed.”"""
    call_command("backup", str(tmp_path / "monday.zip"), stdout=StringIO(), stderr=StringIO())
    path = str(tmp_path / "monday.zip")
    assert "such as monday.zip" in refused_words("restore", str(tmp_path / "mondy.zip"))
    assert "name one backup in it, such as monday.zip" in refused_words("restore", str(tmp_path))
    assert "restore --replace" in refused_words("restore", path)
    terminal = StringIO("no\n")
    terminal.isatty = lambda: True
    monkeypatch.setattr(sys, "stdin", terminal)
    monkeypatch.setattr("builtins.input", lambda question: "no")
    assert refused_words("restore", path, "--replace").endswith("type “yes”, or add --yes.")
    monkeypatch.setattr(sys, "stdin", StringIO())
    assert refused_words("restore", path, "--replace").endswith("confirm it with --yes.")
    assert refused_words("backup", str(tmp_path / "no" / "x.zip")).endswith("a folder that exists.")
    full = OSError(errno.ENOSPC, "No space left on device")
    monkeypatch.setattr("config.management.commands.backup.archive_write", mock.Mock(side_effect=full))
    assert refused_words("backup", str(tmp_path / "x.zip")).endswith("or write to another disk.")
    assert "name the old database's file" in refused_words("move_data", "nowhere.sqlite3")


def test_a_backup_that_may_not_be_read_is_not_called_something_else(world, tmp_path, monkeypatch):
    (path := tmp_path / "t.zip").write_bytes(b"PK")
    monkeypatch.setattr(
        "config.backup.ZipFile", mock.Mock(side_effect=PermissionError(13, "Permission denied"))
    )
    words = refused_words("restore", str(path))
    assert "cannot be read (Permission denied)" in words and "as a user who may read it" in words
    assert "no archive of Tidings" not in words


def test_the_commands_write_privately_ask_first_and_exit_by_the_book(world, tmp_path, monkeypatch):
    path, out = tmp_path / "t.zip", StringIO()
    call_command("backup", str(path), "--json", stdout=out)
    assert json.loads(out.getvalue())["tables"]["digest.reader"]["rows"] == 3
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600 and not (tmp_path / "t.zip.part").exists()
    monkeypatch.setattr(sys, "stdin", StringIO())
    for arguments, code in (([], 1), (["--replace"], 2), (["--replace", "--yes"], 0)):
        try:
            call_command("restore", str(path), *arguments, stdout=StringIO())
            assert code == 0
        except CommandError as error:
            assert error.returncode == code
    for command, missing in (("backup", "nowhere/t.zip"), ("restore", "nowhere.zip")):
        with pytest.raises(CommandError) as refused:
            call_command(command, str(tmp_path / missing))
        assert refused.value.returncode == 2


def test_a_database_fresh_from_migrating_takes_an_archive_without_more_words(archive):
    """Rows that migrations create do not count as data. After the restore they equal the archive's."""
    _empty([model for model in tables() if model._meta.label_lower not in FILLED_BY_MIGRATE], "default")
    archive_read(archive)
    assert Suggestion.objects.get().evidence.count() == 4


def test_a_backup_that_is_not_written_leaves_nothing_behind(world, tmp_path, monkeypatch):
    (folder := tmp_path / "folder").mkdir()
    with pytest.raises(CommandError) as refused:
        call_command("backup", str(folder), stdout=StringIO())
    assert refused.value.returncode == 2 and "folder" in str(refused.value)

    def full(*args: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(archive_module, "_table_checksum", full)
    with pytest.raises(CommandError):
        call_command("backup", str(tmp_path / "full.zip"), stdout=StringIO())
    assert [path.name for path in tmp_path.iterdir()] == ["folder"] and not list(folder.iterdir())


def test_a_link_that_somebody_left_is_not_written_through(world, tmp_path):
    """In a shared folder anybody may leave a link with the name of the incomplete file."""
    victim = tmp_path / "victim"
    victim.write_text("mine")
    (tmp_path / "backup.zip.part").symlink_to(victim)
    (tmp_path / "backup.zip").symlink_to(victim)
    archive_write(tmp_path / "backup.zip", now=CLOCK)
    assert victim.read_text() == "mine"
    assert not (tmp_path / "backup.zip").is_symlink()
    assert (tmp_path / "backup.zip").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "name", ["../escaped", "/tmp/escaped", "rows/../../escaped", "rows/auth.group.jsonl/../x"]
)
def test_names_in_an_archive_lead_nowhere(archive, name):
    """Only members with the names of our tables are read, and none is written as a file."""
    copy = rewritten(archive, "manifest.json", lambda raw: raw)
    with ZipFile(copy, "a") as changed:
        changed.writestr(name, "x")
    archive_read(copy, replace=True)
    assert not list(copy.parent.parent.rglob("escaped")) and not Path("/tmp/escaped").exists()


def test_a_row_of_another_table_is_refused(archive):
    """A line may name any model; it is one of the table that its member is named after, or damaged."""

    def smuggle(raw: bytes) -> bytes:
        fields = {"session_data": "", "expire_date": "2030-01-01T00:00:00Z"}
        line = json.dumps({"model": "sessions.session", "pk": "a" * 32, "fields": fields})
        return raw[: raw.rindex(b"\n", 0, -1) + 1] + line.encode() + b"\n"

    with pytest.raises(ArchiveError) as refused:
        archive_read(rewritten(archive, "rows/digest.feedback.jsonl", smuggle), replace=True)
    assert refused.value.code == "damaged" and "another table" in str(refused.value)
    assert not Session.objects.exists()


@pytest.mark.parametrize("bomb", [b"[" * 200_000, b" " * (64 << 20) + b"{}"], ids=["nested", "large"])
def test_a_manifest_that_is_a_bomb_is_no_archive(archive, bomb: bytes):
    with pytest.raises(ArchiveError) as refused:
        archive_read(rewritten(archive, "manifest.json", lambda _: bomb), replace=True)
    assert refused.value.code == "not_an_archive"


@pytest.mark.parametrize("bomb", [b"[" * 200_000, b'{"a": "' + b"a" * 2_000_000], ids=["nested", "long"])
def test_a_row_that_is_a_bomb_changes_nothing(archive, bomb: bytes, monkeypatch):
    monkeypatch.setattr("config.backup.ROW_MAX_CHARS", 1_000_000)
    with pytest.raises(ArchiveError) as refused:
        archive_read(rewritten(archive, "rows/digest.feedback.jsonl", lambda raw: raw + bomb), replace=True)
    assert refused.value.code == "damaged"
    assert Feedback.objects.exists()
