"""A provider's model behind the `Model` protocol, on the chat-completions wire that all of them share."""

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from digest.llm.entities import Message, ToolSchema, Turn, Usage
from digest.llm.prices import cost_usd, input_tokens_worst
from digest.llm.providers import Endpoint, ModelRef
from digest.llm.replies import turn_read
from digest.llm.wire import fetch

OUTPUT_TOKENS_MAX = 1500


class ChatModel:
    """One model of a configured provider."""

    def __init__(self, ref: ModelRef, endpoint: Endpoint) -> None:
        self._ref, self._endpoint = ref, endpoint

    @property
    def name(self) -> str:
        """`provider:model`."""
        return f"{self._ref.provider.name}:{self._ref.model}"

    def complete(self, messages: Sequence[Message], tools: Sequence[ToolSchema], *, timeout_s: float) -> Turn:
        """One turn within `timeout_s` of wall clock. Raises a `ModelError`."""
        body = fetch(
            self._endpoint,
            self._request(messages, tools),
            timeout_s=timeout_s,
            read_timeout_s=self._ref.provider.read_timeout_s,
        )
        request_chars = len(json.dumps([list(messages), list(tools)]))
        return turn_read(body, model=self.name, request_chars=request_chars)

    def worst_case_usd(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Decimal:
        """A cautious count of the input, and all the output the request allows. Raises `PriceUnknown`."""
        tokens = input_tokens_worst(messages, tools)
        return self.cost_usd(Usage(input_tokens=tokens, output_tokens=OUTPUT_TOKENS_MAX))

    def cost_usd(self, usage: Usage) -> Decimal:
        """What `usage` costs. Raises `PriceUnknown`."""
        return cost_usd(self._ref, usage)

    def _request(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> dict[str, Any]:
        provider = self._ref.provider
        request: dict[str, Any] = {
            "model": self._ref.model,
            "messages": list(messages),
            provider.max_tokens_param: OUTPUT_TOKENS_MAX,
        }
        if tools:
            request["tools"] = list(tools)
        if self._ref.model.startswith(provider.effort_none):
            request["reasoning_effort"] = "none"
        if provider.extra_body:
            request["extra_body"] = dict(provider.extra_body)
        return request
