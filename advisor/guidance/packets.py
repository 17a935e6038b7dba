"""Packets: what was ranked for a call, cached to be used again while the reader's memories are the same."""

import hashlib
from collections.abc import Sequence
from contextlib import suppress

from django.core.cache import cache

from advisor.guidance.admission import tokens_of
from advisor.guidance.entities import Situation
from advisor.guidance.run_context import RunContext
from advisor.guidance.wording import Scored

KEYS, EXACT = "guidance", "exact"


def packet_find(situation: Situation, context: RunContext) -> list[Scored] | None:
    """Return what was ranked for an equal call with the same memories; `None`: rank it."""
    found = None
    with suppress(Exception):  # A cache that is down is an empty one.
        found = cache.get(packet_key(situation, context.fingerprint))
    known = {memory.id: memory for memory in context.memories}
    return None if found is None else [Scored(known[pk], *rest) for pk, *rest in found if pk in known]


def packet_add(situation: Situation, context: RunContext, ranked: Sequence[Scored], ttl_s: float) -> None:
    """Cache what was ranked, without rules: these are asked anew at each call."""
    plain = [one for one in ranked if not one.memory.predicate]
    rows = [(one.memory.id, one.relevance, one.quality, one.trust, one.score) for one in plain]
    with suppress(Exception):
        cache.set(packet_key(situation, context.fingerprint), rows, timeout=ttl_s)


def packet_key(situation: Situation, fingerprint: str) -> str:
    """Return a key of all that ranking depends on: the reader, the call and its words, the memories."""
    call = (situation.tool, situation.phase.value, situation.suggestion_type, situation.target_key)
    parts = "\n".join((*call, " ".join(sorted(set(tokens_of(situation.words)))), fingerprint))
    digest = hashlib.sha1(parts.encode("utf-8", "replace"), usedforsecurity=False).hexdigest()
    return f"{KEYS}:{situation.reader_id.hex}:{digest}"
