"""A call as guidance sees it: its target as suggestions store it, and nothing in it trusted or raising."""

import json
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.guidance.situations import Phase, Situation, situation_of
from digest.llm.entities import ToolCall

READER = uuid4()


def intent_of(situation: Situation) -> tuple[str, str]:
    return situation.suggestion_type, situation.target_key


def seen(name, failed_writes=0, **arguments):
    call = ToolCall("c", name, json.dumps(arguments))
    return situation_of(call, reader_id=READER, failed_writes=failed_writes)


@pytest.mark.parametrize(
    ("arguments", "intent"),
    [
        ({"suggestion_type": "boost_source", "target": " Loud.Example "}, ("boost_source", "loud.example")),
        ({"suggestion_type": "add_topic", "target": "Open  Source"}, ("add_topic", "open source")),
        ({"suggestion_type": "add_topic", "suggested_value": "rust"}, ("add_topic", "")),
        ({"suggestion_type": "add_topic", "target": "…"}, ("add_topic", "")),
        ({"suggestion_type": "reduce_source", "suggested_value": "0.7"}, ("reduce_source", "")),
        ({"suggestion_type": "delete_all", "target": "x"}, ("", "")),
        ({"suggestion_type": ["boost_source"], "target": {"a": 1}}, ("", "")),
        ({}, ("", "")),
    ],
)
def test_what_a_write_is_about(arguments, intent):
    assert intent_of(seen("write_suggestion", **arguments)) == intent


def test_several_drafts_are_about_the_first():
    drafts = [{"suggestion_type": "boost_source", "target": name} for name in ("a.example", "b.example")]
    assert intent_of(seen("self_critique", drafts=drafts)) == ("boost_source", "a.example")
    assert intent_of(seen("compare_configs", changes=drafts)) == ("boost_source", "a.example")
    assert intent_of(seen("self_critique", drafts="all")) == ("", "")


def test_two_failed_writes_make_any_call_a_repair():
    assert seen("write_suggestion", 1).phase is Phase.WRITE
    assert seen("write_suggestion", 2).phase is Phase.REPAIR


JSON = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False) | st.text(max_size=300),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=20), inner, max_size=3),
    max_leaves=8,
)
NAMES = (
    "suggestion_type",
    "target_key",
    "target",
    "suggested_value",
    "drafts",
    "changes",
    "reason",
    "query",
    "ack",
)
TOOLS = ("write_suggestion", "self_critique", "compare_configs", "query_user_config", "\x00")


@given(
    st.sampled_from(TOOLS),
    st.dictionaries(st.sampled_from(NAMES), JSON | st.sampled_from(["boost_source", "add_topic"])),
)
def test_no_arguments_raise_and_all_stay_short(name, arguments):
    situation = seen(name, **arguments)
    assert len(situation.target_key) <= 120 and len(situation.words) <= 1000
    assert bool(situation.suggestion_type) or not situation.target_key


@given(st.text(max_size=200))
def test_what_is_no_json_is_about_nothing(text):
    situation = situation_of(ToolCall("c", "write_suggestion", text), reader_id=READER, failed_writes=0)
    assert isinstance(situation.arguments, dict)
