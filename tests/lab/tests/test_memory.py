"""The measurement of memory is correct, and leaves no rows behind."""

import json

import pytest

from digest.models import Item, Reader
from suggestions.models import Outcome
from tests.lab.memory.asking import ask_whole
from tests.lab.memory.command import main
from tests.lab.memory.history import Question
from tests.lab.memory.measures import effects_measure, retrieval_measure, targets_of

pytestmark = [pytest.mark.alike, pytest.mark.django_db]


def test_three_layers_cost_a_fraction_of_fetching_all_at_equal_sufficiency():
    rows = {row["name"]: row for row in retrieval_measure(seed=2)}
    assert rows["three_layers"]["sufficiency"] >= 0.95
    assert rows["fetch_all"]["sufficiency"] == 1.0
    assert rows["fetch_all_for_5_questions"]["ratio"] >= 4
    assert rows["fetch_latest_20"]["sufficiency"] < 0.5
    assert not Outcome.objects.exists() and not Reader.objects.exists()


def test_an_answer_is_sufficient_only_when_every_part_was_read():
    question = Question("kind", "search", ("one", "two"))
    assert ask_whole(text="one and two", question=question).sufficient
    assert not ask_whole(text="one", question=question).sufficient


def test_the_command_prints_one_object(capsys):
    assert main(["--json", "--readers", "0"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert {"command", "data", "seed", "rows", "targets", "seconds"} == set(report)
    assert [target["met"] for target in report["targets"]] == [True, True, True]


def test_simulated_readers_leave_nothing_behind():
    rows = effects_measure(seed=1, readers=1, per_day=(1.0,), kinds=("harmful",))
    assert [row["name"] for row in rows] == ["effect_of_harmful_at_1_thumbs_a_day"]
    assert not Item.objects.exists() and not Reader.objects.exists()


def test_a_missed_target_is_said_to_be_missed():
    rows = [
        {"name": "three_layers", "sufficiency": 0.9},
        {"name": "fetch_all", "ratio": 50.0},
        {"name": "fetch_all_for_5_questions", "ratio": 3.0},
    ]
    for per_day in ("4", "1.5"):
        for kind in ("helpful", "harmful", "null"):
            name = f"effect_of_{kind}_at_{per_day}_thumbs_a_day"
            rows.append({"name": name, "readers": 40, "helped": 0.1, "harmed": 0.4})
    met = {target["metric"]: target["met"] for target in targets_of(rows)}
    assert met["sufficiency of three layers"] is False
    assert met["fetch all, tokens over three layers"] is True
    assert met["fetch all shared by a run, tokens over three layers"] is False
    assert met["null called harmed, 4 a day"] is False
    assert met["harmful called helped, 4 a day"] is False
    assert met["harmful found, 4 a day"] is True
    rows[4]["harmed"] = 0.3
    assert {target["metric"]: target["met"] for target in targets_of(rows)}["harmful found, 4 a day"] is False
