"""Detect the server behind `local` (Ollama, llama.cpp, vLLM or another) and its context size."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from digest.llm.client import server_root
from digest.llm.providers import Endpoint, model_ref_parse, provider_endpoint

LOOK_S = 5.0
OLLAMA, LLAMA_CPP, VLLM, OTHER = "Ollama", "llama.cpp", "vLLM", ""


@dataclass(frozen=True, slots=True)
class ServerKind:
    """A server by its name, with its version, and the tokens of context it says it has (0: it does not)."""

    name: str = OTHER
    version: str = ""
    context: int = 0

    @property
    def words(self) -> str:
        """Return the name with the version, or words for an unknown server."""
        return " ".join(filter(None, (self.name, self.version))) or "a server of unknown kind"


def server_kind(model: str) -> ServerKind | None:
    """Return the kind of server behind `model` (`provider:model`), or `None` for a provider that we do not
    run.

    Asks at most three addresses, each for five seconds. If none answers, the name is empty.
    """
    ref = model_ref_parse(model)
    endpoint = provider_endpoint(ref.provider)
    if not ref.provider.own or endpoint is None:
        return None
    root, look = server_root(endpoint), import_module("digest.llm.wire").look
    for ask in (_ollama, _llama_cpp):
        if found := ask(look, root, ref.model):
            return found
    return _vllm(look, endpoint, ref.model) or ServerKind()


def _ollama(look: Callable[..., Any], root: Endpoint, model: str) -> ServerKind | None:
    answer = look(root, "/api/version", timeout_s=LOOK_S)
    if not isinstance(answer, dict) or not isinstance(answer.get("version"), str):
        return None
    running = look(root, "/api/ps", timeout_s=LOOK_S)
    rows = running.get("models") if isinstance(running, dict) else None
    loaded = [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    named = (row for row in loaded if str(row.get("name", "")).removesuffix(":latest") == model)
    return ServerKind(OLLAMA, answer["version"][:20], _whole(next(named, {}).get("context_length")))


def _llama_cpp(look: Callable[..., Any], root: Endpoint, model: str) -> ServerKind | None:
    answer = look(root, "/props", timeout_s=LOOK_S)
    made = answer.get("default_generation_settings") if isinstance(answer, dict) else None
    return ServerKind(LLAMA_CPP, "", _whole(made.get("n_ctx"))) if isinstance(made, dict) else None


def _vllm(look: Callable[..., Any], endpoint: Endpoint, model: str) -> ServerKind | None:
    answer = look(endpoint, "/models", timeout_s=LOOK_S)
    rows = answer.get("data") if isinstance(answer, dict) else None
    for row in rows if isinstance(rows, list) else []:
        if isinstance(row, dict) and row.get("id") == model and row.get("max_model_len"):
            return ServerKind(VLLM, "", _whole(row["max_model_len"]))
    return None


def _whole(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
