"""A damaged SQLite file: commands name it in a sentence, pages raise an alert, a restore works over it."""

import os
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.signals import got_request_exception
from django.db import DatabaseError
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from advisor.agent import alerts
from advisor.agent.alerts import alert_forget, alert_remember, alert_remembered
from advisor.agent.error_policy import alert_raise, failures_alert
from config.apps import check_database_file
from config.readiness import readiness
from config.templatetags import operators_overview
from config.templatetags.operators_overview import overview_figures
from digest.models import Reader
from ranking.common.isolation import Failures
from tests.support.damage import page_overwrite
from tests.support.factories import OperatorFactory

ROOT = Path(__file__).parents[2]
MALFORMED = "database disk image is malformed"


def manage(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    place = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "REDIS_URL")}
    place |= {"TIDINGS_VAR_DIR": str(folder), "TIDINGS_ENV_FILE": "", "LOG_LEVEL": "CRITICAL"}
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(command, cwd=ROOT, env=place, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def whole(installed: Path, tmp_path_factory) -> Path:
    """Return a folder with a migrated database and a backup of it."""
    folder = tmp_path_factory.mktemp("whole")
    shutil.copy(installed, folder / "tidings.sqlite3")
    assert manage(folder, "backup", str(folder / "b.zip")).returncode == 0
    return folder


def damaged(whole: Path, folder: Path, table: str) -> Path:
    shutil.copytree(whole, folder, dirs_exist_ok=True)
    database = folder / "tidings.sqlite3"
    if table:
        page_overwrite(database, table)
    else:
        with database.open("r+b") as raw:
            raw.write(os.urandom(4096))
    return database


# --- Commands -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("table", "commands"),
    [
        ("digest_item", (["check", "--database", "default"], ["backup", "new.zip"])),
        ("django_migrations", (["migrate"],)),
        ("", (["run_nightly"], ["serve"])),
    ],
)
def test_commands_name_the_damaged_file_and_the_runbook_and_end_with_1(whole, tmp_path, table, commands):
    database = damaged(whole, tmp_path, table)
    for words in commands:
        done = manage(tmp_path, *(str(tmp_path / word) if word == "new.zip" else word for word in words))
        assert done.returncode == 1, words
        assert f"The database file “{database}” is damaged: " in done.stderr
        assert "docs/runbook.md" in done.stderr and "Traceback" not in done.stderr
        # Nobody looks at a backup of the night: the site's probe tells of it.
        alerts = "".join(path.read_text() for path in tmp_path.glob("*alert*"))
        assert words[0] != "backup" or "The command backup" in alerts


@pytest.mark.parametrize("table", ["digest_item", ""])
def test_a_restore_over_a_damaged_file_keeps_it_under_another_name(whole, tmp_path, table):
    noise = damaged(whole, tmp_path, table).read_bytes()
    done = manage(tmp_path, "restore", str(tmp_path / "b.zip"), "--replace", "--yes")
    assert done.returncode == 0 and "counts and hashes agree" in done.stdout
    (aside,) = tmp_path.glob("tidings.sqlite3.damaged-*")
    assert aside.read_bytes() == noise and str(aside) in done.stderr
    assert manage(tmp_path, "check", "--database", "default").returncode == 0


def test_a_restore_that_is_refused_puts_the_damaged_file_back(whole, tmp_path):
    database = damaged(whole, tmp_path, "digest_item")
    noise, archive = database.read_bytes(), tmp_path / "b.zip"
    raw = bytearray(archive.read_bytes())
    raw[200:400] = bytes(200)
    archive.write_bytes(raw)
    done = manage(tmp_path, "restore", str(archive), "--replace", "--yes")
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert database.read_bytes() == noise and not list(tmp_path.glob("*.damaged-*"))


# --- Pages and jobs -------------------------------------------------------------------------------------


def health(operator: Reader) -> tuple[str, str]:
    (one,) = [one for one in overview_figures(reader=operator, now=timezone.now()) if one.name == "Health"]
    return one.value, one.note + one.to_do


@pytest.mark.django_db
def test_a_page_that_meets_damage_is_told_of_by_the_probe_and_the_first_page(operator: Reader, monkeypatch):
    try:
        raise DatabaseError(MALFORMED)
    except DatabaseError:
        got_request_exception.send(sender=None, request=None)
    (check,) = [check for check in readiness(now=timezone.now()) if check.name == "alerts"]
    assert not check.ok and not check.needed and "is damaged (A page, " in check.detail
    value, words = health(operator)
    assert value == "degraded" and MALFORMED in words and "check --database default" in words
    client = Client(headers={"Host": "localhost"})
    body = client.get("/readyz").json()
    assert body["degraded"] and not body["checks"]["alerts"]["ok"]


def test_what_is_no_damage_raises_no_alert_from_a_page(now):
    try:
        raise ValueError(MALFORMED)
    except ValueError:
        got_request_exception.send(sender=None, request=None)
    try:
        raise DatabaseError("a value is too long")
    except DatabaseError:
        got_request_exception.send(sender=None, request=None)
    assert alert_remembered(now=timezone.now()) is None


@pytest.mark.parametrize(("kind", "reason"), [("database", "gone"), ("nightly_fetch", MALFORMED)])
def test_alerts_about_the_database_are_remembered_for_a_day(now, kind, reason):
    alert_raise(kind=kind, where="job fetch", reason=reason, now=now)
    alert = alert_remembered(now=now + timedelta(hours=23))
    assert alert and (alert.where, alert.reason) == ("job fetch", reason)
    assert alert_remembered(now=now + timedelta(days=1)) is None
    alert_forget()
    assert alert_remembered(now=now) is None


def alerts_check(now) -> tuple[bool, str]:
    (check,) = [check for check in readiness(now=now) if check.name == "alerts"]
    return check.ok, check.detail


def test_a_failure_of_the_database_is_over_once_it_works_again(db, now):
    """/readyz said for a day that the database failed, though it had been restarted for a minute."""
    alert_raise(kind="database", where="job fetch", reason="OperationalError: server closed", now=now)
    assert alerts_check(now + timedelta(minutes=19))[0] is False
    ok, words = alerts_check(now + timedelta(minutes=20))
    assert ok and words.startswith("The database failed (job fetch, 2026-03-18 12:00 UTC: OperationalError")
    assert words.endswith("; it has worked since.")
    alert_raise(kind="database", where="job fetch", reason="again", now=now + timedelta(minutes=15))
    assert alerts_check(now + timedelta(minutes=20))[0] is False, "each failure renews it"
    assert alerts_check(now + timedelta(days=2)) == (True, "none within a day")


def test_damage_is_over_once_somebody_has_looked_through_the_file(db, client, tmp_path, monkeypatch):
    at = timezone.now()
    alert_raise(kind="database", where="A page", reason="database disk image is malformed", now=at)
    assert alerts_check(at + timedelta(hours=2))[0] is False
    for found, ok in ((None, False), ("row 3 missing", False), ("", True)):
        monkeypatch.setattr("config.apps.database_file", lambda: tmp_path / "t.sqlite3")
        monkeypatch.setattr("config.apps.damage_found", lambda path, seconds, found=found: found)
        check_database_file(databases=["default"])
        assert alerts_check(timezone.now())[0] is ok, found
    words = alerts_check(timezone.now())[1]
    assert words.startswith("The database was damaged") and words.endswith("it has worked since.")
    client.force_login(OperatorFactory())
    assert "The database was damaged" in client.get("/admin/").content.decode()
    alert_raise(
        kind="database", where="A page", reason="database disk image is malformed", now=timezone.now()
    )
    assert alerts_check(timezone.now())[0] is False


def test_rows_that_fail_by_damage_are_an_alert_about_the_database(now):
    failures = Failures({("reader", "7"): f"DatabaseError: {MALFORMED}"})
    failures_alert(failures=failures, name="learn", where="The night", now=now)
    assert alert_remembered(now=now) is not None


def test_other_alerts_are_not_the_databases(now):
    alert_raise(kind="mail_down", where="The mail server", reason="refused", now=now)
    assert alert_remembered(now=now) is None


def test_machines_that_share_a_cache_share_what_is_remembered(settings, own_cache, now):
    settings.REDIS_URL = "redis://127.0.0.1:6379/0"
    alert_remember(where="job fetch", reason="gone", now=now)
    assert alert_remembered(now=now) and not alerts._file().exists()
    alert_forget()
    assert alert_remembered(now=now) is None


@pytest.mark.parametrize("text", ["", "{", "[]", '{"where": "x"}', '{"where": "", "reason": "", "at": "x"}'])
def test_a_note_that_cannot_be_read_is_none(now, text):
    alerts._file().write_text(text)
    assert alert_remembered(now=now) is None


@pytest.mark.django_db
def test_a_part_whose_table_is_damaged_does_not_take_the_first_page_away(operator, client, monkeypatch):
    def broken(**kwargs: object) -> None:
        raise DatabaseError(MALFORMED)

    monkeypatch.setattr(operators_overview, "decisions_unchecked", broken)
    client.force_login(operator)
    answer = client.get(reverse("admin:index"))
    assert answer.status_code == 200
    text = answer.content.decode()
    assert "cannot be read" in text and MALFORMED in text
