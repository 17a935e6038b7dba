"""The loop trims its history, answers and records every call, and ends a run whose failures repeat."""

import json
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from advisor.agent.loop import FailureAction, RepeatGuard, RunBudget, agent_run, history_trim
from advisor.result_size import (
    BYTES_PER_TOKEN,
    DROP_NOTE,
    WRITE_TOKENS,
    as_json,
    error_result,
    fit_text,
    json_bytes,
)
from advisor.run_values import RunEnd, StopReason
from advisor.tools.registry import dispatch, schemas
from digest.llm.caller import messages_portable
from digest.llm.entities import ToolCall, Turn
from digest.llm.ledger import advisor_account
from tests.advisor.tools.test_tools import boost
from tests.support.agent_bench import LIMITS, drive
from tests.support.histories import context_for
from tests.support.scripted_model import assert_paired

OPENING = [
    {"role": "system", "content": "prompt"},
    {"role": "system", "content": "reader"},
    {"role": "user", "content": "task"},
]
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
    json.dumps(boost([], evidence=[{"url": 1, "x": 2}] * 50)),
    json.dumps(boost([], suggestion_type="sell", reason=7, evidence=None)),
    json.dumps(boost(["https://a.example/1"] * 3, reason="x" * 4001)),
    json.dumps(boost(["https://a.example/1"] * 3, target=LONG[:900])),
]
KEYS = st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.sampled_from("12"))


def talk(calls_per_turn: list[int]) -> list[dict]:
    """Return a conversation with one turn per entry, each with that many calls and results."""
    messages = list(OPENING)
    for n, count in enumerate(calls_per_turn):
        ids = [f"call-{n}-{k}" for k in range(count)]
        messages.append({"role": "assistant", "content": str(n), "tool_calls": [{"id": i} for i in ids]})
        messages += [{"role": "tool", "tool_call_id": i, "content": "{}"} for i in ids]
    return messages


talks = st.lists(st.integers(0, 4), max_size=40).map(talk)


@given(talks, st.integers(1, 20))
def test_no_result_is_ever_sent_without_its_call(messages, turns):
    assert_paired(history_trim(messages, turns))


@given(talks, st.integers(1, 20))
def test_the_opening_and_the_last_turns_are_sent_in_order(messages, turns):
    sent = history_trim(messages, turns)
    spoken = [m for m in messages if m["role"] == "assistant"]
    assert sent[:3] == OPENING
    assert [m for m in sent if m["role"] == "assistant"] == spoken[-turns:]
    assert sent[3:] == messages[len(messages) - len(sent) + 3 :]


def test_a_conversation_within_the_window_goes_out_whole_and_as_a_copy():
    messages = talk([1] * 15)
    assert history_trim(messages, 15) == messages
    assert history_trim(messages, 15) is not messages


def test_another_provider_gets_nothing_it_would_not_know():
    call = {"id": "a", "type": "function", "function": {"name": "f"}, "extra_content": {"google": {}}}
    spoken = {"role": "assistant", "content": "", "tool_calls": [call], "reasoning_content": "hm"}
    answer = {"role": "tool", "tool_call_id": "a", "content": "{}"}
    assert messages_portable([*OPENING, spoken, answer]) == [
        *OPENING,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f"}}],
        },
        answer,
    ]


class Insistent:
    """A model in the process that makes these calls, one a turn, and keeps the answers."""

    name = "offline:insistent"

    def __init__(self, *asked: ToolCall):
        self.left, self.answers = list(asked), []

    def complete(self, messages, tools, *, timeout_s, form=None) -> Turn:
        self.answers = [m["content"] for m in messages if m["role"] == "tool"]
        if not self.left:
            return Turn({"role": "assistant", "content": "{}"}, "{}")
        call = replace(self.left.pop(0), id=f"c{len(self.left)}")
        function = {"name": call.name, "arguments": call.text}
        message = {"role": "assistant", "content": "", "tool_calls": [{"id": call.id, "function": function}]}
        return Turn(message, tool_calls=(call,))

    def worst_case_usd(self, messages, tools) -> Decimal:
        return Decimal(0)

    def cost_usd(self, usage) -> Decimal:
        return Decimal(0)


def asked(reader, *calls: ToolCall) -> tuple[RunEnd, list[str]]:
    """Run these calls. Return the end of the run and the answer to each call."""
    context, answers = context_for(reader), []
    ledger = advisor_account(reader_id=reader.pk, run_id=context.run_id, now=context.now)
    steps = agent_run(
        opening=OPENING, models=[Insistent(*calls)], schemas=schemas(), budget=RunBudget(LIMITS, ledger)
    )
    end = drive(steps, lambda call: dispatch(context, call), answers.append)
    return end, [step.result for step in answers if step.kind == "tool"]


@pytest.mark.django_db
@pytest.mark.parametrize("arguments", JUNK)
def test_a_refused_write_stays_within_its_tokens_with_the_note_too(ada, arguments):
    _, answers = asked(ada, *[ToolCall("c", "write_suggestion", arguments)] * 2)
    assert all(len(answer.encode("utf-8")) <= BYTES_MAX for answer in answers)
    first, second = (json.loads(answer) for answer in answers)
    assert first["error"] and first["details"] and "note" not in first
    assert second == first | {"note": DROP_NOTE}


@pytest.mark.django_db
def test_so_does_the_answer_to_a_tool_that_does_not_exist(ada):
    answer = dispatch(context_for(ada), ToolCall("c", "x" * 500, "{}")).content
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
def test_malformed_writes_about_three_sources_are_three_failures_not_one(ada):
    targets = ("a.example", "b.example", "c.example")
    end, answers = asked(
        ada, *(ToolCall("c", "write_suggestion", as_json({"target": one})) for one in targets)
    )
    assert (end.reason, len(answers)) == (StopReason.DONE, 3)


@pytest.mark.django_db
def test_the_same_malformed_write_three_times_ends_the_run(ada):
    end, answers = asked(ada, *[ToolCall("c", "write_suggestion", '{"target": "a.example"}')] * 4)
    assert (end.reason, len(answers)) == (StopReason.REPEATED_FAILURE, 3)


def test_the_second_equal_failure_drops_and_the_third_ends():
    guard = RepeatGuard()
    verdicts = [guard.verdict(tool="write", code="cooldown", target="theverge") for _ in range(3)]
    assert verdicts == [FailureAction.GO_ON, FailureAction.DROP, FailureAction.END]


def test_another_code_or_target_is_another_failure():
    guard = RepeatGuard()
    for code, target in [("cooldown", "a"), ("cooldown", "b"), ("weak_evidence", "a")]:
        assert guard.verdict(tool="write", code=code, target=target) is FailureAction.GO_ON


@given(st.lists(KEYS, max_size=30))
def test_the_verdict_depends_only_on_how_often_this_very_failure_was_seen(failures):
    guard = RepeatGuard()
    for n, (tool, code, target) in enumerate(failures):
        seen = failures[: n + 1].count((tool, code, target))
        expected = {1: FailureAction.GO_ON, 2: FailureAction.DROP}.get(seen, FailureAction.END)
        assert guard.verdict(tool=tool, code=code, target=target) is expected
