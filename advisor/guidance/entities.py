"""The nouns of guidance, frozen: the call, the memories, what is known of the reader, what is said. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID

from suggestions.rules import Facts as RuleFacts
from suggestions.rules import Target


class Level(StrEnum):
    """How loudly guidance speaks: a rule's block stops the call; all else is text beside its result."""

    BLOCK = "block"
    WARNING = "warning"
    NOTE = "note"
    WHISPER = "whisper"
    SILENT = "silent"


# From silent to loud, to compare levels by.
LOUDNESS = (Level.SILENT, Level.WHISPER, Level.NOTE, Level.WARNING, Level.BLOCK)


class Kind(StrEnum):
    """Where a memory comes from, most trusted first; `Memory.kind` stores it."""

    PATTERN = "pattern"
    REPLAY = "replay"
    PROFILE = "profile"
    RULE = "rule"
    INSIGHT = "insight"
    PEER = "peer"
    BANK = "bank"


class Phase(StrEnum):
    """What a run is doing, by the tool it calls; `repair` after two failed writes in a row."""

    EXPLORE = "explore"
    ANALYZE = "analyze"
    HYPOTHESIZE = "hypothesize"
    WRITE = "write"
    CRITIQUE = "critique"
    REPAIR = "repair"


class Why(StrEnum):
    """Why a call got nothing, or a memory was left out; stored with each event."""

    EMITTED = "told"
    NOTHING_KNOWN = "nothing_known"
    BELOW_FLOOR = "below_floor"
    TOO_WEAK = "too_weak"
    SHOWN = "shown"
    REPEATED = "repeated"
    COOLDOWN = "cooldown"
    OBVIOUS = "obvious"
    OVER_LIMIT = "over_limit"
    HOLDOUT = "held_out"
    UNSAFE = "unsafe"
    BLOCKED = "blocked"
    OUT_OF_TIME = "out_of_time"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Tunables:
    """Scores and shares are 0 to 1, `_s` seconds, `_ms` milliseconds.

    Score levels are those of the published advisory engine (vibeship-spark-intelligence, 2026-02), with its
    later floor for notes.
    """

    relevance_min: float = 0.45
    note_min: float = 0.48
    warning_min: float = 0.80
    notes_max: int = 2
    whispers: bool = True
    shown_ttl_s: float = 600.0
    packet_ttl_s: float = 900.0
    budget_ms: float = 4000.0
    holdout: float = 0.10
    synthesis: bool = False
    export: bool = False
    export_dir: str = ""


@dataclass(frozen=True, slots=True)
class Situation:
    """A tool call about to be made. `step` is the change of weight it asks for, in weight units.

    `words` are what BM25 compares memories with; `arguments` as the model gave them, unchecked.
    """

    reader_id: UUID
    tool: str
    phase: Phase
    suggestion_type: str = ""
    target_key: str = ""
    step: float | None = None
    words: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CallFacts:
    """A call with all that is known of it.

    `values` are what operators' conditions may ask, by the names of `conditions.FACTS`. `rules` are the facts
    that the rules of suggestions ask, for a write; `target` the field and key it is about; `evidence` the
    most items it can rest on, `None` if unknown; `current` the config as it is.
    """

    situation: Situation
    values: Mapping[str, Any]
    rules: RuleFacts | None = None
    target: Target = ("", "")
    evidence: int | None = None
    current: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ReaderFacts:
    """What planner and model both know of a reader before the first call.

    `step` is the share of the permitted step this reader takes, 0 to 1; `declined` the types they always turn
    down, with how often; `cooling` the targets that may not be suggested now.
    """

    step: float = 1.0
    declined: Mapping[str, int] = field(default_factory=dict)
    cooling: frozenset[Target] = frozenset()


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory as ranking takes it. `tokens` were made when it was stored.

    `polarity` is 1 for advice, -1 for a caution, 0 for neither; `unified` the quality of its text, 0 to 1;
    `helpful` and `unhelpful` count readers' decisions; `ceiling` is the loudest it may be; `predicate` the
    condition of a rule; `advises` argument values it speaks for, by name; `share` the part of its outcomes
    that went its way, where its figures say so; `shared`: of no reader in particular.
    """

    id: int
    kind: Kind
    title: str
    text: str
    valid_from: datetime
    tool: str = ""
    suggestion_type: str = ""
    target_key: str = ""
    phase: str = ""
    polarity: int = 0
    unified: float = 0.5
    confidence: float = 0.5
    helpful: int = 0
    unhelpful: int = 0
    evidence: int = 0
    tokens: tuple[str, ...] = ()
    text_sig: str = ""
    ceiling: Level = Level.WARNING
    predicate: Mapping[str, Any] = field(default_factory=dict)
    advises: Mapping[str, Any] = field(default_factory=dict)
    shared: bool = False
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """A memory that is to be stored, with the columns it would have (see `advisor.models.Memory`)."""

    kind: Kind
    title: str
    text: str
    valid_from: datetime
    key: str = ""
    tool: str = ""
    suggestion_type: str = ""
    target_key: str = ""
    phase: str = ""
    polarity: int = 0
    evidence: int = 0
    confidence: float = 0.5
    shared: bool = False
    data: Mapping[str, Any] = field(default_factory=dict)
    expires_at: datetime | None = None
    source_ref: str = ""
    ceiling: Level = Level.WARNING


@dataclass(frozen=True, slots=True)
class Scored:
    """A memory with its worth for one call: three factors of 0 to 1, their blend, and what the gate made of
    it.

    `matched`: a rule whose condition holds. `why` says why it was left out; empty for what is emitted.
    """

    memory: Remembered
    relevance: float
    quality: float
    trust: float
    score: float
    level: Level = Level.SILENT
    why: str = ""
    matched: bool = False


@dataclass(frozen=True, slots=True)
class Advice:
    """What guidance says to one call. `emitted` are the memories in `text`; `whispers` only their titles.

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
