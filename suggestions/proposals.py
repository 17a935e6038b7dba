"""Values of the suggestions room: drafts, the facts of the rules, refusals, previews, decisions. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from digest.entities import RatedItem
from ranking.entities import EffectiveConfig

WEIGHT_STEP_MAX = 0.3
EVIDENCE_MIN = 3
TOPIC_SOURCES_MIN = 2
SUGGESTIONS_PER_RUN_MAX = 3
SNOOZE_DAYS = 7
EXPIRE_DAYS = 14
# An accept undone within this time was a slip: the answer is deleted. Long enough to look at the digest and
# come back, too short to have tried the change.
UNDO_MINUTES = 10
# The reason stored with a rejection that pins the target.
NEVER = "never"

# The verdicts of the check two weeks later.
HELPED, HARMED, UNCLEAR = "helped", "harmed", "unclear"

# A setting and the identity of what it is set for.
Target = tuple[str, str]

# Called inside the transaction of a write: returns only if the caller still holds its run, else raises.
Fence = Callable[[], None]


class FenceLost(Exception):
    """The run was reclaimed by another worker; this one must not write any more."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal as an agent sends it, before any rule. Values are unchecked."""

    suggestion_type: str
    field: str
    target_key: object
    suggested_value: object
    evidence_urls: tuple[str, ...]
    reason: str


@dataclass(frozen=True, slots=True)
class Facts:
    """The state of the reader in the database, read before the rules run.

    `sources` are those of the drafts' targets that are the reader's; `rated` their ratings of the evidence
    by URL; `waiting` what open suggestions are about; `cooling` the end of the cooldown of each target that
    has one; `written` the fields of this run's suggestions; `answers` the reader's (accepted, rejected) by
    type; `declined` the types always turned down; `kinds` those that may be suggested here, `None` for all.
    """

    effective: EffectiveConfig
    sources: frozenset[str]
    rated: Mapping[str, RatedItem] = field(default_factory=dict)
    waiting: frozenset[Target] = frozenset()
    cooling: Mapping[Target, datetime] = field(default_factory=dict)
    written: Sequence[str] = ()
    answers: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    declined: frozenset[str] = frozenset()
    kinds: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """The refusal of a draft or a decision: a stable code, how to correct it, the target.

    `data` has plain JSON values to pass on, such as the fresh preview of `config_changed`.
    """

    code: str
    message: str
    target: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposed:
    """A stored suggestion. `status` is pending, or draft if reviewers could not agree."""

    suggestion_id: int
    status: str
    notes: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True)
class PreviewItem:
    """One item of today's digest with its rank before and after a change; `None`: not in it."""

    item_id: int
    title: str
    source: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Preview:
    """The items of today's digest that a change brings in, drops, or moves.

    `shown` counts the items of today's page, `free` those of them that may move, being unrated, and `about`
    its candidates that are about the target.
    """

    enters: tuple[PreviewItem, ...]
    leaves: tuple[PreviewItem, ...]
    moves: tuple[PreviewItem, ...]
    shown: int = 0
    free: int = 0
    about: int = 0

    @property
    def is_still(self) -> bool:
        """Return whether nothing of the page would change."""
        return not (self.enters or self.leaves or self.moves)


@dataclass(frozen=True, slots=True)
class Resolved:
    """A decision that took effect. `outcome_id` is `None` for a snooze, which decides nothing."""

    suggestion_id: int
    status: str
    outcome_id: int | None
    config_updated: bool
    config_version: int
    note: str = ""
