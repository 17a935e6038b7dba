"""Send requests to providers over HTTP. Only this module imports `openai`.

The SDK's timeout limits the silence between two chunks and not the whole call: an answer that arrived in
drips took 2.5 s under a timeout of 0.5 s. So every call runs on a background event loop (one per process)
under our own deadline.
"""

import asyncio
import json
import os
import threading
from collections.abc import Coroutine
from contextlib import suppress
from email.utils import parsedate_to_datetime
from typing import Any

import httpx2
import openai

from digest.llm.cures import NAMES, REFUSED_HELP, refused_cure, status_cure
from digest.llm.entities import DeadlineExceeded, ModelError, ModelRefused, ModelUnavailable
from digest.llm.providers import CHAT, NO_KEY, OLLAMA, RESPONSES, Endpoint

PATHS = {CHAT: "/chat/completions", RESPONSES: "/responses", OLLAMA: "/api/chat"}
REPLY_BYTES_MAX = 2_000_000
# Of an error only the beginning is shown. The SDK would read all of it, however long it is.
ERROR_BYTES_MAX = 64_000
# A small compressed answer may unpack to gigabytes, or to nothing for hours, while all calls wait. So none is
# asked for, and none is unpacked (`aiter_raw`).
HEADERS = {"Accept-Encoding": "identity"}
CONNECT_TIMEOUT_S = 5.0
# How long we wait after the deadline for a call to be cancelled.
TEARDOWN_S = 1.0
ERROR_CHARS_MAX = 300
REFUSED = (400, 422)


class _StatusAnswer(openai.OpenAIError):
    """A server answered with a status that is no success. `text` is the beginning of its words."""

    def __init__(self, status: int, headers: httpx2.Headers, text: str) -> None:
        super().__init__(text)
        self.status, self.headers = status, headers


async def _check_status(answer: httpx2.Response) -> None:
    """Raise `_StatusAnswer` unless the answer is a success, before the SDK reads it. Redirects are none."""
    if answer.status_code < 300:
        return
    body = bytearray()
    if answer.headers.get("Content-Encoding", "identity") == "identity":
        async for chunk in answer.aiter_raw():
            body += chunk
            if len(body) > ERROR_BYTES_MAX:
                break
    await answer.aclose()
    raise _StatusAnswer(answer.status_code, answer.headers, _error_words(bytes(body[:ERROR_BYTES_MAX])))


def _error_words(body: bytes) -> str:
    """Return the message of an error in JSON, with the parameter it names; any other body as it is."""
    text = body.decode("utf-8", "replace")
    with suppress(ValueError, RecursionError):
        found = json.loads(text)
        error = found.get("error", found) if isinstance(found, dict) else None
        if isinstance(error, dict) and isinstance(message := error.get("message"), str):
            param = error.get("param")
            return f"{message} ({param})" if isinstance(param, str) and param else message
    return text


def _http_client() -> httpx2.AsyncClient:
    return openai.DefaultAsyncHttpx2Client(
        follow_redirects=False, headers=HEADERS, event_hooks={"response": [_check_status]}
    )


class _Background:
    """An event loop on a daemon thread, and one client per endpoint. Both are created on first use."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._clients: dict[Endpoint, openai.AsyncOpenAI] = {}

    def run(self, work: Coroutine[Any, Any, bytes], *, timeout_s: float) -> bytes:
        """Run `work` on the loop and return its result. Raises `TimeoutError` after `timeout_s` seconds."""
        future = asyncio.run_coroutine_threadsafe(work, self._running_loop())
        try:
            return future.result(timeout_s)
        finally:
            future.cancel()

    def client(self, endpoint: Endpoint) -> openai.AsyncOpenAI:
        """Return the client of `endpoint` from the cache, because building one takes over 100 ms."""
        with self._lock:
            if endpoint not in self._clients:
                self._clients[endpoint] = openai.AsyncOpenAI(
                    api_key=endpoint.api_key,
                    base_url=endpoint.base_url,
                    max_retries=0,
                    http_client=_http_client(),
                )
            return self._clients[endpoint]

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="llm", daemon=True).start()
            return self._loop


_background = _Background()


def _forget_parent() -> None:
    """Let a forked process start its own loop and clients, because a fork does not copy the thread."""
    global _background
    _background = _Background()


os.register_at_fork(after_in_child=_forget_parent)


def fetch(
    endpoint: Endpoint,
    request: dict[str, Any],
    *,
    api: str = CHAT,
    timeout_s: float,
    read_timeout_s: float,
) -> bytes:
    """Send one request and return the body of the answer within `timeout_s` seconds of wall clock.

    `api` is the interface, `chat` or `responses`. Raises `DeadlineExceeded` if the time is over,
    `ModelRefused` for status 400 and 422, and `ModelUnavailable` for all other failures.
    """
    client = _background.client(endpoint)
    work = _fetch(client, PATHS[api], request, timeout_s, read_timeout_s)
    try:
        return _background.run(work, timeout_s=timeout_s + TEARDOWN_S)
    except (openai.APIError, _StatusAnswer) as error:
        raise _model_error(error, endpoint) from error
    except TimeoutError as error:
        raise DeadlineExceeded("The model had not answered when the time was up.") from error


async def _fetch(
    client: openai.AsyncOpenAI, path: str, request: dict[str, Any], timeout_s: float, read_timeout_s: float
) -> bytes:
    timeout = httpx2.Timeout(read_timeout_s, connect=CONNECT_TIMEOUT_S)
    # The SDK's typed methods would walk the request's types, which takes two thirds of the time of a call.
    asked = client.post(
        path,
        cast_to=object,
        body=request,
        options={"timeout": timeout, "security": {"bearer_auth": True}},
        stream=True,
        stream_cls=openai.AsyncStream[object],
    )
    answer = bytearray()
    async with asyncio.timeout(timeout_s), await asked as stream:
        try:
            async for chunk in stream.response.aiter_raw():
                answer += chunk
                if len(answer) > REPLY_BYTES_MAX:
                    raise ModelUnavailable(
                        f"The reply is larger than {REPLY_BYTES_MAX:,} bytes.", may_be_billed=True
                    )
        except httpx2.HTTPError as error:
            raise ModelUnavailable(
                f"The reply broke off: {type(error).__name__}.", may_be_billed=True
            ) from error
    return bytes(answer)


def _model_error(error: openai.OpenAIError, endpoint: Endpoint) -> ModelError:
    """Translate an error of the SDK into ours. Remove the key, because a server may echo it."""
    text, names = str(error), NAMES[endpoint.provider]
    if endpoint.api_key != NO_KEY:
        text = text.replace(endpoint.api_key, "***")
    text = text[:ERROR_CHARS_MAX]
    if not isinstance(error, _StatusAnswer):
        unsent = isinstance(error.__cause__, httpx2.ConnectError | httpx2.ConnectTimeout)
        return ModelUnavailable(f"No connection or no answer: {text}", may_be_billed=not unsent)
    if error.status in REFUSED:
        cure = refused_cure(text, names)
        problem = f"The provider refused the request ({error.status}): {text}"
        return ModelRefused(f"{problem} {REFUSED_HELP} {cure}")
    advice = status_cure(error.status, names)
    return ModelUnavailable(
        f"The provider answered {error.status}: {text} {advice}".strip(),
        retry_after_s=_retry_after(error.headers),
    )


def look(endpoint: Endpoint, path: str, *, timeout_s: float) -> object:
    """Return the JSON at `path` of a server, or `None` if there is none within `timeout_s` seconds."""
    try:
        return json.loads(_background.run(_look(endpoint, path, timeout_s), timeout_s=timeout_s + TEARDOWN_S))
    except (TimeoutError, ValueError, RecursionError):
        return None


async def _look(endpoint: Endpoint, path: str, timeout_s: float) -> bytes:
    headers = (
        HEADERS if endpoint.api_key == NO_KEY else HEADERS | {"Authorization": f"Bearer {endpoint.api_key}"}
    )
    try:
        async with (
            asyncio.timeout(timeout_s),
            httpx2.AsyncClient(timeout=timeout_s) as client,
            client.stream("GET", f"{endpoint.base_url.rstrip('/')}{path}", headers=headers) as answer,
        ):
            body = bytearray()
            async for chunk in answer.aiter_raw():
                body += chunk
                if len(body) > REPLY_BYTES_MAX:
                    return b""
            return bytes(body) if answer.status_code == 200 else b""
    except (httpx2.HTTPError, httpx2.InvalidURL):
        return b""


def _retry_after(headers: httpx2.Headers) -> float | None:
    """Return the wait that the server asked for, in seconds, or `None`.

    A date counts from the answer's own `Date` header, because the clocks may differ.
    """
    text = headers.get("retry-after", "")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(text)
        return max(0.0, (until - parsedate_to_datetime(headers["date"])).total_seconds())
    except (ValueError, TypeError, KeyError):
        return None
