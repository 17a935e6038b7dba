"""The quick form of `python -m tests.lab faults fairness`: one reader's answers under another's heavy load.

Times on a busy machine mean nothing, so only answers are checked.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import database_without_work

ROOT = Path(__file__).resolve().parents[3]
# The answers to each kind of request of somebody who asks for one at a time, and again if refused.
GETS_THROUGH = {
    **dict.fromkeys(("look-up", "full text", "test", "save", "suggestions", "import"), (302,)),
    **dict.fromkeys(("picture", "preview", "search", "list", "export"), (200,)),
}


@pytest.mark.nightly
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
    assert set(found["quiet_ms"]) == {"page", "list", "search", "look-up", "picture", "full text", "preview"}
    deeds = {"look-up", "test", "save", "export", "preview", "search", "list"}
    assert deeds <= {answer.split()[0] for answer in found["her_answers"]}, found["her_answers"]
    # At once, her own requests take turns, so the slower the machine, the more of them are refused (429).
    assert {name: tuple({*answers}) for name, answers in found["alone"].items()} == GETS_THROUGH
    assert found["control_refused_at"], "without a reader's share another is refused"
