"""Hostile rows of `python -m tests.lab load day --worst`: a function fails for its row and no other."""

import json
import os
import subprocess
import sys
from pathlib import Path

from tests.lab.faults.poison import LOOPS
from tests.lab.load.day.__main__ import CUSTOM
from tests.lab.load.day.poisoned import LEFT_OUT, MARKS, plan_write

ROOT = Path(__file__).resolve().parents[3]
TRIED = """
import django
django.setup()
from uuid import UUID
from digest.feeds import identity
from digest.feeds.services import FeedAnswer
from digest.models import Destination, Feed, Reader
from digest.sources import subscriptions
import sitecustomize
marks = ["nightshade07", "6f2f7d4e-0000-4000-8000-000000000000"]
reader = Reader(pk=UUID(marks[1]), username="x")
feed = Feed(url="https://nightshade07.example/feed")
rows = [reader, [reader.pk], {reader.pk: 1}, feed, (FeedAnswer(feed, None, None, 0.0),), "of nightshade07",
        Destination(reader_id=reader.pk), Destination(reader=reader)]
assert all(sitecustomize.is_about(marks, [row]) for row in rows)
others = [Reader(username="nightshade08"), 7, None, "", Feed(url="https://a.example/"), b"nightshade07"]
assert not sitecustomize.is_about(marks, others)
assert subscriptions.source_key("https://alpha.example/feed")
assert identity.source_key("https://MARK.example/feed"), "only where the loop looks"
try:
    subscriptions.source_key("https://MARK.example/feed")
except ArithmeticError as error:
    print(error)
"""


def test_a_function_fails_for_its_hostile_row_and_for_no_other(tmp_path: Path):
    plan = tmp_path / "poison.json"
    plan_write(plan)
    told = {"DAY_POISON": str(plan), "PYTHONPATH": f"{CUSTOM}{os.pathsep}{ROOT}"}
    code = TRIED.replace("MARK", MARKS["lists that are imported"])
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ | told, capture_output=True, text=True
    )
    path = "digest.sources.subscriptions.source_key"
    assert done.stdout.strip() == f"poisoned {path}", done.stderr
    assert (tmp_path / "met.txt").read_text() == f"{path}\n"


def test_every_loop_but_those_without_work_that_day_has_a_row_of_its_own(tmp_path: Path):
    plan_write(tmp_path / "poison.json")
    plan = json.loads((tmp_path / "poison.json").read_text())
    assert len(plan) == len(LOOPS) - len(LEFT_OUT) == len({mark for mark, _ in plan.values()})
