"""Memories and calls for tests of the arithmetic: one moment, one reader, one target."""

from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from advisor.guidance.admission import text_signature, tokens_of
from advisor.guidance.situations import Phase, Situation, Tunables
from advisor.guidance.wording import Kind, Scored
from advisor.models import Memory

NOW = datetime(2026, 3, 18, 12, 0, tzinfo=UTC)
NOW_S = NOW.timestamp()
READER = UUID(int=1)
TUNED = Tunables()
TEXT = "Leave the weight of reuters.com alone, because 4 of 5 reductions were turned down."


def memory(number: int = 1, **changed: Any) -> Memory:
    """Return a caution about reducing reuters.com on five outcomes, a day old."""
    text = changed.get("text", TEXT)
    values: dict[str, Any] = {
        "id": number,
        "kind": Kind.PATTERN,
        "title": "Less of reuters.com",
        "text": text,
        "valid_from": NOW - timedelta(days=1),
        "tool": "write_suggestion",
        "suggestion_type": "reduce_source",
        "target_key": "reuters.com",
        "phase": "write",
        "polarity": -1,
        "unified": 0.8,
        "confidence": 0.8,
        "evidence": 5,
        "tokens": list(tokens_of(text)),
        "text_sig": text_signature(text),
    }
    if "predicate" in changed:
        changed["data"] = {"when": changed.pop("predicate")}
    values["reader_id"] = None if changed.pop("shared", False) else READER
    return Memory(**{**values, **changed})


def call(**changed: Any) -> Situation:
    """Return a write that reduces reuters.com."""
    values: dict[str, Any] = {
        "reader_id": READER,
        "tool": "write_suggestion",
        "phase": Phase.WRITE,
        "suggestion_type": "reduce_source",
        "target_key": "reuters.com",
        "words": "reuters.com fewer reductions of weight",
    }
    return Situation(**{**values, **changed})


def scored(number: int = 1, relevance: float = 0.9, trust: float = 0.8, **changed: Any) -> Scored:
    """Return a memory as ranking would hand it on."""
    return Scored(memory(number, **changed), relevance=relevance, quality=0.8, trust=trust, score=0.8)
