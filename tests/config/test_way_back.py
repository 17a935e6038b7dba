"""The way back from an upgrade: the old code restores its backup over a database that newer code migrated."""

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from zipfile import ZipFile

import pytest

from config.backup import NEWER_DATABASE, OTHER_ARCHIVE

ROOT = Path(__file__).parents[2]


def manage(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    place = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "REDIS_URL")}
    place |= {"TIDINGS_VAR_DIR": str(folder), "TIDINGS_ENV_FILE": "", "LOG_LEVEL": "CRITICAL"}
    command = [sys.executable, "manage.py", *words]
    return subprocess.run(command, cwd=ROOT, env=place, capture_output=True, text=True, check=False)


@pytest.fixture
def newer(installed: Path, tmp_path: Path) -> Path:
    """Return a folder with a backup, and a database that a newer version migrated afterwards."""
    shutil.copy(installed, tmp_path / "tidings.sqlite3")
    assert manage(tmp_path, "backup", str(tmp_path / "before.zip")).returncode == 0
    with closing(sqlite3.connect(tmp_path / "tidings.sqlite3")) as database:
        database.execute("INSERT INTO django_migrations VALUES (99999, 'digest', '9999_newer', '2030-01-01')")
        database.execute("ALTER TABLE digest_source ADD COLUMN newer text")
        database.commit()
    return tmp_path


def test_the_old_code_restores_into_a_new_file_and_keeps_the_newer_one(newer: Path):
    archive = str(newer / "before.zip")
    refused = manage(newer, "restore", archive)
    assert refused.returncode == 1 and "other_migrations: " in refused.stderr
    assert NEWER_DATABASE["sqlite"] in refused.stderr
    done = manage(newer, "restore", archive, "--replace", "--yes")
    assert done.returncode == 0 and "counts and hashes agree" in done.stdout
    (aside,) = newer.glob("tidings.sqlite3.newer-*")
    assert f"is of a newer version. It is kept as “{aside}”" in done.stderr
    assert _migrated(aside, "9999_newer") and not _migrated(newer / "tidings.sqlite3", "9999_newer")


def test_an_archive_of_another_version_is_refused_with_the_steps_and_changes_nothing(newer: Path):
    """The backup lacks a migration of this code, as one from before an upgrade does."""
    with ZipFile(newer / "before.zip") as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    manifest = json.loads(members["manifest.json"])
    manifest["migrations"].remove(max(name for name in manifest["migrations"] if name.startswith("digest.")))
    with ZipFile(newer / "older.zip", "w") as archive:
        for name, raw in (members | {"manifest.json": json.dumps(manifest).encode()}).items():
            archive.writestr(name, raw)
    refused = manage(newer, "restore", str(newer / "older.zip"), "--replace", "--yes")
    assert refused.returncode == 1 and OTHER_ARCHIVE in refused.stderr
    assert _migrated(newer / "tidings.sqlite3", "9999_newer") and not list(newer.glob("*.newer-*"))


def _migrated(path: Path, name: str) -> bool:
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT 1 FROM django_migrations WHERE name = ?", [name]).fetchall()
    return bool(rows)
