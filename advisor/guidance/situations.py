"""A tool call as guidance sees it: what it is about, in the normal form the rules know targets by. Pure."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from advisor.guidance.entities import Situation
from advisor.guidance.phases import phase_of
from digest.llm.entities import ToolCall
from digest.llm.model_text import json_object
from ranking.matching import fold, topic_key
from suggestions.entities import FIELD_OF_TYPE, TOPICS
from suggestions.values import topic_clean, weight_parse, weight_text

WRITE, TRY, CRITIQUE = "write_suggestion", "test_suggestion", "self_critique"
WORDS_CHARS_MAX = 1000
TARGET_CHARS_MAX = 120
# What else of a call says what it is about.
WORDY = ("target", "suggested_value", "query", "reason", "expected_impact")


def arguments_of(call: ToolCall) -> dict[str, Any]:
    """The arguments of `call` as an object; empty where they are none: the tool itself says so."""
    try:
        return json_object(call.arguments.strip() or "{}")
    except ValueError:
        return {}


def situation_of(call: ToolCall, *, reader_id: UUID, failed_writes: int) -> Situation:
    """What `call` is about; nothing in it is trusted, and nothing raises.

    Several drafts at once are about the first of them. The change of weight is not known here.
    """
    arguments = arguments_of(call)
    about = _about(call.name, arguments)
    kind = about.get("suggestion_type")
    kind = kind if isinstance(kind, str) and kind in FIELD_OF_TYPE else ""
    return Situation(
        reader_id=reader_id,
        tool=call.name[:64],
        phase=phase_of(call.name, failed_writes),
        suggestion_type=kind,
        target_key=target_of(kind, about),
        words=_words(about),
        arguments=arguments,
    )


def target_of(kind: str, about: Mapping[str, Any]) -> str:
    """The target's key as suggestions store it: a folded source, or a topic's key; "" where there is none."""
    named = [about.get(name) for name in ("target_key", "target")]
    if FIELD_OF_TYPE.get(kind) == TOPICS:
        named.append(about.get("suggested_value"))
    text = next((value for value in named if isinstance(value, str) and value), "")
    if not kind:
        return ""
    if FIELD_OF_TYPE[kind] == TOPICS:
        cleaned = topic_clean(text)
        return topic_key(cleaned)[:TARGET_CHARS_MAX] if cleaned else ""
    return fold(text[: 4 * TARGET_CHARS_MAX])[:TARGET_CHARS_MAX]


def intent_of(situation: Situation) -> tuple[str, str]:
    """What the call wants: the type of change and its target; two empty words for a call that only reads."""
    return situation.suggestion_type, situation.target_key


def hold_key(situation: Situation) -> str:
    """What a held write is known by: its intent and the value it asks for. Another value is another write."""
    value = weight_parse(situation.arguments.get("suggested_value"))
    asked = "" if value is None else weight_text(value)
    return "|".join((*intent_of(situation), asked))


def ack_of(situation: Situation) -> str:
    """The acknowledgement that a call carries; "" for none."""
    ack = situation.arguments.get("ack")
    return ack if isinstance(ack, str) else ""


def _about(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of the arguments that names a change; of the tools that take lists, the first."""
    name = {CRITIQUE: "drafts", "compare_configs": "changes"}.get(tool)
    rows = arguments.get(name) if name else None
    if isinstance(rows, list) and rows and isinstance(rows[0], dict):
        return rows[0]
    return arguments


def _words(about: Mapping[str, Any]) -> str:
    said = [about.get("target_key"), *(about.get(name) for name in WORDY)]
    return " ".join(text for text in said if isinstance(text, str))[:WORDS_CHARS_MAX]
