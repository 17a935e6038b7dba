"""Local model servers that change requests and answers: Ollama's cut context, thinking, content parts.

Each function takes the answers of a model, `Body -> Step`, and returns those of the server in front of it,
for `Script(..., beyond=...)`. `OllamaServer` adds Ollama's own interface.
"""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.support.scripted_model import Body, Step, answer_bytes, garbage

Answers = Callable[[Body], Step]
CODE_WORD = re.compile(r"The code word is (\w+)")
CHARS_PER_TOKEN = 4
THOUGHT = "Let me think about what the reader wants. " * 20


def code_word(body: Body) -> str:
    """Return the code word that is asked for if it is in the request; "no idea" if it is gone; else ""."""
    said = "\n".join(str(message["content"]) for message in body["messages"])
    if "What is the code word" not in said:
        return ""
    found = CODE_WORD.search(said)
    return found[1] if found else "no idea"


def tokens_of(body: Body) -> int:
    """Return about how many tokens a request has."""
    return len(json.dumps([body["messages"], body.get("tools", [])])) // CHARS_PER_TOKEN


def cutting(answers: Answers, context: int) -> Answers:
    """Behave as Ollama: silently cut the beginning of a request longer than `context`, but keep system
    messages."""

    def answer(body: Body) -> Step:
        room = context * CHARS_PER_TOKEN
        system = [message for message in body["messages"] if message["role"] == "system"]
        last = body["messages"][-1]
        left = room - sum(len(str(message["content"])) for message in system)
        kept = body["messages"] if tokens_of(body) <= context else [*system, last]
        if kept is not body["messages"]:
            kept[-1] = {**last, "content": str(last["content"])[-max(1, left) :]}
        used = {"prompt_tokens": min(tokens_of(body), context), "completion_tokens": 20}
        return replace(answers({**body, "messages": kept}), usage=used)

    return answer


def thinking(answers: Answers, field: str = "reasoning") -> Answers:
    """As Ollama with a model that thinks before each answer, unless it is asked not to."""

    def answer(body: Body) -> Step:
        step = answers(body)
        if body.get("reasoning_effort") == "none" or body.get("think") is False:
            return step
        return _with_message(step, body, {field: THOUGHT})

    return answer


def only_thinking(answers: Answers) -> Answers:
    """Answer as a model that thinks until its output is used up."""

    def answer(body: Body) -> Step:
        step = answers(body)
        message = {"role": "assistant", "content": f"<think>{THOUGHT}", "tool_calls": None}
        return _with_message(step, body, message, finish_reason="length")

    return answer


def thinking_aloud(answers: Answers) -> Answers:
    """As llama.cpp without a reasoning format: thoughts stand in the text."""

    def answer(body: Body) -> Step:
        step = answers(body)
        told = step.message.get("content") or ""
        return _with_message(step, body, {"content": f"<think>\n{THOUGHT}{{}}\n</think>\n\n{told}"})

    return answer


def in_parts(answers: Answers) -> Answers:
    """As a proxy that has each content as a list of parts."""

    def answer(body: Body) -> Step:
        step = answers(body)
        told = step.message.get("content") or ""
        parts = [{"type": "text", "text": told[:5]}, {"type": "text", "text": told[5:]}]
        return _with_message(step, body, {"content": parts})

    return answer


def _with_message(step: Step, body: Body, fields: Body, **choice: Any) -> Step:
    """Return `step` as bytes, with other fields in its message; a form that OpenAI does not describe."""
    said = json.loads(answer_bytes(step, tokens_of(body), body))
    said["choices"][0]["message"] |= fields
    said["choices"][0] |= choice
    return garbage(json.dumps(said).encode())


class OllamaServer:
    """Ollama's own addresses on a scripted server: its version, its loaded models, and `/api/chat`.

    A request to `/api/chat` brings its own context size. One to OpenAI's address gets `context` tokens.
    """

    def __init__(self, server: HTTPServer, answers: Answers, context: int = 4096) -> None:
        self.bodies: list[Body] = []
        self._answers = answers
        server.expect_request("/api/version").respond_with_json({"version": "0.13.0"})
        running = [{"name": "qwen3:4b", "context_length": context}]
        server.expect_request("/api/ps").respond_with_json({"models": running})
        server.expect_request("/api/chat", method="POST").respond_with_handler(self._chat)

    def _chat(self, request: Request) -> Response:
        body = json.loads(request.data)
        self.bodies.append(body)
        assert body["stream"] is False and "max_tokens" not in body
        step = thinking(cutting(self._answers, body["options"]["num_ctx"]))(body)
        said = json.loads(answer_bytes(step, len(self.bodies), {"messages": []}))
        message = said["choices"][0]["message"]
        own: Body = {"role": "assistant", "content": message.get("content") or ""}
        if thought := message.get("reasoning"):
            own["thinking"] = thought
        if calls := message.get("tool_calls"):
            functions = [call["function"] for call in calls]
            own["tool_calls"] = [
                {"function": {"name": one["name"], "arguments": json.loads(one["arguments"])}}
                for one in functions
            ]
        usage = said.get("usage") or {"prompt_tokens": tokens_of(body), "completion_tokens": 9}
        counts = {"prompt_eval_count": usage["prompt_tokens"], "eval_count": usage["completion_tokens"]}
        answer = {"model": body["model"], "message": own, "done": True, "done_reason": "stop", **counts}
        return Response(json.dumps(answer), content_type="application/json")
