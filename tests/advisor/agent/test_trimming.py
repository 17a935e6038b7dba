"""What of a conversation is sent."""

from hypothesis import given
from hypothesis import strategies as st

from advisor.agent.loop import trim
from digest.llm.caller import messages_portable
from tests.support.scripted_model import assert_paired

OPENING = [
    {"role": "system", "content": "prompt"},
    {"role": "system", "content": "reader"},
    {"role": "user", "content": "task"},
]


def talk(calls_per_turn: list[int]) -> list[dict]:
    """A conversation with one turn per entry, each with that many calls and results."""
    messages = list(OPENING)
    for n, count in enumerate(calls_per_turn):
        ids = [f"call-{n}-{k}" for k in range(count)]
        messages.append({"role": "assistant", "content": str(n), "tool_calls": [{"id": i} for i in ids]})
        messages += [{"role": "tool", "tool_call_id": i, "content": "{}"} for i in ids]
    return messages


talks = st.lists(st.integers(0, 4), max_size=40).map(talk)


@given(talks, st.integers(1, 20))
def test_no_result_is_ever_sent_without_its_call(messages, turns):
    assert_paired(trim(messages, turns))


@given(talks, st.integers(1, 20))
def test_the_opening_and_the_last_turns_are_sent_in_order(messages, turns):
    sent = trim(messages, turns)
    spoken = [m for m in messages if m["role"] == "assistant"]
    assert sent[:3] == OPENING
    assert [m for m in sent if m["role"] == "assistant"] == spoken[-turns:]
    assert sent[3:] == messages[len(messages) - len(sent) + 3 :]


def test_a_conversation_within_the_window_goes_out_whole_and_as_a_copy():
    messages = talk([1] * 15)
    assert trim(messages, 15) == messages
    assert trim(messages, 15) is not messages


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
