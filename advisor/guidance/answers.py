"""What a model is told of guidance, beside a tool's result or in its place. Pure."""

from typing import Any

from advisor.entities import ToolOutcome
from advisor.guidance.entities import Advice, Level, Why
from advisor.guidance.wording import whisper_row
from advisor.tools.budget import BYTES_PER_TOKEN, as_json, fitting_text, size_of
from digest.llm.model_text import json_object

BLOCKED, HELD = "blocked", "held"
# What a note may take: 500 characters. Other scripts take more bytes a character, so that less is told.
NOTE_TOKENS = 130
# The most a tool may answer with in all; its own result keeps the budget of its own.
ANSWER_TOKENS = 2000
TO_DO = "Nothing was stored. Change the proposal, drop it, or repeat it with `ack` set to this guidance_id."


def blocked_outcome(advice: Advice, *, target: str, counted: bool) -> ToolOutcome:
    """The answer to a call that a rule stopped: which rule, why, and until when."""
    result: dict[str, Any] = {
        "success": False,
        "error": BLOCKED,
        "rule_id": advice.rule,
        "reason": fitting_text(advice.text, NOTE_TOKENS),
        "until": advice.until.isoformat(timespec="minutes") if advice.until else None,
    }
    return ToolOutcome(as_json(result), BLOCKED, target, counted)


def held_outcome(advice: Advice, *, target: str, counted: bool) -> ToolOutcome:
    """The answer to a write that is held: what speaks against it, and how to go on."""
    result = {
        "success": False,
        "error": HELD,
        "guidance_id": advice.guidance_id,
        "guidance": fitting_text(advice.text, NOTE_TOKENS),
        "to_do": TO_DO,
    }
    return ToolOutcome(as_json(result), HELD, target, counted)


def told_in(content: str, advice: Advice) -> str:
    """A tool's result with what guidance says of the call: a warning first, a note last, whispers as titles.

    Titles are left out where the answer would pass 2,000 tokens. What is no JSON object goes as it is.
    """
    said = fitting_text(advice.text, NOTE_TOKENS) if advice.level in (Level.WARNING, Level.NOTE) else ""
    rows = [whisper_row(scored) for scored in advice.whispers]
    if not (said or rows) or advice.why is Why.BLOCKED:
        return content
    try:
        result = json_object(content)
    except ValueError:
        return content
    if said and advice.level is Level.WARNING:
        result = {"guidance": said, **result}
    elif said:
        result = {**result, "guidance": said}
    with_rows = {**result, "whispers": rows}
    fits = size_of(with_rows) <= ANSWER_TOKENS * BYTES_PER_TOKEN
    return as_json(with_rows if rows and fits else result)
