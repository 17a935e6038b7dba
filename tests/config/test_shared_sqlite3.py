"""SQLite's write lock: whoever stores for long leaves it to others."""

import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import timedelta
from email.utils import format_datetime
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from django.conf import settings
from django.utils import timezone

from config.management.commands import migrate
from config.shared_sqlite3 import base
from config.shared_sqlite3.base import DatabaseWrapper
from tests.support.processes import database_without_work

ROOT = Path(__file__).resolve().parents[2]
# The connections of these tests are their own; pytest-django forbids them otherwise.
pytestmark = pytest.mark.django_db
WORDS = "rain wind river council harbour library museum tram bridge market garden school " * 4


def opened(path: Path) -> sqlite3.Connection:
    """Open a database as a site beside us does."""
    return sqlite3.connect(path, timeout=20, isolation_level=None)


def waited(session: sqlite3.Connection) -> float:
    """Store something; return for how long another kept it waiting."""
    began = time.monotonic()
    session.execute("BEGIN IMMEDIATE")
    session.execute("COMMIT")
    return time.monotonic() - began


@pytest.fixture
def shared(tmp_path: Path) -> Iterator[DatabaseWrapper]:
    """Yield a connection of this backend to a database that others use, too."""
    path = tmp_path / "lock.sqlite3"
    with closing(opened(path)) as session:
        session.execute("PRAGMA journal_mode=WAL")
    told: dict[str, Any] = {**settings.DATABASES["default"], "NAME": str(path), "CONN_MAX_AGE": 0}
    told |= {"ENGINE": "config.shared_sqlite3", "CONN_HEALTH_CHECKS": False, "AUTOCOMMIT": True}
    told |= {"OPTIONS": {"timeout": 20, "transaction_mode": "IMMEDIATE"}, "TIME_ZONE": None}
    connection = DatabaseWrapper(told, "shared")
    connection.inc_thread_sharing()
    yield connection
    connection.close()


@contextmanager
def storing(connection: DatabaseWrapper, seconds: float) -> Iterator[None]:
    """Store in one transaction after the other, each of so many seconds, during the block."""
    over = threading.Event()

    def work() -> None:
        while not over.is_set():
            connection.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
            time.sleep(seconds)
            connection.commit()
            connection.set_autocommit(True)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(20)


@pytest.mark.parametrize("seconds", [0.2, 0.03])
def test_transactions_that_follow_at_once_leave_the_lock_to_others(shared: DatabaseWrapper, seconds: float):
    """SQLite lets no one queue: who waits looks every 0.1 s, and the lock is never free for long."""
    waits = []
    with closing(opened(Path(str(shared.settings_dict["NAME"])))) as session, storing(shared, seconds):
        for _ in range(8):
            waits.append(waited(session))
            time.sleep(0.05)
    assert median(waits) < 0.6, waits


def test_short_transactions_and_those_that_leave_time_wait_for_nobody(
    shared: DatabaseWrapper, monkeypatch: pytest.MonkeyPatch
):
    pauses: list[float] = []
    monkeypatch.setattr(base.time, "sleep", pauses.append)
    clock = [100.0]
    monkeypatch.setattr(base.time, "monotonic", lambda: clock[0])

    def stored(hold_s: float, then_s: float) -> None:
        shared.set_autocommit(False, force_begin_transaction_with_broken_autocommit=True)
        clock[0] += hold_s
        shared.commit()
        shared.set_autocommit(True)
        clock[0] += then_s

    for _ in range(9):
        stored(0.01, 0.0)
    stored(5.0, base.PAUSE_S)
    stored(5.0, base.PAUSE_S)
    assert not pauses
    stored(0.2, 0.02)
    stored(0.01, 0.0)
    stored(0.01, 0.0)
    assert pauses == [pytest.approx(base.PAUSE_S - 0.02)], "once, and then it was left to others"
    shared.is_shared = False
    stored(5.0, 0.0)
    stored(5.0, 0.0)
    assert len(pauses) == 1, "nobody else can wait"


def test_only_a_new_database_is_migrated_without_pauses(
    shared: DatabaseWrapper, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(migrate, "connections", {"default": shared})
    with migrate._alone("default"):
        assert not shared.is_shared
    assert shared.is_shared
    with shared.cursor() as cursor:
        cursor.execute("CREATE TABLE kept (id INTEGER)")
    with migrate._alone("default"):
        assert shared.is_shared


def test_the_site_uses_this_backend_with_sqlite():
    command = "from django.conf import settings; print(settings.DATABASES['default']['ENGINE'])"
    told = {"DJANGO_SETTINGS_MODULE": "config.settings", "DATABASE_URL": "sqlite:////tmp/none.sqlite3"}
    done = subprocess.run(
        [sys.executable, "-c", command], cwd=ROOT, env=os.environ | told, capture_output=True, text=True
    )
    assert done.stdout.strip() == "config.shared_sqlite3", done.stderr


@pytest.mark.slow
@pytest.mark.alike
def test_who_stores_beside_an_ingest_of_six_thousand_entries_waits_for_a_moment(
    installed: Path, tmp_path: Path
):
    """One transaction for 1,500 entries kept the others waiting for 0.7 to 1.9 s, again and again.

    A busy machine lengthens each wait, but not what is stored between two of them.
    """
    database, documents = tmp_path / "shared.sqlite3", tmp_path / "documents"
    database_without_work(installed, database)
    documents.mkdir()
    for n in range(60):
        (documents / f"{n}.xml").write_text(document(f"paper{n}", 100))
    told = {"TIDINGS_VAR_DIR": str(tmp_path), "DATABASE_URL": f"sqlite:///{database}", "REDIS_URL": ""}
    command = [sys.executable, "manage.py", "fetch_feeds", "--from-dir", str(documents), "--json"]
    waits, stored = [], [0]
    with closing(opened(database)) as session:
        ingest = subprocess.Popen(command, cwd=ROOT, env=os.environ | told, stdout=subprocess.PIPE, text=True)
        while ingest.poll() is None:
            waits.append(waited(session))
            stored.append(session.execute("SELECT COUNT(*) FROM digest_item").fetchone()[0])
            time.sleep(0.05)
        assert ingest.returncode == 0 and ingest.stdout
        ingest.stdout.close()
        assert session.execute("SELECT COUNT(*) FROM digest_item").fetchone() == (6000,)
    steps = [after - before for before, after in pairwise(stored) if after > before]
    assert median(steps) <= 300 and sorted(waits)[-3] < 2.0, (steps, sorted(waits)[-9:])


def document(name: str, entries: int) -> str:
    """Return a feed with so many entries of fifty words."""
    now = timezone.now()
    items = "".join(
        f"<item><title>{name} story {n}</title><link>https://{name}.example/{n}</link><guid>{name}-{n}</guid>"
        f"<pubDate>{format_datetime(now - timedelta(hours=n))}</pubDate>"
        f"<description>&lt;p&gt;{WORDS}{n}&lt;/p&gt;</description></item>"
        for n in range(entries)
    )
    head = f"<title>{name}</title><link>https://{name}.example/</link>"
    return f'<rss version="2.0"><channel>{head}{items}</channel></rss>'
