"""Our requests and answers match OpenAI's published description, also in all other tests."""

import pytest

from digest.llm.client import chain_configured
from tests.support.openai_description import (
    CHAT_ANSWER,
    CHAT_REQUEST,
    ERROR,
    RESPONSES_ANSWER,
    RESPONSES_REQUEST,
    wire_problem,
)
from tests.support.scripted_model import Script, calls, response_body, text

ASK = [{"role": "user", "content": "Hello"}]
SAID = {"role": "assistant", "content": "Hi", "refusal": None}
CHOICE = {"index": 0, "finish_reason": "stop", "logprobs": None, "message": SAID}
ANSWER = {"id": "a", "object": "chat.completion", "created": 0, "model": "m", "choices": [CHOICE]}


def test_what_the_description_allows_is_no_problem():
    assert wire_problem(CHAT_ANSWER, ANSWER) == ""
    assert wire_problem(RESPONSES_ANSWER, response_body(calls(("look", {}), reasoning="sealed"), 0)) == ""


@pytest.mark.parametrize(
    ("name", "body", "where"),
    [
        (CHAT_ANSWER, {**ANSWER, "choices": [{**CHOICE, "finish_reason": "done"}]}, "finish_reason"),
        (CHAT_ANSWER, {**ANSWER, "usage": {"prompt_tokens": 1, "completion_tokens": 1}}, "total_tokens"),
        (CHAT_REQUEST, {"model": "m", "messages": []}, "messages"),
        (CHAT_REQUEST, {"model": "m", "messages": [{"role": "robot", "content": "x"}]}, "messages"),
        (RESPONSES_ANSWER, response_body(text("Hi"), 0) | {"status": "over"}, "status"),
        (RESPONSES_REQUEST, {"model": "m", "input": [{"role": "robot", "content": "x"}]}, "input"),
        (ERROR, {"error": {"message": "no"}}, "required"),
    ],
)
def test_what_it_does_not_allow_is_named(name, body, where):
    assert where in wire_problem(name, body)


@pytest.fixture
def model(httpserver, settings):
    settings.OPENAI_API_KEY, settings.OPENAI_BASE_URL = "k", httpserver.url_for("/v1")
    settings.LLM_CHAIN = ["openai:gpt-6-luna"]
    [configured] = chain_configured()
    return configured


def test_an_answer_that_the_description_does_not_have_fails_the_test(model, httpserver):
    with (
        pytest.raises(AssertionError, match="CreateChatCompletionResponse"),
        Script(httpserver, [text("Hi", usage={"prompt_tokens": "many"})]),
    ):
        model.complete(ASK, [], timeout_s=5)


def test_a_request_that_it_does_not_have_fails_the_test(model, httpserver):
    with pytest.raises(AssertionError, match="CreateChatCompletionRequest"), Script(httpserver, [text("Hi")]):
        model.complete([{"role": "robot", "content": "Hello"}], [], timeout_s=5)


def test_an_answer_may_be_broken_on_purpose(model, httpserver):
    with Script(httpserver, [text("Hi", usage={"prompt_tokens": "many"}, broken=True)]):
        assert model.complete(ASK, [], timeout_s=5).text == "Hi"
