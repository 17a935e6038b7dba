"""Chat completions read into a `Turn` or a clear error, whatever a server made of the format."""

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any
from uuid import uuid4

from digest.llm.entities import Message, ModelUnavailable, ToolCall, Turn, Usage
from digest.llm.prices import tokens_estimated

TOKENS_MAX = 100_000_000
NAME_CHARS_MAX = 64
# Far more than any run may make; a reply with thousands would only fill the audit.
CALLS_MAX = 64
# What reading a reply of any shape may run into.
UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)


def turn_read(body: bytes, *, model: str, request_chars: int) -> Turn:
    """Return the turn in `body`. Raises `ModelUnavailable` when there is none in it.

    `Turn.message` has the fields we do not know (Gemini's thought signatures must be sent back), always has
    a text `content` (some servers fail without) and only function calls, each with an id of its own, so
    that each can be answered. Missing usage is estimated at four characters a token.
    """
    try:
        data = json.loads(body)
        choice = data["choices"][0]
        fields = {key: value for key, value in encodable(choice["message"]).items() if value is not None}
        message: Message = {**fields, "role": "assistant", "content": text_of(fields.get("content"))}
        calls = _calls_read(message)
    except UNREADABLE as error:
        raise unreadable(body, "chat completion", error) from error
    text = message["content"] or text_of(message.get("refusal"))
    if choice.get("finish_reason") == "length" and not text.strip() and not calls:
        raise cut_off()
    usage = usage_read(
        data.get("usage"),
        names=("prompt_tokens", "completion_tokens"),
        request_chars=request_chars,
        reply_chars=len(json.dumps(message)),
    )
    return Turn(message, text, calls, usage, model)


def unreadable(body: bytes, wanted: str, error: Exception) -> ModelUnavailable:
    """Return the error for a body that is no `wanted`, with its beginning."""
    preview = body[:120].decode("utf-8", "replace")
    return ModelUnavailable(
        f"The reply is no {wanted} ({type(error).__name__}): {preview}", may_be_billed=True
    )


def cut_off() -> ModelUnavailable:
    """Return the error for a model that used up its output before it wrote or called anything."""
    return ModelUnavailable(
        "The reply is empty: all the output went into reasoning. Choose a model that reasons less, "
        "or lower LLM_REASONING_EFFORT.",
        may_be_billed=True,
    )


def encodable(value: Any) -> Any:
    """Return a copy of JSON data without lone surrogates, which could be neither sent back nor stored.

    Raises `ValueError` for NaN and infinities.
    """
    return json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))


def call_read(*, call_id: Any, name: Any, arguments: Any, ids: set[str]) -> ToolCall:
    """Return a call with an id unique in `ids`, to which it is added, and a name in the wire's alphabet."""
    if not isinstance(call_id, str) or not call_id or call_id in ids:
        call_id = f"call-{uuid4().hex}"
    ids.add(call_id)
    valid_name = re.sub(r"[^A-Za-z0-9_-]", "_", str(name))[:NAME_CHARS_MAX] or "unnamed"
    text = arguments or "{}"
    return ToolCall(call_id, valid_name, text if isinstance(text, str) else json.dumps(text))


def call_message(call: ToolCall) -> dict[str, Any]:
    """Return `call` as an assistant message lists it.

    Arguments that are no JSON object would be refused when sent back, so they are left out here.
    """
    arguments = "{}" if call.error else call.text
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def usage_read(usage: Any, *, names: Sequence[str], request_chars: int, reply_chars: int) -> Usage:
    """Return the tokens of a call; `names` are the fields of input and output, each with its own details.

    What is missing or nonsense is estimated from the characters sent and received.
    """
    counts: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    name_in, name_out = names
    spent_in = _count(counts.get(name_in), tokens_estimated(request_chars))
    spent_out = _count(counts.get(name_out), tokens_estimated(reply_chars))
    cached = min(_detail(counts, name_in, "cached_tokens"), spent_in)
    return Usage(
        input_tokens=spent_in,
        cached_tokens=cached,
        output_tokens=spent_out,
        billed_usd=_billed(counts.get("cost")),
        reasoning_tokens=min(_detail(counts, name_out, "reasoning_tokens"), spent_out),
        # GPT-5.6 and later charge a quarter more for what they write to their cache.
        written_tokens=min(_detail(counts, name_in, "cache_write_tokens"), spent_in - cached),
    )


def text_of(value: Any) -> str:
    """Return `value` if it is text, else the empty text."""
    return value if isinstance(value, str) else ""


def _calls_read(message: Message) -> tuple[ToolCall, ...]:
    """Return the function calls of `message`, which is changed to list only these."""
    listed = [c for c in message.pop("tool_calls", []) if c.get("type", "function") == "function"][:CALLS_MAX]
    calls: list[ToolCall] = []
    ids: set[str] = set()
    for raw in listed:
        function = raw["function"]
        call = call_read(
            call_id=raw.get("id"), name=function["name"], arguments=function.get("arguments"), ids=ids
        )
        sent = call_message(call)
        raw.update(sent, function={**function, **sent["function"]})
        calls.append(call)
    if calls:
        message["tool_calls"] = listed
    return tuple(calls)


def _detail(usage: Mapping[str, Any], name: str, detail: str) -> int:
    details = usage.get(f"{name}_details")
    return _count(details.get(detail), 0) if isinstance(details, dict) else 0


def _count(value: Any, fallback: int) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= TOKENS_MAX else fallback


def _billed(value: Any) -> Decimal | None:
    """Return USD as OpenRouter reports them; anything but a plain amount counts as not reported."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Decimal(str(value)) if 0 <= value < 1000 else None
