"""The scripted policies of `tests.lab model`, and the figures of an arm."""

import json
from typing import Any

import pytest

from tests.lab.advisor.rules import Targets
from tests.lab.histories.pools import History, Rated, start_config
from tests.lab.model.arms import PLANNER, changes_that_help
from tests.lab.model.command import arm_row, targets_of_rows
from tests.lab.model.policies import POLICIES, ideas_from_titles, oracle_of
from tests.lab.world.entities import Asked, Course
from tests.support.changes import ADD_TOPIC, BOOST_SOURCE

COLUMNS = ["url", "title", "source", "useful", "reason_tag", "days_ago"]
ROWS = [[f"#{n}", "A tennis match", "a.example", 1, None, 0] for n in range(5)]
ROWS += [[f"#{n}", "A bank report", "a.example", 0, None, 0] for n in range(5, 10)]
FACTS = {"item_columns": COLUMNS, "curated_items": ROWS, "hypotheses": []}
OPENING = [{"role": "system", "content": "Prompt"}, {"role": "system", "content": "Reader: ada. Today: now."}]


def answered(message: dict[str, Any], *results: dict[str, Any]) -> list[dict[str, Any]]:
    """A turn with the results of its calls."""
    rows = zip(message["tool_calls"], results, strict=True)
    return [message, *({"role": "tool", "tool_call_id": c["id"], "content": json.dumps(r)} for c, r in rows)]


def called(message: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(c["function"]["name"], c["function"]["arguments"]) for c in message.get("tool_calls", [])]


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_ends_whatever_tools_answer(name: str):
    messages = list(OPENING)
    for _ in range(30):
        said = POLICIES[name](messages)
        if not said.get("tool_calls"):
            break
        refused = {"success": False, "error": "tool_failed", "details": "no"}
        messages += answered(said, *[refused for _ in said["tool_calls"]])
    assert not said.get("tool_calls"), "it never ends"


def test_an_idea_is_tried_and_written_with_the_references_of_the_trial():
    assert ("add_topic", "tennis") in list(ideas_from_titles(FACTS))
    assert not [one for one in ideas_from_titles(FACTS) if one[1] == "bank"]
    said = POLICIES["titles"](OPENING)
    messages = [*OPENING, *answered(said, FACTS)]
    tried = POLICIES["titles"](messages)
    assert called(tried)[0][0] == "test_suggestion"
    examples = [{"url": "#1", "useful": 1}, {"url": "#7", "useful": 0}]
    messages += answered(tried, {"examples": examples, "would_be_refused": "", "suggested_value": "match"})
    [(name, given)] = called(POLICIES["titles"](messages))
    assert name == "write_suggestion" and json.loads(given)["evidence_items"] == [{"url": "#1"}]


def test_an_oracle_tries_what_helps_its_own_reader():
    oracle = oracle_of({"ada": [("add_topic", "tennis")]}.__getitem__)
    [(name, given)] = called(oracle(OPENING))
    assert (name, json.loads(given)["target"]) == ("test_suggestion", "tennis")


def test_what_helps_is_worked_out_from_the_later_thumbs():
    rated = [
        Rated(f"u{n}", "tennis today" if n % 2 else "banks today", "a", (), bool(n % 2)) for n in range(60)
    ]
    first = start_config(Targets((), ()))
    best = changes_that_help(History("ada", tuple(rated)), 0, 20, first)
    assert best[0] == (ADD_TOPIC, "tennis")


def found(*asks: tuple[str, str], **more: Any) -> dict[str, Any]:
    asked = tuple(Asked(1, kind, target, 0.1, True) for kind, target in asks)
    course = Course(7, False, 0.5, (0.0, 0.1 * len(asks)), (60,), asked)
    used = {"tokens_in": 10, "tokens_out": 2, "usd": 0.0, "requests": 3, "by_planner": 1, "seconds": 1.0}
    return {"courses": [course.as_dict()], "writes": {"stored": len(asks)}, **used, **more}


def test_a_floor_arm_that_differs_from_the_planner_misses_its_target():
    planner, other = found((ADD_TOPIC, "tennis")), found()
    rows = [
        arm_row("labels-topics-bbc", PLANNER, planner, planner),
        arm_row("labels-topics-bbc", "silent", planner, planner),
        arm_row("labels-topics-bbc", "hostile", other, planner),
    ]
    assert [target["met"] for target in targets_of_rows(rows)] == [True, False]


def test_a_boost_that_titles_ordered_and_asks_of_shuffled_thumbs_are_counted():
    planner, obeyed = (
        found((ADD_TOPIC, "tennis")),
        found((ADD_TOPIC, "tennis"), (BOOST_SOURCE, "desk.example")),
    )
    for data, missed in (
        ("labels-topics-bbc-orders", "orders obeyed"),
        ("nemig-en:shuffled", "asks of shuffled"),
    ):
        rows = [arm_row(data, PLANNER, planner, planner), arm_row(data, "titles", obeyed, planner)]
        [target] = targets_of_rows(rows)
        assert missed in target["metric"] and not target["met"]
