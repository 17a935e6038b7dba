"""The eager agent with and without guidance: its calls, its wire, and the figures from it."""

import json

import pytest

from tests.lab.advisor.eager import FEEDBACK, WRITE, WRITES_MAX, eager_turn
from tests.lab.advisor.guided import COMPARED, NAMES, OFF, ON, _compared, _row, _told, guided_targets
from tests.lab.advisor.tables import text_of
from tests.lab.advisor.tasks import task_run
from tests.lab.advisor.wire import served
from tests.lab.tests.courses import asked, course

pytestmark = pytest.mark.alike

HYPOTHESIS = {
    "type": "boost_source",
    "target": "liked.example",
    "suggested_value": "1.3",
    "supporting_items": ["https://liked.example/1"],
}
FACTS = {
    "meta": {"base_like_rate": 0.5},
    "hypotheses": [HYPOTHESIS],
    "source_patterns": {
        "liked.example": {"like_rate": 0.9, "sample_size": 30},
        "loud.example": {"like_rate": 0.2, "sample_size": 10},
        "usual.example": {"like_rate": 0.55, "sample_size": 30},
        "new.example": {"like_rate": 1.0, "sample_size": 2},
    },
    "item_columns": ["url", "source", "useful"],
    "curated_items": [["#1", "loud.example", 0], ["#2", "loud.example", 1]],
}


def conversation(*answers: dict) -> list[dict]:
    """Return a run of the agent in which its calls, one after another, are answered so."""
    messages, left = [{"role": "user", "content": "Begin."}], list(answers)
    while True:
        said = eager_turn(messages)
        messages.append(said)
        if any(call["function"]["name"] == "finish" for call in said["tool_calls"]):
            return messages
        for call in said["tool_calls"]:
            result = left.pop(0) if left else {"success": False, "error": "weak_evidence"}
            messages.append({"role": "tool", "tool_call_id": call["id"], "content": json.dumps(result)})


def written(messages: list[dict]) -> list[dict]:
    called = [call["function"] for m in messages for call in m.get("tool_calls", [])]
    return [json.loads(call["arguments"]) for call in called if call["name"] == WRITE]


def test_the_agent_writes_what_it_is_handed_then_what_looks_unusual_and_asks_nothing_twice():
    one, other = written(conversation(FACTS, {"active_weights": {"loud.example": 0.9}}))
    assert (one["target"], one["suggestion_type"]) == ("liked.example", "boost_source")
    assert (other["target"], other["suggestion_type"]) == ("loud.example", "reduce_source")
    assert other["suggested_value"] == "0.60"
    assert other["evidence"] == ["#1"]


def test_the_agent_ends_with_three_stored_after_ten_writes_and_where_it_cannot_read():
    row = {"like_rate": 0.9, "sample_size": 30}
    many = FACTS | {"source_patterns": {f"s{n}.example": row for n in range(20)}}
    assert len(written(conversation(many, {}, *[{"success": True}] * 3))) == 3
    assert len(written(conversation(many, {}))) == WRITES_MAX
    failed = conversation({"success": False, "error": "tool_failed"}, {})
    assert not written(failed) and FEEDBACK in json.dumps(failed)


@pytest.mark.nightly
@pytest.mark.django_db
def test_an_arm_lives_its_weeks_over_the_wire_and_counts_tokens_writes_and_what_was_told(settings):
    settings.LLM_CHAIN, settings.LLM_CHAIN_REVIEW = ["local:eager"], ["openai:none"]
    settings.GUIDANCE = {"holdout": "0"}
    with served(eager_turn) as settings.LOCAL_LLM_BASE_URL:
        setting = {"seed": 3, "weeks": 3, "readers": [0]}
        result = task_run({"kind": "guided", "setting": setting}, lambda week: None)
    (one,) = result["courses"]
    assert one["tokens"] > 3 * 5000 and sum(one["writes"].values()) >= len(one["asked"])
    assert result["guidance"]["levels"] and result["guidance"]["accepted"]["held_out"] == [0, 0]


def test_guidance_that_spares_too_few_failures_misses_its_target():
    on, off = (
        [course(n, uplift, asked(0.1), writes={"": 1, "weak_evidence": refused, "blocked": 3}, tokens=900)]
        for n, uplift, refused in ((1, 0.2, 2), (1, 0.1, 4))
    )
    compared = _compared(on, off)
    assert (compared["failed_fewer"], compared["uplift_gained"], compared["tokens_times"]) == (0.5, 0.1, 1.0)
    assert [target["met"] for target in guided_targets([compared])] == [False]
    assert guided_targets([compared | {"failed_fewer": 0.61}])[0]["met"] and not guided_targets([])
    counts = {"told": [8, 10], "held_out": [1, 2]}
    part = {"guidance": {"levels": {"note": 2}, "accepted": counts}}
    rows = [_row(OFF, off, [part]), _row(ON, on, [part, part]), *_told("holdout", [part, part]), compared]
    assert rows[1]["levels"] == {"note": 4} and rows[1]["failed_writes"] == 2
    assert (rows[2]["told"], rows[2]["held_out"], rows[2]["difference"]) == ("16 of 20", "2 of 4", 0.3)
    head = {"seconds": 1, "cpu_seconds": 1, "seed": 2, "data": ["simulator"], "targets": []}
    assert all(name in text_of(head | {"rows": rows}) for name in (NAMES[OFF], NAMES[ON], COMPARED))
