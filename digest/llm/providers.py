"""The providers of language models as data, and which of them the settings configure. Imports no SDK."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any

from django.conf import settings

NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Provider:
    """Where a provider answers and what sets it apart on the chat-completions wire.

    `price_id` is its name in genai-prices, empty where calls are free. `effort_none` lists the model-name
    prefixes that take tools only with `reasoning_effort="none"`. `read_timeout_s` is the longest silence
    before the next provider is tried. `reports_cost`: its replies carry the price, and may be believed.
    """

    name: str
    base_url: str
    key_setting: str = ""
    base_url_setting: str = ""
    price_id: str = ""
    max_tokens_param: str = "max_tokens"
    effort_none: tuple[str, ...] = ()
    read_timeout_s: float = 20.0
    reports_cost: bool = False
    extra_body: Mapping[str, Any] = field(default_factory=lambda: NOTHING)


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
            effort_none=("gpt-6", "gpt-5.6"),
        ),
        Provider(
            "anthropic",
            "https://api.anthropic.com/v1/",
            key_setting="ANTHROPIC_API_KEY",
            price_id="anthropic",
        ),
        Provider(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            key_setting="GEMINI_API_KEY",
            price_id="google",
        ),
        Provider(
            "openrouter",
            "https://openrouter.ai/api/v1",
            reports_cost=True,
            key_setting="OPENROUTER_API_KEY",
            price_id="openrouter",
            effort_none=("openai/gpt-6", "openai/gpt-5.6"),
            extra_body={"provider": {"require_parameters": True}, "usage": {"include": True}},
        ),
        # Any OpenAI-compatible server of one's own; it is free, and on a processor it is slow.
        Provider("local", "", base_url_setting="LOCAL_LLM_BASE_URL", read_timeout_s=120.0),
    )
}


def provider_endpoint(provider: Provider) -> Endpoint | None:
    """Where and with which key `provider` is called; `None` while it is not configured.

    A provider with a key is configured by its key, a keyless one by its address.
    """
    base_url = getattr(settings, provider.base_url_setting, "") if provider.base_url_setting else ""
    if not provider.key_setting:
        return Endpoint(base_url, "none") if base_url else None
    api_key = getattr(settings, provider.key_setting, "")
    return Endpoint(base_url or provider.base_url, api_key) if api_key else None


def model_ref_parse(entry: str) -> ModelRef:
    """`provider:model` (the model's name may hold more colons). Raises `ValueError` otherwise."""
    name, _, model = entry.strip().partition(":")
    if name not in PROVIDERS or not model:
        known = ", ".join(PROVIDERS)
        raise ValueError(f"“{entry}” is not a provider:model with a provider among {known}.")
    return ModelRef(PROVIDERS[name], model)


def chain_refs(purpose: str) -> list[ModelRef]:
    """The models of `LLM_CHAIN_<PURPOSE>`, or else of `LLM_CHAIN`, in order. Raises `ValueError`."""
    entries = getattr(settings, f"LLM_CHAIN_{purpose.upper()}", None) or settings.LLM_CHAIN
    return [model_ref_parse(entry) for entry in entries]


def prices_configured() -> dict[str, tuple[Decimal, Decimal]]:
    """`LLM_PRICES` as USD per million input and output tokens, by model or by `provider:model`.

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
