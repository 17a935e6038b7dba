"""The nouns of suggesting, frozen: what is proposed, what speaks for it, why it was refused."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from digest.entities import RatedItem

WEIGHT_STEP_MAX = 0.3
EVIDENCE_MIN = 3
TOPIC_SOURCES_MIN = 2
SUGGESTIONS_PER_RUN_MAX = 3
SNOOZE_DAYS = 7
EXPIRE_DAYS = 14
# So long an accept may have been a slip of the hand: taking it back forgets it. Long enough to look at
# what it did to the digest and come back, too short to have lived with the change.
UNDO_MINUTES = 10

ADD_TOPIC, REMOVE_TOPIC = "add_topic", "remove_topic"
BOOST_SOURCE, REDUCE_SOURCE = "boost_source", "reduce_source"
TOPIC_TYPES = frozenset({ADD_TOPIC, REMOVE_TOPIC})
LIKED_TYPES = frozenset({ADD_TOPIC, BOOST_SOURCE})
TOPICS, SOURCE_WEIGHTS = "topics", "source_weights"
FIELD_OF_TYPE = {
    ADD_TOPIC: TOPICS,
    REMOVE_TOPIC: TOPICS,
    BOOST_SOURCE: SOURCE_WEIGHTS,
    REDUCE_SOURCE: SOURCE_WEIGHTS,
}

# Called inside the transaction of a write: returns only if the caller still holds its run, else raises.
Fence = Callable[[], None]


class FenceLost(Exception):
    """The run was reclaimed by another worker; whatever this one was writing must not land."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal as an agent words it, before any rule has seen it. Values are taken as given, unchecked."""

    suggestion_type: str
    field: str
    target_key: object
    suggested_value: object
    evidence_urls: tuple[str, ...]
    reason: str
    expected_impact: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a draft or a decision was refused: a stable code, words to mend it by, the target it was about.

    `data` holds plain JSON values for a door to pass on, such as the fresh preview of `config_changed`.
    """

    code: str
    message: str
    target: str = ""
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A draft that every rule let through, in the server's own numbers, as reviewers see it.

    `forecast` is the body a suggestion stores; `reason` and `expected_impact` the words a reader would read;
    `likes` and `thumbs` count what the reader said about the target, `likes_all` and `thumbs_all` about
    everything.
    """

    reader_id: UUID
    run_id: UUID
    suggestion_type: str
    field: str
    target_key: str
    label: str
    current_value: str
    suggested_value: str
    reason: str
    expected_impact: str
    confidence: str
    p_helpful: float
    forecast: Mapping[str, Any]
    evidence: tuple[RatedItem, ...]
    likes: int
    thumbs: int
    now: datetime
    likes_all: int = 0
    thumbs_all: int = 0


@dataclass(frozen=True, slots=True)
class Review:
    """What reviewers made of a proposal.

    `verdict`: "pass" stores it as pending, "draft" stores it for an operator, "improve" gives `message` back
    to the agent for another round, "refuse" ends it under `code`. `p_helpful` replaces the proposal's own
    where a reviewer revised it; `notes` join the suggestion's validation notes.
    """

    verdict: str
    code: str = ""
    message: str = ""
    p_helpful: float | None = None
    notes: tuple[str, ...] = ()


PASS, IMPROVE, DRAFT, REFUSE = "pass", "improve", "draft", "refuse"
# Reviews a proposal before it is stored; called outside any transaction, since it may ask a model.
Reviewer = Callable[[Proposal], Review]


@dataclass(frozen=True, slots=True)
class Proposed:
    """A draft that became a suggestion: `status` is pending, or draft where reviewers could not agree."""

    suggestion_id: int
    status: str
    notes: tuple[str, ...]
    target: str


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """One change the numbers speak for, ready to be proposed.

    `p_helpful` is the posterior probability that it helps and `expected_gain` the change of nDCG@10 expected
    on the thumbs that chose it; `gain`, `low` and `high` the change measured on `later_thumbs` others that
    had no part in the choice (`None`: too few).
    """

    suggestion_type: str
    field: str
    target_key: str
    label: str
    current_value: str
    suggested_value: str
    p_helpful: float
    confidence: str
    expected_gain: float
    gain: float | None
    low: float | None
    high: float | None
    later_thumbs: int
    likes: int
    thumbs: int
    evidence_urls: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """The form a tool result carries: rounded, with the item addresses that support it."""
        rounded = {
            k: None if v is None else round(v, 3)
            for k, v in (
                ("p_helpful", self.p_helpful),
                ("expected_gain", self.expected_gain),
                ("ndcg_gain", self.gain),
                ("ndcg_low", self.low),
                ("ndcg_high", self.high),
            )
        }
        return {
            "type": self.suggestion_type,
            "target": self.target_key,
            "suggested_value": self.suggested_value,
            "liked": self.likes,
            "rated": self.thumbs,
            "confidence": self.confidence,
            **rounded,
            "later_thumbs": self.later_thumbs,
            "supporting_items": list(self.evidence_urls),
        }


@dataclass(frozen=True, slots=True)
class Lead:
    """A change that may help but is not sure enough to ask about.

    `information` is what knowing for certain would be worth, in nDCG@10: where it is highest, an item shown
    for the sake of learning teaches most.
    """

    suggestion_type: str
    field: str
    target_key: str
    label: str
    p_helpful: float
    information: float


@dataclass(frozen=True, slots=True)
class HypothesisReport:
    """What the numbers speak for: at most ten hypotheses, best first, and what was looked at to find them.

    `considered` counts the sources and topics tried, `patterns_found` the changes likely enough before any
    other test, `dropped` the ones that other thumbs spoke against. Without any hypothesis `silence` is the
    code of the reason (`suggestions.silence`); `leads` are what is undecided, most worth knowing first.
    """

    hypotheses: tuple[Hypothesis, ...]
    patterns_found: int
    considered: int
    dropped: int = 0
    silence: str = ""
    leads: tuple[Lead, ...] = ()


@dataclass(frozen=True, slots=True)
class PreviewItem:
    """One item of today's digest with its rank before and after a change; `None`: not among them."""

    item_id: int
    title: str
    source: str
    before: int | None
    after: int | None


@dataclass(frozen=True, slots=True)
class Preview:
    """What a change would do to today's digest: the items that come in, go out, and change places."""

    enters: tuple[PreviewItem, ...]
    leaves: tuple[PreviewItem, ...]
    moves: tuple[PreviewItem, ...]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A decision that took effect. `outcome_id` is `None` for "not now", which decides nothing."""

    suggestion_id: int
    status: str
    outcome_id: int | None
    config_updated: bool
    config_version: int
    note: str = ""
