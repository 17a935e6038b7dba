"""Values of the suggestions room: drafts, refusals, proposals, reviews, hypotheses, previews. Pure."""

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
# An accept undone within this time was a slip: the answer is deleted. Long enough to look at the digest and
# come back, too short to have tried the change.
UNDO_MINUTES = 10
# The reason stored with a rejection that pins the target.
NEVER = "never"

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
    expected_impact: str = ""


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
class Proposal:
    """A draft that passed every rule, in the server's own numbers, for reviewers.

    `forecast` is the body a suggestion stores; `reason` and `expected_impact` the texts for the reader;
    `likes` and `thumbs` count the reader's ratings of the target, `likes_all` and `thumbs_all` all of them.
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
    """The verdict of the reviewers on a proposal.

    `verdict`: "pass" stores it as pending, "draft" stores it for an operator, "improve" gives `message` back
    to the agent for another round, "refuse" ends it under `code`. `p_helpful` replaces the proposal's own
    where a reviewer revised it; `notes` are added to the suggestion's validation notes.
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
    """One change that the ratings support, ready to be proposed.

    `p_helpful` is the posterior probability that it helps and `expected_gain` the change of nDCG@10 expected
    by the ratings that chose it; `gain`, `low` and `high` the change measured on `later_thumbs` holdout
    ratings (`None`: too few).
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
        """Return the form for a tool result: rounded, with the URLs of the supporting items."""
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
    """A change that may help but is too uncertain to ask about.

    `information` is the value of certainty about it, in nDCG@10: where it is highest, an exploration item
    teaches most.
    """

    suggestion_type: str
    field: str
    target_key: str
    label: str
    p_helpful: float
    information: float


@dataclass(frozen=True, slots=True)
class HypothesisReport:
    """At most ten hypotheses, best first, and the search behind them.

    `considered` counts the sources and topics tried, `patterns_found` the changes likely enough before any
    other test, `dropped` those that holdout or all ratings contradict. Without any hypothesis `silence` is
    the code of the reason (`suggestions.planner.hypotheses`); `leads` are the undecided changes, best first.
    """

    hypotheses: tuple[Hypothesis, ...]
    patterns_found: int
    considered: int
    dropped: int = 0
    silence: str = ""
    leads: tuple[Lead, ...] = ()


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
    """The items of today's digest that a change brings in, drops, or moves."""

    enters: tuple[PreviewItem, ...]
    leaves: tuple[PreviewItem, ...]
    moves: tuple[PreviewItem, ...]


@dataclass(frozen=True, slots=True)
class Resolved:
    """A decision that took effect. `outcome_id` is `None` for a snooze, which decides nothing."""

    suggestion_id: int
    status: str
    outcome_id: int | None
    config_updated: bool
    config_version: int
    note: str = ""
