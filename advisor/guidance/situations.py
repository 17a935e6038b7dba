"""A tool call as guidance sees it: what it is about, in the normal form the rules know targets by. Pure."""

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from advisor.guidance.entities import Phase, Situation
from digest.llm.entities import ToolCall
from ranking.common.text import fold, topic_key
from suggestions.entities import FIELD_OF_TYPE, TOPICS
from suggestions.rules import topic_clean

WRITE, TRY, CRITIQUE = "write_suggestion", "test_suggestion", "self_critique"
WORDS_CHARS_MAX, TARGET_CHARS_MAX = 1000, 120
WORDY = ("target_key", "target", "suggested_value", "query", "reason", "expected_impact")
# So many failed writes in a row, and whatever the run calls next is for mending them.
REPAIR_AT = 2
PHASE_OF_TOOL = {
    "query_user_feedback": Phase.EXPLORE,
    "query_user_config": Phase.EXPLORE,
    "get_user_profile": Phase.EXPLORE,
    "get_acceptance_history": Phase.ANALYZE,
    "get_suggestion_outcomes": Phase.ANALYZE,
    "compare_configs": Phase.ANALYZE,
    TRY: Phase.HYPOTHESIZE,
    WRITE: Phase.WRITE,
    CRITIQUE: Phase.CRITIQUE,
}


def phase_of(tool: str, failed_writes: int) -> Phase:
    """Return the phase of a call to `tool` after `failed_writes` in a row; an unknown tool explores."""
    return Phase.REPAIR if failed_writes >= REPAIR_AT else PHASE_OF_TOOL.get(tool, Phase.EXPLORE)


def situation_of(call: ToolCall, *, reader_id: UUID, failed_writes: int) -> Situation:
    """Return what `call` is about; nothing in it is trusted, and nothing raises.

    Several drafts at once are about the first of them. The change of weight is not known here.
    """
    arguments = call.arguments
    about = _about(call.name, arguments)
    kind = about.get("suggestion_type")
    kind = kind if isinstance(kind, str) and kind in FIELD_OF_TYPE else ""
    words = " ".join(text for text in map(about.get, WORDY) if isinstance(text, str))
    return Situation(
        reader_id=reader_id,
        tool=call.name[:64],
        phase=phase_of(call.name, failed_writes),
        suggestion_type=kind,
        target_key=target_of(kind, about),
        words=words[:WORDS_CHARS_MAX],
        arguments=arguments,
    )


def target_of(kind: str, about: Mapping[str, Any]) -> str:
    """Return the target's key as suggestions store it: a folded source or a topic's key; "" for none."""
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
    """Return the type of change and its target; two empty words for a call that only reads."""
    return situation.suggestion_type, situation.target_key


def _about(tool: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the part of the arguments that names a change; of the tools that take lists, the first row."""
    rows = arguments.get({CRITIQUE: "drafts", "compare_configs": "changes"}.get(tool, ""))
    return rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], dict) else arguments
