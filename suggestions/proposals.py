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
# So long without a visit stops the clock. After 90 days the thumbs behind a suggestion are old.
AWAY_DAYS, WAIT_DAYS_MAX = 7, 90
# An accept undone within this time was a slip: the answer is deleted. Long enough to look at the digest and
# come back, too short to have tried the change.
UNDO_MINUTES = 10
# The reason stored with a rejection that pins the target.
NEVER = "never"

# The verdicts of the check two weeks later.
HELPED, HARMED, UNCLEAR = "helped", "harmed", "unclear"

# A setting and the identity of its target.
Target = tuple[str, str]

# Called inside the transaction of a write: returns only if the caller still holds its run, else raises.
Fence = Callable[[], None]


class FenceLost(Exception):
    """The run was reclaimed by another worker; this one must not write any more."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A proposal as an agent sends it, before any rule. Values are unchecked.

    `other_names` are those of a new topic. `names_tried` are those that the run has tried for this topic so
    far, and `topics_tried` counts the new topics that it has tried names for, this one included if it has
    some. `question` is the id of the question whose answer led to it.
    """

    suggestion_type: str
    target_key: object
    suggested_value: object
    evidence_urls: tuple[str, ...]
    reason: str
    other_names: Sequence[object] = ()
    names_tried: Sequence[object] = ()
    topics_tried: int = 0
    question: int | None = None


@dataclass(frozen=True, slots=True)
class Facts:
    """The state of the reader in the database, read before the rules run.

    `sources` are the reader's own among the drafts' targets. `rated` are their ratings of the evidence by
    URL. `waiting` are the targets of open suggestions. `cooling` has the end of each target's cooldown.
    `written` are the fields of this run's suggestions, and `bare` those of them without other names.
    `asked` are the changes of this run's suggestions and of open ones, each a `Change`.
    `wished` are the changes that the reader's own words ask for, each a `Change` with its articles.
    `answers` are the reader's (accepted, rejected) by type. `declined` are the types always rejected, and
    `kinds` those that may be suggested here, `None` for all.
    """

    effective: EffectiveConfig
    sources: frozenset[str]
    rated: Mapping[str, RatedItem] = field(default_factory=dict)
    waiting: frozenset[Target] = frozenset()
    cooling: Mapping[Target, datetime] = field(default_factory=dict)
    written: Sequence[str] = ()
    bare: Sequence[str] = ()
    asked: Sequence[Any] = ()
    wished: Sequence[Any] = ()
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

    `shown` counts the items of today's page, `free` those of them that may move, being unrated. `since`
    counts the places at which a page made now, by the latest ratings and articles, differs from the stored
    one.
    """

    enters: tuple[PreviewItem, ...]
    leaves: tuple[PreviewItem, ...]
    moves: tuple[PreviewItem, ...]
    shown: int = 0
    free: int = 0
    since: int = 0

    @property
    def is_still(self) -> bool:
        """Return whether the change leaves the page as it is."""
        return not (self.enters or self.leaves or self.moves)


# Days for which the effect of a change is looked at first.
WEEK_DAYS = 7


@dataclass(frozen=True, slots=True)
class WeekItem:
    """An article that a change would have brought into the first ten of a day, or kept out of them."""

    item_id: int
    title: str
    source: str


@dataclass(frozen=True, slots=True)
class WeekEffect:
    """The effect of a change on the first ten places of each of the last `days` days, replayed.

    `enters` and `leaves` have the articles that would have been, or no longer been, among them, newest days
    first. `shown` counts the articles of these places as they were, `places` the places whose article would
    have left the ten, `reordered` the places of the whole pages with another article than before, and `about`
    the candidates of the last seven days that are about the target by their titles. `unsaid` are the other
    names of a topic that none of these candidates says. `items_a_day` is how many articles the reader's feeds
    bring a day.
    """

    enters: tuple[WeekItem, ...] = ()
    leaves: tuple[WeekItem, ...] = ()
    shown: int = 0
    places: int = 0
    reordered: int = 0
    days: int = WEEK_DAYS
    about: int = 0
    unsaid: tuple[str, ...] = ()
    items_a_day: float = 0.0


@dataclass(frozen=True, slots=True)
class Resolved:
    """A decision that took effect. `outcome_id` is `None` for a snooze, which decides nothing."""

    suggestion_id: int
    status: str
    outcome_id: int | None
    config_updated: bool
    config_version: int
    note: str = ""
