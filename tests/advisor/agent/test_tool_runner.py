"""A bad call costs at most its hundred tokens, note and all, and counts against its own target only."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.agent.loop import ToolRunner
from advisor.token_budget import (
    BYTES_PER_TOKEN,
    DROP_NOTE,
    WRITE_TOKENS,
    as_json,
    error_result,
    fit_text,
    json_bytes,
)
from advisor.tools.registry import dispatch, schemas
from digest.llm.entities import ToolCall
from tests.advisor.tools.test_tools import boost
from tests.support.histories import context_for

BYTES_MAX = WRITE_TOKENS * BYTES_PER_TOKEN
LONG = "ü" * 3000
JUNK = [
    "{broken",
    "\x00\ud83d" * 60,
    "🦜" * 200,
    "[1, 2]",
    "{}",
    json.dumps({f"{n}{LONG}": n for n in range(3)}),
    json.dumps({"user_id": "x", "a": 1, "b": 2, "c": 3, "d": 4, "e": 5}),
    json.dumps(boost([], evidence_items=[{"url": 1, "x": 2}] * 50)),
    json.dumps(boost([], suggestion_type="sell", field="all", reason=7, evidence_items=None)),
    json.dumps(boost(["https://a.example/1"] * 3, reason="x" * 4001)),
    json.dumps(boost(["https://a.example/1"] * 3, target_key=LONG[:900])),
]


def runner(context):
    return ToolRunner(lambda call: dispatch(context, call), lambda step: None, schemas())


@pytest.mark.django_db
@pytest.mark.parametrize("arguments", JUNK)
def test_a_refused_write_stays_within_its_tokens_with_the_note_too(ada, arguments):
    tools = runner(context_for(ada))
    answers = [tools.run(ToolCall("c", "write_suggestion", arguments))[0] for _ in range(2)]
    assert all(len(answer.encode("utf-8")) <= BYTES_MAX for answer in answers)
    first, second = (json.loads(answer) for answer in answers)
    assert first["error"] and first["details"] and "note" not in first
    assert second == first | {"note": DROP_NOTE}


@pytest.mark.django_db
def test_so_does_the_answer_to_a_tool_that_does_not_exist(ada):
    call = ToolCall("c", "x" * 500, "{}")
    for answer in (runner(context_for(ada)).run(call)[0], dispatch(context_for(ada), call).content):
        assert len(answer.encode()) <= BYTES_MAX and "write_suggestion" in answer


@given(st.text(alphabet=st.characters(codec="utf-8")))
def test_whatever_the_details_there_is_room_for_the_note(details):
    result = error_result("invalid_arguments", details)
    assert json_bytes(result | {"note": DROP_NOTE}) <= BYTES_MAX
    assert details.startswith(result["details"].removesuffix("…"))


@given(st.text(), st.floats(0, 30))
def test_a_text_is_cut_to_any_room(text, tokens):
    assert json_bytes(fit_text(text, tokens)) <= max(tokens * BYTES_PER_TOKEN, json_bytes("…"))


@pytest.mark.django_db
@pytest.mark.parametrize("key", ["target_key", "suggested_value"])
def test_malformed_writes_about_three_sources_are_three_failures_not_one(ada, key):
    tools = runner(context_for(ada))
    for target in ("a.example", "b.example", "c.example"):
        stop = tools.run(ToolCall("c", "write_suggestion", as_json({key: target})))[1]
        assert stop is None


@pytest.mark.django_db
def test_the_same_malformed_write_three_times_ends_the_run(ada):
    tools = runner(context_for(ada))
    stops = [tools.run(ToolCall("c", "write_suggestion", '{"target_key": "a.example"}'))[1] for _ in range(3)]
    assert [stop is None for stop in stops] == [True, True, False]
