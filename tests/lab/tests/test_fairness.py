"""The quick form of `python -m tests.lab faults fairness`: what one reader gets while another does the worst.

Times of a busy machine say nothing, so only answers are looked at.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import database_without_work

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
@pytest.mark.alike
def test_a_reader_gets_all_they_ask_for_beside_one_who_does_the_worst(installed: Path, tmp_path: Path):
    database_without_work(installed, tmp_path / "tidings.sqlite3")
    own = {"TIDINGS_VAR_DIR": str(tmp_path), "DATABASE_URL": "", "REDIS_URL": "", "LOG_LEVEL": "CRITICAL"}
    own |= {"DJANGO_SETTINGS_MODULE": "config.settings", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.lab.faults.case", "fairness"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | own, capture_output=True, text=True, check=False
    )
    assert not done.returncode, done.stderr[-3000:]
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["refused_at"] == {}, "places for each reader"
    assert set(found["quiet_ms"]) == {"page", "look-up", "picture", "full text", "preview"}
    got = {
        answer.split()[0] for answer in found["her_answers"] if answer.split()[-1] in ("200", "302", "422")
    }
    assert {"look-up", "test", "save", "export", "preview"} <= got, found["her_answers"]
    assert found["control_refused_at"], "without a reader's share another is refused"
