"""Only their owner can read the files of the embedded mode, with any umask."""

import os
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.environment import PrivateConnection, private_folder_create, stored_secret_key

ROOT = Path(__file__).resolve().parents[2]
LOOK = """
import os; os.umask(0)
import django; django.setup()
from django.db import connection
with connection.cursor() as rows:
    rows.execute("CREATE TABLE t (n)")
    from django.conf import settings
    from pathlib import Path
    for path in [settings.VAR_DIR, *settings.VAR_DIR.glob("*sqlite3*")]:
        print(path.name, oct(path.stat().st_mode & 0o777))
"""


def test_a_new_installation_is_readable_by_its_owner_alone_with_its_journal(tmp_path):
    place = {name: value for name, value in os.environ.items() if name not in ("DATABASE_URL", "REDIS_URL")}
    place |= {"TIDINGS_VAR_DIR": str(tmp_path / "state"), "TIDINGS_ENV_FILE": ""}
    place |= {"DJANGO_SETTINGS_MODULE": "config.settings"}
    done = subprocess.run([sys.executable, "-c", LOOK], cwd=ROOT, env=place, capture_output=True, text=True)
    told = dict(line.split() for line in done.stdout.splitlines())
    assert told.pop("state") == "0o700", done.stderr
    assert set(told) == {f"tidings.sqlite3{more}" for more in ("", "-wal", "-shm")}
    assert set(told.values()) == {"0o600"}


def test_a_file_that_is_there_keeps_its_mode_and_memory_is_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "there.sqlite3"
    path.touch(0o640)
    before = stat.S_IMODE(path.stat().st_mode)
    for name in (path, ":memory:", "file:x?mode=memory"):
        with closing(PrivateConnection(str(name), uri=True)) as rows:
            rows.execute("SELECT 1")
    assert stat.S_IMODE(path.stat().st_mode) == before and list(tmp_path.iterdir()) == [path]


def test_a_secret_key_that_cannot_be_kept_is_told_in_a_sentence(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ImproperlyConfigured, match=r"SECRET_KEY is not set, and .*secret_key"):
        stored_secret_key(tmp_path / "file/secret_key")
    key = stored_secret_key(tmp_path / "secret_key")
    assert len(key) > 50 and stored_secret_key(tmp_path / "secret_key") == key


def test_a_folder_that_cannot_be_made_is_named_with_its_setting(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(ImproperlyConfigured, match=r"TIDINGS_VAR_DIR.*file/var"):
        private_folder_create(tmp_path / "file/var", "TIDINGS_VAR_DIR")
