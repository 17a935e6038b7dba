"""The nouns of guidance, frozen: the call it looks at, the memories it knows, and what it says. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any
from uuid import UUID


class Level(StrEnum):
    """How loudly guidance speaks: a block stops the call, a warning holds it once, a note goes with it."""

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
    """What a run is doing, told by the tool it calls; `repair` after two failed writes in a row."""

    EXPLORE = "explore"
    ANALYZE = "analyze"
    HYPOTHESIZE = "hypothesize"
    WRITE = "write"
    CRITIQUE = "critique"
    REPAIR = "repair"


class Why(StrEnum):
    """Why a call was told nothing, or a memory was kept back; stored with each event."""

    TOLD = "told"
    NOTHING_KNOWN = "nothing_known"
    BELOW_FLOOR = "below_floor"
    TOO_WEAK = "too_weak"
    SHOWN = "shown"
    REPEATED = "repeated"
    COOLDOWN = "cooldown"
    OBVIOUS = "obvious"
    OVER_LIMIT = "over_limit"
    HELD_OUT = "held_out"
    UNSAFE = "unsafe"
    BLOCKED = "blocked"
    HELD = "held"
    ACKNOWLEDGED = "acknowledged"
    OUT_OF_TIME = "out_of_time"
    SWITCHED_OFF = "switched_off"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Situation:
    """A tool call about to be made. `step` is the change of weight it asks for, in weight units.

    `words` are what BM25 compares memories with: the target's name, the reason, the query; never shown.
    `arguments` as the model gave them, unchecked.
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
class Facts:
    """What deterministic rules may ask about a call; plain values by name, read once per call.

    Names: `tool`, `phase`, `suggestion_type`, `field`, `target`, `step` (weight units), `waiting`, `cooling`,
    `pinned`, `declined` (booleans about the target or type), `written`, `written_in_field` (this run's
    suggestions), `thumbs`, `likes`, `thumbs_on_target`, `fitting_on_target` (unknown beyond 500
    thumbs), `cited` (different items given as evidence), `accepted_of_type`, `rejected_of_type`,
    `failed_writes` (in a row), `calls_left`, `money_left_usd`. `until` is when a cooling target is free.
    """

    values: Mapping[str, Any]
    until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory as retrieval hands it to ranking. `tokens` were made when it was stored.

    `polarity` is 1 for advice to do, -1 for a caution, 0 for neither; `unified` the quality of its text, 0
    to 1; `helpful` and `unhelpful` count readers' decisions; `ceiling` is the loudest it may be told at;
    `evidence` the number of outcomes behind it; `predicate` the condition of a rule; `advises` the values of
    arguments it speaks for, by name, where it names any: a call that has them needs no telling. `shared`: of
    no reader in particular. `share`: of its outcomes, the part that went its way, where its figures say so.
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
    expires_at: datetime | None = None
    shared: bool = False
    share: float | None = None

    def so_at(self, now: datetime) -> bool:
        """Whether it holds at that moment: begun, and not expired."""
        return self.valid_from <= now and (self.expires_at is None or self.expires_at > now)


@dataclass(frozen=True, slots=True)
class Scored:
    """A memory with its worth for one situation: three factors of 0 to 1, their blend, and the gate's word.

    `matched`: a rule whose condition holds for this call. `why` says why it was kept back; empty for what is
    told.
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
    """What guidance says to one call. `told` are the memories in `text`; `whispers` only their titles.

    For a block: `rule` that did it, `text` why, `until` when it may be tried again. `ranked` are all
    candidates with what became of each, for the audit. `guidance_id` lets a held write through; `repeated`:
    the run came upon the same block or hold before.
    """

    level: Level
    why: Why
    text: str = ""
    told: tuple[Scored, ...] = ()
    whispers: tuple[Scored, ...] = ()
    ranked: tuple[Scored, ...] = ()
    rule: str = ""
    until: datetime | None = None
    held_out: bool = False
    guidance_id: str = ""
    repeated: bool = False
