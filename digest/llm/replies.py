"""Reading a chat completion, whatever a server made of the format: a `Turn`, or a clear error."""

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
    """The turn in `body`. Raises `ModelUnavailable` when there is none in it.

    `Turn.message` keeps fields we do not know (Gemini's thought signatures must be sent back), always has
    a text `content` (some servers fail without) and only function calls, each with an id of its own, so
    that each can be answered. Missing usage is estimated at four characters a token.
    """
    try:
        data = json.loads(body)
        choice = data["choices"][0]
        message = _message(choice["message"])
        calls = _calls_settled(message)
    except UNREADABLE as error:
        raise unreadable(body, "chat completion", error) from error
    text = message["content"] or text_of(message.get("refusal"))
    if choice.get("finish_reason") == "length" and not text.strip() and not calls:
        raise cut_off()
    usage = usage_read(
        data.get("usage"),
        names=("prompt_tokens", "completion_tokens"),
        request_chars=request_chars,
        said_chars=len(json.dumps(message)),
    )
    return Turn(message, text, calls, usage, model)


def unreadable(body: bytes, wanted: str, error: Exception) -> ModelUnavailable:
    """The error for a body that is no `wanted`, with its beginning."""
    preview = body[:120].decode("utf-8", "replace")
    return ModelUnavailable(
        f"The reply is no {wanted} ({type(error).__name__}): {preview}", may_be_billed=True
    )


def cut_off() -> ModelUnavailable:
    """The error for a model that used up its output before it said or called anything."""
    return ModelUnavailable(
        "The reply is empty: all the output went into reasoning. Choose a model that reasons less, "
        "or lower LLM_REASONING_EFFORT.",
        may_be_billed=True,
    )


def encodable(value: Any) -> Any:
    """A copy of JSON data without the lone surrogates that could be neither sent back nor stored.

    Raises `ValueError` for NaN and infinities.
    """
    return json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))


def call_mended(*, call_id: Any, name: Any, arguments: Any, taken: set[str]) -> ToolCall:
    """A call whose id is its own among `taken` (which grows) and whose name fits the wire's alphabet."""
    if not isinstance(call_id, str) or not call_id or call_id in taken:
        call_id = f"call-{uuid4().hex}"
    taken.add(call_id)
    fitting = re.sub(r"[^A-Za-z0-9_-]", "_", str(name))[:NAME_CHARS_MAX] or "unnamed"
    given = arguments or "{}"
    return ToolCall(call_id, fitting, given if isinstance(given, str) else json.dumps(given))


def call_message(call: ToolCall) -> dict[str, Any]:
    """`call` as an assistant message lists it.

    Arguments that are no JSON object would be refused when sent back, so they are left out here; the
    `ToolCall` keeps them as written.
    """
    arguments = call.arguments if _is_object(call.arguments) else "{}"
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def usage_read(usage: Any, *, names: Sequence[str], request_chars: int, said_chars: int) -> Usage:
    """The tokens of a call; `names` are the fields of input and output, each with its own details.

    What is missing or nonsense is estimated from the characters sent and received.
    """
    given: Mapping[str, Any] = usage if isinstance(usage, dict) else {}
    name_in, name_out = names
    spent_in = _count(given.get(name_in), tokens_estimated(request_chars))
    spent_out = _count(given.get(name_out), tokens_estimated(said_chars))
    cached = min(_detail(given, name_in, "cached_tokens"), spent_in)
    return Usage(
        input_tokens=spent_in,
        cached_tokens=cached,
        output_tokens=spent_out,
        billed_usd=_billed(given.get("cost")),
        reasoning_tokens=min(_detail(given, name_out, "reasoning_tokens"), spent_out),
        # GPT-5.6 and later charge a quarter more for what they write to their cache.
        written_tokens=min(_detail(given, name_in, "cache_write_tokens"), spent_in - cached),
    )


def text_of(value: Any) -> str:
    """`value` if it is text, else the empty text."""
    return value if isinstance(value, str) else ""


def _message(raw: Message) -> Message:
    """A copy without nulls that says it is the assistant's and has a text."""
    kept = {key: value for key, value in encodable(raw).items() if value is not None}
    return {**kept, "role": "assistant", "content": text_of(kept.get("content"))}


def _calls_settled(message: Message) -> tuple[ToolCall, ...]:
    """The function calls of `message`, which is changed to hold just these, as any server takes them."""
    listed = [c for c in message.pop("tool_calls", []) if c.get("type", "function") == "function"][:CALLS_MAX]
    calls: list[ToolCall] = []
    taken: set[str] = set()
    for raw in listed:
        function = raw["function"]
        call = call_mended(
            call_id=raw.get("id"),
            name=function["name"],
            arguments=function.get("arguments"),
            taken=taken,
        )
        settled = call_message(call)
        raw.update(settled, function={**function, **settled["function"]})
        calls.append(call)
    if calls:
        message["tool_calls"] = listed
    return tuple(calls)


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def _detail(usage: Mapping[str, Any], name: str, detail: str) -> int:
    details = usage.get(f"{name}_details")
    return _count(details.get(detail), 0) if isinstance(details, dict) else 0


def _count(value: Any, fallback: int) -> int:
    whole = isinstance(value, int) and not isinstance(value, bool)
    return value if whole and 0 <= value <= TOKENS_MAX else fallback


def _billed(value: Any) -> Decimal | None:
    """USD as OpenRouter reports them; anything that is not a plain amount counts as not reported."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return Decimal(str(value)) if 0 <= value < 1000 else None
