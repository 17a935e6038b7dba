"""Which models are asked, in which order, and how each of them is asked."""

from digest.llm.client import RemoteModel
from digest.llm.entities import Model
from digest.llm.envelope import EnvelopeModel
from digest.llm.providers import (
    ENVELOPE,
    RESPONSES,
    Endpoint,
    ModelRef,
    chain_refs,
    provider_endpoint,
    tool_mode_of,
    wire_of,
)
from digest.llm.responses import RESPONSES_WIRE


def chain_configured(purpose: str = "advisor") -> list[Model]:
    """The models of the chain for `purpose` whose providers are configured; empty without any key.

    `LLM_CHAIN_<PURPOSE>` goes before `LLM_CHAIN`. Raises `ValueError` for an entry that names no provider
    and for a wire or tool mode that does not exist (`manage.py check` says so first).
    """
    refs = chain_refs(purpose)
    return [_model(ref, endpoint) for ref in refs if (endpoint := provider_endpoint(ref.provider))]


def _model(ref: ModelRef, endpoint: Endpoint) -> Model:
    if tool_mode_of(ref.provider) == ENVELOPE:
        return EnvelopeModel(ref, endpoint)
    if wire_of(ref.provider) == RESPONSES:
        return RemoteModel(ref, endpoint, RESPONSES_WIRE)
    return RemoteModel(ref, endpoint)
