"""Describe the providers of language models as data, and read their settings. Imports no SDK.

`docs/models.md` lists the abilities of each provider, with sources.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from digest.llm.cures import NAMES, SettingNames

NOTHING: Mapping[str, Any] = MappingProxyType({})
CHAT, RESPONSES, OLLAMA = "chat", "responses", "ollama"
NATIVE, ENVELOPE = "native", "envelope"
# The key sent to a local server that has none, because the SDK requires one.
NO_KEY = "none"
# The values of `ReasoningEffort` in OpenAI's SDK. A model may accept fewer.
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")


@dataclass(frozen=True, slots=True)
class Provider:
    """The address of a provider and its differences from other providers.

    Address: `base_url`, unless the setting in `names` has another. `names` are the settings of the provider,
    such as the one with its key. That of the model is for a chain entry without one.

    Price: `price_id` is the provider's name in genai-prices, or empty if its calls are free. `reports_cost`
    says that its replies contain a price that we use.

    Time: the next model is tried after `read_timeout_s` seconds of silence, or `call_timeout_s` seconds in
    all.

    Requests: `max_tokens_param` is the name of the output limit. `model_fields` maps the beginning of a
    model's name to extra request fields. `extra_body` is part of every request. `foreign_call` must be added
    to a tool call that another provider's model made. `responses` and `envelope` say whether the settings may
    choose the Responses API, or the JSON envelope instead of tool calls. `reasoning` lists the beginnings of
    model names that accept a reasoning effort in the Responses API. Other models refuse it. `holds_forms` and
    `strict_tools` say whether answers, and at the provider's own address the arguments of tools, can be held
    to a schema.
    """

    name: str
    base_url: str
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
    holds_forms: bool = True
    strict_tools: bool = False

    @property
    def names(self) -> SettingNames:
        """Return the names of the settings that this provider reads."""
        return NAMES[self.name]

    @property
    def own(self) -> bool:
        """Return whether it is a server of the operator's own."""
        return self.names.is_own

    def fields_for(self, model: str) -> dict[str, Any]:
        """Return the extra request fields for `model`. Raises `ValueError` for an unknown effort."""
        if self.own:
            effort = local_reasoning_effort()
            return {"reasoning_effort": effort} if effort else {}
        found = (fields for prefix, fields in self.model_fields.items() if model.startswith(prefix))
        return dict(next(found, NOTHING))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address and the key of a configured provider, and its name."""

    base_url: str
    api_key: str
    provider: str


@dataclass(frozen=True, slots=True)
class ModelRef:
    """One entry of `LLM_CHAIN`: `provider:model`."""

    provider: Provider
    model: str


# What models are asked for. Each may have a chain of its own, LLM_CHAIN_<PURPOSE>.
PURPOSES = ("advisor", "review", "summary")
# GPT-5.6 and 6 accept tools on chat completions only without reasoning (HTTP 400 otherwise).
NO_REASONING = {"reasoning_effort": "none"}
# These models think by default, and thinking uses up the output limit.
NO_THINKING = {"thinking": {"type": "disabled"}}
LITTLE_THINKING = {"reasoning_effort": "low"}
# Gemini 3 refuses tool calls without its signature. Google documents this value for calls of other models.
UNSIGNED = {"extra_content": {"google": {"thought_signature": "skip_thought_signature_validator"}}}

PROVIDERS = {
    provider.name: provider
    for provider in (
        Provider(
            "openai",
            "https://api.openai.com/v1",
            price_id="openai",
            max_tokens_param="max_completion_tokens",
            model_fields={"gpt-6": NO_REASONING, "gpt-5.6": NO_REASONING},
            responses=True,
            strict_tools=True,
            reasoning=("gpt-5", "gpt-6", "o1", "o3", "o4"),
        ),
        Provider(
            "anthropic",
            "https://api.anthropic.com/v1/",
            price_id="anthropic",
            # Documented as ignored by its OpenAI-compatible interface.
            holds_forms=False,
            model_fields={"claude-haiku-5": NO_THINKING},
        ),
        Provider(
            "gemini",
            "https://generativelanguage.googleapis.com/v1beta/openai/",
            price_id="google",
            model_fields={"gemini-3": LITTLE_THINKING},
            foreign_call=UNSIGNED,
        ),
        Provider(
            "openrouter",
            "https://openrouter.ai/api/v1",
            price_id="openrouter",
            reports_cost=True,
            model_fields={"openai/gpt-6": NO_REASONING, "openai/gpt-5.6": NO_REASONING},
            extra_body={"provider": {"require_parameters": True}, "usage": {"include": True}},
        ),
        # Any OpenAI-compatible server of the operator. It is free, and slow without a graphics card.
        Provider(
            "local",
            "",
        ),
    )
}


def provider_endpoint(provider: Provider) -> Endpoint | None:
    """Return the address and key of `provider`, or `None` if it is not configured.

    A provider is configured if its key is set or, for a server of one's own, its address.
    """
    names = provider.names
    base_url = getattr(settings, names.address, "") if names.address else ""
    api_key = getattr(settings, names.key, "")
    if provider.own:
        return Endpoint(base_url, api_key or NO_KEY, provider.name) if base_url else None
    return Endpoint(base_url or provider.base_url, api_key, provider.name) if api_key else None


def provider_holds_tools(provider: Provider, endpoint: Endpoint) -> bool:
    """Return whether the arguments of tools are held to a schema at this address.

    That is true of the provider's own hosts only. Another vendor at `OPENAI_BASE_URL` may refuse the form.
    """
    host, own = (urlsplit(url).hostname or "" for url in (endpoint.base_url, provider.base_url))
    return provider.strict_tools and (host == own or host.endswith(f".{own}"))


def provider_patience(provider: Provider) -> tuple[float, float]:
    """Return the longest silence and the longest call in seconds.

    A server of one's own sends nothing before its answer is whole, so both are the same setting there.
    """
    if provider.own:
        return settings.LOCAL_LLM_TIMEOUT_S, settings.LOCAL_LLM_TIMEOUT_S
    return provider.read_timeout_s, provider.call_timeout_s


def wire_of(provider: Provider) -> str:
    """Return the interface to call `provider` by: `chat`, `responses` or `ollama`. Raises `ValueError`."""
    if provider.own:
        return _setting_choice("LOCAL_LLM_WIRE", (CHAT, OLLAMA))
    return _setting_choice("OPENAI_WIRE", (CHAT, RESPONSES)) if provider.responses else CHAT


def tool_mode_of(provider: Provider) -> str:
    """Return `native`, or `envelope` if the server cannot call tools. Raises `ValueError`."""
    return _setting_choice("LOCAL_LLM_TOOL_MODE", (NATIVE, ENVELOPE)) if provider.own else NATIVE


def reasoning_effort() -> str:
    """Return the reasoning effort for the Responses API. Raises `ValueError`."""
    return _setting_choice("LLM_REASONING_EFFORT", EFFORTS)


def local_reasoning_effort() -> str:
    """Return the reasoning effort to ask of a local server, or "" to ask for none. Raises `ValueError`."""
    return _setting_choice("LOCAL_LLM_REASONING_EFFORT", ("", *EFFORTS))


def _setting_choice(name: str, known: Sequence[str]) -> str:
    value = str(getattr(settings, name)).strip().lower()
    if value not in known:
        raise ValueError(f"{name}={value} is none of {', '.join(filter(None, known))}.")
    return value


def model_ref_parse(entry: str) -> ModelRef:
    """Parse `provider:model` (the model's name may contain colons). Raises `ValueError`.

    If a setting has the provider's model, the entry may be the provider's name alone.
    """
    name, _, model = entry.strip().partition(":")
    provider = PROVIDERS.get(name)
    if provider and not model and provider.names.model:
        model = getattr(settings, provider.names.model)
    if not provider or not model:
        known = ", ".join(PROVIDERS)
        raise ValueError(f"“{entry}” is not a provider:model with a provider among {known}.")
    return ModelRef(provider, model)


def chain_setting(purpose: str) -> str:
    """Return the name of the setting with the chain for `purpose` alone."""
    return f"LLM_CHAIN_{purpose.upper()}"


def chain_refs(purpose: str) -> list[ModelRef]:
    """Return the models of `LLM_CHAIN_<PURPOSE>` (if unset `LLM_CHAIN`), in order. Raises `ValueError`."""
    entries = getattr(settings, chain_setting(purpose), None) or settings.LLM_CHAIN
    return [model_ref_parse(entry) for entry in entries]


def models_exist() -> bool:
    """Return whether a model is configured for any purpose."""
    refs = [ref for purpose in PURPOSES for ref in chain_refs(purpose)]
    return any(provider_endpoint(ref.provider) for ref in refs)


def chain_begins_with_own(purpose: str = "advisor") -> bool:
    """Return whether the first configured model of a chain is one of the operator's own."""
    configured = (ref for ref in chain_refs(purpose) if provider_endpoint(ref.provider))
    first = next(configured, None)
    return first is not None and first.provider.own


def prices_configured() -> dict[str, tuple[Decimal, Decimal]]:
    """Return the prices of LLM_PRICES: USD per million input and output tokens, by model or `provider:model`.

    An entry looks like `my-model=0.10/0.50` (input/output). Raises `ValueError` for anything else.
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
