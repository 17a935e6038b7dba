"""The providers of language models as data, and the settings that configure them. Imports no SDK.

What a provider can and cannot do is in `docs/models.md`, with sources.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any

from django.conf import settings

NOTHING: Mapping[str, Any] = MappingProxyType({})
CHAT, RESPONSES = "chat", "responses"
NATIVE, ENVELOPE = "native", "envelope"
# What OpenAI's SDK knows as `ReasoningEffort`; a model may take fewer.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a provider answers and what sets it apart from the others.

    Where: `base_url`, or the address in `base_url_setting`; the key in `key_setting`; the model's name in
    `model_setting` for a chain entry without one. `price_id` is its name in genai-prices, empty where calls
    are free. `reports_cost`: its replies carry the price, and may be believed.

    How long: `read_timeout_s` is the longest silence, `call_timeout_s` the longest call, before the next
    model is tried.

    On the wire: `max_tokens_param` caps the output; `model_fields` are request fields for models whose name
    starts with the key; `extra_body` goes with every request. `foreign_call` must be part of a tool call
    that another provider's model made. `responses` and `envelope`: the settings may choose the Responses
    API, or the JSON envelope instead of tool calls. `reasoning` lists the beginnings of model names that
    take a reasoning effort there; others refuse one.
    """

    name: str
    base_url: str
    key_setting: str = ""
    base_url_setting: str = ""
    model_setting: str = ""
    price_id: str = ""
    reports_cost: bool = False
    read_timeout_s: float = 20.0
    call_timeout_s: float = 30.0
    max_tokens_param: str = "max_tokens"
    model_fields: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: NOTHING)
    extra_body: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    foreign_call: Mapping[str, Any] = field(default_factory=lambda: NOTHING)
    responses: bool = False
    reasoning: tuple[str, ...] = ()
    envelope: bool = False

    def fields_for(self, model: str) -> dict[str, Any]:
        """Return the request fields that `model` needs."""
        found = (fields for prefix, fields in self.model_fields.items() if model.startswith(prefix))
        return dict(next(found, NOTHING))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A configured provider: the address and the key to use."""

    base_url: str
    api_key: str


@dataclass(frozen=True, slots=True)
class ModelRef:
    """One entry of `LLM_CHAIN`: `provider:model`."""

    provider: Provider
    model: str


# GPT-5.6 and 6 take tools on chat completions only without reasoning (HTTP 400 otherwise).
NO_REASONING = {"reasoning_effort": "none"}
# Thinking counts as output, which is capped: these models think unless told not to, or little.
NO_THINKING = {"thinking": {"type": "disabled"}}
LITTLE_THINKING = {"reasoning_effort": "low"}
# Gemini 3 refuses tool calls without its signature; Google names this one for calls it did not make.
UNSIGNED = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}

PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider(
            "openai",
            "https://api.openai.com/v1",
            key_setting="OPENAI_API_KEY",
            base_url_setting="OPENAI_BASE_URL",
            price_id="openai",
            max_tokens_param="max_completion_tokens",
            model_fields={"gpt-6": NO_REASONING, "gpt-5.6": NO_REASONING},
            responses=True,
            reasoning=("gpt-5", "gpt-6", "o1", "o3", "o4"),
        ),
        Provider(
            "anthropic",
            "https://api.anthropic.com/v1/",
            key_setting="ANTHROPIC_API_KEY",
            price_id="anthropic",
            model_fields={"claude-haiku-5": NO_THINKING},
        ),
        Provider(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            key_setting="GEMINI_API_KEY",
            price_id="google",
            model_fields={"gemini-3": LITTLE_THINKING},
            foreign_call=UNSIGNED,
        ),
        Provider(
            "openrouter",
            "https://openrouter.ai/api/v1",
            key_setting="OPENROUTER_API_KEY",
            price_id="openrouter",
            reports_cost=True,
            model_fields={"openai/gpt-6": NO_REASONING, "openai/gpt-5.6": NO_REASONING},
            extra_body={"provider": {"require_parameters": True}, "usage": {"include": True}},
        ),
        # Any OpenAI-compatible server of one's own; it is free, and on a processor it is slow.
        Provider(
            "local",
            "",
            base_url_setting="LOCAL_LLM_BASE_URL",
            model_setting="LOCAL_LLM_MODEL",
            read_timeout_s=120.0,
            call_timeout_s=150.0,
            envelope=True,
        ),
    )
}


def provider_endpoint(provider: Provider) -> Endpoint | None:
    """Return the address and key of `provider`; `None` while it is not configured.

    A provider with a key is configured by its key, a keyless one by its address.
    """
    base_url = getattr(settings, provider.base_url_setting, "") if provider.base_url_setting else ""
    if not provider.key_setting:
        return Endpoint(base_url, "none") if base_url else None
    api_key = getattr(settings, provider.key_setting, "")
    return Endpoint(base_url or provider.base_url, api_key) if api_key else None


def wire_of(provider: Provider) -> str:
    """Return `chat` or `responses`, the interface `provider` is called by. Raises `ValueError`."""
    return _chosen("OPENAI_WIRE", (CHAT, RESPONSES)) if provider.responses else CHAT


def tool_mode_of(provider: Provider) -> str:
    """Return `native`, or `envelope` for a server without tool calls. Raises `ValueError`."""
    return _chosen("LOCAL_LLM_TOOL_MODE", (NATIVE, ENVELOPE)) if provider.envelope else NATIVE


def reasoning_effort() -> str:
    """Return how much a model may reason on the Responses wire. Raises `ValueError`."""
    return _chosen("LLM_REASONING_EFFORT", EFFORTS)


def _chosen(name: str, known: Sequence[str]) -> str:
    value = str(getattr(settings, name)).strip().lower()
    if value not in known:
        raise ValueError(f"{name}={value} is none of {', '.join(known)}.")
    return value


def model_ref_parse(entry: str) -> ModelRef:
    """Parse `provider:model` (the model's name may contain colons). Raises `ValueError`.

    The name of a provider with a `model_setting` is enough: the setting names its model.
    """
    name, _, model = entry.strip().partition(":")
    provider = PROVIDERS.get(name)
    if provider and not model and provider.model_setting:
        model = getattr(settings, provider.model_setting)
    if not provider or not model:
        known = ", ".join(PROVIDERS)
        raise ValueError(f"“{entry}” is not a provider:model with a provider among {known}.")
    return ModelRef(provider, model)


def chain_refs(purpose: str) -> list[ModelRef]:
    """Return the models of `LLM_CHAIN_<PURPOSE>`, or else of `LLM_CHAIN`, in order. Raises `ValueError`."""
    entries = getattr(settings, f"LLM_CHAIN_{purpose.upper()}", None) or settings.LLM_CHAIN
    return [model_ref_parse(entry) for entry in entries]


def prices_configured() -> dict[str, tuple[Decimal, Decimal]]:
    """Return `LLM_PRICES` as USD per million input and output tokens, by model or by `provider:model`.

    An entry reads `model=in/out`, as in `my-model=0.10/0.50`. Raises `ValueError` for anything else.
    """
    prices = {}
    for model, text in settings.LLM_PRICES.items():
        try:
            price_in, price_out = (Decimal(part.strip()) for part in str(text).split("/"))
        except (InvalidOperation, ValueError):
            raise ValueError(f"“{model}={text}” is not a price like my-model=0.10/0.50.") from None
        if not (price_in.is_finite() and price_out.is_finite() and min(price_in, price_out) >= 0):
            raise ValueError(f"“{model}={text}” is not a price: it must be finite and not negative.")
        prices[model] = (price_in, price_out)
    return prices
