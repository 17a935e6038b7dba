"""A scripted OpenAI-compatible server on a real socket. It gives the answers of a script, in order.

    with Script(httpserver, [calls(("query_user_config", {})), text("{}")]) as script:
        ...

It speaks chat completions and the Responses API, each in its own shapes. Requests must match OpenAI's own
description, and so must answers unless they are `broken` on purpose.

A test fails if it sends a request beyond the script, leaves a step unused, breaks the pairing of tool calls
and results, puts a reader's id into a tool's schema, or configures a provider off this machine.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from digest.llm.providers import PROVIDERS, provider_endpoint
from tests.support.openai_description import (
    CHAT_ANSWER,
    CHAT_REQUEST,
    ERROR,
    RESPONSES_ANSWER,
    RESPONSES_REQUEST,
    wire_problem,
)

Body = dict[str, Any]
Check = Callable[[Body], object]
PATH, RESPONSES_PATH = "/v1/chat/completions", "/v1/responses"
LOOPBACK = ("localhost", "127.0.0.1")
USAGE = {"prompt_tokens": 1000, "completion_tokens": 100, "prompt_tokens_details": {"cached_tokens": 400}}


@dataclass(frozen=True)
class Step:
    """One answer of the server. `drip` sends `raw` a few bytes at a time, without end if needed.

    A delayed answer is cut short when the script is over, because its client has long gone.

    `reasoning` is the encrypted reasoning that the Responses API puts before the text. An `optional` answer
    may stay unused. A `broken` one breaks the published description on purpose.
    """

    message: Mapping[str, Any] = field(default_factory=dict)
    usage: Mapping[str, Any] | None = field(default_factory=lambda: USAGE)
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: bytes | None = None
    delay_s: float = 0.0
    drip: bool = False
    check: Check | None = None
    reasoning: str = ""
    optional: bool = False
    broken: bool = False


def text(content: str, **more: Any) -> Step:
    """The model says `content` and calls nothing."""
    return Step(message={"role": "assistant", "content": content}, **more)


def calls(*asked: tuple[str, Any], content: str | None = None, **more: Any) -> Step:
    """The model calls tools: pairs of a name and its arguments (a text goes out as it is, broken or not)."""
    listed = [
        {
            "type": "function",
            "function": {
                "name": name,
                "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
            },
        }
        for name, arguments in asked
    ]
    return Step(message={"role": "assistant", "content": content, "tool_calls": listed}, **more)


def finish(reason: str = "", skipped: Sequence[Mapping[str, str]] = (), **more: Any) -> Step:
    """The model ends the run."""
    return calls(("finish", {"reason": reason, "skipped": [*skipped]}), **more)


def status(code: int, message: str = "no", **more: Any) -> Step:
    """The provider answers with an error."""
    error = {"message": message, "type": "server_error", "param": None, "code": None}
    return Step(status=code, raw=json.dumps({"error": error}).encode(), **more)


def garbage(raw: bytes, **more: Any) -> Step:
    """The provider answers 200 with something that is no chat completion."""
    return Step(raw=raw, broken=True, **more)


def checked(step: Step, check: Check) -> Step:
    """`step`, with an assertion on the request that it answers."""
    return replace(step, check=check)


class Script:
    """Plays `steps`, then answers each request by `beyond`. `bodies` holds all requests."""

    def __init__(
        self,
        server: HTTPServer,
        steps: Sequence[Step],
        path: str = PATH,
        *,
        beyond: Callable[[Body], Step] | None = None,
    ) -> None:
        self.steps, self._beyond = list(steps), beyond
        self.bodies: list[Body] = []
        self.headers: list[Mapping[str, str]] = []
        self._failures: list[str] = []
        self._idle = threading.Event()
        self._idle.set()
        self._over = threading.Event()
        for spoken in (path, RESPONSES_PATH):
            server.expect_request(spoken, method="POST").respond_with_handler(self._answer)

    def __enter__(self) -> "Script":
        for provider in PROVIDERS.values():
            endpoint = provider_endpoint(provider)
            assert endpoint is None or urlsplit(endpoint.base_url).hostname in LOOPBACK, (
                f"a test could reach {provider.name}"
            )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        # The server answers one request at a time: one left hanging would delay the next test's.
        self._over.set()
        assert self._idle.wait(timeout=10), "the server is still answering"
        if error is None:
            assert not self._failures, "\n".join(self._failures)
            unused = sum(not step.optional for step in self.steps[len(self.bodies) :])
            assert unused == 0, f"{unused} of {len(self.steps)} steps were never asked for"

    def _answer(self, request: Request) -> Response:
        self._idle.clear()
        n, body = len(self.bodies), json.loads(request.data)
        self.bodies.append(body)
        self.headers.append(dict(request.headers))
        if n >= len(self.steps) and self._beyond:
            self.steps.append(self._beyond(body))
        if n >= len(self.steps):
            self._failures.append(f"request {n + 1} is one more than the script has steps")
            return self._ending(Response('{"error": {"message": "the script has ended"}}', status=422))
        step = self.steps[n]
        try:
            assert_paired(body["messages"] if "messages" in body else as_messages(body["input"]))
            assert "user_id" not in json.dumps(body.get("tools", [])), "a schema names the reader"
            assert not (problem := wire_problem(_request_schema(body), body)), problem
            if step.check:
                step.check(body)
        except AssertionError as failed:
            self._failures.append(f"request {n + 1}: {failed}")
        response = answer_bytes(step, n, body)
        if not step.broken and (problem := wire_problem(_answer_schema(step, body), json.loads(response))):
            self._failures.append(f"answer {n + 1}: {problem}")
        self._over.wait(step.delay_s)
        return self._ending(_sent(step, response))

    def _ending(self, response: Response) -> Response:
        response.call_on_close(self._idle.set)
        return response


def assert_paired(messages: Sequence[Mapping[str, Any]]) -> None:
    """Each tool result follows the call it answers, and each call is answered before the next turn."""
    waiting: set[str] = set()
    for message in messages:
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, f"orphan tool message {message}"
            waiting.remove(message["tool_call_id"])
        else:
            assert not waiting, f"calls never answered: {waiting}"
            waiting = {call["id"] for call in message.get("tool_calls", [])}
    assert not waiting, f"calls never answered: {waiting}"


def as_messages(items: Sequence[Mapping[str, Any]]) -> list[Body]:
    """Input items of the Responses API as messages, as far as pairing goes.

    Calls that follow one another, reasoning between them or not, are one turn's.
    """
    messages: list[Body] = []
    for item in items:
        if item.get("type") == "function_call_output":
            messages.append({"role": "tool", "tool_call_id": item["call_id"]})
        elif item.get("type") == "function_call":
            if not (messages and messages[-1].get("tool_calls")):
                messages.append({"role": "assistant", "tool_calls": []})
            messages[-1]["tool_calls"].append({"id": item["call_id"]})
        elif item.get("type", "message") == "message":
            messages.append({"role": item["role"]})
    return messages


def _request_schema(request: Body) -> str:
    return RESPONSES_REQUEST if "input" in request else CHAT_REQUEST


def _answer_schema(step: Step, request: Body) -> str:
    if step.status >= 400:
        return ERROR
    return RESPONSES_ANSWER if "input" in request else CHAT_ANSWER


def answer_bytes(step: Step, n: int, request: Body) -> bytes:
    """Return the `n`-th answer as it goes over the wire that `request` came by."""
    said = response_body if "input" in request else _completion
    return step.raw if step.raw is not None else json.dumps(said(step, n)).encode()


def _sent(step: Step, raw: bytes) -> Response:
    if step.drip:
        return Response(_drip(raw), status=step.status, headers=dict(step.headers))
    response = Response(raw, status=step.status, content_type="application/json")
    response.headers.update(step.headers)
    return response


def _completion(step: Step, n: int) -> Body:
    message = dict(step.message)
    if "tool_calls" in message:
        message["tool_calls"] = [
            {"id": f"call-{n}-{k}", **call} for k, call in enumerate(message["tool_calls"])
        ]
    reason = "tool_calls" if message.get("tool_calls") else "stop"
    message = {"content": None, "refusal": None, **message}
    choice = {"index": 0, "message": message, "finish_reason": reason, "logprobs": None}
    body = {"id": f"chat-{n}", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    return body if step.usage is None else {**body, "usage": _usage(step.usage)}


def _usage(given: Mapping[str, Any]) -> Body:
    """Usage with the sum that every answer has."""
    counts = [given.get(name) for name in ("prompt_tokens", "completion_tokens")]
    whole = all(isinstance(count, int) for count in counts)
    return {"total_tokens": sum(counts), **given} if whole else dict(given)


def response_body(step: Step, n: int) -> Body:
    """Return the same step as the Responses API says it."""
    output: list[Body] = []
    if step.reasoning:
        sealed = {"encrypted_content": step.reasoning, "summary": []}
        output.append({"type": "reasoning", "id": f"rs-{n}", **sealed})
    if content := step.message.get("content"):
        parts = [{"type": "output_text", "text": content, "annotations": [], "logprobs": []}]
        said = {"role": "assistant", "status": "completed", "content": parts}
        output.append({"type": "message", "id": f"msg-{n}", **said})
    for k, call in enumerate(step.message.get("tool_calls", [])):
        ids = {"id": f"fc-{n}-{k}", "call_id": f"call-{n}-{k}", "status": "completed"}
        output.append({"type": "function_call", **ids, **call["function"]})
    body = {"id": f"resp-{n}", "object": "response", "status": "completed", "output": output}
    body |= {"created_at": 0, "model": "m", "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    body |= {"error": None, "incomplete_details": None, "instructions": None, "metadata": {}}
    body |= {"temperature": 1.0, "top_p": 1.0}
    if step.usage is None:
        return body
    names = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}
    names |= {f"{old}_details": f"{new}_details" for old, new in names.items()}
    usage = {names.get(key, key): value for key, value in _usage(step.usage).items()}
    usage["input_tokens_details"] = {"cached_tokens": 0, **usage.get("input_tokens_details", {})}
    usage["output_tokens_details"] = {"reasoning_tokens": 0, **usage.get("output_tokens_details", {})}
    return {**body, "usage": usage}


def _drip(raw: bytes) -> Iterator[bytes]:
    for n in range(len(raw)):
        yield raw[n : n + 1]
        time.sleep(0.05)
