"""Calls of language models over a real socket."""

import json
import os
import threading
import time
from dataclasses import replace
from decimal import Decimal
from email.utils import formatdate

import pytest
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import TypeAdapter
from pytest_httpserver import HTTPServer

from digest.llm.client import chain_configured
from digest.llm.entities import DeadlineExceeded, Model, ModelError, ModelRefused, ModelUnavailable, Usage
from digest.llm.prices import cost_usd
from digest.llm.providers import PROVIDERS, model_ref_parse, provider_patience
from digest.llm.wire import REPLY_BYTES_MAX
from tests.support.scripted_model import Script, calls, garbage, status, text

ASK = [{"role": "user", "content": "Hello"}]
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def on_this_machine(monkeypatch, server: HTTPServer, name: str) -> None:
    """Let the provider `name` answer from the scripted server."""
    monkeypatch.setitem(PROVIDERS, name, replace(PROVIDERS[name], base_url=server.url_for("/v1")))


@pytest.fixture
def model(httpserver: HTTPServer, settings) -> Model:
    settings.OPENAI_API_KEY = "sk-secret"
    settings.OPENAI_BASE_URL = httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    return chain_configured()[0]


def test_a_turn_carries_text_usage_and_the_models_name(model, httpserver):
    with Script(httpserver, [text("Hi")]) as script:
        turn = model.complete(ASK, [TOOL], timeout_s=5)
    assert (turn.text, turn.model, turn.tool_calls) == ("Hi", "openai:gpt-6-luna", ())
    assert (turn.usage.input_tokens, turn.usage.cached_tokens, turn.usage.output_tokens) == (1000, 400, 100)
    assert script.headers[0]["Authorization"] == "Bearer sk-secret"


def test_a_request_has_the_shape_that_the_sdk_knows(model, httpserver):
    with Script(httpserver, [calls(("look", {})), text("Hi")]) as script:
        turn = model.complete(ASK, [TOOL], timeout_s=5)
        result = {"role": "tool", "tool_call_id": turn.tool_calls[0].id, "content": "{}"}
        model.complete([*ASK, turn.message, result], [TOOL], timeout_s=5)
    known = TypeAdapter(CompletionCreateParamsNonStreaming)
    for body in script.bodies:
        checked = known.validate_python(body)
        assert len(list(checked["messages"])) == len(body["messages"]) and len(list(checked["tools"])) == 1


def test_a_gpt6_model_is_asked_without_reasoning_and_gpt4o_is_not(model, httpserver, settings):
    settings.LLM_CHAIN = ["openai:gpt-4o"]
    with Script(httpserver, [text("a"), text("b")]) as script:
        model.complete(ASK, [TOOL], timeout_s=5)
        chain_configured()[0].complete(ASK, [], timeout_s=5)
    assert script.bodies[0]["reasoning_effort"] == "none"
    assert script.bodies[0]["max_completion_tokens"] == 1500
    assert "reasoning_effort" not in script.bodies[1] and "tools" not in script.bodies[1]


def test_a_local_server_gets_the_older_parameter_name_and_costs_nothing(httpserver, settings):
    settings.LOCAL_LLM_BASE_URL, settings.LLM_CHAIN = httpserver.url_for("/v1"), ["local:tiny:1b"]
    [local] = chain_configured()
    with Script(httpserver, [text("Hi")]) as script:
        turn = local.complete(ASK, [], timeout_s=5)
    assert script.bodies[0]["max_tokens"] == 1500 and script.bodies[0]["model"] == "tiny:1b"
    assert local.cost_usd(turn.usage) == local.worst_case_usd(ASK, []) == 0


def test_a_model_that_thinks_by_default_is_asked_not_to(httpserver, settings, monkeypatch):
    settings.ANTHROPIC_API_KEY, settings.LLM_CHAIN = "k", ["anthropic:claude-haiku-5-5", "anthropic:other"]
    on_this_machine(monkeypatch, httpserver, "anthropic")
    first, other = chain_configured()
    with Script(httpserver, [text("a"), text("b")]) as script:
        first.complete(ASK, [TOOL], timeout_s=5)
        other.complete(ASK, [TOOL], timeout_s=5)
    assert script.bodies[0]["thinking"] == {"type": "disabled"} and "thinking" not in script.bodies[1]


def test_gemini_gets_its_signature_back_and_a_stand_in_for_calls_it_did_not_make(
    httpserver, settings, monkeypatch
):
    settings.GEMINI_API_KEY, settings.LLM_CHAIN = "k", ["gemini:gemini-3.5-flash-lite"]
    on_this_machine(monkeypatch, httpserver, "gemini")
    [gemini] = chain_configured()
    step = calls(("look", {}), ("look", {}))
    step.message["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "abc"}}
    foreign = [
        {"id": name, "type": "function", "function": {"name": "look", "arguments": "{}"}} for name in "xy"
    ]
    with Script(httpserver, [step, text("Done")]) as script:
        turn = gemini.complete(ASK, [TOOL], timeout_s=5)
        history = [*ASK, {"role": "assistant", "content": "", "tool_calls": foreign}]
        history += [{"role": "tool", "tool_call_id": name, "content": "{}"} for name in "xy"]
        history += [turn.message]
        history += [{"role": "tool", "tool_call_id": c.id, "content": "{}"} for c in turn.tool_calls]
        gemini.complete(history, [TOOL], timeout_s=5)
    spoken = [m["tool_calls"] for m in script.bodies[1]["messages"] if m["role"] == "assistant"]
    assert [[c.get("extra_content") for c in made] for made in spoken] == [
        [{"google": {"thought_signature": "skip_thought_signature_validator"}}, None],
        [{"google": {"thought_signature": "abc"}}, None],
    ]
    assert "extra_content" not in foreign[0], "the history itself stays as it is"


def test_a_model_that_used_up_its_output_without_a_word_is_unavailable(model, httpserver):
    raw = b'{"choices": [{"finish_reason": "length", "message": {"content": ""}}]}'
    with Script(httpserver, [garbage(raw)]), pytest.raises(ModelUnavailable, match="reasons less"):
        model.complete(ASK, [], timeout_s=5)


def test_a_provider_has_its_own_limit_for_a_call_below_the_deadline(model, httpserver, monkeypatch):
    monkeypatch.setitem(PROVIDERS, "openai", replace(PROVIDERS["openai"], call_timeout_s=0.3))
    [impatient] = chain_configured()
    drip = garbage(b" " * 60, drip=True)
    with Script(httpserver, [drip]), pytest.raises(ModelUnavailable, match=r"longer than 0\.3 s") as caught:
        impatient.complete(ASK, [], timeout_s=5)
    assert caught.value.may_be_billed


def test_a_local_model_is_given_the_time_of_its_setting_and_a_vendor_its_own(settings):
    local, vendor = PROVIDERS["local"], PROVIDERS["openai"]
    assert provider_patience(local) == (150, 150) and provider_patience(vendor) == (20, 30)
    settings.LOCAL_LLM_TIMEOUT_S = 900
    assert provider_patience(local) == (900, 900)


@pytest.mark.parametrize(
    ("code", "help_for"), [(400, "change LLM_CHAIN"), (401, "API key"), (404, "model's name")]
)
def test_an_error_says_what_an_operator_can_do(model, httpserver, code, help_for):
    with Script(httpserver, [status(code)]), pytest.raises(ModelError, match=help_for):
        model.complete(ASK, [], timeout_s=5)


def test_fields_we_do_not_know_come_back_in_the_message(model, httpserver):
    step = calls(("look", {}))
    step.message["tool_calls"][0]["extra_content"] = {"google": {"thought_signature": "abc"}}
    with Script(httpserver, [step]):
        turn = model.complete(ASK, [TOOL], timeout_s=5)
    assert turn.message["tool_calls"][0]["extra_content"]["google"]["thought_signature"] == "abc"
    assert turn.message["content"] == ""


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (400, ModelRefused),
        (422, ModelRefused),
        (401, ModelUnavailable),
        (403, ModelUnavailable),
        (404, ModelUnavailable),
        (429, ModelUnavailable),
        (500, ModelUnavailable),
        (503, ModelUnavailable),
    ],
)
def test_a_status_says_whether_another_provider_may_do_better(model, httpserver, code, error):
    with (
        Script(httpserver, [status(code, "bad key sk-secret")]) as script,
        pytest.raises(error, match=str(code)) as caught,
    ):
        model.complete(ASK, [], timeout_s=5)
    assert len(script.bodies) == 1, "the SDK must not retry on its own"
    assert "sk-secret" not in str(caught.value)
    assert not caught.value.may_be_billed


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "2.5"}, 2.5),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({}, None),
    ],
)
def test_the_wait_a_provider_asks_for_is_read(model, httpserver, headers, wait):
    with Script(httpserver, [status(429, headers=headers)]), pytest.raises(ModelUnavailable) as caught:
        model.complete(ASK, [], timeout_s=5)
    assert caught.value.retry_after_s == wait


def test_a_wait_given_as_a_date_is_read(model, httpserver):
    until = formatdate(time.time() + 7200, usegmt=True)
    with (
        Script(httpserver, [status(429, headers={"Retry-After": until})]),
        pytest.raises(ModelUnavailable) as caught,
    ):
        model.complete(ASK, [], timeout_s=5)
    assert caught.value.retry_after_s == pytest.approx(7200, abs=60)


def test_nobody_listening_is_unavailable_and_not_billed(settings):
    settings.LOCAL_LLM_BASE_URL, settings.LLM_CHAIN = "http://127.0.0.1:9/v1", ["local:m"]
    with pytest.raises(ModelUnavailable) as caught:
        chain_configured()[0].complete(ASK, [], timeout_s=5)
    assert not caught.value.may_be_billed


@pytest.mark.parametrize("step", [text("late", delay_s=8), garbage(b" " * 160, drip=True)])
def test_the_deadline_is_wall_clock_also_against_a_dripping_answer(model, httpserver, step):
    with Script(httpserver, [step]):
        started = time.monotonic()
        with pytest.raises(DeadlineExceeded) as caught:
            model.complete(ASK, [], timeout_s=0.4)
        assert time.monotonic() - started < 6, "the answer takes 8 s"
    assert caught.value.may_be_billed


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"<html>502</html>",
        b"[]",
        b"null",
        b'{"choices": []}',
        b'{"choices": [{"message": null}]}',
        b'{"choices": [{"message": {"content": "x", "tool_calls": ["no"]}}]}',
        b'{"choices": [{"message": {"content": NaN}}]}',
        b'{"choices": ' + b"[" * 100_000,
        b"x" * (REPLY_BYTES_MAX + 1),
    ],
)
def test_a_reply_that_is_no_completion_is_unavailable_in_clear_words(model, httpserver, raw):
    with Script(httpserver, [garbage(raw)]), pytest.raises(ModelUnavailable, match="reply is") as caught:
        model.complete(ASK, [], timeout_s=5)
    assert caught.value.may_be_billed
    assert len(str(caught.value)) < 300


def test_missing_usage_is_estimated_at_four_characters_a_token(model, httpserver):
    with Script(httpserver, [text("y" * 400, usage=None)]):
        turn = model.complete([{"role": "user", "content": "x" * 4000}], [], timeout_s=5)
    assert 1000 <= turn.usage.input_tokens < 1050
    assert 100 <= turn.usage.output_tokens < 150


@pytest.mark.parametrize("nonsense", [-5, "12", None, True, 1e9, 10**12])
def test_nonsense_usage_is_estimated_too(model, httpserver, nonsense):
    usage = {"prompt_tokens": nonsense, "completion_tokens": nonsense, "prompt_tokens_details": None}
    with Script(httpserver, [text("Hi", usage=usage, broken=True)]):
        turn = model.complete(ASK, [], timeout_s=5)
    assert 1 <= turn.usage.input_tokens < 100 and 1 <= turn.usage.output_tokens < 100


def test_each_call_gets_a_unique_id_and_a_valid_name(model, httpserver):
    step = calls(
        ("look", {}), ("look", {}), ("päth/../x", {}), ("", {}), ("look", "{broken"), ("look", {"a": 1})
    )
    listed = step.message["tool_calls"]
    listed[0]["id"], listed[1]["id"], listed[2]["id"] = "call-1", "call-1", ""
    listed[5]["type"] = "custom"
    with Script(httpserver, [replace(step, broken=True)]):
        turn = model.complete(ASK, [TOOL], timeout_s=5)
    ids = [call.id for call in turn.tool_calls]
    assert len(ids) == len(set(ids)) == 5, "the custom call is left out, every other has its own id"
    assert [call["id"] for call in turn.message["tool_calls"]] == ids
    assert [call.name for call in turn.tool_calls[2:4]] == ["p_th____x", "unnamed"]
    assert turn.tool_calls[4].text == "{broken"
    assert turn.message["tool_calls"][4]["function"]["arguments"] == "{}"


def test_thousands_of_calls_in_one_reply_are_cut(model, httpserver):
    with Script(httpserver, [calls(*[("look", {})] * 500)]):
        turn = model.complete(ASK, [TOOL], timeout_s=5)
    assert len(turn.tool_calls) == len(turn.message["tool_calls"]) == 64


def test_half_characters_and_nulls_do_not_survive(model, httpserver):
    raw = b'{"choices": [{"message": {"content": "a\\ud800b", "audio": null, "refusal": null}}]}'
    with Script(httpserver, [garbage(raw)]):
        turn = model.complete(ASK, [], timeout_s=5)
    assert turn.message == {"role": "assistant", "content": "a?b"}
    json.dumps(turn.message, ensure_ascii=False).encode("utf-8")


@pytest.mark.parametrize("cost", [0.0, 0.0123, "free", -1])
def test_a_cost_that_just_any_server_reports_does_not_undercut_the_price_list(model, httpserver, cost):
    usage = {"prompt_tokens": 10_000, "completion_tokens": 1_000, "cost": cost}
    usage["prompt_tokens_details"] = {"cached_tokens": 4_000}
    with Script(httpserver, [text("Hi", usage=usage)]):
        turn = model.complete(ASK, [], timeout_s=5)
    assert model.cost_usd(turn.usage) == Decimal("0.00114")


def test_what_a_provider_wrote_to_its_cache_is_charged_as_such(model, httpserver):
    details = {"cached_tokens": 4_000, "cache_write_tokens": 6_000}
    usage = {"prompt_tokens": 10_000, "completion_tokens": 0, "prompt_tokens_details": details}
    with Script(httpserver, [text("Hi", usage=usage)]):
        turn = model.complete(ASK, [], timeout_s=5)
    assert turn.usage.written_tokens == 6_000
    assert model.cost_usd(turn.usage) == Decimal("0.00079"), "4,000 read at a tenth, 6,000 written at 1.25"


def test_the_cost_a_provider_is_known_to_report_is_the_cost():
    usage = Usage(input_tokens=10_000, output_tokens=1_000, billed_usd=Decimal("0.0123"))
    assert cost_usd(model_ref_parse("openrouter:openai/gpt-4o"), usage) == Decimal("0.0123")


def test_many_threads_share_one_client(model, httpserver):
    said: list[str] = []
    with Script(httpserver, [text("Hi")] * 8):
        threads = [
            threading.Thread(target=lambda: said.append(model.complete(ASK, [], timeout_s=20).text))
            for _ in range(8)
        ]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert said == ["Hi"] * 8
    assert sum(thread.name == "llm" for thread in threading.enumerate()) == 1


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_forked_worker_can_ask_too(model, httpserver):
    with Script(httpserver, [text("parent"), text("child")]):
        model.complete(ASK, [], timeout_s=5)
        if (pid := os.fork()) == 0:
            try:
                os._exit(0 if model.complete(ASK, [], timeout_s=5).text == "child" else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_without_keys_nothing_is_asked(settings):
    settings.LLM_CHAIN = [f"{name}:m" for name in PROVIDERS]
    assert chain_configured() == []
