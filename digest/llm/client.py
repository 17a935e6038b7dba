"""A provider's model behind the `Model` protocol, whichever wire it is called by."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from importlib import import_module
from typing import Any, Protocol

from digest.llm.entities import (
    DeadlineExceeded,
    Message,
    ModelUnavailable,
    ToolSchema,
    Turn,
    Usage,
)
from digest.llm.prices import cost_usd, input_tokens_worst
from digest.llm.providers import CHAT, Endpoint, ModelRef, Provider
from digest.llm.replies import turn_read

OUTPUT_TOKENS_MAX = 1500
# No provider's key is shorter, and a placeholder for none would be found within ordinary words.
KEY_CHARS_MIN = 8


class ReadTurn(Protocol):
    """Reads the turn in the body of a reply. Raises `ModelUnavailable` when there is none in it."""

    def __call__(self, body: bytes, *, model: str, request_chars: int) -> Turn: ...


@dataclass(frozen=True, slots=True)
class Wire:
    """One way of asking: the SDK's interface, how a request is put, how its answer is read.

    `patience` multiplies the provider's time limits, for a model that reasons before its first byte.
    """

    api: str
    request: Callable[[ModelRef, Sequence[Message], Sequence[ToolSchema]], dict[str, Any]]
    read: ReadTurn
    output_tokens_max: int
    patience: float = 1.0


def chat_request(ref: ModelRef, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> dict[str, Any]:
    """A request to chat completions, the interface that every provider has."""
    provider = ref.provider
    request: dict[str, Any] = {
        "model": ref.model,
        "messages": _signed(messages, provider),
        provider.max_tokens_param: OUTPUT_TOKENS_MAX,
        **provider.fields_for(ref.model),
    }
    if tools:
        request["tools"] = list(tools)
    if provider.extra_body:
        request["extra_body"] = {**provider.extra_body, **request.get("extra_body", {})}
    return request


CHAT_WIRE = Wire(CHAT, chat_request, turn_read, OUTPUT_TOKENS_MAX)


class RemoteModel:
    """One model of a configured provider, on one wire."""

    def __init__(self, ref: ModelRef, endpoint: Endpoint, wire: Wire = CHAT_WIRE) -> None:
        self._ref, self._endpoint, self._wire = ref, endpoint, wire
        # The SDK takes over half a second and 40 MB to import: only for those who have configured a provider.
        self._fetch: Callable[..., bytes] = import_module("digest.llm.wire").fetch

    @property
    def name(self) -> str:
        """`provider:model`."""
        return f"{self._ref.provider.name}:{self._ref.model}"

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSchema], *, timeout_s: float) -> Turn:
        """One turn within `timeout_s` of wall clock. Raises a `ModelError`.

        A call that takes longer than its provider's limit, though not `timeout_s`, is the provider's
        failure: `ModelUnavailable`.
        """
        provider, patience = self._ref.provider, self._wire.patience
        limit_s = provider.call_timeout_s * patience
        try:
            body = self._fetch(
                self._endpoint,
                self._wire.request(self._ref, messages, tools),
                api=self._wire.api,
                timeout_s=min(timeout_s, limit_s),
                read_timeout_s=provider.read_timeout_s * patience,
            )
        except DeadlineExceeded as error:
            if timeout_s <= limit_s:
                raise
            raise ModelUnavailable(
                f"{self.name} took longer than {limit_s:g} s for one answer.", may_be_billed=True
            ) from error
        # A gateway may answer with what it was sent, and what is kept of an answer is shown to operators.
        if len(key := self._endpoint.api_key.encode()) >= KEY_CHARS_MIN:
            body = body.replace(key, b"***")
        request_chars = len(json.dumps([list(messages), list(tools)]))
        return self._wire.read(body, model=self.name, request_chars=request_chars)

    def worst_case_usd(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Decimal:
        """A cautious count of the input, all of it written to a cache, and all the output the request allows.

        Raises `PriceUnknown`.
        """
        tokens = input_tokens_worst(messages, tools)
        output = self._wire.output_tokens_max
        return self.cost_usd(Usage(input_tokens=tokens, written_tokens=tokens, output_tokens=output))

    def cost_usd(self, usage: Usage) -> Decimal:
        """What `usage` costs. Raises `PriceUnknown`."""
        return cost_usd(self._ref, usage)


def _signed(messages: Sequence[Message], provider: Provider) -> list[Message]:
    """The messages with the provider's mark on the first call of each turn that another provider took."""
    if not provider.foreign_call:
        return list(messages)
    return [_marked(message, provider) if message.get("tool_calls") else message for message in messages]


def _marked(message: Message, provider: Provider) -> Message:
    first, *rest = message["tool_calls"]
    if all(key in first for key in provider.foreign_call):
        return message
    return {**message, "tool_calls": [{**first, **provider.foreign_call}, *rest]}
