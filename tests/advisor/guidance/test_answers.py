"""The words for a model: beside a result or instead of it, in few tokens, and never breaking the result."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.guidance.situations import Level, Why
from advisor.guidance.wording import (
    NOTE_TOKENS,
    Advice,
    blocked_outcome,
    with_advice,
)
from advisor.result_size import BYTES_PER_TOKEN, GUIDANCE_TOKENS, as_json, json_bytes
from digest.llm.entities import ToolCall

TOLD = Advice(Level.NOTE, Why.EMITTED, "When boosting: go slowly.")


def test_a_note_comes_last_a_warning_first_and_silence_changes_nothing():
    content = as_json({"a": 1, "b": 2})
    assert list(json.loads(with_advice(content, TOLD))) == ["a", "b", "guidance"]
    warned = Advice(Level.WARNING, Why.EMITTED, "Mind this.")
    assert list(json.loads(with_advice(content, warned))) == ["guidance", "a", "b"]
    for silent in (Advice(Level.SILENT, Why.NOTHING_KNOWN), Advice(Level.SILENT, Why.FAILED, "x")):
        assert with_advice(content, silent) == content


CALL = ToolCall("c", "write_suggestion", '{"suggestion_type": "boost_source", "target": "a.example"}')


@pytest.mark.parametrize("content", ["no json", "[1]", ""])
def test_what_is_no_object_goes_as_it_is(content):
    assert with_advice(content, TOLD) == content


@given(st.text(max_size=600))
def test_guidance_takes_no_more_than_its_share_in_any_script(text):
    content = as_json({"a": "…" * 100})
    for level in (Level.NOTE, Level.WARNING):
        told = with_advice(content, Advice(level, Why.EMITTED, text))
        json.loads(told)
        assert len(told.encode()) - len(content.encode()) <= GUIDANCE_TOKENS * BYTES_PER_TOKEN
    blocked = Advice(Level.BLOCK, Why.BLOCKED, text, rule="rule-12")
    outcome = blocked_outcome(blocked, CALL)
    assert json_bytes(json.loads(outcome.content)) <= (NOTE_TOKENS + 60) * BYTES_PER_TOKEN
    assert json.loads(outcome.content)["success"] is False


def test_a_block_names_its_rule_and_when_it_ends():
    until = datetime(2026, 3, 28, 12, tzinfo=UTC)
    advice = Advice(Level.BLOCK, Why.BLOCKED, "Suggested lately.", rule="on_cooldown", until=until)
    outcome = blocked_outcome(advice, CALL)
    assert json.loads(outcome.content) == {
        "success": False,
        "error": "blocked",
        "rule_id": "on_cooldown",
        "reason": "Suggested lately.",
        "until": "2026-03-28T12:00+00:00",
    }
    assert (outcome.error_code, outcome.target, outcome.counted) == ("blocked", "a.example", False)
