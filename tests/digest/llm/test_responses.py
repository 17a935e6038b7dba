"""OpenAI's Responses API, over a real socket."""

import json
import time
from decimal import Decimal

import pytest
from openai.types.responses import Response
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming
from pydantic import TypeAdapter
from pytest_httpserver import HTTPServer

from digest.llm.client import chain_configured
from digest.llm.entities import DeadlineExceeded, Model, ModelRefused, ModelUnavailable
from tests.support.scripted_model import USAGE, Script, calls, garbage, response_body, status, text

OPENING = [
    {"role": "system", "content": "Prompt"},
    {"role": "system", "content": "Reader"},
    {"role": "user", "content": "Go"},
]
TOOL = {
    "type": "function",
    "function": {"name": "look", "description": "Looks.", "parameters": {"type": "object", "properties": {}}},
}


@pytest.fixture
def model(httpserver: HTTPServer, settings) -> Model:
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "sk-secret", httpserver.url_for("/v1")
    settings.LLM_CHAIN, settings.OPENAI_WIRE = ["openai:gpt-6-luna"], "responses"
    return chain_configured()[0]


def answered(turn, content='{"seen": 1}'):
    """Return the messages after `turn` and the results of its calls."""
    results = [{"role": "tool", "tool_call_id": call.id, "content": content} for call in turn.tool_calls]
    return [*OPENING, turn.message, *results]


def test_a_request_is_stateless_capped_and_lets_the_model_reason(model, httpserver, settings):
    settings.LLM_REASONING_EFFORT = "medium"
    with Script(httpserver, [text("Hi")]) as script:
        turn = model.complete(OPENING, [TOOL], timeout_s=5)
    [body] = script.bodies
    assert body["input"] == OPENING
    assert body["tools"] == [{"type": "function", "strict": False, **TOOL["function"]}]
    assert body["reasoning"] == {"effort": "medium"}
    assert (body["store"], body["include"]) == (False, ["reasoning.encrypted_content"])
    assert body["max_output_tokens"] == 7500
    assert "messages" not in body and "previous_response_id" not in body
    assert (turn.text, turn.model, turn.tool_calls) == ("Hi", "openai:gpt-6-luna", ())


def test_requests_and_the_scripted_answers_have_the_shapes_that_the_sdk_knows(model, httpserver):
    usage = {**USAGE, "total_tokens": 1100, "completion_tokens_details": {"reasoning_tokens": 70}}
    usage["prompt_tokens_details"] = {"cached_tokens": 400, "cache_write_tokens": 600}
    step = calls(("look", {"a": 1}), content="Let me see.", reasoning="sealed==", usage=usage)
    Response.model_validate(response_body(step, 0))
    with Script(httpserver, [step, text("Done")]) as script:
        turn = model.complete(OPENING, [TOOL], timeout_s=5)
        model.complete(answered(turn), [TOOL], timeout_s=5)
    known = TypeAdapter(ResponseCreateParamsNonStreaming)
    for body in script.bodies:
        assert len(list(known.validate_python(body)["tools"])) == 1


def test_a_model_that_cannot_reason_is_not_asked_to(model, httpserver, settings):
    settings.LLM_CHAIN = ["openai:gpt-4o"]
    with Script(httpserver, [text("Hi")]) as script:
        chain_configured()[0].complete(OPENING, [TOOL], timeout_s=5)
    assert "reasoning" not in script.bodies[0] and "include" not in script.bodies[0]


def test_reasoning_and_calls_go_back_unabridged_with_the_results_after_them(model, httpserver):
    step = calls(("look", {"a": 1}), ("look", {}), content="Let me see.", reasoning="sealed==")
    with Script(httpserver, [step, text("Done")]) as script:
        turn = model.complete(OPENING, [TOOL], timeout_s=5)
        model.complete(answered(turn), [TOOL], timeout_s=5)
    assert [call.id for call in turn.tool_calls] == ["call-0-0", "call-0-1"]
    assert [call.arguments for call in turn.tool_calls] == [{"a": 1}, {}]
    sent = script.bodies[1]["input"][3:]
    assert [item["type"] for item in sent] == [
        "reasoning",
        "message",
        "function_call",
        "function_call",
        "function_call_output",
        "function_call_output",
    ]
    assert sent[0] == {"type": "reasoning", "id": "rs-0", "encrypted_content": "sealed==", "summary": []}
    assert sent[2]["call_id"] == sent[4]["call_id"] == "call-0-0"
    assert sent[4]["output"] == '{"seen": 1}'


def test_a_turn_of_another_provider_goes_out_as_items_of_our_own(model, httpserver):
    call = {"id": "theirs", "type": "function", "function": {"name": "look", "arguments": "{}"}}
    history = [
        *OPENING,
        {"role": "assistant", "content": "Hm.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "theirs", "content": "{}"},
    ]
    with Script(httpserver, [text("Done")]) as script:
        model.complete(history, [TOOL], timeout_s=5)
    assert script.bodies[0]["input"][3:] == [
        {"role": "assistant", "content": "Hm."},
        {"type": "function_call", "call_id": "theirs", "name": "look", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "theirs", "output": "{}"},
    ]


def test_cached_and_reasoning_tokens_are_counted_and_priced(model, httpserver):
    usage = {**USAGE, "completion_tokens_details": {"reasoning_tokens": 70}}
    with Script(httpserver, [text("Hi", usage=usage)]):
        turn = model.complete(OPENING, [], timeout_s=5)
    used = turn.usage
    assert (used.input_tokens, used.cached_tokens) == (1000, 400)
    assert (used.output_tokens, used.reasoning_tokens) == (100, 70)
    assert model.cost_usd(used) == Decimal("0.000114")
    room = model.worst_case_usd(OPENING, [TOOL])
    assert room > Decimal("0.00375"), "reasoning may cost as much as its cap allows"


def test_missing_usage_is_estimated(model, httpserver):
    with Script(httpserver, [text("y" * 400, usage=None)]):
        turn = model.complete(OPENING, [], timeout_s=5)
    assert turn.usage.input_tokens > 10 and 100 <= turn.usage.output_tokens < 180


def test_each_call_gets_a_unique_id_and_a_valid_name(model, httpserver):
    output = [
        {"type": "function_call", "call_id": "a", "name": "look", "arguments": "{broken"},
        {"type": "function_call", "call_id": "a", "name": "päth", "arguments": "{}"},
        {"type": "function_call", "name": "look", "arguments": None},
        {"type": "custom_tool_call", "call_id": "c", "name": "look", "input": "x"},
    ]
    raw = json.dumps({"status": "completed", "output": output}).encode()
    with Script(httpserver, [garbage(raw)]):
        turn = model.complete(OPENING, [TOOL], timeout_s=5)
    ids = [call.id for call in turn.tool_calls]
    assert len(set(ids)) == 3 and [call.name for call in turn.tool_calls] == ["look", "p_th", "look"]
    assert [call["id"] for call in turn.message["tool_calls"]] == ids
    assert turn.tool_calls[0].text == "{broken"
    assert turn.message["tool_calls"][0]["function"]["arguments"] == "{}"
    items = turn.message["response_items"]
    assert [item["call_id"] for item in items] == ids, "the custom call, which has no answer, is left out"


def test_a_refusal_is_the_text_of_the_turn(model, httpserver):
    part = {"type": "refusal", "refusal": "I will not."}
    raw = json.dumps({"output": [{"type": "message", "role": "assistant", "content": [part]}]}).encode()
    with Script(httpserver, [garbage(raw)]):
        assert model.complete(OPENING, [], timeout_s=5).text == "I will not."


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (b"", "no response"),
        (b"<html>", "no response"),
        (b'{"output": [1]}', "no response"),
        (b'{"output": [{"type": "function_call"}]}', "no response"),
        (b'{"choices": []}', "no response"),
        (b'{"status": "failed", "error": {"code": "server_error"}, "output": []}', "server_error"),
        (b'{"status": "incomplete", "output": [{"type": "reasoning"}]}', "LLM_REASONING_EFFORT"),
    ],
)
def test_a_reply_without_a_turn_is_unavailable_in_clear_words(model, httpserver, raw, words):
    with Script(httpserver, [garbage(raw)]), pytest.raises(ModelUnavailable, match=words) as caught:
        model.complete(OPENING, [], timeout_s=5)
    assert caught.value.may_be_billed


@pytest.mark.parametrize(
    ("code", "error"), [(400, ModelRefused), (404, ModelUnavailable), (503, ModelUnavailable)]
)
def test_a_status_means_the_same_as_on_chat_completions(model, httpserver, code, error):
    with Script(httpserver, [status(code)]) as script, pytest.raises(error, match=str(code)):
        model.complete(OPENING, [], timeout_s=5)
    assert len(script.bodies) == 1


def test_the_deadline_is_wall_clock_here_too(model, httpserver):
    started = time.monotonic()
    with Script(httpserver, [garbage(b" " * 160, drip=True)]), pytest.raises(DeadlineExceeded):
        model.complete(OPENING, [], timeout_s=0.3)
    assert time.monotonic() - started < 6, "the answer takes 8 s"


def test_other_providers_stay_on_chat_completions(settings, httpserver):
    settings.OPENAI_WIRE, settings.LLM_CHAIN = "responses", ["local:m"]
    settings.LOCAL_LLM_BASE_URL = httpserver.url_for("/v1")
    with Script(httpserver, [text("Hi")]) as script:
        chain_configured()[0].complete(OPENING, [TOOL], timeout_s=5)
    assert "messages" in script.bodies[0]
