"""Read the replies of models: chat completions, the Responses API, Ollama's own interface."""

import json
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from digest.llm.cures import SettingNames, less_thinking_cure, names_of, page_cure
from digest.llm.entities import ONLY_REASONING, Message, ModelUnavailable, ToolCall, Turn
from digest.llm.prices import tokens_estimated, usage_read

NAME_CHARS_MAX = 64
# The most tool calls read from one reply. No run may make as many, and thousands would fill the audit.
CALLS_MAX = 64
# The errors that reading a malformed reply may raise.
UNREADABLE = (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError)
# The items of a response that we read. We could not answer calls of other kinds.
ITEM_TYPES = ("reasoning", "message", "function_call")
# The field of an assistant message that keeps the response's items. Other providers never receive it.
ITEMS = "response_items"
# The fields of a model's reasoning: in OpenRouter and Ollama, then in llama.cpp and vLLM.
THOUGHT_FIELDS = ("reasoning", "reasoning_content")
THINK, THINK_END = "<think>", "</think>"


def turn_read(body: bytes, *, model: str, request_chars: int) -> Turn:
    """Read a turn from the body of a chat completion. Raises `ModelUnavailable` if it contains none.

    `Turn.message` keeps unknown fields, because Gemini's thought signatures must be sent back. It always has
    a text `content`, because some servers fail without. It keeps only function calls, each with a unique id,
    so that each can be answered. Missing usage is estimated at four characters a token.
    """
    try:
        data = json.loads(body)
        choice = data["choices"][0]
        fields = without_surrogates({k: v for k, v in choice["message"].items() if v is not None})
        content, thought = without_thinking(content_of(fields.get("content")))
        message: Message = {**fields, "role": "assistant", "content": content}
        calls = _chat_calls_read(message)
    except UNREADABLE as error:
        raise unreadable_error(body, "chat completion", model, error) from error
    text = message["content"] or text_of(message.get("refusal"))
    thought += "".join(text_of(fields.get(name)) for name in THOUGHT_FIELDS)
    if choice.get("finish_reason") == "length" and not text.strip() and not calls:
        raise truncated_error(model)
    usage = usage_read(
        data.get("usage"),
        names=("prompt_tokens", "completion_tokens"),
        request_chars=request_chars,
        reply_chars=len(json.dumps(message)),
    )
    if thought and not usage.reasoning_tokens:
        # Most servers of one's own count thoughts among the output and do not say how many they were.
        guessed = min(tokens_estimated(len(thought)), usage.output_tokens)
        usage = replace(usage, reasoning_tokens=guessed)
    return Turn(message, text, calls, usage, model)


def ollama_turn_read(body: bytes, *, model: str, request_chars: int) -> Turn:
    """Read a turn from the body of a reply of Ollama's own `/api/chat`.

    Raises `ModelUnavailable` if it contains none.
    """
    try:
        data = json.loads(body)
        message = dict(data["message"])
        message["reasoning"] = message.pop("thinking", None)
        usage = {"prompt_tokens": data.get("prompt_eval_count"), "completion_tokens": data.get("eval_count")}
        choice = {"message": message, "finish_reason": data.get("done_reason")}
    except UNREADABLE as error:
        raise unreadable_error(body, "reply of Ollama", model, error) from error
    completion = json.dumps({"choices": [choice], "usage": usage}).encode()
    return turn_read(completion, model=model, request_chars=request_chars)


def content_of(value: Any) -> str:
    """Return the text of a message's content: a string, or a list of parts, some with text."""
    if not isinstance(value, list):
        return text_of(value)
    return "".join(text_of(part.get("text")) for part in value if isinstance(part, dict))


def without_thinking(text: str) -> tuple[str, str]:
    """Return the text without a leading `<think>…</think>`, and the text inside it.

    Some chat templates write the opening tag themselves. Then the reply has only the closing one, at the end
    of a line. JSON has no bare line break, so an answer that quotes the tag is left alone. A thought without
    a closing tag was cut off, so all of it is thought.
    """
    start = text.lstrip()
    if start.startswith(THINK):
        thought, _, answer = start.removeprefix(THINK).partition(THINK_END)
        return answer.lstrip(), thought
    thought, closed, answer = text.partition(f"{THINK_END}\n")
    return (answer.lstrip(), thought) if closed else (text, "")


def unreadable_error(body: bytes, wanted: str, model: str, error: Exception) -> ModelUnavailable:
    """Return the error for a body of `model` that is no `wanted` ("response").

    Its text quotes the body's beginning, and tells what to change if the form is a known one.
    """
    preview = body[:120].decode("utf-8", "replace")
    problem = f"The reply is no {wanted} ({type(error).__name__}): {preview}"
    return ModelUnavailable(f"{problem} {_form_help(body, names_of(model))}".strip(), may_be_billed=True)


def _form_help(body: bytes, names: SettingNames) -> str:
    """Return advice for a reply of a known other form, or ""."""
    start = body.lstrip()
    if start.startswith((b"data:", b"event:", b":")):
        return (
            "The server streams, although it was not asked to: switch that off, in it or in the proxy "
            "before it."
        )
    if start.startswith(b"<"):
        return page_cure(names)
    try:
        data: Mapping[str, Any] = json.loads(start.splitlines()[0])
        if "error" in data:
            return f"The server's own words: {json.dumps(data['error'])[:200]}"
        if "message" in data and names.address:
            wire = f"set {names.wire}=ollama, or " if names.is_own else ""
            return f"That is Ollama's own form: {wire}let {names.address} end in /v1."
        if "text" in data["choices"][0]:
            return "That is the legacy form of completions: the server must offer /chat/completions."
    except UNREADABLE:
        pass
    return ""


def truncated_error(model: str) -> ModelUnavailable:
    """Return the error for `model`, which spent all its output tokens on reasoning."""
    return ModelUnavailable(
        f"The reply is empty: {ONLY_REASONING}. {less_thinking_cure(names_of(model))}", may_be_billed=True
    )


def without_surrogates(value: Any) -> Any:
    """Return a copy of JSON data without lone surrogates, which cannot be sent or stored.

    Raises `ValueError` for NaN and infinities.
    """
    return json.loads(json.dumps(value, ensure_ascii=False, allow_nan=False).encode("utf-8", "replace"))


def call_read(*, call_id: Any, name: Any, arguments: Any, ids: set[str]) -> ToolCall:
    """Return a tool call with a valid name and a unique id, and add the id to `ids`.

    Characters that the wire does not allow in a name become underscores.
    """
    if not isinstance(call_id, str) or not call_id or call_id in ids:
        call_id = f"call-{uuid4().hex}"
    ids.add(call_id)
    valid_name = re.sub(r"[^A-Za-z0-9_-]", "_", str(name))[:NAME_CHARS_MAX] or "unnamed"
    text = arguments or "{}"
    return ToolCall(call_id, valid_name, text if isinstance(text, str) else json.dumps(text))


def text_of(value: Any) -> str:
    """Return `value` if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def _chat_calls_read(message: Message) -> tuple[ToolCall, ...]:
    """Return the function calls of `message`, and remove all other calls from it."""
    listed = [c for c in message.pop("tool_calls", []) if c.get("type", "function") == "function"][:CALLS_MAX]
    calls: list[ToolCall] = []
    ids: set[str] = set()
    for raw in listed:
        function = raw["function"]
        call = call_read(
            call_id=raw.get("id"), name=function["name"], arguments=function.get("arguments"), ids=ids
        )
        sent = call.as_message()
        raw.update(sent, function={**function, **sent["function"]})
        calls.append(call)
    if calls:
        message["tool_calls"] = listed
    return tuple(calls)


def responses_turn_read(body: bytes, *, model: str, request_chars: int) -> Turn:
    """Read a turn from the body of a response.

    Raises `ModelUnavailable` if it contains none or the model failed.
    """
    try:
        data = json.loads(body)
        failure, status = data.get("error"), data.get("status")
        items = [item for item in without_surrogates(data["output"] or []) if item["type"] in ITEM_TYPES]
        text = "".join(_text(item) for item in items if item["type"] == "message")
        items, calls = _responses_calls_read(items)
    except UNREADABLE as error:
        raise unreadable_error(body, "response", model, error) from error
    if status in ("failed", "cancelled"):
        raise ModelUnavailable(f"The model failed: {json.dumps(failure)[:200]}", may_be_billed=True)
    if status == "incomplete" and not text.strip() and not calls:
        raise truncated_error(model)
    message: Message = {"role": "assistant", "content": text, ITEMS: items}
    if calls:
        message["tool_calls"] = [call.as_message() for call in calls]
    usage = usage_read(
        data.get("usage"),
        names=("input_tokens", "output_tokens"),
        request_chars=request_chars,
        reply_chars=len(json.dumps(items)),
    )
    return Turn(message, text, calls, usage, model)


def _text(item: dict[str, Any]) -> str:
    """Return the text of a message item, including a refusal."""
    parts = item.get("content") or []
    return "".join(text_of(part.get("text")) or text_of(part.get("refusal")) for part in parts)


def _responses_calls_read(items: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], tuple[ToolCall, ...]]:
    """Return the items to send back (without nulls) and the tool calls among them (with unique ids)."""
    calls: list[ToolCall] = []
    ids: set[str] = set()
    sent = []
    for raw in items:
        item = {key: value for key, value in raw.items() if value is not None}
        if item["type"] == "function_call":
            if len(calls) == CALLS_MAX:
                continue
            call = call_read(
                call_id=item.get("call_id"), name=item["name"], arguments=item.get("arguments"), ids=ids
            )
            item.update(call_id=call.id, name=call.name, arguments=call.text)
            calls.append(call)
        sent.append(item)
    return sent, tuple(calls)
