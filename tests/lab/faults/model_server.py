"""A model behind a real socket, in its own process, that plays one conversation for every client.

It reads the reader's thumbs, proposes the first two hypotheses, and ends. Reviewers get a yes. The bearer key
orders faults: `crash-PID-N` kills process PID at its N-th question, `slow-S` answers after S seconds. `GET
/stats` counts the questions.
"""

import itertools
import json
import multiprocessing
import multiprocessing.connection
import os
import signal
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

from pytest_httpserver import HTTPServer
from werkzeug import Request, Response

from tests.support.scripted_model import (
    PATH,
    USAGE,
    Body,
    Step,
    answer_bytes,
    assert_paired,
    calls,
    finish,
    text,
)

APPROVAL = {"vote": "approve", "verdict": "approve", "confidence": 1.0, "helps": True, "accepts": True}
FEEDBACK, WRITE, WRITES = "query_user_feedback", "write_suggestion", 2
MODEL = "openai:gpt-6-luna"


def answer(body: Body) -> Step:
    """Return the next turn of the conversation so far."""
    if not body.get("tools"):
        return text(json.dumps(APPROVAL))
    said = [message for message in body["messages"] if message["role"] == "assistant"]
    if not said:
        return calls((FEEDBACK, {}))
    if len(said) > 1:
        return finish()
    from advisor.agent.planner import proposal_arguments  # noqa: PLC0415 - needs settings, which this process makes

    told = json.loads(next(m["content"] for m in body["messages"] if m["role"] == "tool"))
    wanted = [(WRITE, proposal_arguments(fact)) for fact in told.get("hypotheses", [])[:WRITES]]
    return calls(*wanted) if wanted else finish()


class ModelServer:
    """Answers and counts."""

    def __init__(self, server: HTTPServer) -> None:
        self._asked: Counter[str] = Counter()
        self._by_key: Counter[str] = Counter()
        self._numbers = itertools.count()
        server.expect_request(PATH, method="POST").respond_with_handler(self.speak)
        server.expect_request("/stats").respond_with_handler(self.stats)

    def speak(self, request: Request) -> Response:
        """Handle one question: die, wait, or answer, as the key orders."""
        body, key = json.loads(request.data), request.headers.get("Authorization", "").removeprefix("Bearer ")
        self._asked["requests"] += 1
        self._asked["conversations"] += bool(body.get("tools")) and not any(
            message["role"] == "assistant" for message in body["messages"]
        )
        self._by_key[key] += 1
        _as_told(key, self._by_key[key])
        try:
            assert_paired(body["messages"])
        except AssertionError:
            self._asked["unpaired"] += 1
        raw = answer_bytes(answer(body), next(self._numbers), body)
        return Response(raw, content_type="application/json")

    def stats(self, request: Request) -> Response:
        """Return the counts of requests, of all keys or of the named ones."""
        if keys := request.args.getlist("key"):
            return _json({"requests": sum(self._by_key[key] for key in keys)})
        return _json(self._asked)


def _json(said: Mapping[str, int]) -> Response:
    return Response(json.dumps(said), content_type="application/json")


def _as_told(key: str, nth: int) -> None:
    what, _, rest = key.partition("-")
    if what == "slow":
        time.sleep(float(rest))
    elif what == "crash":
        pid, _, at = rest.partition("-")
        if nth == int(at):
            os.kill(int(pid), signal.SIGKILL)


def _run(pipe: "multiprocessing.connection.Connection") -> None:
    import django  # noqa: PLC0415

    django.setup()
    server = HTTPServer(host="127.0.0.1", port=0, threaded=True)
    ModelServer(server)
    server.start()
    pipe.send(server.port)
    signal.pause()


@contextmanager
def model_server() -> Iterator[int]:
    """Run it; gives its port on the loopback."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_run, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours.recv()
    finally:
        process.terminate()
        process.join(5)


def asked(port: int, *keys: str) -> dict[str, int]:
    """`requests`, and of all keys together `conversations` begun and `unpaired` questions, so far."""
    query = urlencode([("key", key) for key in keys])
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/stats?{query}") as reply:
        found: dict[str, int] = json.load(reply)
    return {name: found.get(name, 0) for name in ("requests", "conversations", "unpaired")}


def settings_of(port: int, key: str = "plain") -> Mapping[str, str]:
    """Return the environment in which a process asks this model alone."""
    return {"OPENAI_API_KEY": key, "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1", "LLM_CHAIN": MODEL}


def call_usd() -> Any:
    """Return the price of one answer by the price list, in USD."""
    from digest.llm.client import chain_configured  # noqa: PLC0415
    from digest.llm.entities import Usage  # noqa: PLC0415

    details: Any = USAGE["prompt_tokens_details"]
    usage = Usage(
        int(str(USAGE["prompt_tokens"])), details["cached_tokens"], int(str(USAGE["completion_tokens"]))
    )
    return chain_configured()[0].cost_usd(usage)
