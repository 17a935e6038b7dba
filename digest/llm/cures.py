"""The settings that each provider reads, and which of them an operator changes if its model fails. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

CHAIN: Final = "LLM_CHAIN"
CONTEXT_TOKENS: Final = "16,384"


@dataclass(frozen=True, slots=True)
class SettingNames:
    """The settings that one provider reads. "" stands for a kind that it does not read.

    `effort` is the reasoning effort, and `tool_mode` the way to call tools.
    """

    key: str
    address: str = ""
    model: str = ""
    wire: str = ""
    effort: str = ""
    tool_mode: str = ""

    @property
    def is_own(self) -> bool:
        """Return whether the provider is a server of the operator's own, which has one model."""
        return bool(self.model)


NAMES: Final[Mapping[str, SettingNames]] = MappingProxyType(
    {
        "openai": SettingNames(
            "OPENAI_API_KEY", "OPENAI_BASE_URL", wire="OPENAI_WIRE", effort="LLM_REASONING_EFFORT"
        ),
        "anthropic": SettingNames("ANTHROPIC_API_KEY"),
        "gemini": SettingNames("GEMINI_API_KEY"),
        "openrouter": SettingNames("OPENROUTER_API_KEY"),
        "local": SettingNames(
            "LOCAL_LLM_KEY",
            "LOCAL_LLM_BASE_URL",
            "LOCAL_LLM_MODEL",
            "LOCAL_LLM_WIRE",
            "LOCAL_LLM_REASONING_EFFORT",
            "LOCAL_LLM_TOOL_MODE",
        ),
    }
)
# Stands in the message of a refusal, between the provider's words and the cure.
REFUSED_HELP: Final = "No other model was asked, since the request itself is at fault."
# Words of a refusal and the kind of its cure, the first that fits.
REFUSED_WORDS: Final = (
    # Gemini, and litellm's proxy without a database, answer a wrong key with 400.
    ("key", ("api key", "api_key", "no connected db")),
    ("context", ("context", "too long", "exceed", "n_ctx", "max_model_len")),
    ("model", ("not found", "does not exist", "no such model", "unknown model", "invalid model")),
    ("effort", ("reasoning", "think")),
    ("tools", ("tool", "function")),
)


def names_of(model: str) -> SettingNames:
    """Return the settings behind `model` (`provider:model`). Raises `KeyError` for an unknown provider."""
    return NAMES[model.partition(":")[0]]


def status_cure(status: int, names: SettingNames) -> str:
    """Return what to change after an answer with this status, or ""."""
    cures = {
        401: _key(names),
        403: f"Check the API key in {names.key}, and what it may use.",
        404: _model(names),
    }
    return cures.get(status, "")


def refused_cure(text: str, names: SettingNames) -> str:
    """Return what to change after a refusal in these words."""
    lowered = text.lower()
    fitting = (kind for kind, words in REFUSED_WORDS if any(word in lowered for word in words))
    cure = {
        "key": _key,
        "context": context_cure,
        "model": _model,
        "effort": _effort,
        "tools": tools_cure,
    }.get(next(fitting, ""), _request)
    return cure(names)


def reach_cure(names: SettingNames) -> str:
    """Return what to check if the provider did not answer, or if something else answered at its address."""
    if names.is_own:
        return (
            f"See that its server runs, and that {names.address} is as its documentation says: it mostly "
            "ends in /v1."
        )
    where = f", and that {names.address}, if you set it, mostly ends in /v1" if names.address else ""
    return f"See that this machine reaches the provider{where}."


def page_cure(names: SettingNames) -> str:
    """Return what to change if the answer is a web page."""
    if names.address:
        return f"That is a web page: {names.address} must be the API's address, which mostly ends in /v1."
    return "That is a web page, and none of the provider's: see the proxy of this machine's network."


def less_thinking_cure(names: SettingNames) -> str:
    """Return what to change if a model spends its output on thoughts."""
    if names.is_own:
        return (
            f"Set {names.effort}=none, switch thinking off in the server, or take a model that does not "
            "think."
        )
    lower = f", or lower {names.effort}" if names.effort else ""
    return f"Name a model in {CHAIN} that reasons less{lower}."


def context_cure(names: SettingNames) -> str:
    """Return what to change if a prompt is longer than the context."""
    if names.is_own:
        return (
            f"The server's context must be {CONTEXT_TOKENS} tokens or more: OLLAMA_CONTEXT_LENGTH=16384 for "
            "Ollama (or LOCAL_LLM_WIRE=ollama), --ctx-size 16384 for llama.cpp, --max-model-len 16384 "
            "for vLLM."
        )
    return f"Name a model in {CHAIN} with a context of {CONTEXT_TOKENS} tokens or more."


def tools_cure(names: SettingNames) -> str:
    """Return what to change if no tools are called."""
    if names.tool_mode:
        return (
            f"Start the server with tool calling on, set {names.tool_mode}=envelope, or name another model "
            f"in {_place(names)}."
        )
    return f"This model does no tool calling: name another one in {CHAIN}."


def slow_cure(names: SettingNames) -> str:
    """Return what to change if answers come too late."""
    if names.is_own:
        return (
            "It answers too slowly here: take a smaller or faster model, or a graphics card. If runs may "
            "take that long, raise LOCAL_LLM_TIMEOUT_S and ADVISOR_SCHEDULED_TIMEOUT_S; the planner finishes "
            "what is late."
        )
    return f"It answers too slowly: name a faster model in {CHAIN}. The planner finishes what is late."


def ask_cure(names: Sequence[SettingNames]) -> str:
    """Return the settings that make providers usable: a key, or for a server of one's own its address."""
    return " or ".join(one.address if one.is_own else one.key for one in dict.fromkeys(names))


def _place(names: SettingNames) -> str:
    """Return the setting that names the model."""
    return f"{names.model} or {CHAIN}" if names.is_own else CHAIN


def _key(names: SettingNames) -> str:
    return f"Check the API key in {names.key}."


def _model(names: SettingNames) -> str:
    address = f", and {names.address}" if names.address else ""
    return f"Check the model's name in {_place(names)}{address}."


def _effort(names: SettingNames) -> str:
    if names.is_own:
        return f"Change {names.effort} (empty: not sent)."
    own = f"Change {names.effort} or {names.wire}, or name" if names.effort else "Name"
    return f"{own} another model in {CHAIN}."


def _request(names: SettingNames) -> str:
    """Return the settings that a request is made of, because none of its words say which is at fault."""
    settings = ", ".join(filter(None, (_place(names), names.wire, names.effort)))
    return f"If it names a model or a parameter that is unknown or retired, change {settings}."
