"""What a call gets, and how a model reads it: beside a tool's result or in its place.

A model may word the notes anew, where an operator wants that, there is time, and it says nothing else.
"""

import re
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from advisor.entities import BYTES_PER_TOKEN, ToolOutcome, as_json, call_target, fit_text, json_bytes
from advisor.guidance.entities import Level, ReaderFacts, Tunables, Why
from advisor.models import Memory
from advisor.prompts import ADVISOR_PROMPT, prompt_load, quotes_prompt
from digest.feeds.selectors import models_allowed
from digest.llm.caller import data_fence, typed_ask
from digest.llm.client import chain_configured
from digest.llm.entities import Deadline, Model, ToolCall, json_object
from digest.llm.ledger import SpendAccount
from digest.summaries.grounding import content_stems, grounding_of, overlap_of
from suggestions.changes.registry import FIELDS_OF_SOURCES
from suggestions.explain import reason_clean

Kind = Memory.Kind
BLOCKED = "blocked"
FACTORS = ("relevance", "quality", "trust", "score")
NOTE_CHARS, WHISPER_CHARS, START_CHARS, START_ROWS = 500, 80, 900, 3
# What a note may take; other scripts take more bytes a character, so that less of them fits.
NOTE_TOKENS = 130
# The most a tool may answer with in all; its own result keeps a budget of its own.
ANSWER_TOKENS = 2000
PROMPT, PURPOSE, FAILED = ADVISOR_PROMPT.with_name("guidance.md"), "guidance", "synthesis_"
# The time that must be left to ask at all, and what is reserved for storing.
LEFT_MIN_MS, RESERVE_MS = 1800.0, 200.0
# The share of content words that must be the notes' own.
OVERLAP_MIN = 0.7
_NEGATION = re.compile(r"\b(?:not?|never|avoid|without|don['’]t|nicht|kein\w*|nie)\b", re.IGNORECASE)
# Addresses and keys, which are no capitalised words and no numbers.
_KEY = re.compile(r"\d+(?:[.,]\d+)*|[\w-]+(?:\.[\w-]+)+|\w+_\w+|“[^”]*”")


@dataclass(frozen=True, slots=True)
class Scored:
    """A memory with its worth for one call: three factors of 0 to 1, their blend, and what became of it.

    `matched`: a rule whose condition holds. `why` it was left out; empty for what is emitted.
    """

    memory: Memory
    relevance: float
    quality: float
    trust: float
    score: float
    level: Level = Level.SILENT
    why: str = ""
    matched: bool = False

    @property
    def audit(self) -> dict[str, Any]:
        """Return what an event stores of it: its factors, its level, and why it was left out."""
        memory = self.memory
        about = {"id": memory.id, "kind": memory.kind, "title": memory.title}
        factors = {name: round(getattr(self, name), 3) for name in FACTORS}
        return about | factors | {"level": self.level.value, "why": self.why}


@dataclass(frozen=True, slots=True)
class Advice:
    """What one call gets. `emitted` are the memories in `text`; `whispers` only their titles.

    For a block: the `rule`, `text` why, `until` when it may be tried again, `repeated` if the run met the
    same block before. `ranked` are all candidates with what became of each. `holdout`: left out at random.
    """

    level: Level
    why: Why
    text: str = ""
    emitted: tuple[Scored, ...] = ()
    whispers: tuple[Scored, ...] = ()
    ranked: tuple[Scored, ...] = ()
    rule: str = ""
    until: datetime | None = None
    holdout: bool = False
    repeated: bool = False


def notes_text(scored: Sequence[Scored]) -> str:
    """Return the texts of memories as one note, best first, in at most 500 characters; "" for none."""
    text = ""
    for one in scored:
        line = cut(one.memory.text, NOTE_CHARS)
        if len(f"{text} {line}".strip()) <= NOTE_CHARS:
            text = f"{text} {line}".strip()
    return text


def start_text(
    facts: ReaderFacts,
    *,
    flags: Sequence[Memory] = (),
    patterns: Sequence[Memory] = (),
    rules: Iterable[str] = (),
) -> str:
    """Return what a run reads before its first call, at most 900 characters; "" where nothing is known.

    The reader's facts come first, in the words for what the planner gets as values; then `flags` of the
    profile, `patterns` of decisions, and the texts of operators' `rules` in force. What does not fit is left
    out.
    """
    parts = (
        ("Refused for now", [*_facts_words(facts), *list(rules)[:START_ROWS]]),
        ("The reader's profile", [memory.text for memory in flags][:START_ROWS]),
        ("From past decisions", [memory.text for memory in patterns][:START_ROWS]),
    )
    text = ""
    for head, lines in parts:
        for n, line in enumerate(dict.fromkeys(" ".join(line.split()) for line in lines)):
            added = (f"{head}:\n" if not n or f"{head}:" not in text else "") + f"- {line}\n"
            if line and len(text) + len(added) <= START_CHARS:
                text += added
    return text.rstrip("\n")


def blocked_outcome(advice: Advice, call: ToolCall) -> ToolOutcome:
    """Return the answer to a call that a rule stopped: which rule, why, and until when."""
    result: dict[str, Any] = {
        "success": False,
        "error": BLOCKED,
        "rule_id": advice.rule,
        "reason": fit_text(advice.text, NOTE_TOKENS),
        "until": advice.until.isoformat(timespec="minutes") if advice.until else None,
    }
    return ToolOutcome(as_json(result), BLOCKED, call_target(call), advice.repeated)


def with_advice(content: str, advice: Advice) -> str:
    """Return a tool's result with what guidance adds: a warning first, a note last, whispers as titles."""
    loud = advice.level in (Level.WARNING, Level.NOTE)
    text = fit_text(advice.text, NOTE_TOKENS) if loud else ""
    rows = [cut(f"#{one.memory.id} {one.memory.title}", WHISPER_CHARS) for one in advice.whispers]
    if not (text or rows):
        return content
    try:
        result = json_object(content)
    except ValueError:
        return content
    if text:
        warned = {"guidance": text, **result}
        result = warned if advice.level is Level.WARNING else {**result, "guidance": text}
    with_rows = {**result, "whispers": rows}
    fits = json_bytes(with_rows) <= ANSWER_TOKENS * BYTES_PER_TOKEN
    return as_json(with_rows if rows and fits else result)


def cut(text: str, chars: int) -> str:
    """Return `text` on one line in at most `chars` characters, marked where cut."""
    line = " ".join(text.split())
    return line if len(line) <= chars else f"{line[: chars - 1].rstrip()}…"


def _facts_words(facts: ReaderFacts) -> Iterable[str]:
    for kind, times in sorted(facts.declined.items()):
        yield f"{kind}: this reader turned down every one of {times}. Choose another type."
    if facts.step < 1:
        yield f"Full steps: this reader takes about {facts.step:.0%} of the step proposed. Ask for that."
    if cooling := sorted(key for field, key in facts.cooling if field in FIELDS_OF_SOURCES):
        yield f"Sources that rest, wait or are pinned: {cut(', '.join(cooling), 200)}."
    if topics := sum(field not in FIELDS_OF_SOURCES for field, _ in facts.cooling):
        yield f"{topics} topics rest, wait or are pinned; a write about one is refused."


class Reworded(BaseModel):
    """A model's answer."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(min_length=1, max_length=600)


class Writer(NamedTuple):
    """Who may word notes of one run: its models, in order, and the account that pays for them."""

    models: Sequence[Model]
    ledger: SpendAccount


def writer_for(*, reader_id: UUID, ledger: SpendAccount, tunables: Tunables) -> Writer | None:
    """Return the run's writer; `None` where synthesis is off, no model is set, or the reader wants none."""
    if not tunables.synthesis or not (models := chain_configured()):
        return None
    return Writer(tuple(models), ledger) if models_allowed(reader_id=reader_id) else None


def synthesise(*, text: str, emitted: Sequence[Scored], writer: Writer, left_ms: float) -> tuple[str, str]:
    """Return the notes in a model's words where these hold nothing else, or `text` and the code of why not.

    Must be called outside any transaction.
    """
    if left_ms < LEFT_MIN_MS or not emitted:
        return text, ""
    answer = typed_ask(
        models=writer.models,
        system=prompt_load(PROMPT),
        user=data_fence({"notes": [scored.memory.text for scored in emitted]}),
        shape=Reworded,
        ledger=writer.ledger,
        deadline=Deadline(time.monotonic() + (left_ms - RESERVE_MS) / 1000),
    )
    if answer.value is None:
        return text, FAILED + answer.error_code
    worded = reason_clean(answer.value.text)
    faithful = bool(worded) and is_grounded(worded, emitted)
    return (worded, "") if faithful else (text, FAILED + "unfaithful")


def is_grounded(text: str, emitted: Sequence[Scored]) -> bool:
    """Return whether `text` follows from the notes alone: their numbers, names, keys and their "not"."""
    notes = " ".join(scored.memory.text for scored in emitted)
    if len(text) > NOTE_CHARS or quotes_prompt(text) or not any(content_stems(text)):
        return False
    found = grounding_of(text, [notes[:200]], title="", text=notes)
    keys = all(key in notes for key in _KEY.findall(text))
    same_side = bool(_NEGATION.search(text)) == bool(_NEGATION.search(notes))
    foreign = found.numbers or found.names or found.link
    return keys and same_side and not foreign and overlap_of(text, notes) >= OVERLAP_MIN
