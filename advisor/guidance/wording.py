"""The words of guidance as a model reads them: beside a tool's result, or in its place."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from advisor.conversation import call_target
from advisor.guidance.situations import Level, ReaderFacts, Why
from advisor.models import Memory
from advisor.result_size import as_json, fit_text
from advisor.run_values import ToolOutcome
from digest.llm.entities import ToolCall, json_object
from suggestions.changes.registry import FIELDS_OF_SOURCES

Kind = Memory.Kind
BLOCKED = "blocked"
FACTORS = ("relevance", "quality", "trust", "score")
NOTE_CHARS, START_CHARS, START_ROWS = 500, 900, 3
# The size limit of a note. Other scripts take more bytes per character, so less of them fits.
NOTE_TOKENS = 130


@dataclass(frozen=True, slots=True)
class Scored:
    """A memory scored for one call: three factors of 0 to 1, their blend, its level and the reason.

    `matched`: a rule whose condition holds. `why` is the reason it was left out, or "" if it was emitted.
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
        """Return the values that an event stores: its factors, its level, and why it was left out."""
        memory = self.memory
        about = {"id": memory.id, "kind": memory.kind, "title": memory.title}
        factors = {name: round(getattr(self, name), 3) for name in FACTORS}
        return about | factors | {"level": self.level.value, "why": self.why}


@dataclass(frozen=True, slots=True)
class Advice:
    """The guidance of one call. `emitted` are the memories in `text`.

    A block has the `rule`, the reason as `text`, `until` when it may be tried again, and `repeated` if the
    run met the same block before. `ranked` are all candidates with their fates. `holdout`: left out at
    random.
    """

    level: Level
    why: Why
    text: str = ""
    emitted: tuple[Scored, ...] = ()
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
    """Return the opening text of a run, at most 900 characters, or "" if nothing is known.

    The reader's facts come first, in words; the planner gets the same as values. Then come `flags` of the
    profile, `patterns` of decisions, and the texts of operators' `rules` in force. Texts that do not fit are
    left out.
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
    """Return a tool's result with the words of guidance: a warning is its first field, a note its last."""
    if advice.level not in (Level.WARNING, Level.NOTE) or not advice.text:
        return content
    try:
        result = json_object(content)
    except ValueError:
        return content
    words = {"guidance": fit_text(advice.text, NOTE_TOKENS)}
    return as_json(words | result if advice.level is Level.WARNING else result | words)


def cut(text: str, chars: int) -> str:
    """Return `text` on one line of at most `chars` characters. A cut is marked."""
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
