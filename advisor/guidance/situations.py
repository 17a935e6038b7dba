"""The nouns of guidance, frozen, and a tool call in the normal form the rules know targets by. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Annotated, Any, Self
from uuid import UUID

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass as checked_dataclass

from advisor.conversation import FINISH_TOOL
from digest.llm.entities import ToolCall
from suggestions.changes.registry import KINDS
from suggestions.proposals import Facts as RuleFacts
from suggestions.proposals import Target


class Level(StrEnum):
    """How loud guidance is: a rule's block stops the call; all else is text beside its result."""

    BLOCK = "block"
    WARNING = "warning"
    NOTE = "note"
    SILENT = "silent"


# From silent to loud, to compare levels by.
LOUDNESS = (Level.SILENT, Level.NOTE, Level.WARNING, Level.BLOCK)


class Phase(StrEnum):
    """The phase of a run by the tool it calls; `repair` after two failed writes in a row."""

    EXPLORE = "explore"
    ANALYZE = "analyze"
    HYPOTHESIZE = "hypothesize"
    WRITE = "write"
    CRITIQUE = "critique"
    REPAIR = "repair"


class Why(StrEnum):
    """Why a call got nothing, or a memory was left out; stored with each event, in words for operators."""

    words: str

    def __new__(cls, code: str, words: str = "") -> Self:
        """Make a code that knows its words."""
        made = str.__new__(cls, code)
        made._value_, made.words = code, words
        return made

    EMITTED = "told", "advice given"
    NO_ACT = "no_act", "no proposal was ahead"
    NO_MODEL = "no_model", "no model was there to read it"
    NOTHING_KNOWN = "nothing_known", "nothing is remembered that could help"
    BELOW_FLOOR = "below_floor", "no memory is close enough to this"
    TOO_WEAK = "too_weak", "too weak to be worth a word"
    SHOWN = "shown", "shown before in this run or lately"
    REPEATED = "repeated", "says the same as another"
    COOLDOWN = "cooldown", "this tool got advice a moment ago"
    OBVIOUS = "obvious", "the call or the settings do so already"
    OVER_LIMIT = "over_limit", "others came first and the limit is reached"
    HOLDOUT = "held_out", "left out at random, to measure by"
    UNSAFE = "unsafe", "its text looks like an injected instruction"
    BLOCKED = "blocked", "a rule forbids the call"
    OUT_OF_TIME = "out_of_time", "the time for guidance was over"
    FAILED = "failed", "guidance failed"


def why_words(code: str) -> str:
    """Return the reason stored as `code` in plain words; one of another release as it is."""
    return next((why.words for why in Why if why == code), code)


WRITE, TRY, CRITIQUE = "write_suggestion", "test_suggestion", "self_critique"
FEEDBACK = "query_user_feedback"
# The tools before a proposal. Guidance about it is given in their results.
AHEAD = frozenset({FEEDBACK, TRY, CRITIQUE})
# Of a result with many hypotheses or drafts, those that are looked up.
ACTS_MAX = 5
WORDS_CHARS_MAX, TARGET_CHARS_MAX = 1000, 120
WORDY = ("target", "suggested_value", "query", "reason")
# Of the tools that take several changes, the argument they are in.
LISTS = {CRITIQUE: "drafts", "compare_configs": "changes"}
# After this many failed writes in a row, the run's next calls count as mending.
REPAIR_AT = 2
PHASE_OF_TOOL = {
    **dict.fromkeys((FEEDBACK, "query_user_config", "get_user_profile"), Phase.EXPLORE),
    **dict.fromkeys(
        ("read_items", "get_acceptance_history", "get_suggestion_outcomes", "compare_configs"), Phase.ANALYZE
    ),
    TRY: Phase.HYPOTHESIZE,
    **dict.fromkeys((WRITE, FINISH_TOOL), Phase.WRITE),
    CRITIQUE: Phase.CRITIQUE,
}


Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(ge=0, le=31 * 86_400)]


@checked_dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Tunables:
    """Scores and shares are 0 to 1, `_s` seconds, `_ms` milliseconds. Raises `ValidationError` for others.

    Score levels are those of the published advisory engine (vibeship-spark-intelligence, 2026-02), with its
    later floor for notes.
    """

    relevance_min: Share = 0.45
    note_min: Share = 0.48
    warning_min: Share = 0.80
    notes_max: Annotated[int, Field(ge=0, le=20)] = 2
    shown_ttl_s: Seconds = 600.0
    budget_ms: Annotated[float, Field(ge=0, le=600_000)] = 4000.0
    holdout: Share = 0.10
    export: bool = False
    export_dir: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """A tool call about to be made.

    BM25 compares memories with `words`. `arguments` are the model's own, unchecked.
    """

    reader_id: UUID
    tool: str
    phase: Phase
    suggestion_type: str = ""
    target_key: str = ""
    words: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call with all that is known of it.

    `values` are the facts that operators' conditions may ask, by the names of `admission.FACTS`. `rules` are
    the facts of suggestions' own rules, for a write.
    """

    situation: Situation
    values: Mapping[str, Any]
    rules: RuleFacts | None = None


@dataclass(frozen=True, slots=True)
class ReaderFacts:
    """The facts of a reader that planner and model both have before the first call.

    `step` is the reader's share of the permitted step, 0 to 1. `declined` has the types they always reject,
    with counts. `cooling` has the targets that may not be suggested now. `refused` has the targets whose
    proposals were refused earlier in this run.
    """

    step: float = 1.0
    declined: Mapping[str, int] = field(default_factory=dict)
    cooling: frozenset[Target] = frozenset()
    refused: frozenset[Target] = frozenset()


def acts_of(situation: Situation, result: Mapping[str, Any]) -> list[Situation]:
    """Return the proposals that a call may lead to, by its arguments and its `result`, at most five.

    After the feedback these are its hypotheses, and of a critique its drafts. Anything else is about itself.
    """
    rows = result.get("hypotheses") if situation.tool == FEEDBACK else None
    rows = situation.arguments.get(LISTS[CRITIQUE]) if situation.tool == CRITIQUE else rows
    found = rows[:ACTS_MAX] if isinstance(rows, list) else []
    return [_act(situation, row) for row in found if isinstance(row, dict)] or [situation]


def _act(situation: Situation, about: Mapping[str, Any]) -> Situation:
    """Return the proposal of one hypothesis or draft."""
    kind = about.get("suggestion_type", about.get("type"))
    kind = kind if isinstance(kind, str) and kind in KINDS else ""
    target = target_of(kind, about)
    words = words_of(about)
    return replace(situation, suggestion_type=kind, target_key=target, words=words, arguments=about)


def phase_of(tool: str, failed_writes: int) -> Phase:
    """Return the phase of a call to `tool` after `failed_writes` in a row; an unknown tool explores."""
    return Phase.REPAIR if failed_writes >= REPAIR_AT else PHASE_OF_TOOL.get(tool, Phase.EXPLORE)


def situation_of(call: ToolCall, *, reader_id: UUID, failed_writes: int) -> Situation:
    """Return the situation of `call`. With several drafts, use the first. Never raises."""
    rows = call.arguments.get(LISTS.get(call.name, ""))
    about: Mapping[str, Any] = call.arguments
    if isinstance(rows, list) and rows and isinstance(rows[0], dict):
        about = rows[0]
    kind = about.get("suggestion_type")
    kind = kind if isinstance(kind, str) and kind in KINDS else ""
    return Situation(
        reader_id=reader_id,
        tool=call.name[:64],
        phase=phase_of(call.name, failed_writes),
        suggestion_type=kind,
        target_key=target_of(kind, about),
        words=words_of(about),
        arguments=call.arguments,
    )


def words_of(about: Mapping[str, Any]) -> str:
    """Return the words of a call's arguments that memories are compared with, at most 1,000 characters."""
    names = about.get("other_names")
    texts = [*map(about.get, WORDY), *(names if isinstance(names, list) else ())]
    return " ".join(text for text in texts if isinstance(text, str))[:WORDS_CHARS_MAX]


def target_of(kind: str, about: Mapping[str, Any]) -> str:
    """Return the target's key as suggestions store it: a folded source or a topic's key; "" for none."""
    return KINDS[kind].key_given(about.get("target"))[:TARGET_CHARS_MAX] if kind in KINDS else ""
