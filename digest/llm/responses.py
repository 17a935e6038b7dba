"""OpenAI's Responses API: our messages and tools as its items, its answer as a turn.

There a reasoning model may reason while it uses tools, which chat completions refuse to GPT-5.6 and 6.
Nothing is stored at the provider (`store` is false), so each request carries the whole conversation,
the model's reasoning in its encrypted form included. Shapes: `openai.types.responses` of the SDK, 3.54.
"""

import json
from collections.abc import Sequence
from typing import Any

from digest.llm.client import OUTPUT_TOKENS_MAX, Wire
from digest.llm.entities import Message, ModelUnavailable, ToolCall, ToolSchema, Turn
from digest.llm.providers import RESPONSES, ModelRef, reasoning_effort
from digest.llm.replies import (
    CALLS_MAX,
    UNREADABLE,
    call_mended,
    call_message,
    cut_off,
    encodable,
    text_of,
    unreadable,
    usage_read,
)

# Reasoning counts as output: room for it beside the answer.
REASONING_TOKENS_MAX = 6000
# Silence while a model reasons is no failure: its time limits are three times those of chat completions.
PATIENCE = 3.0
# What can come without our asking for more; a call of any other kind could not be answered.
KEPT = ("reasoning", "message", "function_call")
# Where an assistant message keeps the items it came as. No other provider gets to see it.
ITEMS = "response_items"


def responses_request(
    ref: ModelRef, messages: Sequence[Message], tools: Sequence[ToolSchema]
) -> dict[str, Any]:
    """The request. Raises `ValueError` for a reasoning effort that does not exist."""
    request: dict[str, Any] = {
        "model": ref.model,
        "input": [item for message in messages for item in _items_of(message)],
        "max_output_tokens": OUTPUT_TOKENS_MAX + REASONING_TOKENS_MAX,
        "store": False,
    }
    if ref.model.startswith(ref.provider.reasoning):
        request["reasoning"] = {"effort": reasoning_effort()}
        request["include"] = ["reasoning.encrypted_content"]
    if tools:
        request["tools"] = [_tool_of(tool) for tool in tools]
    return request


def responses_turn_read(body: bytes, *, model: str, request_chars: int) -> Turn:
    """The turn in `body`. Raises `ModelUnavailable` when there is none in it, or the model failed."""
    try:
        data = json.loads(body)
        failure, status = data.get("error"), data.get("status")
        items = [item for item in encodable(data["output"] or []) if item["type"] in KEPT]
        text = "".join(_said(item) for item in items if item["type"] == "message")
        items, calls = _calls_settled(items)
    except UNREADABLE as error:
        raise unreadable(body, "response", error) from error
    if status in ("failed", "cancelled"):
        raise ModelUnavailable(f"The model failed: {json.dumps(failure)[:200]}", may_be_billed=True)
    if status == "incomplete" and not text.strip() and not calls:
        raise cut_off()
    message: Message = {"role": "assistant", "content": text, ITEMS: items}
    if calls:
        message["tool_calls"] = [call_message(call) for call in calls]
    usage = usage_read(
        data.get("usage"),
        names=("input_tokens", "output_tokens"),
        request_chars=request_chars,
        said_chars=len(json.dumps(items)),
    )
    return Turn(message, text, calls, usage, model)


RESPONSES_WIRE = Wire(
    RESPONSES, responses_request, responses_turn_read, OUTPUT_TOKENS_MAX + REASONING_TOKENS_MAX, PATIENCE
)


def _items_of(message: Message) -> list[dict[str, Any]]:
    """A message as input items; one that came as items goes back as those, unabridged."""
    if ITEMS in message:
        return list(message[ITEMS])
    if message["role"] == "tool":
        output = {"call_id": message["tool_call_id"], "output": message["content"]}
        return [{"type": "function_call_output", **output}]
    items: list[dict[str, Any]] = []
    if message["content"]:
        items.append({"role": message["role"], "content": message["content"]})
    for call in message.get("tool_calls", []):
        items.append({"type": "function_call", "call_id": call["id"], **call["function"]})
    return items


def _tool_of(tool: ToolSchema) -> dict[str, Any]:
    """A tool as this interface lists it. Unsaid, `strict` would be true, and our schemas have defaults."""
    return {"type": "function", **tool["function"], "strict": False}


def _said(item: dict[str, Any]) -> str:
    """The text of a message item, a refusal included."""
    parts = item.get("content") or []
    return "".join(text_of(part.get("text")) or text_of(part.get("refusal")) for part in parts)


def _calls_settled(items: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], tuple[ToolCall, ...]]:
    """The items to send back, without nulls, and the calls among them, each with an id of its own."""
    calls: list[ToolCall] = []
    taken: set[str] = set()
    kept = []
    for raw in items:
        item = {key: value for key, value in raw.items() if value is not None}
        if item["type"] == "function_call":
            if len(calls) == CALLS_MAX:
                continue
            call = call_mended(
                call_id=item.get("call_id"), name=item["name"], arguments=item.get("arguments"), taken=taken
            )
            item.update(call_id=call.id, name=call.name, arguments=call.arguments)
            calls.append(call)
        kept.append(item)
    return kept, tuple(calls)
