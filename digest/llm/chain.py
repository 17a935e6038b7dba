"""Which models are asked, in which order."""

from digest.llm.client import ChatModel
from digest.llm.entities import Model
from digest.llm.providers import chain_refs, provider_endpoint


def chain_configured(purpose: str = "advisor") -> list[Model]:
    """The models of the chain for `purpose` whose providers are configured; empty without any key.

    `LLM_CHAIN_<PURPOSE>` goes before `LLM_CHAIN`. Raises `ValueError` for an entry that names no provider
    (`manage.py check` says so first).
    """
    refs = chain_refs(purpose)
    return [ChatModel(ref, endpoint) for ref in refs if (endpoint := provider_endpoint(ref.provider))]
