"""Reading a chat completion, whatever a server made of the format: a `Turn`, or a clear error."""

import json
import re
from decimal import Decimal
from typing import Any
from uuid import uuid4

from digest.llm.entities import Message, ModelUnavailable, ToolCall, Turn, Usage
from digest.llm.prices import tokens_estimated

TOKENS_MAX = 100_000_000
NAME_CHARS_MAX = 64
# Far more than any run may make; a reply with thousands would only fill the audit.
CALLS_MAX = 64


def turn_read(body: bytes, *, model: str, request_chars: int) -> Turn:
    """The turn in `body`. Raises `ModelUnavailable` when there is none in it.

    `Turn.message` keeps fields we do not know (Gemini's thought signatures must be sent back), always has
    a text `content` (some servers fail without) and only function calls, each with an id of its own, so
    that each can be answered. Missing usage is estimated at four characters a token.
    """
    try:
        data = json.loads(body)
        message = _encodable(data["choices"][0]["message"])
        calls = _calls_settled(message)
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        preview = body[:120].decode("utf-8", "replace")
        raise ModelUnavailable(
            f"The reply is no chat completion ({type(error).__name__}): {preview}", may_be_billed=True
        ) from error
    text = message["content"] or _text(message.get("refusal"))
    return Turn(message, text, calls, _usage_read(data.get("usage"), request_chars, message), model)


def _encodable(message: Message) -> Message:
    """A copy without nulls, and without the lone surrogates that could be neither sent back nor stored."""
    safe = json.dumps(message, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace")
    kept = {key: value for key, value in json.loads(safe).items() if value is not None}
    return {**kept, "role": "assistant", "content": _text(kept.get("content"))}


def _calls_settled(message: Message) -> tuple[ToolCall, ...]:
    """The function calls of `message`, which is changed to hold just these, in a form any server takes back.

    A name outside the wire's alphabet or arguments that are no JSON object would be refused when sent
    back, so the message carries them mended; the `ToolCall` keeps the arguments as written.
    """
    raw = [c for c in message.pop("tool_calls", []) if c.get("type", "function") == "function"]
    calls: list[ToolCall] = []
    taken: set[str] = set()
    for call in raw[:CALLS_MAX]:
        if not isinstance(call.get("id"), str) or not call["id"] or call["id"] in taken:
            call["id"] = f"call-{uuid4().hex}"
        taken.add(call["id"])
        function, call["type"] = call["function"], "function"
        name = re.sub(r"[^A-Za-z0-9_-]", "_", str(function["name"]))[:NAME_CHARS_MAX] or "unnamed"
        given = function.get("arguments") or "{}"
        arguments = given if isinstance(given, str) else json.dumps(given)
        function.update(name=name, arguments=arguments if _is_object(arguments) else "{}")
        calls.append(ToolCall(call["id"], name, arguments))
    if calls:
        message["tool_calls"] = raw[:CALLS_MAX]
    return tuple(calls)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _usage_read(usage: Any, request_chars: int, message: Message) -> Usage:
    if not isinstance(usage, dict):
        usage = {}
    details = usage.get("prompt_tokens_details")
    spent_in = _count(usage.get("prompt_tokens"), tokens_estimated(request_chars))
    spent_out = _count(usage.get("completion_tokens"), tokens_estimated(len(json.dumps(message))))
    cached = _count(details.get("cached_tokens"), 0) if isinstance(details, dict) else 0
    return Usage(spent_in, min(cached, spent_in), spent_out, _billed(usage.get("cost")))


def _count(value: Any, fallback: int) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= TOKENS_MAX else fallback


def _billed(value: Any) -> Decimal | None:
    """USD as OpenRouter reports them; anything that is not a plain amount counts as not reported."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Decimal(str(value)) if 0 <= value < 1000 else None


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
